#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Ways to make processes a tenant, as documented in docs/guide/operate.md: pods and units by their control
# groups, which are real. Slurm's is in tests/slurm. shown.c has flows, an agent the tenants.

bats_require_minimum_version 1.5.0

setup() {
	: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
	for name in ${!CCSHIM_@}; do unset "$name"; done
	ccshim=$top_builddir/tools/ccshim/ccshim ccshimd=$top_builddir/tools/ccshimd/ccshimd
	groups=() agent=
	cd "$BATS_TEST_TMPDIR"
	export XDG_RUNTIME_DIR=$PWD CCSHIM_AGENT=$PWD/agent CCSHIM_CC=rcp RIG_KEEP=1 ASAN_OPTIONS=detect_leaks=0
}

teardown() {
	[ -z "${app:-}" ] || { exec 8>&-; wait "$app"; } || true
	[ -z "$agent" ] || { kill "$agent"; wait "$agent"; } || true
	[ "${#groups[@]}" -eq 0 ] || rmdir "${groups[@]}"
}

# start_agent [OPTION...]: with the tenants of the file conf.
start_agent() {
	"$ccshimd" --no-capture --verify none --socket agent --tenants conf \
		--port $((20000 + RANDOM % 10000)) "$@" 2> agent.err 3>&- 7<&- 8>&- &
	agent=$!
	until "$ccshimd" --status --socket "$PWD/agent" > status 2> /dev/null; do
		kill -0 "$agent" || { cat agent.err; return 1; }
	done
}

# begin GROUP: shown.c with flows, in that control group of version 2.
begin() {
	local group part parts
	group=$(findmnt -t cgroup2 -no TARGET | head -n 1)
	[ "$EUID" -eq 0 ] && [ -w "$group/cgroup.procs" ] || skip "needs root and cgroup v2"
	IFS=/ read -ra parts <<< "${1#/}"
	for part in "${parts[@]}"; do
		group+=/$part
		[ -d "$group" ] || { mkdir "$group" && groups=("$group" "${groups[@]}"); }
	done
	mkfifo in said
	(echo "$BASHPID" > "$group/cgroup.procs" && exec "$top_builddir/tests/verbs/shown") < in > said &
	app=$!
	exec 8> in 7< said
	answer
	echo 'write 10' >&8
	answer
}

# find_file: the name of the system's file, which tests replace in a namespace.
find_file() {
	[ "$EUID" -eq 0 ] && unshare --mount true || skip "needs mount namespaces"
	file=$("$ccshim" info --tenant $$ | sed -n 's/.* of \(.*\) matches it$/\1/p')
	[ -n "$file" ]
}

answer() { read -r -t 3600 <&7; }

# belongs TENANT WEIGHT: the agent has the process's tenant, and info shows it.
belongs() {
	until jq -e ".clients | any(.pid == $app)" status > /dev/null; do "$ccshimd" --status --socket "$PWD/agent" > status; done
	jq -c .clients status
	[ "$("$ccshim" info --tenant "$app")" = "tenant $1, weight $2, in force" ]
}

# A list of pods as kubectl prints it; users write the annotations.
pods() {
	jq -n '{items: [
		["kv", "a1b2c3d4-0000-4000-8000-00000000beef", "2.5"], ["plain", "a2", null], ["huge", "a3", "1000"],
		["evil", "a4", "1\n[tenant mine]\nmatch = uid:0"], ["words", "a5", "four"], ["minus", "a6", "-1"],
		["dots.in.its.name.which.is.longer.than.the.name.of.a.tenant.may.be", "b1b2c3d4-0000-4000-8000-000000000001", ".5"],
		["late", "c1b2c3d4-0000-4000-8000-000000000002", "0.5"]] |
		map({metadata: {namespace: "prod", name: .[0], uid: .[1], annotations: (if .[2] then {"ccshim/weight": .[2]} else {} end)}})}'
}

@test "a pod's annotation gives its control group a weight, under the systemd driver" {
	pods | jq -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	start_agent --address 127.0.0.82
	[ ! -s agent.err ] || { cat agent.err; false; }
	begin /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda1b2c3d4_0000_4000_8000_00000000beef.slice/cri-containerd-0123.scope
	belongs prod-kv-a1b2c3d4 2.5
}

@test "and under the cgroupfs driver" {
	pods | jq -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	start_agent --address 127.0.0.82
	begin /kubepods/besteffort/podc1b2c3d4-0000-4000-8000-000000000002/0123
	belongs prod-late-c1b2c3d4 0.5
}

