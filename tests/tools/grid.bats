#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

grid=$top_builddir/bench/grid/grid

@test "options that make no sense are refused with a sentence" {
	for wrong in --seed=-1 --seed=x --jobs=0 --jobs=65 --length=0 '--only=(' --only=nothing --cc=vegas \
		--cc=timely:min_rate=fast --as=best row --unknown --worst=; do
		refused "$grid" "$wrong" || { echo "$wrong: $status"; return 1; }
		said grid
	done
	refused "$grid" --as best
	said 'agents, rtt or named'
}

@test "a file that cannot be written is named before the runs" {
	run2 "$grid" --json no/such/file
	[ "$status" -eq 1 ] && [ -z "$output" ]
	said 'no/such/file: No such file'
}

@test "help is 80 columns wide and names every option" {
	run2 "$grid" --help
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[ -z "$(awk 'length > 80' <<< "$output")" ]
	for option in sample only cc as seed length jobs worst json bounds list; do
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
	# 128 packets of each flow, as Soft-RoCE has them on their way
	jq -e '.rows[0].none | .utilisation > .999 and .late_drops == 0
		and .queue_p99_bytes > 3.5 * 1048576 and .queue_p99_bytes <= 4 * 1048576
		and .victim_p99_us > 3.5 * 8388.6 and .victim_p99_us < 4.1 * 8388.6' <<< "$output"
	jq -e '.rows | length == 1 and (.[0] | .cc == "swift" and .scenario.hosts == 8
		and .utilisation > .9 and .victim_p99_us < 0.02 * .none.victim_p99_us)' <<< "$output"
}

@test "few entries in send queues limit what is outstanding without control, too" {
	run2 "$grid" --only '^incast 2 40g entries 16 write 2k$' --cc copa --json -
	# 2 x 16 x 2 KB per RTT of 20 us and more
	jq -e '.rows[0] | .none.utilisation < .65 and .utilisation > .95 * .none.utilisation' <<< "$output"
}

@test "senders whose announcements are dropped announce themselves again" {
	run2 "$grid" --only '^incast 12 1g queue 1m send 256k$' --cc rcp --json -
	jq -e '.rows[0] | .drops > 0 and .utilisation > .95 and .jain > .98' <<< "$output"
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

@test "rows may last longer, which shows what jitter an algorithm learns" {
	for length in 1 10; do
		"$grid" --only '^incast 1 10g jitter 200us$' --cc copa --length "$length" --json "$length" \
			2> /dev/null
	done
	jq -es '.[0].length == 1 and .[1].length == 10
		and 1.5 * .[0].rows[0].utilisation < .[1].rows[0].utilisation' 1 10
}

@test "what physics forbids is named with its rule, and not judged" {
	run2 "$grid" --only '^incast 12 1g nic 10g queue 32k$' --cc timely
	printed 'a packet of each flow exceeds the queue'
	printed 'timely                0    0'
}

@test "shares are not judged where far flows have too little outstanding for theirs" {
	# 1 MB in 1 ms is 8.4 Gb/s; an eighth of 100 Gb/s is more, one of 10 Gb/s is less
	run2 "$grid" --only '^incast 8 1.*g rtt 10us far 1ms$' --cc fixed:rate=20g --as agents --json -
	[ "$status" -eq 0 ]
	jq -e '[.rows[] | {rate: .scenario.rate_bps, jain: .jain, judged: (.misses | contains(["jain98"]))}]
		| length == 2 and all(.[]; .jain < .98) and (.[] | select(.rate == 10e9).judged)
		and (.[] | select(.rate == 100e9).judged | not)' <<< "$output"
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

@test "rows of ccfabric's scenarios have operations, judged beside none's" {
	"$grid" --list | grep -E '^(collective|trunk|claims|kv) ' | cut -d ' ' -f 1 | sort | uniq -c > kinds
	cat kinds
	[ "$(wc -l < kinds)" -eq 4 ]
	"$grid" --only '^collective ring 8 100g 1m 100ms$' --cc copa --cc fixed:rate=10g --json - > out.json
	jq -c '.rows[] | [.cc, .operation_us, .none.operation_us, .misses]' out.json
	# Ten times as slow as the line.
	jq -e '.rows[0] | .operation_us < 1.15 * .none.operation_us and (.misses | index("operation") | not)' out.json
	jq -e '.rows[1] | .operation_us > 5 * .none.operation_us and (.misses | index("operation"))' out.json
}
