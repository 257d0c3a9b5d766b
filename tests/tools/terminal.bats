#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What ./demo, ./check and ci/lab/lab print fits on a terminal of 80 columns.

load tools.bash

# fits WIDTH: no line on stdin is wider.
fits() {
	awk -v width="$1" 'length > width { print "too wide: " $0; bad = 1 } END { exit bad }'
}

# on_terminal COLUMNS: run the script on stdin on a terminal so wide, after ci/setup.sh. What it
# draws is in `drawn`, a line for each time that the cursor returned to the first column.
on_terminal() {
	command -v script > /dev/null || skip "no script"
	{
		echo "stty cols $1; set -e; top=$(printf %q "$PWD") name=./demo steps=12 logs=$(printf %q "$PWD")"
		echo ". $(printf %q "$top_srcdir/ci/setup.sh")"
		cat
	} > script.bash
	script -qefc "bash script.bash" /dev/null < /dev/null > typescript
	tr '\r' '\n' < typescript | sed 's/\x1b\[K//g' > drawn
}

@test "the help of the programs of the source tree fits" {
	for program in demo check ci/lab/lab; do
		"$top_srcdir/$program" --help | LC_ALL=C.UTF-8 fits 80
	done
	for scenario in incast alltoall; do
		"$top_builddir/bench/ccbench/ccbench" $scenario --help | fits 80
	done
	"$top_builddir/bench/ccfabric/ccfabric" run --help | fits 80
}

@test "a line that is redrawn is shorter than the terminal is wide" {
	on_terminal 60 <<'SH'
run_step "a title of some length" sh -c 'printf "%0200d\n" 5; until grep -q "$(printf "\033")" typescript; do sleep 0.1; done'
finish_line "ok, $(clock "$seconds")"
SH
	grep -q '^\[ 1/12\] .*a title of some' drawn
	grep -v ok, drawn | fits 59
	on_terminal 100 <<'SH'
run_step "a title" sh -c 'printf "%0200d\n" 5; until grep -q 0000000000000000000000000 typescript; do sleep 0.1; done'
SH
	fits 99 < drawn
	grep -q 0000000000000000000000000 drawn
}

@test "results, skips and failures of steps fit" {
	on_terminal 80 <<'SH'
run_step "applications, with and without shim" true
finish_line "FAILED, 12:34, 123 passed, 12 failed, 123 skipped"
run_step "packages" skip "as root: apt-get install $(printf 'package-%d ' {1..30})"
finish_line "$(tail -n 1 "$log")"
printf '%0500d\n' 5 >long
show_tail long
complain "this message has $(printf 'many %.0s' {1..30})words"
SH
	fits 80 < drawn
	grep -q '^    FAILED, 12:34, 123 passed' drawn || { cat -A drawn; false; }
	grep -q 'package-30' drawn
}

@test "messages of the lab fit on a terminal, and are one line elsewhere" {
	on_terminal 80 <<SH
"$top_srcdir/ci/lab/lab" --ecn $(printf '1%.0s' {1..90}):1kb:0.1 -- true || true
"$top_srcdir/ci/lab/lab" --build "/no/such/directory/with/a/name" --time virtual -- true || true
SH
	grep -q 'no build tree' drawn
	grep -v 1111 drawn | fits 80
	refused "$top_srcdir/ci/lab/lab" --build "/no/such/directory/with/a/name" --time virtual -- true
	[ "$(wc -l <<< "$errors")" -eq 1 ]
}
