#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

grid=$top_builddir/bench/grid

@test "options that make no sense are refused with a sentence" {
	for wrong in --seed=-1 --seed=x --jobs=0 --jobs=65 '--only=(' --only=nothing --cc=vegas \
		--cc=timely:min_rate=fast --as=best row --unknown --worst=; do
		refused "$grid" "$wrong" || { echo "$wrong: $status"; return 1; }
		said grid
	done
	refused "$grid" --as best
	said 'agents, rtt or named'
}

@test "help is 80 columns wide and names every option" {
	run2 "$grid" --help
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[ -z "$(awk 'length > 80' <<< "$output")" ]
	for option in sample only cc as seed jobs worst json bounds list; do
		printed "  --$option "
	done
}

@test "row names are unique, and the sample is some of them" {
	"$grid" --list > all
	[ "$(wc -l < all)" -ge 100 ]
	[ -z "$(sort all | uniq -d)" ]
	"$grid" --list --sample > sample
	[ "$(wc -l < sample)" -ge 20 ]
	[ -z "$(grep -vxFf all sample)" ]
}

@test "without control the queue is what may be outstanding" {
	run2 "$grid" --only '^incast 8 1g$' --cc swift --json -
	[ "$status" -eq 0 ]
	# 1 MB of each flow
	jq -e '.rows[0].none | .utilisation > .999 and .late_drops == 0
		and .queue_p99_bytes > 7 * 1048576 and .queue_p99_bytes <= 8 * 1048576
		and .victim_p99_us > 7 * 8388.6 and .victim_p99_us < 8.2 * 8388.6' <<< "$output"
	jq -e '.rows | length == 1 and (.[0] | .cc == "swift" and .scenario.hosts == 8
		and .utilisation > .9 and .victim_p99_us < 0.02 * .none.victim_p99_us)' <<< "$output"
}

@test "JSON has each row with each algorithm, one seed gives one result" {
	"$grid" --only '^incast 2 1g' --cc swift --cc fixed:rate=100m --jobs 2 --json two 2> /dev/null
	"$grid" --only '^incast 2 1g' --cc swift --cc fixed:rate=100m --jobs 1 --json one 2> /dev/null
	cmp one two
	jq -e --argjson rows "$("$grid" --only '^incast 2 1g' --list | wc -l)" '(.rows | length) == 2 * $rows
		and all(.rows[]; .utilisation >= 0 and .utilisation <= 1.001 and .jain <= 1
		and .queue_p99_segments_per_flow >= 0 and (.misses | type) == "array")' one
	"$grid" --only '^incast 2 1g' --cc swift --seed 2 --json other 2> /dev/null
	! cmp -s one other
}

@test "what physics forbids is named with its rule, and not judged" {
	run2 "$grid" --only '^incast 12 1g nic 10g queue 32k$' --cc timely
	printed 'a packet of each flow exceeds the queue'
	printed 'timely                0    0'
}

@test "a bound that does not hold is status 1, a wrong one 2" {
	one=(--only '^incast 2 1g$' --cc fixed:rate=100m)
	printf '# none\nfixed:rate=100m util95 0\n' > bounds
	run2 "$grid" "${one[@]}" --bounds bounds
	[ "$status" -eq 1 ]
	printed 'misses utilisation .95 of none'
	printf 'fixed:rate=100m util95 1\nswift any 0\n' > bounds
	run2 "$grid" "${one[@]}" --bounds bounds
	[ "$status" -eq 0 ]
	for wrong in 'timely 3' 'timely beauty 3'; do
		echo "$wrong" > bounds
		run2 "$grid" "${one[@]}" --bounds bounds
		[ "$status" -eq 2 ]
		said 'bounds:1'
	done
	run2 "$grid" "${one[@]}" --bounds missing
	[ "$status" -eq 2 ]
	said 'missing: No such file'
}
