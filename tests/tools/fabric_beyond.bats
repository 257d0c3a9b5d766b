#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric's baselines eqds and nscc, collective operations, and bench/scripts/beyond.
#
# shellcheck disable=SC2154,SC2016 # what fabric.bash sets; variables of jq

load fabric.bash

beyond() {
	"$(realpath "$BATS_TEST_DIRNAME/../..")/bench/scripts/beyond" --build "${ccfabric%/bench/*}" --out kept "$@"
}

# rows LINE...: a file with one scenario, whose port is full
rows() {
	cat > rows <<-'END'
		cc rcp --cc rcp --agents --hosts shim
		cc none --cc none
		group A group
		figure end, us | last
		figure queue, KB | longest("max")
		scenario a-full 2:1
		options --topology star:3@10g --flows incast:2,100k
	END
	printf '%s\n' "$@" >> rows
}

@test "credits fill the receiver's link, and leave no queue after the first window" {
	for n in 1 2 30; do
		fabric --topology star:31@100g --flows incast:$n,1g --cc eqds --warmup 1ms --for 3ms
		jq -c '[.ports[] | select(.name == "31->0") | .utilisation, .queue_bytes]' out.json
		value '.ports[] | select(.name == "31->0") | .utilisation > 0.97 and
			.queue_bytes.p99 < 30 * 1106' | grep -qx true
		[ "$(value '[.flows[].acked] | min > 0.8 * max')" = true ]
	done
}

@test "credits of two receivers share a sender, and what one cannot use the other gets" {
	fabric --topology star:4@100g --flows cross:0,1-2,1g+pairs:3,1,1g --cc eqds --warmup 1ms --for 4ms
	jq -c '[.ports[] | {name, utilisation}]' out.json
	[ "$(value '[.ports[] | select(.name == "0->4" or .name == "4->1").utilisation] | min > 0.93')" = true ]
}

@test "the window by marks and delay fills a link, with a queue below the target and equal shares" {
	for n in 2 8; do
		fabric --topology star:9@100g --flows incast:$n,1g --jitter 100us --cc nscc --warmup 3ms --for 9ms
		jq -c '[.ports[] | select(.name == "9->0") | .utilisation, .queue_bytes]' out.json
		value '.ports[] | select(.name == "9->0") | .utilisation > 0.97 and
			.queue_bytes.mean < 120000 and .pauses == 0' | grep -qx true
		[ "$(value '[.flows[].acked] | min > 0.7 * max')" = true ]
	done
	[ "$(value '.packets | .marked > 0 and .cnps == 0')" = true ]
}

# A step takes a part's time on the link, 1.35 us for 16 packets, and two links' delay at least.
@test "a ring's part is sent on when it has come, 2 (N - 1) times" {
	fabric --topology star:4@100g --mtu 1024 --flows allreduce-ring:64k --cc none
	[ "$(value '[.flows[].size] | add == 2 * 3 * 65536')" = true ]
	value '[.flows[].fct_ns] | max'
	[ "$(value '[.flows[].fct_ns] | max | . > 6 * (2000 + 1415) and . < 6 * (2000 + 1415 + 200) + 2200')" = true ]
}

