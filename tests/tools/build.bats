#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What contributors use: one test, one step, the commands of the compiler, Ctrl-C.

bats_require_minimum_version 1.5.0
load tools.bash

@test "make check TESTS=PROGRAM builds only this program and what tests preload" {
	local srcdir # as make names the sources
	unset MAKEFLAGS MFLAGS MAKEOVERRIDES # those of a make check that runs this test
	srcdir=$(sed -n 's/^srcdir = //p' "$top_builddir/Makefile")
	make -n -C "$top_builddir" check TESTS=tests/unit/test_rtt > commands
	grep -E '^make -f Makefile .* tests/unit/test_rtt$' commands
	grep '^make -f Makefile check-TESTS' commands > last
	# The second command would not build another test, which the first does not name.
	mapfile -t words < <(tail -n 1 last | xargs -n 1)
	make -n -C "$top_builddir" "${words[@]:1}" TESTS=tests/unit/test_rtt -W "$srcdir/tests/unit/test_rtt_outlier.c" V=1 > rest
	run ! grep -E -- '-o tests/unit/test_rtt_outlier' rest
	make -n -C "$top_builddir" check TESTS=tests/tools/run.bats | grep -q tests/unit/test_rtt_outlier
}

@test "compile_commands.json has each source, and a command that exists" {
	[ ! -e "$top_builddir/compile_commands.json" ] || had=1
	make -s -C "$top_builddir" compile_commands.json > /dev/null
	python3 - "$top_builddir/compile_commands.json" <<-'PY'
		import json, os, shlex, sys
		entries = json.load(open(sys.argv[1]))
		assert len(entries) > 500, len(entries)
		for e in entries:
		    words = shlex.split(e["command"])
		    assert words[-1] == e["file"] and "`" not in e["command"], e
		    assert e["file"].endswith("serve_files.c") or os.path.exists(os.path.join(e["directory"], e["file"])), e
	PY
	[ -n "${had-}" ] || rm "$top_builddir/compile_commands.json"
}

# Processes with MARK in their environment.
marked() { grep -lsz "^MARK=$1\$" /proc/[0-9]*/environ || true; }

@test "Ctrl-C ends a step of ./check, and all that it has started" {
	mark=mark-$$-$RANDOM
	mkdir -p logs
	cat > steps <<-SH
		#!/bin/bash
		set -euo pipefail
		top=$top_srcdir name=steps steps=1
		. "\$top/ci/setup.sh"
		logs=$PWD/logs
		forks() { for i in 1 2 3 4 5; do "\$top/ci/alone" 900 sh -c 'trap "" TERM INT; echo up >>$PWD/up; sleep 800' & done; wait; }
		watch_signals
		run_step 'a step' forks
	SH
	MARK=$mark setsid env --default-signal=INT bash steps > output 2>&1 &
	pid=$!
	until [ "$(grep -c up up 2> /dev/null)" = 5 ]; do kill -0 "$pid"; sleep 0.1; done
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 130 ]
	# Killed processes may be there until their parents have noticed.
	until [ -z "$(marked "$mark")" ]; do sleep 0.1; done
	grep -q 'interrupted in step 1' output
}
