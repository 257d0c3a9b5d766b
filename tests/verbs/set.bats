#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim set, of a program that runs over the fake device.

setup() {
	export RIG_KEEP=1 CCSHIM_CONFIG=$BATS_TEST_TMPDIR/x.conf CCSHIM_CC=none CCSHIM_AGENT=off
	export CCSHIM_REPORT=$BATS_TEST_TMPDIR/report.json ASAN_OPTIONS=detect_leaks=0
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run CCSHIM_BASE_RTT=20us CCSHIM_SEGMENT=4k
	ccshim=$top_builddir/tools/ccshim/ccshim
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	mkfifo "$BATS_TEST_TMPDIR/in"
	: > "$CCSHIM_CONFIG"
}

teardown() {
	exec 8>&-
	[ -z "${pid:-}" ] || wait "$pid" || true
}

# Wait until the program has printed that many lines.
heard() {
	while [ "$(wc -l < "$BATS_TEST_TMPDIR/out")" -lt "$1" ] && kill -0 "$pid"; do
		sleep 0.1
	done
	[ "$(wc -l < "$BATS_TEST_TMPDIR/out")" -ge "$1" ]
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

# Send one more command and wait until it is executed.
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
	run -0 "$ccshim" set -p "$pid" --timeout 3600s "$@"
}

refused() {
	run -1 "$ccshim" set -p "$pid" --timeout 3600s "$@"
}

# The value in the report of a QP.
of() {
	jq -r ".qps[] | select(.lqpn == $1) | $2" "$CCSHIM_REPORT"
}

@test "a file that its owner truncates is reported" {
	begin 10.0.0.1
	file=$XDG_RUNTIME_DIR/ccshim/$pid
	kill -STOP "$pid"
	"$ccshim" set -p "$pid" --timeout 3600s max_rate=1g 2> "$BATS_TEST_TMPDIR/said" 3>&- &
	setter=$!
	until grep "FLOCK.*:$(stat -c %i "$file") " /proc/locks; do kill -0 $setter; sleep 0.05; done
	truncate -s 0 "$file"
	status=0
	wait $setter || status=$?
	kill -KILL "$pid"
	[ "$status" -eq 1 ]
	grep "statistics file was truncated" "$BATS_TEST_TMPDIR/said"
}

@test "max_rate for all, for new queue pairs, and removed again" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	asked max_rate=1g
	[[ $output == *"connected queue pairs changed, and future ones" ]]
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

@test "refusals are reported and change nothing" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	refused max_rate=1g t_low=1us
	[[ $output == *"refused: 't_low' is neither an option nor a parameter of none" ]]
	refused max_rate=1g dscp=5
	[[ $output == *"is connected, and its packets keep their DSCP; use --new to change future connections only" ]]
	refused cc=dcqcn
	[[ $output == *"needs ECN-capable packets"* ]]
	refused --qp 1 max_rate=1g
	[[ $output == *"there is no connected and controlled queue pair 1" ]]
	asked --show
	[[ $output == *"max_rate = inf"* ]]
	asked --new dscp=5 cc=dcqcn
	[ "$output" = "0 connected queue pairs changed, and future ones" ]
	tell "new 10.0.0.2"
	grep -q " 22$" "$BATS_TEST_TMPDIR/out" # DSCP 5, ECT(0)
	! end
	[[ $(< "$BATS_TEST_TMPDIR/errors") == *"cc=dcqcn needs congestion notifications"* ]]
	[ "$(wc -l < "$BATS_TEST_TMPDIR/errors")" = 1 ]
}

@test "a parameter of a plug-in is checked by the process" {
	bats_require_minimum_version 1.5.0
	export CCSHIM_CC=$top_builddir/libshim/examples/.libs/aimd.so
	begin 10.0.0.1
	asked add_rate=20m
	refused bogus=1
	[[ $output == *"refused: 'bogus' is neither an option nor a parameter of aimd" ]]
	end
}

