#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim set, of a program that runs over the fake device.

setup() {
	export RIG_KEEP=1 CCSHIM_CONFIG=$BATS_TEST_TMPDIR/x.conf CCSHIM_CC=none CCSHIM_AGENT=off
	export CCSHIM_REPORT=$BATS_TEST_TMPDIR/report.json ASAN_OPTIONS=detect_leaks=0
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run CCSHIM_BASE_RTT=20us CCSHIM_SEGMENT=4k
	ccshim=$top_builddir/tools/ccshim
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	mkfifo "$BATS_TEST_TMPDIR/in"
	: > "$CCSHIM_CONFIG"
}

teardown() {
	exec 8>&-
	[ -z "${pid:-}" ] || wait "$pid" || true
}

# Until the program has said as much as that; a minute is for the slowest machine.
heard() {
	for ((i = 0; i < 600; i++)); do
		[ "$(wc -l < "$BATS_TEST_TMPDIR/out")" -lt "$1" ] || return 0
		sleep 0.1
	done
	echo "the program says nothing"
	return 1
}

# A QP for each argument; $qpn has their numbers.
begin() {
	: > "$BATS_TEST_TMPDIR/out" # heard reads it, maybe before the shell below creates it
	"$top_builddir/tests/verbs/sections" "$@" < "$BATS_TEST_TMPDIR/in" \
		> "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/errors" 3>&- &
	pid=$!
	exec 8> "$BATS_TEST_TMPDIR/in"
	heard $#
	mapfile -t qpn < <(cut -d ' ' -f 1 "$BATS_TEST_TMPDIR/out")
}

# The program does one thing more, and has done it.
tell() {
	local lines
	lines=$(wc -l < "$BATS_TEST_TMPDIR/out")
	echo "$1" >&8
	heard $((lines + 1 + $(grep -c "^new" <<< "$1" || true)))
}

end() {
	exec 8>&-
	wait "$pid"
	pid=
	cat "$BATS_TEST_TMPDIR/errors"
	[ ! -s "$BATS_TEST_TMPDIR/errors" ]
}

asked() {
	run -0 "$ccshim" set -p "$pid" --timeout 60s "$@"
}

refused() {
	run -1 "$ccshim" set -p "$pid" --timeout 60s "$@"
}

# What the report says of a QP.
of() {
	jq -r ".qps[] | select(.lqpn == $1) | $2" "$CCSHIM_REPORT"
}

@test "a cap for all, for those to come, and none again" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	asked max_rate=1g
	[[ $output == *"connected queue pairs changed, and those to come" ]]
	asked --show
	[[ $output == *"max_rate = 1g"* ]]
	tell write
	tell "new 10.0.0.2"
	mapfile -t qpn < <(sed '/done/d; s/ .*//' "$BATS_TEST_TMPDIR/out")
	end
	[ "$(of "${qpn[0]}" .rate_bps)" = 1000000000 ]
	[ "$(of "${qpn[1]}" .rate_bps)" = 1000000000 ]
	[ "$(of "${qpn[1]}" '.gated_us > 0')" = true ]
}

@test "one queue pair, a peer, and algorithms with parameters" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1 10.0.0.1 192.0.2.1
	asked --qp "${qpn[0]}" cc=timely beta=0.25
	[ "$output" = "1 connected queue pair changed" ]
	asked --peer 192.0.2.0/24 cc=fixed:rate=2g
	asked --qp "${qpn[0]}" --show
	[[ $output == *"cc = timely:beta=0.25"* ]]
	asked --peer 192.0.2.77 --show
	[[ $output == *"cc = fixed:rate=2g"* ]]
	asked --qp "${qpn[0]}" alpha=0.5
	tell write
	end
	[ "$(of "${qpn[0]}" '"\(.cc) \(.parameters.beta) \(.parameters.alpha)"')" = "timely 0.25 0.5" ]
	[ "$(of "${qpn[1]}" .cc)" = none ]
	[ "$(of "${qpn[2]}" '"\(.cc) \(.rate_bps)"')" = "fixed 2000000000" ]
}

