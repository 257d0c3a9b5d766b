#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: failures, forwarding loops, deadlocks, and what is done against them.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# Two switches whose tables send the packets for host 1 back and forth until 20 ms.
loop() {
	printf '%s\n' '5 3 4' '2 3 4' '0 2 100Gbps 1000ns 0' '2 3 100Gbps 1000ns 0' \
		'3 4 100Gbps 1000ns 0' '1 4 100Gbps 1000ns 0' > topology
	printf '%s\n' 'ROUTE 2 -> 1 via 3' 'ROUTE 3 -> 1 via 2' > routes
	printf '%s\n' 1 '0 1 3 100 100000000 0' > flows
	fabric --topology topology --routes routes --flows flows --buffer 1m --rto 100ms \
		--converge all@20ms --for 30ms "$@"
}

# n links in the loop, rate B: each packet passes ttl switches, so the loop holds r * ttl / n < B.
@test "a loop of two switches deadlocks from n * B / ttl on, and stands still for ever" {
	for case in "16 12.4g null" "16 12.6g number" "64 3.1g null" "64 3.2g number"; do
		read -r ttl rate type <<< "$case"
		loop --ttl "$ttl" --cc "fixed:rate=$rate"
		echo "ttl $ttl, $rate: $(value '.deadlock_us')"
		[ "$(value '.deadlock_us | type')" = "$type" ]
		[ "$(value '.deadlocked_ports > 0')" = "$([ "$type" = number ] && echo true || echo false)" ]
	done
}

@test "a watchdog ends a deadlock: packets arrive after the loop, and its drops are counted" {
	loop --ttl 16 --cc fixed:rate=13g
	without=$(value .packets.received)
	loop --ttl 16 --cc fixed:rate=13g --watchdog 1ms
	[ "$(value .deadlocked_ports)" = 0 ]
	[ "$(value .storms)" -gt 0 ]
	[ "$(value .packets.dropped_watchdog)" -gt 0 ]
	[ "$(value .packets.received)" -gt $((without + 1000)) ]
	loop --ttl 16 --cc fixed:rate=13g --watchdog 1ms:1ms:forward
	[ "$(value .deadlocked_ports)" = 0 ]
	[ "$(value .packets.dropped_watchdog)" = 0 ]
}

# What `ccshim plan deadlock` computes of the same networks: 4x2 has a cycle after these failures.
@test "a pod of two aggregates deadlocks under load after two failures, one of four never" {
	load=(--flows all-to-all:256k --jitter 100us --buffer 3m --rto 100ms --for 20ms
		--converge all@0)
	fabric --topology clos:1x4x2x0/8@100g:100g --fail 32-36@0 --fail 33-37@0 "${load[@]}"
	[ "$(value .deadlocked_ports)" -gt 1 ]
	[ "$(value '[.packets | to_entries[] | select(.key | startswith("dropped")).value] | add')" = 0 ]
	for seed in 1 2 3; do
		fabric --topology clos:1x4x4x0/8@100g:100g --fail 32-36@0 --fail 33-37@0 "${load[@]}" \
			--seed $seed
		[ "$(value .deadlock_us)" = null ]
		[ "$(value '[.flows[].fct_ns | select(. == null)] | length')" = 0 ]
	done
}

# t0-a0 fails; the switches whose tables change get them one by one. Nodes: 16..19 t, 20..23 a,
# 24, 25 c. The order is `ccshim plan deadlock`'s: a0 last. A packet towards t0 that a0 has no link
# for comes back to a switch that still prefers a0, if a0 is first.
@test "with a0 converged first packets loop and deadlock, with a0 last they do not" {
	run=(--topology clos:1x4x4x4/4@100g:100g:100g --flows all-to-all:256k --fail 16-20@10us
		--rto 2ms --for 20ms)
	fabric "${run[@]}" --converge 20@20us --converge all@2ms
	[ "$(value .packets.dropped_ttl)" -gt 0 ]
	run+=(--buffer 4m)
	fabric "${run[@]}" --converge 20@20us --converge all@2ms
	[ "$(value .deadlocked_ports)" -gt 1 ]
	fabric "${run[@]}" --converge 16@20us --converge 17@20us --converge 18@20us \
		--converge 19@20us --converge 24@20us --converge 25@20us --converge 26@20us \
		--converge 27@20us --converge 20@40us
	[ "$(value .packets.dropped_ttl)" = 0 ]
	[ "$(value .deadlock_us)" = null ]
	[ "$(value '[.flows[].fct_ns | select(. == null)] | length')" = 0 ]
}

