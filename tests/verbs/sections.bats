#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Sections of a configuration file apply to queue pairs when they are connected.

setup() {
	export RIG_KEEP=1 CCSHIM_CONFIG=$BATS_TEST_TMPDIR/x.conf
	export CCSHIM_REPORT=$BATS_TEST_TMPDIR/report.json ASAN_OPTIONS=detect_leaks=0
}

# Each argument is a QP. $got has the settings of each from the report, one per line.
connect() {
	out=$("$top_builddir/tests/verbs/sections" "$@" < /dev/null 2> "$BATS_TEST_TMPDIR/errors")
	errors=$(cat "$BATS_TEST_TMPDIR/errors")
	got=$(while read -r qpn class; do
		jq -r --arg qpn "$qpn" --arg class "$class" '.qps[] | select(.lqpn == ($qpn | tonumber)) |
			"\(.cc) \(.segments) \($class) \(.parameters.rate // 0)"' "$CCSHIM_REPORT"
	done <<< "$out")
}

is() {
	[ "$got" = "$1" ] || { echo "expected: $1"; echo "got: $got"; echo "$errors"; return 1; }
}

@test "the first section that matches peer, DSCP and service level applies" {
	cat > "$CCSHIM_CONFIG" <<-'END'
		cc = none
		segment = 4k
		base_rtt = 20us

		[peer 10.1.0.0/16]
		cc = fixed:rate=5g
		[peer 10.0.0.0/8]
		cc = swift
		segment = 8k
		[peer fe80::/10]
		segment = 16k
		[dscp 26 sl 3]
		segment = 20k
	END
	connect 10.1.2.3 10.2.2.3 192.168.0.1 fe80::5 - 192.168.0.1,26,3 192.168.0.1,26,4 -,26,3
	is "fixed 5 0 5000000000
swift 5 0 0
none 10 0 0
none 3 0 0
none 10 0 0
none 2 104 0
none 10 104 0
none 10 104 0"
	[ -z "$errors" ]
}

@test "mode and ECN are set per section" {
	cat > "$CCSHIM_CONFIG" <<-'END'
		cc = timely
		segment = 4k
		base_rtt = 20us
		[peer 10.0.0.0/24]
		mode = off
		[peer 10.0.1.0/24]
		mode = observe
		[peer 10.0.2.0/24]
		cc = dcqcn
		dscp = 30
	END
	CCSHIM_AGENT=off CCSHIM_LOG_LEVEL=error connect 10.0.0.1 10.0.1.1 10.0.2.1 10.0.3.1
	is "none 1 0 0
timely 1 0 0
dcqcn 10 122 0
timely 10 0 0"
}

@test "a section can enable control in a process with mode off" {
	printf 'mode = off\nsegment = 4k\ncc = none\n[peer 10.0.0.0/24]\nmode = enforce\n' > "$CCSHIM_CONFIG"
	connect 10.0.0.1 10.0.1.1
	is "none 10 0 0
none 1 0 0"
	rm "$CCSHIM_REPORT"
	CCSHIM_MODE=off connect 10.0.0.1
	[ ! -e "$CCSHIM_REPORT" ] || [ "$(jq '.qps | length' "$CCSHIM_REPORT")" = 0 ]
}

@test "the environment takes precedence over every section" {
	printf '[peer ::/0]\ncc = none\nsegment = 8k\n' > "$CCSHIM_CONFIG"
	CCSHIM_CC=fixed:rate=5g connect fe80::1
	is "fixed 5 0 5000000000"
}

@test "sections of other programs and invalid ones do not apply" {
	cat > "$CCSHIM_CONFIG" <<-'END'
		cc = none
		segment = 4k
		[app "other" peer ::/0]
		segment = 8k
		[pear 10.0.0.0/8]
		segment = 16k
		[app "sect*" peer 10.0.0.0/8]
		segmnt = 8k
		segment = 20k
	END
	connect 10.0.0.1
	is "none 2 0 0"
	[[ $errors == *"x.conf:5: unknown section key 'pear'; did you mean 'peer'?; the section is ignored"* ]]
	[[ $errors == *"x.conf:8: there is no option 'segmnt'; did you mean 'segment'?"* ]]
}

@test "conflicting settings of a section are reported once, and the default applies" {
	printf 'cc = none\nsegment = 4k\n[peer 10.0.0.0/24]\nmax_inflight = 1k\n' > "$CCSHIM_CONFIG"
	connect 10.0.0.1 10.0.0.2 10.0.1.1
	is "none 10 0 0
none 10 0 0
none 10 0 0"
	[ "$(grep -c "max_inflight: it is smaller than one segment of 4k; raise it or lower segment; the default auto is used" <<< "$errors")" = 1 ]
}

@test "queue pairs are uncontrolled if their algorithm cannot be loaded" {
	printf 'cc = none\nsegment = 4k\n[peer 10.0.0.0/24]\ncc = /nowhere/x.so\n' > "$CCSHIM_CONFIG"
	connect 10.0.0.1 10.0.1.1
	is "none 1 0 0
none 10 0 0"
	[[ $errors == *"/nowhere/x.so"* ]]
}