@test "what is refused is told, and changes nothing" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	refused max_rate=1g mode=of
	[[ $output == *"refused: mode: 'of' is not one of off|observe|enforce; did you mean 'off'?" ]]
	refused max_rate=1g report=/tmp/x
	[[ $output == *"report is the whole process's and stays as it began" ]]
	refused max_rate=1g dscp=5
	[[ $output == *"is connected, and its packets keep theirs; '--new' is for those to come" ]]
	refused cc=dcqcn
	[[ $output == *"needs packets that can be marked"* ]]
	refused --qp 1 max_rate=1g
	[[ $output == *"there is no connected queue pair 1 under control" ]]
	asked --show
	[[ $output == *"max_rate = inf"* ]]
	asked --new dscp=5 cc=dcqcn
	[ "$output" = "0 connected queue pairs changed, and those to come" ]
	tell "new 10.0.0.2"
	grep -q " 22$" "$BATS_TEST_TMPDIR/out" # DSCP 5, ECT(0)
	! end
	[[ $(< "$BATS_TEST_TMPDIR/errors") == *"cc=dcqcn needs congestion notifications"* ]]
	[ "$(wc -l < "$BATS_TEST_TMPDIR/errors")" = 1 ]
}

@test "who is asleep has changed nothing when it wakes" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	tell sleep
	run -3 "$ccshim" set -p "$pid" --timeout 100ms max_rate=1g
	[[ $output == *"did not look within 100ms: it polls none of its completion queues just now; nothing is changed"* ]]
	tell write
	asked --show
	[[ $output == *"max_rate = inf"* ]]
	end
}

@test "whose page is not there, not ours, or no page" {
	bats_require_minimum_version 1.5.0
	pid=$$
	refused cap=1m
	[[ $output == *"process $$ shows nothing of itself to you"* ]]
	mkdir -m 700 "$XDG_RUNTIME_DIR/ccshim"
	head -c 8192 /dev/zero > "$XDG_RUNTIME_DIR/ccshim/$$"
	refused cap=1m
	[[ $output == *"it is no statistics page, or not yours alone" ]]
	chmod 600 "$XDG_RUNTIME_DIR/ccshim/$$"
	refused cap=1m
	[[ $output == *"is no statistics page" ]]
	pid=
}

@test "a program that left a request behind is none the worse" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	tell sleep
	"$ccshim" set -p "$pid" --timeout 60s max_rate=1g 3>&- 8>&- & killed=$!
	sleep 0.2
	kill -9 $killed
	wait $killed || true
	run -3 "$ccshim" set -p "$pid" --timeout 100ms cap=1m
	tell write
	asked --show
	[[ $output == *"max_rate = inf"*"cap = auto"* ]]
	end
}

@test "usage" {
	bats_require_minimum_version 1.5.0
	run -0 "$ccshim" set -h
	[[ $output == "usage: ccshim set -p PID"* ]]
	for words in "" "cap=1m" "-p 1" "-p 0 cap=1m" "-p x cap=1m" "-p 1 cap" "-p 1 --show cap=1m" \
		"-p 1 --qp 3 --peer ::1 cap=1m" "-p 1 --qp x cap=1m" "-p 1 --peer 10.0.0 cap=1m" \
		"-p 1 --timeout soon cap=1m" "-p 1 --qp 3 --new cap=1m"; do
		# shellcheck disable=SC2086 # words
		run -2 "$ccshim" set $words
	done
	run -2 "$ccshim" set -p 1 --qp x cap=1m
	[[ $output == *"qp: 'x' is not a queue pair's number" ]]
	sleep 0 & # a number that is free by the time
	wait "$!"
	run -1 "$ccshim" set -p "$!" cap=1m
	[[ $output == *"there is no process $!" ]]
}