# The UCloud article's third remedy: raise the pool's share and let DCQCN act. A start at line rate
# that alone fills the pool needs either CNPs as often as NICs send them, or a larger buffer.
@test "with DCQCN and a larger alpha the first PAUSE comes later, and fewer come" {
	for setting in "dcqcn:variant=mlx --cnp 4us --buffer 8m" "dcqcn --buffer 16m"; do
		rm -f first pauses
		for alpha in 1/8 1; do
			# shellcheck disable=SC2086
			fabric --flows incast:16,4m --alpha $alpha --cc $setting
			echo "$setting $alpha $(value .first_pause_us) $(value .packets.pauses)"
			value '.first_pause_us // 1e9' >> first
			value .packets.pauses >> pauses
		done
		[ "$(jq -s '.[1] > .[0]' first)" = true ]
		[ "$(jq -s '2 * .[1] < .[0]' pauses)" = true ]
	done
}

@test "a failed link's packets are lost and sent again over another path" {
	fabric --topology leaf-spine:2x2x2@100g:100g --flows all-to-all:1m --fail 4-6@20us \
		--converge all@100us --rto 200us --for 100ms
	[ "$(value .packets.dropped_link)" -gt 0 ]
	[ "$(value '[.flows[].fct_ns | select(. == null)] | length')" = 0 ]
	fabric --topology leaf-spine:2x2x1@100g:100g --flows all-to-all:1m --fail 4-6@20us \
		--restore 4-6@1ms --rto 200us --for 100ms
	[ "$(value '[.flows[].fct_ns | select(. == null)] | length')" = 0 ]
}

@test "a sender is paused again when its link is back, and nothing is dropped for lack of buffer" {
	for at in 52us 60us; do
		fabric --flows incast:16,1m --cc none --buffer 4m --fail 1-17@50us --restore 1-17@$at \
			--for 100ms
		echo "$at: $(jq -c .packets out.json)"
		value '.packets | .pauses > 0 and .dropped_no_buffer_ingress == 0' | grep -qx true
	done
}

@test "a flow that has no path any more does not end, nor do those that wait for its data" {
	for network in "--rto 0" "--cc reno --pfc off" "--cc auto --hosts shim --agents"; do
		# shellcheck disable=SC2086
		fabric --topology star:3@25g --flows incast:2,1m --fail 1-3@10us --for 50ms $network
		echo "$network: $(jq -c '[.virtual_us, [.flows[].fct_ns]]' out.json)"
		[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 1 ]
	done
	fabric --topology star:8@25g --flows allreduce-ring:1m --fail 3-8@50us --for 50ms
	[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 8 ]
}

@test "changes that name no link, node or time are refused" {
	while IFS='|' read -r option message; do
		# shellcheck disable=SC2086
		run "$ccfabric" run -q $option
		echo "$option: $output"
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: $message"* ]]
	done <<-'END'
		--fail 1-2@1ms --for 2ms|nodes 1 and 2 have no link
		--fail 1-17@1ms|--fail, --restore and --converge need --for
		--fail 1-17|--fail: '1-17' is not NODE-NODE@TIME
		--converge 99@1ms --for 2ms|--converge: the topology has no node 99
		--converge x@1ms|--converge: 'x@1ms' is not NODE, or all@TIME
		--watchdog 0|--watchdog: '0' is not TIME
		--watchdog 1ms:1ms:stop|--watchdog: '1ms:1ms:stop' is not TIME
		--buffer 100k|the ports of node 17 have guarantees and headroom of more than its buffer
	END
}
