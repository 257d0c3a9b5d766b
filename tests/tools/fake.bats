#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The command that preloads libfakerdma.so.

load tools.bash

@test "ccshim-fake refuses a path that LD_PRELOAD cannot hold, and variables without a command" {
	mkdir -p 'a b/bin' 'a b/lib/ccshim'
	cp "$top_builddir/tests/fake/ccshim-fake" 'a b/bin'
	touch 'a b/lib/ccshim/libfakerdma.so'
	run 'a b/bin/ccshim-fake' true
	[[ $status -eq 125 && $output == *"LD_PRELOAD cannot hold"*"a b/lib/ccshim/libfakerdma.so"* ]]
	for option in --help --version --path; do
		run sh -c '"$@" > /dev/full' - 'a b/bin/ccshim-fake' $option
		[ "$option: $((status != 0))" = "$option: 1" ]
	done
	run 'a b/bin/ccshim-fake' NAME=value
	[[ $status -eq 2 && $output == usage:* ]]
}