@test "annotations that are no weights change nothing, and more pods than tenants are left out" {
	pods | jq -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	[ "$(grep -c '^\[' conf)" -eq 2 ]
	for pod in huge evil words minus; do
		grep "^# prod-$pod: ccshim/weight is not a number" conf
	done
	jq -n '{items: [range(70) | {metadata: {namespace: "n", name: "p\(.)", uid: "uid\(1000 + .)",
		annotations: {"ccshim/weight": "1"}}}]}' | jq -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	[ "$(grep -c '^\[' conf)" -eq 64 ]
	[ "$(grep -c 'more than 64 tenants$' conf)" -eq 6 ]
	start_agent --address 127.0.0.82
	[ "$(jq '.tenants | length' status)" -eq 64 ]
}

# terms NAME KEY=VALUE...: a pod with these annotations, as JSON.
terms() {
	jq -nc '$ARGS.positional | {metadata: {namespace: "n", name: .[0], uid: "uid-\(.[0])",
		annotations: (.[1:] | map(capture("(?<key>[^=]*)=(?<value>.*)"; "m") | .key |= "ccshim/" + .) | from_entries)}}' --args "$@"
}

@test "annotations give a pod all terms of a tenant, and wrong ones none" {
	{
		terms all weight=2 cap=20g guarantee=5g
		terms last class=background floor=2.5%
		terms most cap=1000t
		terms none cap=none
	} | jq -s '{items: .}' | jq --argjson guarantees 5e9 -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	! grep '^#' conf
	start_agent --address 127.0.0.82
	run grep -v 'without --key-file the guarantee and class' agent.err
	[ -z "$output" ]
	jq -c .tenants status
	jq -e '[.tenants[].tenant | .[:6]] == ["n-all-", "n-last", "n-most", "n-none"] and
		(.tenants[0] | .weight == 2 and .cap_bps == 2e10 and .guarantee_bps == 5e9) and
		.tenants[1].class == "background" and .tenants[2].cap_bps == 1e15' status
	{
		terms a cap=1e16
		terms b cap=1001t
		terms c cap=1g guarantee=2g
		terms d floor=2%
		terms e class=background guarantee=1g
		terms f class=middle
		terms g $'cap=1g\n[tenant mine]\nmatch = uid:0'
		terms h guarantee=6g
		terms i weight=2 floor=21% class=background
	} | jq -s '{items: .}' | jq --argjson guarantees 5e9 -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > wrong
	cat wrong
	[ "$(grep -c '^# n-[a-i]: ' wrong)" -eq 9 ]
	[ "$(wc -l < wrong)" -eq 9 ]
}

@test "units of a slice are a tenant by its path, as with systemd-run --slice" {
	printf '%s\n' '[tenant backup]' 'match = cgroup:/backup.slice/*' 'weight = 0.25' \
		'[tenant more]' 'match = cgroup:/backup.sliced/*' > conf
	start_agent --address 127.0.0.82
	begin /backup.slice/run-u17.service
	belongs backup 0.25
}

# The agent reads the file of its option, info the system's.
@test "info says why no tenant is in force" {
	find_file
	info() {
		unshare --mount sh -c 'mkdir -p "$1" && mount -t tmpfs none "$1" && cp conf "$1/ccshim.conf" &&
			exec "$2" info --tenant "$3"' sh "${file%/*}" "$ccshim" $$
	}
	echo > conf
	[ "$(info)" = "no tenant: no tenant of $file matches it" ]
	printf '%s\n' '[tenant mine]' 'match = uid:0' 'weight = 3' > conf
	run -0 info
	[[ $output == "tenant mine, weight 3, not in force: no reply from the agent at $PWD/agent"* ]]
	start_agent --address 127.0.0.82
	[ "$(info)" = "tenant mine, weight 3, not in force: the agent has no flow of it, or has not read $file since it changed" ]
	for wrong in 'match = jobs:7' 'match = job:*' $'match = uid:0\n[tenant b]\nmatch = uid:0' 'weight = 2'; do
		printf '[tenant mine]\n%s\n' "$wrong" > conf
		run -0 info
		[[ $output == *"$file:"*"no tenant: the agent uses no tenants of a file with mistakes; correct $file" ]]
	done
	for wrong in 4194305 0 -1 x '' 99999999999; do
		run -2 "$ccshim" info --tenant "$wrong"
		[[ $output == *"there is no process $wrong"* ]]
	done
}

