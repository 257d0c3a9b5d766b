#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traffic under a plug-in, and under ones that cannot be loaded; and what no signal reaches.

setup() {
	report=$BATS_TEST_TMPDIR/report.json
	aimd=$top_builddir/libshim/examples/.libs/aimd.so
	# Two segments outstanding: slow start, of which an algorithm hears nothing, is short.
	export RIG_KEEP=1 CCSHIM_SEGMENT=4k CCSHIM_CAP=8k CCSHIM_BASE_RTT=20us
	export CCSHIM_REPORT=$report
	export ASAN_OPTIONS=detect_leaks=0 # traffic.c leaves on purpose what it made
}

# traffic, with what it says on stderr in $errors, but for the QP that it has pass.
traffic() {
	"$top_builddir/tests/verbs/traffic" live 2>&1 > /dev/null |
		sed '/: no-shadow-cq$/d' > "$BATS_TEST_TMPDIR/errors"
	errors=$(< "$BATS_TEST_TMPDIR/errors")
}

# traffic that lives until it has heard that no agent answers; that takes a moment.
traffic_told() {
	local try
	for try in {1..50}; do
		traffic
		[ -z "$errors" ] || return 0
	done
	echo "$try runs were told nothing"; return 1
}

check() {
	jq -e "$1" "$report" >/dev/null || { echo "not so: $1"; jq . "$report"; return 1; }
}

@test "a plug-in controls traffic" {
	CCSHIM_CC=$aimd:beta=0.7,target=0 traffic
	[ -z "$errors" ]
	check '.qps | length == 2'
	check '.qps[] | .cc == "aimd" and .parameters.beta == 0.7'
	check '.qps[] | select(.bytes == 8 * 3 * 4096) | .rtt_samples > 0 and .state.decreases > 0'
	check '.qps[] | select(.bytes == 8 * 3 * 4096) | .rate_min_bps < .rate_max_bps'
	CCSHIM_CC=$aimd:target=1s traffic
	check '.qps[] | select(.bytes == 8 * 3 * 4096) | .state.increases == .rtt_samples'
}

@test "one that cannot be loaded leaves traffic alone, with one warning" {
	CCSHIM_CC=/nowhere/x.so traffic
	[ "$errors" = "ccshim: warn: cc: /nowhere/x.so: it cannot be loaded: cannot open shared object file: No such file or directory; traffic passes uncontrolled" ]
	check '.qps == []'
	CCSHIM_CC=$aimd:bta=1 traffic
	[ "$errors" = "ccshim: warn: cc: algorithm aimd has no parameter 'bta'; did you mean 'beta'?; traffic passes uncontrolled" ]
	check '.qps == []'
}

@test "mode off loads none" {
	CCSHIM_MODE=off CCSHIM_CC=/nowhere/x.so traffic
	[ -z "$errors" ]
}

@test "signals that do not come are told once, and traffic flows" {
	command -v cc > /dev/null || skip "no compiler"
	cd "$BATS_TEST_TMPDIR"
	sed 's/CCS_NEEDS_RTT/CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY/' \
		"$top_srcdir/libshim/examples/aimd.c" > needy.c
	cc -shared -fPIC -I"$top_srcdir/libshim/include" needy.c -o needy.so -lm
	CCSHIM_AGENT=off CCSHIM_CC=./needy.so traffic
	[ "$(grep -c . <<< "$errors")" -eq 1 ]
	[[ $errors == *"cc=aimd needs congestion notifications and telemetry, and nothing here delivers"* ]]
	check '.undelivered == ["congestion notifications", "telemetry"]'
	check '.qps[] | select(.bytes == 8 * 3 * 4096) | .cc == "aimd"'
	check '.qps[] | .signals == "none" and .switches == 0'
	CCSHIM_AGENT=$PWD/none.sock CCSHIM_CC=./needy.so traffic_told
	[ "$(grep -c . <<< "$errors")" -eq 1 ]
	[[ $errors == *"no host agent answers (agent=$PWD/none.sock); swift stands in"* ]]
	check '.undelivered == []'
	check '[.qps[].signals] == ["no-agent", "no-agent"]'
	check '.qps[] | select(.bytes > 0) | .switches == 0 and .cc == "swift"'
	CCSHIM_CC=timely traffic
	[ -z "$errors" ]
	check '.undelivered == []'
	check '.qps[] | .signals == "none"'
}
