#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traffic under a plug-in, under plug-ins that cannot be loaded, and without feedback.

setup() {
	report=$BATS_TEST_TMPDIR/report.json
	aimd=$top_builddir/libshim/examples/.libs/aimd.so
	# Two segments outstanding: slow start, which does not use the algorithm, is short.
	export RIG_KEEP=1 CCSHIM_SEGMENT=4k CCSHIM_MAX_INFLIGHT=8k CCSHIM_BASE_RTT=20us
	export CCSHIM_REPORT=$report
	export ASAN_OPTIONS=detect_leaks=0 # traffic.c leaves on purpose what it made
}

# Run traffic; $errors has its stderr, except for the QP that is uncontrolled on purpose.
traffic() {
	"$top_builddir/tests/verbs/traffic" live 2>&1 > /dev/null |
		sed '/: no-shadow-cq$/d' > "$BATS_TEST_TMPDIR/errors"
	errors=$(< "$BATS_TEST_TMPDIR/errors")
}

# Run traffic until it has found that no agent answers, which takes a moment.
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

@test "traffic is uncontrolled if the plug-in cannot be loaded, with one warning" {
	CCSHIM_CC=/nowhere/x.so traffic
	[ "$errors" = "ccshim: warn: cc: /nowhere/x.so: it cannot be loaded: cannot open shared object file: No such file or directory; traffic is uncontrolled" ]
	check '.qps == []'
	CCSHIM_CC=$aimd:bta=1 traffic
	[ "$errors" = "ccshim: warn: cc: algorithm aimd has no parameter 'bta'; did you mean 'beta'?; traffic is uncontrolled" ]
	check '.qps == []'
}

@test "mode off loads no plug-in" {
	CCSHIM_MODE=off CCSHIM_CC=/nowhere/x.so traffic
	[ -z "$errors" ]
}

@test "missing feedback is reported once, and traffic continues" {
	command -v cc > /dev/null || skip "no compiler"
	cd "$BATS_TEST_TMPDIR"
	sed 's/CCS_NEEDS_RTT/CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY/' \
		"$top_srcdir/libshim/examples/aimd.c" > needy.c
	cc -shared -fPIC -I"$top_srcdir/libshim/include" needy.c -o needy.so -lm
	CCSHIM_AGENT=off CCSHIM_CC=./needy.so traffic
	[ "$(grep -c . <<< "$errors")" -eq 1 ]
	[[ $errors == *"cc=aimd needs congestion notifications and telemetry, which nothing here provides"* ]]
	check '.missing_feedback == ["congestion notifications", "telemetry"]'
	check '.qps[] | select(.bytes == 8 * 3 * 4096) | .cc == "aimd"'
	check '.qps[] | .feedback == "none" and .switches == 0'
	CCSHIM_AGENT=$PWD/none.sock CCSHIM_CC=./needy.so traffic_told
	[ "$(grep -c . <<< "$errors")" -eq 1 ]
	[[ $errors == *"(no host agent responds, agent=$PWD/none.sock); using the fallback swift"* ]]
	check '.missing_feedback == []'
	check '[.qps[].feedback] == ["no-agent", "no-agent"]'
	check '.qps[] | select(.bytes > 0) | .switches == 0 and .cc == "swift"'
	CCSHIM_CC=timely traffic
	[ -z "$errors" ]
	check '.missing_feedback == []'
	check '.qps[] | .feedback == "none"'
}