@test "a request that timed out is not applied later" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	tell sleep
	run -3 "$ccshim" set -p "$pid" --timeout 100ms max_rate=1g
	[[ $output == *"has not answered within 100ms: it reads requests when it polls its completion queues, and has not polled; the request is withdrawn. Repeat the command while the process communicates, or with a longer --timeout" ]]
	tell write
	asked --show
	[[ $output == *"max_rate = inf"* ]]
	end
}

@test "statistics files that are missing, of others or damaged are refused" {
	bats_require_minimum_version 1.5.0
	pid=$$
	refused max_inflight=1m
	[[ $output == *"cannot find statistics of process $$"* ]]
	mkdir -m 700 "$XDG_RUNTIME_DIR/ccshim"
	head -c 8192 /dev/zero > "$XDG_RUNTIME_DIR/ccshim/$$"
	refused max_inflight=1m
	[[ $output == *"not a statistics file, or accessible to other users" ]]
	chmod 600 "$XDG_RUNTIME_DIR/ccshim/$$"
	refused max_inflight=1m
	[[ $output == *"is not a statistics file" ]]
	pid=
}

@test "a request that another program overtakes without the lock is reported at once" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	file=$XDG_RUNTIME_DIR/ccshim/$pid
	tell sleep
	"$ccshim" set -p "$pid" --timeout 3600s max_rate=1g 2> "$BATS_TEST_TMPDIR/said" 3>&- 8>&- & setter=$!
	until at=$(grep -abo max_rate=1g "$file" | head -n 1 | cut -d : -f 1) && [ -n "$at" ]; do sleep 0.05; done
	# As if both requests were answered: before the request's line are request_gen, answer_gen, status.
	printf '\004' | dd of="$file" bs=1 seek=$((at - 28)) conv=notrunc status=none
	printf '\004' | dd of="$file" bs=1 seek=$((at - 20)) conv=notrunc status=none
	status=0
	wait "$setter" || status=$?
	[ "$status" -eq 1 ]
	grep "another program sends requests to process $pid without the lock" "$BATS_TEST_TMPDIR/said"
	end
}

@test "a process that ends after it accepted a request is reported at once" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	file=$XDG_RUNTIME_DIR/ccshim/$pid
	tell sleep
	"$ccshim" set -p "$pid" --timeout 3600s max_rate=1g 2> "$BATS_TEST_TMPDIR/said" 3>&- 8>&- & setter=$!
	until at=$(grep -abo max_rate=1g "$file" | head -n 1 | cut -d : -f 1) && [ -n "$at" ]; do sleep 0.05; done
	# As the process does to accept it: the request follows request_gen and two more words, and a line.
	printf '\002' | dd of="$file" bs=1 seek=$((at - 28)) conv=notrunc status=none
	kill -KILL "$pid"
	wait "$pid" || true
	pid=
	status=0
	wait $setter || status=$?
	[ "$status" -eq 1 ]
	[[ $(< "$BATS_TEST_TMPDIR/said") == "ccshim set: process "*" ended before it answered" ]]
}

@test "a request left by a killed tool is withdrawn" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	tell sleep
	"$ccshim" set -p "$pid" --timeout 3600s max_rate=1g 3>&- 8>&- & killed=$!
	until grep -aq max_rate=1g "$XDG_RUNTIME_DIR/ccshim/$pid"; do sleep 0.05; done
	kill -9 $killed
	wait $killed || true
	run -3 "$ccshim" set -p "$pid" --timeout 100ms max_inflight=1m
	tell write
	asked --show
	[[ $output == *"max_rate = inf"*"max_inflight = auto"* ]]
	end
}

@test "usage" {
	bats_require_minimum_version 1.5.0
	run -0 "$ccshim" set -h
	[[ $output == "usage: ccshim set -p PID"* ]]
	for words in "" "max_inflight=1m" "-p 1" "-p 0 max_inflight=1m" "-p x max_inflight=1m" "-p 1 max_inflight" "-p 1 --show max_inflight=1m" \
		"-p 1 --qp 3 --peer ::1 max_inflight=1m" "-p 1 --qp x max_inflight=1m" "-p 1 --peer 10.0.0 max_inflight=1m" \
		"-p 1 --timeout soon max_inflight=1m" "-p 1 --qp 3 --new max_inflight=1m"; do
		# shellcheck disable=SC2086 # words
		run -2 "$ccshim" set $words
	done
	run -2 "$ccshim" set -p 1 --qp x max_inflight=1m
	[[ $output == *"qp: 'x' is not a queue pair number" ]]
	sleep 0 & # a number that is free by the time
	wait "$!"
	run -1 "$ccshim" set -p "$!" max_inflight=1m
	[[ $output == *"there is no process $!" ]]
}

