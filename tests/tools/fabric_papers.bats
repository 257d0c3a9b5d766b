#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# bench/scripts/papers: the sample, and how figures are judged.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

papers() {
	"$(realpath "$BATS_TEST_DIRNAME/../..")/bench/scripts/papers" --build "${ccfabric%/bench/*}" "$@"
}

# rows FIGURE...: a file with one scenario of a millisecond, whose port is full
rows() {
	cat > rows <<-'END'
		column rcp --cc rcp --agents --hosts shim
		column auto --cc auto --hosts shim
		paper A paper
		scenario a-full 2:1
		options --topology star:3@10g --flows incast:2,1g --warmup 200us --for 1ms
		run none --cc none
	END
	printf '%s\n' "$@" 'left One thing | It is missing.' >> rows
}

@test "the sample's figures are published, or have a reason" {
	papers --sample --json out.json > out.md
	[ "$(papers --sample --list | wc -l)" -ge 5 ]
	jq -e '.rows | length >= 10 and all(.ours > 0)
		and all((.rcp > 0 and .auto > 0) != (.scenario | startswith("plan-")))
		and all(.holds == "yes" or .reason != "")
		and (map(select(.holds == "yes")) | length) >= 9' out.json
	jq -e '.rows[] | select(.scenario == "ns3-e1b" and .cc == "hpcc" and .what == "FCT, mean, us")
		| .ours / (.published | tonumber) | . > 0.99 and . < 1.01' out.json
	grep -q '^## What is not compared' out.md
	[ "$(grep -c '^| [a-z0-9-]*: ' out.md)" = "$(papers --sample --list | wc -l)" ]
	documented out.md papers.md
}

@test "a figure is within 15 %, holds a bound, or needs a reason" {
	rows 'figure none | rate, Gb/s | 10 | 10 * util("3->0")' 'figure none | rate, Gb/s | >9.9 | 10 * util("3->0")' \
		'figure none | rate, Gb/s | - | 10 * util("3->0")' 'figure none | rate, Gb/s | 20 | 10 * util("3->0")' \
		'reason It is half.'
	papers --rows rows --json out.json > out.md
	jq -e '.rows | map(.holds) == ["yes", "yes", "yes", "no"] and map(.reason) == ["", "", "", "It is half."]' out.json
	grep -qF '| none | rate, Gb/s | 20 | 10 | **0.5** |' out.md
	grep -qxF -e '- a-full, none: It is half.' out.md
	grep -q '^| One thing | It is missing. |$' out.md
	rows 'figure none | rate, Gb/s | <9 | 10 * util("3->0")'
	run papers --rows rows
	[ "$status" -eq 1 ]
	[[ $output == *"no reason is known"* ]]
}

@test "the commands are those that were run" {
	rows
	papers --rows rows --commands > commands
	[ "$(sed -n 1p commands)" = "ccfabric run --topology star:3@10g --flows incast:2,1g --warmup 200us --for 1ms --cc none" ]
	[ "$(grep -c -- '--cc rcp --agents --hosts shim$' commands)" = 1 ]
	[ "$(wc -l < commands)" = 3 ]
	rows 'scenario b-plan Arithmetic' 'plan cells headroom --rate 100g --cable 100m' \
		'figure cells | cells | 408 | .cells'
	papers --rows rows --only b-plan --commands > commands
	grep -qxF "ccshim plan headroom --rate 100g --cable 100m" commands
	[ "$(wc -l < commands)" = 1 ]
	papers --rows rows --only b-plan > out.md
	grep -qxF "| b-plan: Arithmetic | cells | cells | 408 | 408 | 1 | | |" out.md
}

@test "mistakes of papers are refused with what is wrong" {
	rows 'figur none | x | 1 | 1'
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run papers $options
		echo "$options: $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == *"papers: $message"* ]]
	done <<-'END'
		--unknown|--unknown is no option
		--only nothing-of-that|no scenario matches
		--jobs 0|--jobs: '0' is not a number
		--rows rows|rows:7: 'figur' is not known
		--rows /nowhere|there is no /nowhere
	END
	rows 'figure none | rate, Gb/s | 10 | 10 * util("3->0")'
	sed -i 's/--cc none/--cc nonesuch/' rows
	run papers --rows rows
	[ "$status" -eq 2 ]
	[[ $output == *nonesuch*"a run failed"* ]]
}
