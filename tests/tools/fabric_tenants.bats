#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: tenants' shares of a port, by the controller and the shares of the host agent.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# tenants WEIGHTS WITHIN OPTION...: each tenant has its part within WITHIN, all its flows the same.
tenants() {
	fabric --hosts shim --mtu 4096 --agents --cc auto --tenants "$1" "${@:3}"
	jq -c '.tenants[]' out.json
	jq -e --argjson within "$2" '([.tenants[].weight] | add) as $all |
		all(.tenants[]; (.share * $all / .weight - 1 | fabs) < $within and .jain > 0.98)' out.json
	jq -e 'any(.ports[]; .utilisation > 0.95)' out.json
}

@test "shares follow weights within 3 % for 1, 16 and 64 flows, with three seeds" {
	for seed in 1 2 3; do
		tenants 1,2,4 0.03 --topology star:5@10g --for 200ms --seed $seed \
			--flows 'cross:1,0,10g+16*cross:2,0,10g+64*cross:3,0,10g'
	done
	tenants 4,2,1 0.03 --topology star:5@1g --for 2s --flows 'cross:1,0,10g+16*cross:2,0,10g+64*cross:3,0,10g'
}

@test "shares follow weights within 5 % for tenants on 1, 4 and 8 hosts" {
	tenants 1,2,4 0.05 --topology star:15@100g --for 60ms \
		--flows 'cross:1,0,10g+4*cross:2-5,0,10g+8*cross:6-13,0,10g'
}

@test "shares of READs and of whole SENDs follow weights" {
	for verb in read send; do
		tenants 1,5 0.03 --topology star:5@10g --for 300ms --verb $verb --message 64k \
			--flows '4*cross:1,0,10g+32*cross:2,0,10g'
	done
}

# capped RATE OPTION...: the first tenant has RATE within 2 %, and no burst above 1 ms of it.
capped() {
	fabric --hosts shim --mtu 4096 --agents --cc auto "${@:2}"
	jq -c '.tenants[0]' out.json
	jq -e --argjson rate "$1" '.tenants[0] | (.rate_bps / $rate - 1 | fabs) < 0.02 and .burst_us < 1000' out.json
}

@test "a tenant has its cap within 2 % without bursts above 1 ms of it, with three seeds" {
	for seed in 1 2 3; do
		capped 2e9 --tenants 1:cap=2g --topology star:5@10g --for 100ms --seed $seed --flows '32*cross:1,0,10g'
		capped 2e9 --tenants 1:cap=2g,2 --topology star:5@10g --for 100ms --seed $seed \
			--flows '32*cross:1,0,10g+8*cross:2,0,10g'
		capped 40e9 --tenants 1:cap=40g --topology star:5@100g --for 30ms --seed $seed --flows '64*cross:1,0,10g'
		capped 3e9 --tenants 1:cap=3g --topology star:5@25g --for 100ms --seed $seed --verb read \
			--flows '16*cross:1-2,0,10g'
		capped 3e8 --tenants 1:cap=300m --topology star:5@10g --for 100ms --seed $seed --flows '16*cross:1,0,10g'
	done
	capped 1e9 --tenants 1:cap=1g --topology star:5@10g --for 50ms --flows '2000*cross:1,0,10g'
	capped 2e9 --tenants 1:cap=2g --topology star:5@10g --for 5ms --flows cross:1,0,10g
}

# guaranteed SEED TENANTS TOPOLOGY FLOW BULK: the time of FLOW, the second tenant's, beside BULK is at
# most 1.2 of its time alone at the guaranteed rate.
guaranteed() {
	local common=(--hosts shim --mtu 4096 --agents --cc auto --seed "$1" --topology "$3") alone
	fabric "${common[@]}" --tenants "$2" --flows "cross:1,0,1k+$4"
	alone=$(jq '[.flows[] | select(.src == 2).fct_ns] | max' out.json)
	fabric "${common[@]}" --tenants "$2" --for 50ms --flows "$5+$4"
	jq -c --argjson alone "$alone" '[.flows[] | select(.src == 2).fct_ns / $alone]' out.json
	jq -e --argjson alone "$alone" 'all(.flows[] | select(.src == 2); .fct_ns < 1.2 * $alone)' out.json
	jq -e 'any(.ports[]; .utilisation > 0.94)' out.json
}

@test "beside 63 bulk flows a tenant takes at most 1.2 of its time alone at its guarantee, with three seeds" {
	for seed in 1 2 3; do
		guaranteed $seed 1,.01:guarantee=2g:cap=2g star:65@10g cross:2,0,2m@15ms '63*cross:1,0,10g'
		guaranteed $seed 1,.01:guarantee=2g:cap=2g star:66@10g cross:2,0,2m@15ms cross:3-65,0,10g
		guaranteed $seed 1,.1:guarantee=5g:cap=5g star:31@25g '4*cross:2,0,1m@12ms' cross:3-29,0,10g
		guaranteed $seed 1,.01:guarantee=40g:cap=40g star:65@100g cross:2,0,10m@4ms '63*cross:1,0,20g'
	done
}

