#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# bench/micro/overhead runs, and its JSON is what it says. What it finds is nobody's failure.

load ../tools/terminal.bash

overhead() {
	"$top_builddir/bench/micro/overhead" --quick -D 0.1ms "$@"
}

@test "every mode, number of threads, of queue pairs and of WRs a post" {
	overhead --json >"$BATS_TEST_TMPDIR/out"
	jq -e '.rows | length == 63' "$BATS_TEST_TMPDIR/out"
	jq -e '[.rows[] | select(.kind | test("^[0-9]+$")) | [.mode, .threads, .qps, .list]] ==
		[["off", "observe", "enforce"][] as $m | [1, 8][] as $t | [1, 10000][] as $q |
		 [1, 32][] as $l | [$m, $t, $q, $l]]' "$BATS_TEST_TMPDIR/out"
	jq -e '[.rows[] | select(.list == 0) | [.mode, .qps]] ==
		[["off", "observe", "enforce"][] as $m | [1, 64, 1000, 10000][] as $q | [$m, $q]]' \
		"$BATS_TEST_TMPDIR/out"
	jq -e '.rows | all((.bare_ns > 0) and (.added_ns + .bare_ns > 0) and
		(.added_ns_q1 <= .added_ns) and (.added_ns <= .added_ns_q3) and
		(.added_instructions | type == "number" or . == null))' "$BATS_TEST_TMPDIR/out"
}

@test "some modes, as a table" {
	run overhead --modes off,enforce
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 44 ]
	[ "$(grep -c '^enforce ' <<<"$output")" -eq 21 ]
}

# One thread posts then, and another polls.
@test "a gate that closes loses no completion of the device that does nothing" {
	CCSHIM_CC=fixed:rate=1Gbit overhead --modes enforce >"$BATS_TEST_TMPDIR/out"
	[ "$(grep -c '^enforce ' "$BATS_TEST_TMPDIR/out")" -eq 21 ]
}

@test "what it does not know it refuses" {
	for args in "--modes on" "--modes off," "-D 0" "-D long" "-D 2min" "more"; do
		run overhead $args
		[ "$status" -eq 2 ] || { echo "$args: status $status"; return 1; }
	done
}

@test "the aims of the cost stand beside what was measured" {
	overhead --json --modes enforce >"$BATS_TEST_TMPDIR/out"
	jq -e '[.rows[] | [.aim_ns, .aim_instructions]] ==
		[[20, 250], [6, 250], [45, 250], [null, 250], [20, 250], [6, 250], [45, 250],
		 [null, 250], [5, null], [5, null], [5, null], [5, null], [250, null], [20, 250],
		 [null, null], [null, 250], [20, 250], [20, 250], [null, 600],
		 [null, 600], [null, 600]]' \
		"$BATS_TEST_TMPDIR/out"
}

@test "the progress is erased when Ctrl-C ends the program" {
	cd "$BATS_TEST_TMPDIR"
	interrupted bare "$top_builddir/bench/micro/overhead" -D 60s
	[ "$status" -eq 130 ] && [ "$(tail -c 4 screen)" = $'\r\e[K' ] || { cat -A screen; return 1; }
}
