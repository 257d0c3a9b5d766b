#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# bench/micro/overhead runs, and its JSON is what it says. What it finds is nobody's failure.

overhead() {
	timeout 300 "$top_builddir/bench/micro/overhead" --quick -D 0.1ms "$@"
}

@test "every mode, number of threads, of queue pairs and of WRs a post" {
	overhead --json >"$BATS_TEST_TMPDIR/out"
	jq -e '.rows | length == 24' "$BATS_TEST_TMPDIR/out"
	jq -e '[.rows[] | [.mode, .threads, .qps, .list]] ==
		[["off", "observe", "enforce"][] as $m | [1, 8][] as $t | [1, 10000][] as $q |
		 [1, 32][] as $l | [$m, $t, $q, $l]]' "$BATS_TEST_TMPDIR/out"
	jq -e '.rows | all((.bare_ns > 0) and (.added_ns + .bare_ns > 0) and
		(.added_ns_q1 <= .added_ns) and (.added_ns <= .added_ns_q3) and
		(.added_instructions | type == "number" or . == null))' "$BATS_TEST_TMPDIR/out"
}

@test "some modes, as a table" {
	run overhead --modes off,enforce
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 18 ]
	[ "$(grep -c '^enforce ' <<<"$output")" -eq 8 ]
}

# One thread posts then, and another polls.
@test "a gate that closes loses no completion of the device that does nothing" {
	CCSHIM_CC=fixed:rate=200Mbit overhead --modes enforce >"$BATS_TEST_TMPDIR/out"
	[ "$(grep -c '^enforce ' "$BATS_TEST_TMPDIR/out")" -eq 8 ]
}

@test "what it does not know it refuses" {
	for args in "--modes on" "--modes off," "-D 0" "-D long" "-D 2min" "more"; do
		run overhead $args
		[ "$status" -eq 2 ] || { echo "$args: status $status"; return 1; }
	done
}
