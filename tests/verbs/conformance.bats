#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# tests/conformance tells what is worse: with a `ccshim run` that is no shim at all, on
# the fake device.

setup() {
	! nm -D "$top_builddir/.libs/libfakerdma.so" | grep -Eq '__[at]san_' ||
		skip "programs without a sanitizer"
	command -v ibv_rc_pingpong >/dev/null || skip "no ibv_rc_pingpong"
	unset LD_PRELOAD
	cd "$BATS_TEST_TMPDIR"
	mkdir -p tools/ccshim
	ln -s "$top_builddir/.libs" .libs
	echo libfakerdma.la: >Makefile
}

# compared SCRIPT [ARG…]: SCRIPT is what `ccshim run -m observe "$@"` does.
compared() {
	printf '#!/bin/bash\nshift 3\n%s\n' "$1" >tools/ccshim/ccshim
	chmod +x tools/ccshim/ccshim
	status=0
	top_builddir=$PWD "$top_srcdir/tests/conformance" --engine fake --modes observe \
		--only '^ibv_rc_pingpong -c -n' --json all.json "${@:2}" >said || status=$?
	cat said
	verdicts=$(jq -r '.runs[].results[] | "\(.mode) \(.verdict)"' all.json | paste -sd ' ')
}

@test "what does the same is no worse" {
	compared 'exec "$@"'
	[[ $status -eq 0 && $verdicts == 'bare pass observe pass' ]]
	grep '^ok 1 - ibv_rc_pingpong' said
}

@test "what fails is worse" {
	compared '"$@"; exit 3'
	[[ $status -eq 1 && $verdicts == 'bare pass observe fail' ]]
	grep '^not ok 1' said
}

@test "other words are worse" {
	compared 'echo there is a shim; exec "$@"'
	[[ $status -eq 1 && $verdicts == 'bare pass observe fail' ]]
	grep 'says something else: .*there is a shim' said
}

@test "a process that dies is worse" {
	compared 'kill -KILL $$'
	[[ $status -eq 1 && $verdicts == 'bare pass observe fail' ]]
}

@test "what fails once is told" {
	compared '[[ -e ../../../stumbled ]] || { touch ../../../stumbled; exit 1; }; exec "$@"'
	[[ $status -eq 0 && $verdicts == 'bare pass observe once' ]]
}

@test "what fails bare does not count, nor is it enough" {
	compared 'exec "$@"' --full --only '^ibv_rc_pingpong -c -n 100 -j'
	[[ $status -eq 125 && $verdicts == 'bare fail' ]]
	grep '^ok 1 .* # SKIP fails bare' said
}

@test "tests of a suite that are not run are worse, one by one" {
	/usr/bin/python3 -c 'import pyverbs.cq' || skip "no pyverbs"
	compared 'kill -KILL $$' --only '^pyverbs'
	[[ $status -eq 1 && $verdicts != *'observe pass'* ]]
	[[ $(jq '[.runs[].results[] | select(.mode == "observe" and .reason == "it did not run")] | length
		' all.json) -eq $(grep -o 'bare pass' <<<"$verdicts" | wc -l) ]]
}

@test "a lab that dies is worse, and the next case has another" {
	compared 'kill -KILL $(ps -o ppid= $PPID)' --only '^ibv_rc_pingpong'
	[[ $status -eq 1 && $verdicts == 'bare pass observe fail bare pass observe fail' ]]
	[[ $(jq -r '.runs[].results[] | select(.mode == "observe").reason' all.json | uniq) == \
		'the lab ended' ]]
}
