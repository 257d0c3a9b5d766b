#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# docs/notebook/theory.md: its claims hold in the simulators.

load tools.bash

theory() {
	"$top_srcdir/bench/scripts/theory" --build "$top_builddir" "$@"
}

# claims FILE: the number, figure, model and row of each
claims() {
	grep '^| [RC][0-9]' "$1" | cut -d '|' -f 2,3,4,7
}

@test "what the models of rcp and copa predict is what the simulators have" {
	theory > table || { cat table; return 1; }
	[ "$(claims table | wc -l)" -ge 30 ]
	[ "$(grep -c '| yes |' table)" = "$(claims table | wc -l)" ]
	diff <(claims table) <(claims "$top_srcdir/docs/notebook/theory.md")
	# Each is referred to in the text.
	for claim in $(cut -c 3-4 <(claims table | sed 's/^/|/') | sort -u); do
		grep -q "($claim)" "$top_srcdir/docs/notebook/theory.md" || { echo "$claim is not in the text"; return 1; }
	done
}

@test "a claim that does not hold is stated, and is the status" {
	mkdir -p a/b
	sed 's/claim R1a "utilisation, %" 98/claim R1a "utilisation, %" 90/' "$top_srcdir/bench/scripts/theory" > a/b/wrong
	cp "$top_srcdir/bench/scripts/build.bash" a/b
	run bash a/b/wrong --build "$top_builddir" --only R1a
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *'| R1a | utilisation, % | 90 | 98 | **no** |'* ]]
	run2 theory --build /nowhere
	[ "$status" -eq 2 ]
	said 'no /nowhere/tests/sim/loop'
	run2 theory --unknown
	[ "$status" -eq 2 ]
}