# background SEED TOPOLOGY KV BULK [TIME]: the 99th percentile of the requests beside BULK in the background is
# at most .85 of what it is beside BULK in the foreground.
background() {
	local common=(--hosts shim --mtu 4096 --agents --cc auto --seed "$1" --topology "$2" --for "${5:-60ms}") beside
	fabric "${common[@]}" --tenants 1,1 --flows "$3+$4"
	beside=$(jq .operations.p99_us out.json)
	fabric "${common[@]}" --tenants 1,1:class=background --flows "$3+$4"
	jq -c --argjson beside "$beside" '[.operations.p99_us, $beside]' out.json
	jq -e --argjson beside "$beside" '.operations.p99_us < 0.85 * $beside' out.json
	jq -e 'any(.ports[]; .utilisation > 0.85)' out.json
}

@test "background yields to requests, and takes a port that is idle" {
	for seed in 1 2 3; do
		background $seed star:10@10g kv:0,2-5,256,64k,400,500us '8*cross:1,0,10g'
		background $seed star:10@10g kv:0,2-5,256,256k,200,500us '8*cross:1,0,10g'
		background $seed star:12@40g kv:0,2-7,256,512k,200,300us 'cross:8-11,0,100g'
	done
	# Their segments are short: of 32 flows no more is ahead of a request than of 8.
	background 1 star:10@10g kv:0,2-5,256,64k,2000,500us@10ms '32*cross:1,0,10g' 270ms
	jq -e '.operations.p99_us < 250 and any(.ports[]; .utilisation > 0.93)' out.json
	fabric --hosts shim --mtu 4096 --agents --cc auto --topology star:5@10g --for 60ms --tenants 1:class=background \
		--flows '8*cross:1,0,10g'
	jq -e 'any(.ports[]; .utilisation > 0.97)' out.json
}

@test "terms of --tenants that are wrong, or contradict each other, are refused" {
	for terms in 1:cap 1:cap= 1:cap=x 1:guarantee=1 1:class=x 1:floor=1% 1:class=background:guarantee=1g \
		1:cap=1g:guarantee=2g 1:weight=2 1: 1:nonsense=1 1:class=background:floor=50%; do
		run "$ccfabric" run -q --agents --cc rcp --tenants "$terms"
		[ "$status" -eq 2 ]
		[[ $output == *--tenants:* ]]
	done
}

@test "--tenants needs weights, and agents that advise" {
	for weights in 0 101 1,x '' 1,,2 0.001; do
		run "$ccfabric" run -q --agents --cc rcp --tenants "$weights"
		[ "$status" -eq 2 ]
		[[ $output == *"number from 0.01 to 100"* ]]
	done
	for options in '--cc timely --tenants 1' '--cc copa --tenants 1' '--hosts shim --cc copa --tenants 1:cap=1g'; do
		run "$ccfabric" run -q $options
		[ "$status" -eq 2 ]
		[[ $output == *"needs --agents"* || $output == *"need --agents"* ]]
	done
}

# deltas WEIGHTS FLOWS: without agents, shares under copa are within 20 % of these weights.
deltas() {
	fabric --hosts shim --mtu 4096 --cc copa --topology star:40@10g --for 100ms --tenants "$1" --flows "$2"
	jq -c '.tenants[]' out.json
	jq -e '([.tenants[].weight] | add) as $all | all(.tenants[]; (.share * $all / .weight - 1 | fabs) < 0.2) and
		any(.ports[]; .utilisation > 0.99)' out.json
}

@test "without agents weights of flows from 1 to 4 hold within 20 % under copa, and background yields" {
	deltas 1,2 '4*cross:1,0,10g+4*cross:2,0,10g'
	deltas 1,2 'cross:1,0,10g+cross:2,0,10g'
	deltas 1,4 '4*cross:1,0,10g+4*cross:2,0,10g'
	deltas 1,4 'cross:1-16,0,10g+cross:17-32,0,10g'
	deltas 1,2,4 '4*cross:1,0,10g+4*cross:2,0,10g+4*cross:3,0,10g'
	deltas .25,1 '4*cross:1,0,10g+4*cross:2,0,10g'
	fabric --hosts shim --mtu 4096 --cc copa --topology star:10@10g --for 80ms --tenants 1,1 \
		--flows 'kv:0,2-5,256,64k,400,500us@10ms+8*cross:1,0,10g'
	beside=$(jq .operations.p99_us out.json)
	fabric --hosts shim --mtu 4096 --cc copa --topology star:10@10g --for 80ms --tenants 1,1:class=background \
		--flows 'kv:0,2-5,256,64k,400,500us@10ms+8*cross:1,0,10g'
	jq -c --argjson beside "$beside" '[.operations.p99_us, $beside]' out.json
	jq -e --argjson beside "$beside" '.operations.p99_us < 0.5 * $beside and any(.ports[]; .utilisation > 0.8)' out.json
}