# begin_with CC MODE: shown.c, whose system's file is conf. Its queue pairs have addresses of one family.
begin_with() {
	rm -f in said
	mkfifo in said
	CCSHIM_CC=$1 CCSHIM_MODE=$2 RIG_IPV6=1 unshare --mount sh -c 'mkdir -p "$1" && mount -t tmpfs none "$1" &&
		cp conf "$1/ccshim.conf" && exec "$2"' sh "${file%/*}" "$top_builddir/tests/verbs/shown" < in > said &
	app=$!
	exec 8> in 7< said
	answer
}

# until_so TRANSFER FILTER: transfer until the filter of its queue pairs is true.
until_so() {
	until jq -e ".processes[0].qps | $2" json; do
		echo "$1" >&8
		answer
		"$ccshim" stat -p "$app" --json > json
	done
}

@test "a cap binds real flows under each algorithm, and their READs, while its agent runs" {
	find_file
	printf '%s\n' '[tenant a]' 'match = app:shown' 'cap = 1g' > conf
	# Nothing but the cap delays data under none.
	while read -r cc transfer; do
		start_agent
		begin_with "$cc" enforce
		echo > json
		until_so "$transfer 1" 'any(.tenant_cap_bps > 3e8 and .tenant_cap_bps <= 1e9 and .rate_bps <= .tenant_cap_bps and .wrs_deferred > 0)'
		[ "$("$ccshim" info --tenant "$app")" = \
			"tenant a, weight 1, cap=1g, in force: only its cap has an effect, as no queue pair has cc=rcp or cc=auto" ]
		"$ccshim" set tenant a cap=none
		until_so "$transfer 1" 'all(.tenant_cap_bps == 0)'
		"$ccshim" set tenant a cap=2m
		until_so "$transfer 1" 'any(.tenant_cap_bps > 0 and .tenant_cap_bps <= 2e6 and .rate_bps <= .tenant_cap_bps)'
		kill -9 "$agent"
		wait "$agent" || true
		agent=
		[[ $cc = fixed* ]] && ends='and any(.rate_bps == 8e9)' || ends=
		until_so "$transfer 1" "all(.tenant_cap_bps == 0) $ends"
		start_agent # the cap of the file
		until_so "$transfer 1" 'any(.tenant_cap_bps > 3e8)'
		exec 8>&-
		wait "$app"
		kill "$agent"
		wait "$agent"
	done <<< $'fixed:rate=8g write\nnone write\nnone read\ncopa write\ncopa read\ntimely write'
	app= agent=
}

# The time has a lower limit only, which holds at any load.
@test "two processes of a tenant share its cap" {
	find_file
	printf '%s\n' '[tenant a]' 'match = app:shown' 'cap = 20m' > conf
	start_agent
	begin_with none enforce
	echo > json
	until_so 'write 1' 'any(.tenant_cap_bps == 2e7)'
	exec 6>&8 5<&7
	local first=$app start us
	begin_with none enforce
	echo > json
	until_so 'write 1' 'any(.tenant_cap_bps == 2e7)'
	start=${EPOCHREALTIME/[^0-9]/}
	echo 'write 100' >&6 # 9.8 Mbit
	echo 'write 100' >&8
	read -r -t 3600 <&5
	answer
	us=$((${EPOCHREALTIME/[^0-9]/} - start))
	echo "$us us for 19.6 Mbit"
	[ "$us" -ge 950000 ]
	grep ccshim-cap "/proc/$first/maps"
	grep ccshim-cap "/proc/$app/maps"
	run ! grep 'cap of tenant' agent.err
	exec 6>&- 8>&-
	wait "$first"
}

@test "a cap delays nothing in mode observe, and with agent=off there is none" {
	find_file
	printf '%s\n' '[tenant a]' 'match = app:shown' 'cap = 1m' > conf
	start_agent
	begin_with fixed observe
	echo > json
	until_so 'write 100' 'any(.tenant_cap_bps > 0 and .wrs_posted >= 300)'
	jq -e '.processes[0].qps | all(.wrs_deferred == 0 and .gated_us == 0)' json
	[ "$("$ccshim" info --tenant "$app")" = \
		"tenant a, weight 1, cap=1m, in force: without effect, as no queue pair has mode=enforce" ]
	exec 8>&-
	wait "$app"
	CCSHIM_AGENT=off begin_with fixed enforce
	echo > json
	until_so 'write 100' 'any(.wrs_posted >= 300)'
	jq -e '.processes[0].qps | all(.tenant_cap_bps == 0)' json
	exec 8>&-
	wait "$app"
	app=
}
