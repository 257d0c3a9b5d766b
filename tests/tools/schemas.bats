#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Output as JSON has the form that docs/schemas/ describes.

load tools.bash
bats_require_minimum_version 1.5.0

traffic=$top_builddir/tests/verbs/traffic shown=$top_builddir/tests/verbs/shown

needs_jsonschema() {
	/usr/bin/python3 -c 'import jsonschema' 2> /dev/null || skip "no python3-jsonschema"
}

# valid SCHEMA FILE
valid() { /usr/bin/python3 "$top_srcdir/tests/tools/schema.py" "$top_srcdir/docs/schemas/$1.json" < "$2"; }

@test "ccshim info" {
	needs_jsonschema
	for options in --versions -c -f -a -d "--versions -cad"; do
		$ccshim info $options --json > info.json || [ "$options" = -d ]
		valid info info.json
	done
	printf '[peer 10.0.0.0/8]\nmode = observe\n' > conf
	CCSHIM_CONFIG=$PWD/conf $ccshim info -c --json > info.json
	[ "$(jq '.others | length' info.json)" -eq 1 ]
	valid info info.json
	LD_PRELOAD=$standin $ccshim info -d --json > info.json
	[ "$(jq '.devices | length' info.json)" -gt 0 ]
	valid info info.json
}

@test "ccshim check" {
	needs_jsonschema
	$ccshim check --json > check.json || true
	valid check check.json
	$ccshim check --json -- true > check.json || true
	valid check check.json
	[ "$(jq -r .command check.json)" = true ]
}

@test "ccshim doctor" {
	needs_jsonschema
	$ccshim doctor -i 0.1 --json > doctor.json || [ $? -eq 1 ]
	valid doctor doctor.json
}

@test "the report of a process, with each algorithm" {
	needs_jsonschema
	export RIG_KEEP=1 CCSHIM_REPORT=$PWD/report.json CCSHIM_LOG_LEVEL=error CCSHIM_AGENT=$PWD/none.sock
	for cc in none timely swift copa dcqcn hpcc rcp fixed:rate=1g; do
		CCSHIM_CC=$cc SLURM_JOB_ID=17 SLURM_PROCID=3 "$traffic" live
		valid report report.json
		[ "$(jq '.qps | length' report.json)" -eq 2 ]
		jq -e '.schema == 1 and .run_s >= 0 and .time > 1e9 and .job == "17" and .rank == 3' report.json
	done
	# What the schema does not have is found.
	jq '.qps[0].bytes = "many" | .more = 1 | del(.time)' report.json > wrong.json
	run ! valid report wrong.json
	[ "${#lines[@]}" -eq 3 ]
}

@test "failures, and the account of them" {
	needs_jsonschema
	export RIG_KEEP=1 CCSHIM_FAILURES=$PWD/failed.json CCSHIM_LOG_LEVEL=error CCSHIM_AGENT=$PWD/none.sock
	for impair in retry:3 rnr:3 port:3 access:0; do
		rm -f failed.json
		CCSHIM_IMPAIR=$impair SLURM_JOB_ID=17 SLURM_PROCID=3 "$traffic" live || true
		valid failures failed.json
		jq -e '(.failures | length) == 1 and .job == "17" and .rank == 3' failed.json
		conforms failures "$ccshim" doctor --json failed.json
	done
	rm -f failed.json
	"$traffic" destroy
	valid failures failed.json
	jq -e '.ended | length > 0' failed.json
}

@test "ccshim stat, totals and deltas" {
	needs_jsonschema
	export RIG_KEEP=1 XDG_RUNTIME_DIR=$PWD
	mkfifo in said
	SLURM_JOB_ID=17 "$shown" < in > said 2> /dev/null &
	app=$!
	exec 8> in 7< said
	read -r -t 3600 <&7
	echo 'write 10' >&8
	read -r -t 3600 <&7
	$ccshim stat -p "$app" --json > stat.json
	$ccshim stat -p "$app" -i 0.1 -n 1 --json > deltas.json
	$ccshim doctor --record "$app" > record.json
	exec 8>&-
	wait "$app"
	valid failures record.json
	valid stat stat.json
	valid stat deltas.json
	jq -e '.processes[0].job == "17" and .processes[0].totals.wrs == 10' stat.json
	jq -e 'has("interval_s")' deltas.json
}

# conforms TO COMMAND...: its output, with a status that says what it found.
conforms() {
	"${@:2}" > "$1.json" || [ $? -eq 1 ]
	valid "$1" "$1.json"
}

@test "ccshim plan, each calculation" {
	needs_jsonschema
	printf '%s\n' '3 1 2' 2 '0 2 100Gbps 500ns 0' '1 2 25Gbps 75ns 0' > topo
	while read -r words; do
		# shellcheck disable=SC2086 # words
		conforms plan "$ccshim" plan $words --json
		[ "$(jq -r .calculation plan.json)" = "${words%% *}" ]
	done <<- END
		headroom --explain
		headroom --all $PWD/topo
		buffer
		thresholds --check 5k:20k
		ecn --pps 2227007 --check 1:1400 --poll 50us --weight 1/4
		deadlock --clos 4x2 --failures 2
		deadlock --clos 4x2 --transient --fail t0-a0
		deadlock --clos 4x2
		qos
		qos --format tc --dev eth0
	END
}

@test "ccfabric run, scenario and matrix" {
	needs_jsonschema
	ccfabric=$top_builddir/bench/ccfabric/ccfabric
	[ -x "$ccfabric" ] || skip "ccfabric is not built"
	short=(--topology star:3@100g --flows incast:2,64k)
	conforms ccfabric-run "$ccfabric" run -q "${short[@]}" --cc dcqcn --out_json -
	conforms ccfabric-run "$ccfabric" run -q "${short[@]}" --for 5us --out_json -
	conforms ccfabric-scenario "$ccfabric" scenario collective --cc copa --out_json -
	conforms ccfabric-scenario "$ccfabric" scenario kv --for 20us --warmup 0 --out_json -
	echo "some delivered ${short[*]} --warmup 2us --for 50us" > few
	echo "port full=receivers ${short[*]} --warmup 2us --for 10us" >> few
	echo 'later not-run because of this' >> few
	conforms ccfabric-matrix "$ccfabric" matrix -q --models few --cc none --cc auto --json
	[ "$(jq '.models | length' ccfabric-matrix.json)" -eq 6 ]
}

@test "ccshimd --status" {
	needs_jsonschema
	agent=("$top_builddir/tools/ccshimd/ccshimd" --socket "$PWD/agent.sock")
	"${agent[@]}" --no-capture --verify none --port $((20000 + RANDOM % 10000)) --address 127.0.0.79 \
		2> agent.err 3>&- &
	until "${agent[@]}" --status > agent.json 2> /dev/null; do
		kill -0 $! || { cat agent.err; return 1; }
		sleep 0.05
	done
	kill $!
	wait $! || true
	valid agent agent.json
}

@test "every schema has a title and describes the head of its document" {
	for schema in "$top_srcdir"/docs/schemas/*.json; do
		jq -e '.title and .description and (["schema", "version", "host", "time"] - .required == [])' "$schema"
	done
}
