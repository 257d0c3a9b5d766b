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

# start_agent: with the tenants of the file conf.
start_agent() {
	"$ccshimd" --no-capture --verify none --socket agent --tenants conf \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.82 2> agent.err 3>&- 7<&- 8>&- &
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

answer() { read -r -t 300 <&7; }

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
	start_agent
	[ ! -s agent.err ] || { cat agent.err; false; }
	begin /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda1b2c3d4_0000_4000_8000_00000000beef.slice/cri-containerd-0123.scope
	belongs prod-kv-a1b2c3d4 2.5
}

@test "and under the cgroupfs driver" {
	pods | jq -rf "$top_srcdir/tools/deploy/kubernetes-tenants.jq" > conf
	start_agent
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
	start_agent
	[ "$(jq '.tenants | length' status)" -eq 64 ]
}

@test "units of a slice are a tenant by its path, as with systemd-run --slice" {
	printf '%s\n' '[tenant backup]' 'match = cgroup:/backup.slice/*' 'weight = 0.25' \
		'[tenant more]' 'match = cgroup:/backup.sliced/*' > conf
	start_agent
	begin /backup.slice/run-u17.service
	belongs backup 0.25
}

# The agent reads the file of its option, info the system's.
@test "info says why no tenant is in force" {
	[ "$EUID" -eq 0 ] && unshare --mount true || skip "needs mount namespaces"
	file=$("$ccshim" info --tenant $$ | sed -n 's/.* of \(.*\) matches it$/\1/p')
	[ -n "$file" ]
	info() {
		unshare --mount sh -c 'mkdir -p "$1" && mount -t tmpfs none "$1" && cp conf "$1/ccshim.conf" &&
			exec "$2" info --tenant "$3"' sh "${file%/*}" "$ccshim" $$
	}
	echo > conf
	[ "$(info)" = "no tenant: no tenant of $file matches it" ]
	printf '%s\n' '[tenant mine]' 'match = uid:0' 'weight = 3' > conf
	run -0 info
	[[ $output == "tenant mine, weight 3, not in force: no reply from the agent at $PWD/agent"* ]]
	start_agent
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
