#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The commands of bench/scripts/fabric.rows.

load tools.bash

@test "every command of bench/scripts/fabric.rows runs, every script exists" {
	ccfabric=$(realpath "$top_builddir")/bench/ccfabric/ccfabric
	[ -x "$ccfabric" ] || skip "ccfabric is not built"
	PATH=${ccfabric%/*}:$(realpath "${ccshim%/*}"):$PATH
	cd "$top_srcdir"
	n=0
	while read -r words; do
		n=$((n + 1))
		case $words in
			bench/*) [ -x "${words%% *}" ] ;;
			*)
				# shellcheck disable=SC2086 # words
				run2 $words
				# doctor finds no device where there is none.
				[[ $status -eq 0 || $words$status == "ccshim doctor1" ]] && [ -n "$output" ] || { echo "$words: $status: $errors"; return 1; }
				;;
		esac
	done < <(grep '^[^#]' bench/scripts/fabric.rows)
	[ "$n" -ge 47 ]
}
