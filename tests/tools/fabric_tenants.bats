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

@test "--tenants needs weights, and agents that advise" {
	for weights in 0 101 1,x '' 1,,2 0.001; do
		run "$ccfabric" run -q --agents --cc rcp --tenants "$weights"
		[ "$status" -eq 2 ]
		[[ $output == *"weights from 0.01 to 100"* ]]
	done
	run "$ccfabric" run -q --cc copa --tenants 1
	[ "$status" -eq 2 ]
	[[ $output == *"needs --agents"* ]]
}