# ccshim with those arguments, where no statistics are but this test's: others run at this time. It
# may not inspect other mount namespaces.
alone() {
	unshare -m sh -c 'mount -t tmpfs none /run && exec setpriv --bounding-set -sys_ptrace "$@"' sh \
		"$ccshim" "$@"
}

@test "a process of another user is called so" {
	bats_require_minimum_version 1.5.0
	[ "$EUID" -eq 0 ] || skip "not root"
	run -1 setpriv --reuid 65534 --clear-groups "$ccshim" set -p $$ max_rate=1g
	[[ $output == "ccshim set: process $$ belongs to another user; changing its settings requires that user or root" ]]
}

@test "a request to every process reaches those that poll later, too" {
	bats_require_minimum_version 1.5.0
	[ "$EUID" -eq 0 ] && unshare -m true 2> /dev/null || skip "not root, or no mount namespaces"
	run -1 alone set --all max_rate=1g
	[[ $output == *"no process runs under ccshim"* ]]
	begin 10.0.0.1
	run -0 alone set --all --timeout 3600s max_rate=2g
	[[ $output == *"$pid sections: "*" connected queue pairs changed, and future ones" ]]
	tell sleep
	run -3 alone set --all --timeout 100ms max_rate=1g
	[[ $output == *"$pid sections: pending: it has not answered within 100ms, since it reads requests when it polls"*"Repeat the command to see its answer" ]]
	tell write
	run -0 alone set --all --timeout 3600s --show
	[[ $output == *"$pid sections: max_rate = 1g"* ]]
	end
	[ "$(of "${qpn[0]}" .rate_bps)" = 1000000000 ]
}

@test "a pending request that is refused later is logged once and shown" {
	bats_require_minimum_version 1.5.0
	[ "$EUID" -eq 0 ] && unshare -m true 2> /dev/null || skip "not root, or no mount namespaces"
	begin 10.0.0.1
	tell sleep
	run -3 alone set --all --timeout 100ms cc=dcqcn
	tell write
	tell write
	run -0 "$ccshim" stat -p "$pid" --json
	[[ $(jq -r '.processes[].refused_request' <<< "$output") == "cc: dcqcn needs ECN-capable packets"* ]]
	run -0 "$ccshim" stat -p "$pid"
	[[ $output == *"refused the last request: cc: dcqcn needs ECN-capable packets"* ]]
	# A request whose answer is printed is neither logged nor shown.
	refused cc=dcqcn
	[[ $("$ccshim" stat -p "$pid") != *refused* ]]
	! end
	[[ $(< "$BATS_TEST_TMPDIR/errors") == "ccshim: warn: refused a pending request of 'ccshim set': cc: dcqcn needs ECN-capable packets"* ]]
	[ "$(wc -l < "$BATS_TEST_TMPDIR/errors")" = 1 ]
}

@test "names of other users' programs do not control the terminal" {
	bats_require_minimum_version 1.5.0
	begin 10.0.0.1
	file=$XDG_RUNTIME_DIR/ccshim/$pid
	at=$(grep -abo sections "$file" | head -n 1 | cut -d : -f 1)
	printf '\033[31m' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	run -0 "$ccshim" stat -p "$pid"
	[[ $output == *"?[31mons"* && $output != *$'\033'* ]]
	# C1 controls and a bidirectional override, in all that is printed.
	printf '\xc2\x9b\xe2\x80\xae' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	for print in "stat -p $pid" "stat -p $pid --json" "stat --prometheus" "set --all --show"; do
		run "$ccshim" $print
		[[ $output != *$'\xc2\x9b'* && $output != *$'\xe2\x80\xae'* ]] || { echo "$print: $output"; false; }
	done
	end
}
