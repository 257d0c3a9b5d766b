#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric scenario, and the operations of flows that it compares.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# scenario NAME [OPTION...]: its JSON in out.json
scenario() {
	"$ccfabric" scenario "$@" --out_json out.json > out.txt || { cat out.txt; return 1; }
}

# Without control each operation is like the first, and ends when the data have arrived, half an RTT
# before the acknowledgements, which end the flows.
@test "operations of a collective follow each other on the same flows, each after a pause" {
	for kind in halving tree ring; do
		for pause in 1ms 100ms; do
			fabric --topology star:4@100g --mtu 1024 --flows allreduce-$kind:256k --cc none
			once=$(value '[.flows[].fct_ns] | max')
			flows=$(value '.flows | length')
			fabric --topology star:4@100g --mtu 1024 --cc none \
				--flows allreduce-$kind:256k,5,$pause
			echo "$kind $pause: $once ns once, $(value '[.flows[].fct_ns] | max') five times"
			[ "$(value '.flows | length')" -eq "$flows" ]
			value "${pause%ms} as \$ms | [.flows[].fct_ns] | max |
				. > 4e6 * \$ms + 4.7 * $once and . < 4e6 * \$ms + 5.1 * $once" | grep -qx true
		done
	done
}

@test "each scenario has figures of every setting, and a slowdown against none" {
	for name in collective trunk claims kv; do
		scenario $name --cc auto --cc dcqcn
		jq -c '.settings[]' out.json
		value '[.settings[].cc] == ["none", "auto", "dcqcn"] and
			(.settings[0].slowdown | .p50 == 1 and .p99 == 1) and
			all(.settings[]; .utilisation > 0.5 and .utilisation <= 1 and .jain > 0.5 and
				.operations.count > 5 and .operations.p50_us <= .operations.p99_us and
				.slowdown.p99 > 0)' | grep -qx true
		grep -q "^$name: " out.txt
		grep -Eq '^auto +[01]\.[0-9]{3} [01]\.[0-9]{4} ' out.txt
	done
}

@test "requests wait for the queue of bulk transfers, and less under control" {
	scenario kv --cc copa
	value '.settings[1].operations.p99_us * 3 < .settings[0].operations.p99_us' | grep -qx true
	scenario kv --flows kv:1-8,0,256,4k,100,100us --cc copa
	value '.settings[1].operations.p50_us < 10' | grep -qx true
}

@test "an operation that has not ended counts if it is the longest" {
	fabric --topology star:2@1g --flows kv:0,1,1,10m,3,1ms --cc none
	value '.operations.count == 3 and .operations.max_us > 80000' | grep -qx true
	fabric --topology star:2@1g --flows kv:0,1,1,10m,3,1ms --for 50ms --cc none
	value '.operations' 
	value '.operations.count == 1 and .operations.max_us > 49000' | grep -qx true
}

@test "claims are announced to agents and use no bandwidth" {
	scenario claims --cc auto --flows claims:256,5,0 --for 10ms --warmup 0
	value '.settings[1] | .utilisation < 0.05 and .operations.count == 0' | grep -qx true
}

@test "given options replace the scenario's" {
	scenario trunk --topology star:3@10g --flows pairs:0,1,1g+kv:2,1,64,64,1000,50us --for 2ms --warmup 1ms
	value '.options | index("--topology") and index("pairs:0,1,1g+kv:2,1,64,64,1000,50us")' | grep -qx true
	value '.settings[0].utilisation > 0.9' | grep -qx true
}

@test "the name is before, among or after the options" {
	options=(--cc copa --for 110ms)
	scenario kv "${options[@]}"
	mv out.json first.json
	for order in "--cc copa kv --for 110ms" "--cc copa --for 110ms kv"; do
		# shellcheck disable=SC2086
		"$ccfabric" scenario $order --out_json out.json
		diff <(jq .settings first.json) <(jq .settings out.json)
	done
}

@test "what is no scenario, no operation and no value is refused" {
	for arguments in '' other 'kv --cc' 'kv --flows kv:1,0,64' 'kv --flows kv:1,1,64,64,9,1ms' \
		'kv --flows kv:1,0,64,64,0,1ms' 'kv --flows kv:1,0,64,64,5,later' 'kv --flows claims:0,1,0' \
		'kv --flows claims:5,1,1' 'collective --flows allreduce-star:1m,5,1ms' \
		'collective --flows allreduce-ring:1m,5,1ms,2' 'kv --cc nosuch'; do
		# shellcheck disable=SC2086
		run "$ccfabric" scenario $arguments
		echo "$arguments: $status"
		[ "$status" -eq 2 ]
	done
}