@test "steps of halving and doubling wait for those before, whose bytes are half and twice as many" {
	fabric --topology star:8@100g --mtu 1024 --flows allreduce-halving:512k --cc none
	[ "$(value '[.flows[].size] | unique == [65536, 131072, 262144]')" = true ]
	[ "$(value '[.flows[].size] | add == 2 * 7 * 524288')" = true ]
	value '[.flows[].fct_ns] | max'
	[ "$(value '(2 * 7 * 64 * 1106 * 0.08 + 6 * 2000) as $least | [.flows[].fct_ns] | max |
		. > $least and . < 1.1 * $least + 2200')" = true ]
}

@test "collectives end under every algorithm, with any number of hosts that they allow" {
	for hosts in 2 3 8; do
		for what in ring tree halving; do
			[ $hosts$what != 3halving ] || continue
			for cc in none eqds nscc reno hpcc dcqcn "rcp --agents --hosts shim" "auto --hosts shim"; do
				# shellcheck disable=SC2086
				fabric --topology star:$hosts@25g --flows allreduce-$what:600k --cc $cc --for 1s
				[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
				[ "$(value '[.flows[].size] | add | . >= 2 * ('$hosts' - 1) * 614400 and
					. < 2 * ('$hosts' - 1) * 614400 + 2 * '$hosts' * '$hosts)" = true ]
			done
		done
	done
}

@test "what is no collective of these hosts is refused" {
	for flows in allreduce-halving:1m allreduce-ring:2 allreduce-tree:1 allreduce-tree:x; do
		run "$ccfabric" run --topology star:3@10g --flows $flows --cc none
		[ "$status" -eq 2 ]
		[[ $output == *"'$flows' is no traffic for 3 hosts"* ]]
	done
}

@test "the sample's scenarios have figures of all algorithms, and rcp is first or a reason is given" {
	beyond --sample > out.md
	[ "$(beyond --sample --list | wc -l)" -ge 2 ]
	for id in $(beyond --sample --list); do
		grep -q "^| $id: " out.md
		for cc in rcp auto auto-shim none none-shim dcqcn dcqcn-shim hpcc hpcc-shim swift swift-shim eqds nscc; do
			jq -e '.unfinished == 0 and ([.figures[]] | all(. >= 0))' "kept/$id.$cc.json"
		done
	done
	documented out.md beyond.md
}

@test "where rcp is not first a reason is needed, and the best of each column is bold" {
	rows
	sed -i 's/--cc rcp/--cc fixed:rate=1g/; s/--cc none/& --hosts shim/' rows
	run beyond --rows rows
	[ "$status" -eq 1 ]
	[[ $output == *"no reason is known"* && $output == *"times none)"* ]]
	rows 'reason It is slow.'
	sed -i 's/--cc rcp/--cc fixed:rate=1g/; s/--cc none/& --hosts shim/' rows
	beyond --rows rows > out.md
	grep -q '^- a-full ([0-9.]* times none): It is slow.$' out.md
	grep -q '^| a-full: 2:1 | end, us | [0-9.]* | \*\*[0-9.]*\*\* |$' out.md
	grep -q '^|  | queue, KB | \*\*[0-9.]*\*\* | [0-9.]* |$' out.md
}

@test "values behind the flow layer are beside those of NICs, and compared with their like" {
	rows 'cc none-shim --cc none --hosts shim' 'cc swift --cc fixed:rate=5g'
	beyond --rows rows > out.md
	cat out.md
	# Both of none are best, although one is slower than the other.
	value='(\*\*)?[0-9.]+(\*\*)?'
	grep -qxF '| scenario | figure | rcp | none | swift |' out.md
	grep -Eq "^\| a-full: 2:1 \| end, us \| $value \| \*\*[0-9.]+\*\*/\*\*[0-9.]+\*\* \| $value \|\$" out.md
	grep -Eq '^\| none \| 1 \| 1\.[0-9]+ \| ' out.md
}

@test "kept figures are not computed again, and mistakes are refused" {
	rows
	beyond --rows rows > first.md || true
	jq '.figures["end, us"] = 12345' kept/a-full.none.json > changed
	mv changed kept/a-full.none.json
	beyond --rows rows --keep > second.md
	grep -q 12345 second.md
	[ "$(beyond --rows rows --commands | sed -n 2p)" = \
		"ccfabric run --topology star:3@10g --flows incast:2,100k --cc none" ]
	rows 'figur x | 1'
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run beyond $options
		echo "$options: $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == *"beyond: $message"* ]]
	done <<-'END'
		--unknown|--unknown is no option
		--only nothing-of-that|no scenario matches
		--jobs 0|--jobs: '0' is not a number
		--rows rows|rows:8: 'figur' is not known
		--rows /nowhere|there is no /nowhere
	END
}
