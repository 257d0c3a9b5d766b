#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: queues with weights and caps, and what they do to flows and CNPs.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# Flows from hosts 1 and 2 to host 0, with these priorities and bytes, which both fill the port.
pair() {
	printf '%s\n' 2 "1 0 $1 100 $2 0" "2 0 $3 100 $4 0" > flows
}

# While both have packets, the shorter one ends when its share of the port has carried it.
@test "weights share a full port within 1 %" {
	for weights in "1 1" "3 1" "2 5" "16 1"; do
		read -r a b <<< "$weights"
		pair 2 $((4000000 * a)) 1 $((40000000 * b))
		fabric --topology star:3@25g --flows flows --buffer inf --queue 2:"$a" --queue 1:"$b"
		awk -v fct="$(value '.flows[0].fct_ns')" -v a="$a" -v b="$b" 'BEGIN {
			alone = 4e6 * a * 1106 / 1024 * 8 / 25
			share = alone / fct; wanted = a / (a + b)
			print a ":" b, share, wanted
			exit !(share > 0.99 * wanted && share < 1.01 * wanted) }'
	done
}

@test "a full strict queue starves the others without a cap, and takes its cap with one" {
	pair 6 20000000 1 1000000
	fabric --topology star:3@25g --flows flows --buffer inf --queue 6:strict --queue 1:1 --rto 100ms
	[ "$(value '.flows[1].fct_ns > 0.99 * .flows[0].fct_ns')" = true ]
	fabric --topology star:3@25g --flows flows --buffer inf --queue 6:strict:5g --queue 1:1 --rto 100ms
	# 1 MB at 20 Gb/s; 20 MB at 5 Gb/s
	[ "$(value '.flows[1].fct_ns < 470000')" = true ]
	awk -v fct="$(value '.flows[0].fct_ns')" 'BEGIN { rate = 20e6 * 1106 / 1024 * 8 / fct
		print rate; exit !(rate > 4.95 && rate < 5.05) }'
}

# Each of the three hops of a CNP carries data of the other direction, whose queues are long.
@test "a CNP takes at most 3 us over three full hops in its own queue, far more with the data" {
	load=(--topology leaf-spine:2x8x1@100g:200g --delay 100ns --flows permutation:8m
		--cc dcqcn --buffer inf --for 1ms)
	for mtu in 1024 4096; do
		for priority in 6 3; do
			fabric "${load[@]}" --mtu $mtu --cnp-priority $priority --ack-priority $priority
			echo "MTU $mtu, priority $priority: $(jq -c .cnp_latency_us out.json)"
			value .cnp_latency_us.max >> latency$priority
		done
	done
	[ "$(jq -s 'max < 3' latency6)" = true ]
	[ "$(jq -s 'min > 20' latency3)" = true ]
}

# A ToR of 32 x 25 Gb/s, 8 x 100 Gb/s, 32 MB: what `ccshim plan buffer` computes of it.
@test "a group is paused at the water mark that plan computes, alone and beside a lossy queue" {
	plan=(plan buffer --buffer 32m --cell 256 --ports "32x25g:15m,8x100g:100m" --alpha 1/8 --json)
	{
		echo '41 1 40'
		echo 40
		for ((i = 0; i < 40; i++)); do
			echo "40 $i $((i < 32 ? 25 : 100))Gbps $((i < 32 ? 75 : 500))ns 0"
		done
	} > topology
	printf '%s\n' 2 '32 0 3 100 100000000 0' '33 1 1 100 400000000 0' > flows
	for lossy in none 1/8 8; do
		options=() flows=flows
		if [ $lossy = none ]; then
			sed '1s/2/1/; 3d' flows > alone
			flows=alone
		else
			options=(--queue-alpha "$lossy")
		fi
		fabric --topology topology --flows $flows --mtu 1418 --for 20ms --rto 0 "${options[@]}"
		jq -c --arg lossy $lossy '{($lossy): .xoff_cells.min}' out.json >> xoff
	done
	for lossy in 1/8 8; do
		"${ccfabric%/bench/*}/tools/ccshim/ccshim" "${plan[@]}" --lossy-alpha $lossy |
			jq -c --arg lossy $lossy '{none: .xoff_alone_cells, ($lossy): .xoff_beside_lossy_cells}'
	done > plan
	jq -s add xoff plan
	# A group holds its guarantee of 36 cells, too; it is over the mark by at most a frame of 6.
	jq -e -s --slurpfile plan plan '($plan | add) as $p | add | to_entries |
		length == 3 and all(.value >= $p[.key] + 36 and .value <= $p[.key] + 36 + 6)' xoff
}

