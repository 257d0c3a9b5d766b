#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: TCP flows, alone and beside RDMA. Their queues and windows are in unit/test_fabric_tcp.c.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# A port with one buffer of this size for all.
static=(--pfc off --cell 1 --guarantee 0 --alpha 1000)

# RFC 6298, 5.5 and 5.6: the timer doubles. All packets of the first window are lost, and those sent
# again after 10 and 30 ms; the link works again before 70 ms.
@test "a timeout comes at least min_rto after the last one, and doubles" {
	for rto in 10 20; do
		fabric --topology star:2@10g --flows pairs:0,1,10k --cc "reno:min_rto=${rto}ms" \
			--fail 0-2@0 --restore 0-2@$((rto * 5))ms --for 1s
		value '.flows[0].fct_ns / 1e6'
		value "$rto as \$r | .flows[0].fct_ns / 1e6 | . > 7 * \$r and . < 7 * \$r + 0.2" |
			grep -qx true
	done
}

# RFC 6675: each lost packet is sent again, in the round trips after it, and at most one in vain.
@test "what a full buffer drops is sent again once, without a timeout" {
	fabric --topology star:1@10g,1@40g --flows pairs:1,0,4m --cc reno:min_rto=1s "${static[@]}" \
		--buffer 100k
	jq -c '[.flows[0], .packets]' out.json
	[ "$(value '.packets | .dropped_no_buffer_ingress > 10 and
		.retransmitted <= .dropped_no_buffer_ingress + 1')" = true ]
	[ "$(value '.flows[0].slowdown < 1.2')" = true ]
}

@test "flows of TCP end whatever is lost, and every packet is accounted for" {
	for cc in reno dctcp; do
		for buffer in 20k 60k 200k; do
			fabric --topology leaf-spine:2x8x2@25g:25g --flows all-to-all:64k --cc $cc:min_rto=300us \
				"${static[@]}" --buffer $buffer
			echo "$cc $buffer: $(jq -c .packets out.json)"
			[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
			value '.packets | .sent - .received -
				([to_entries[] | select(.key | startswith("dropped")).value] | add) |
				. >= 0 and . < 20000' | grep -qx true
		done
	done
}

@test "switches drop packets of reno where they mark those of dctcp" {
	for cc in reno dctcp; do
		fabric --topology star:1@10g,2@40g --flows incast:2,4m --cc $cc --ecn 60k:60k:1
		echo "$cc: $(jq -c .packets out.json)"
		value '[.packets.dropped_red > 0, .packets.marked > 0] | tostring' >> outcomes
		value .packets.cnps >> outcomes
	done
	[ "$(paste -sd ' ' outcomes)" = "[true,false] 0 [false,true] 0" ]
}

# Without a limit the lossy queue takes nearly all of the pool, so the lossless one is paused early.
@test "lossy TCP and lossless RDMA share a port by weights, and only TCP loses packets" {
	fabric --topology star:5@25g --flows "incast:2,40m+1=pairs:3-4,0-1,1k+1=pairs:3,0,40m" --for 10ms \
		--cc dcqcn --priority-cc 1=reno --queue 3:1 --queue 1:1 --buffer 4m --queue-alpha 1/4
	jq -c '.ports[] | select(.name == "5->0") | .priorities' out.json
	value '.ports[].priorities[] | select(.drops > 0).priority' | sort -u | grep -qx 1
	[ "$(value '[.ports[].priorities[] | select(.priority == 3).marks] | add > 0')" = true ]
	[ "$(value '[.ports[].priorities[] | select(.priority == 1).marks] | add')" = 0 ]
	value '(.flows | map(select(.priority == 1).acked) | add) /
		(.flows | map(select(.priority == 3).acked) | add) | . > 0.9 and . < 1.1' | grep -qx true
}

@test "agents advise the flows of RDMA, and not those of TCP" {
	fabric --topology star:9@25g --flows "incast:4,1m+1=incast:8,1m" --cc auto --agents \
		--priority-cc 1=dctcp
	[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
	[ "$(value '[.ports[].priorities[] | select(.priority == 1).marks] | add > 0')" = true ]
	for cc in dctcp "auto --agents"; do
		# shellcheck disable=SC2086
		fabric --topology star:9@25g --flows "1=incast:8,1m" --priority-cc 1=dctcp --cc $cc
		jq -S 'del(.wall_s, .cpu_s, .time)' out.json | sha256sum >> digests
	done
	[ "$(sort -u digests | wc -l)" = 1 ]
}

@test "mistakes in TCP's options are named" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run "$ccfabric" run -q $options
		echo "$options: $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: $message"* ]]
	done <<-'END'
		--cc reno:g=0.5|algorithm reno has no parameter 'g'
		--cc dctcp:g=2|g=2 is outside 1e-06 to 1
		--cc renos|there is no algorithm 'renos'
		--priority-cc dctcp|--priority-cc: 'dctcp' is not N=CC
		--priority-cc 8=dctcp|--priority-cc: '8=dctcp' is not N=CC
		--priority-cc 1=rcp|--cc rcp needs --agents
		--agents --priority-cc 1=rcp --cc hpcc:variant=echo|--priority-cc: agents send rates or records
		--flows 8=incast:2,1m|'8=incast:2,1m' is no traffic
	END
}