# The UCloud article's rules: CNPs of NICs to queue 6, data to queue 5. CNPs of ccshim's agents go to
# another port: without a rule for it they wait with all other packets.
@test "agents' CNPs need a rule at the edge to get into the CNPs' queue" {
	rules=(--edge 4791:48:6 --edge 4791:46:5 --inside 48:6 --inside 46:5)
	load=(--topology leaf-spine:2x8x1@25g:25g --flows permutation:1m --cc dcqcn --priority 5
		--buffer inf --for 3ms --queue 6:strict --queue 5:8 --queue 0:1)
	fabric "${load[@]}" "${rules[@]}"
	value .cnp_latency_us.max > nic
	fabric "${load[@]}" "${rules[@]}" --agents
	value .cnp_latency_us.max > no-rule
	fabric "${load[@]}" "${rules[@]}" --edge 4793:48:6 --agents
	value .cnp_latency_us.max > rule
	echo "NIC $(cat nic) us, agents $(cat no-rule) us, with their rule $(cat rule) us"
	jq -n -e "$(cat nic) < 8 and $(cat rule) < 8 and $(cat no-rule) > 2 * $(cat rule)"
	run "$ccfabric" run -q --edge 4791:64:6
	[ "$status" -eq 2 ]
	[[ $output == "ccfabric: --edge: '4791:64:6' is not PORT:DSCP:QUEUE"* ]]
}

# Two priorities fill a port, both of flows that obey marks.
@test "a priority is marked by its own curve, and its figures are its own" {
	pair 2 1000000 1 1000000
	load=(--topology star:3@25g --flows flows --buffer inf --queue 2:1 --queue 1:1 --cc dcqcn)
	fabric "${load[@]}" --ecn off --ecn 1=20k:20k:100%
	[ "$(value '[.ports[].priorities[] | select(.marks > 0).priority] | unique | tostring')" = "[1]" ]
	fabric "${load[@]}" --ecn 1=off
	[ "$(value '[.ports[].priorities[] | select(.marks > 0).priority] | unique | tostring')" = "[2]" ]
	# What waits in all queues is what waits in the port; a packet in a port's transmitter only is
	# counted for the port.
	value '.ports[] | select(.queue_bytes.mean > 10000) |
		([.priorities[].mean_bytes] | add) / .queue_bytes.mean | . > 0.999 and . < 1.001' |
		sort -u | grep -qx true
	fabric "${load[@]}" --pfc off --buffer 200k --alpha 1 --ecn 20k:200k:10%
	value '.ports[] | select(.drops > 0) | [.drops, .marks] ==
		[([.priorities[].drops] | add), ([.priorities[].marks] | add)]' | sort -u | grep -qx true
}

@test "queues that are no queues are refused" {
	for queue in 8:1 3 3:0 3:x 3:strict:x 3:1:1g:2; do
		run "$ccfabric" run -q --queue $queue
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: --queue: '$queue' is not PRIORITY:"* ]]
	done
}

# Two hosts send at line rate until both are done: the queue grows evenly to half of all bytes, and falls.
@test "the percentiles of a queue are those of its length over time" {
	fabric --topology star:3@100g --flows incast:2,1m
	value '.ports[] | select(.name == "3->0").queue_bytes' > queue
	cat queue
	# Levels are an eighth of a power of two.
	jq -e '(.p50 / .max - 0.5 | fabs) < 0.04 and (.p95 / .max - 0.95 | fabs) < 0.06' queue
	jq -e '.p50 < .p95 and .p95 <= .p99 and .p99 <= .max' queue
}
