#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: what signals see of queues, as in docs/guide/fabric.md and bench/scripts/fabric.rows.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# port_to_0 FILTER: of the port to host 0
port_to_0() {
	value ".ports[] | select(.name | endswith(\"->0\")) | $1"
}

# TIMELY, 4.3 and figure 9.
@test "timely's gradient has the throughput of a high threshold and nearly the queue of a low one" {
	for thresholds in 50 500 50-500; do
		fabric --topology star:1@10g,10@10g --flows incast:10,10g --hosts shim --for 200ms --warmup 100ms \
			--cc "timely:variant=paper,add_rate=10m,min_rtt=20us,t_low=${thresholds%-*}us,t_high=${thresholds#*-}us"
		port_to_0 '[.utilisation, .queue_bytes.mean] | @tsv' | tee -a figures
	done
	awk '{ share[NR] = $1; queue[NR] = $2 } END {
		exit !(share[1] < 0.95 && share[2] > 0.99 && share[3] > 0.98 &&
		       queue[2] > 10 * queue[1] && queue[3] < 3 * queue[1]) }' figures
}

# The flow of the lower priority has what the other one leaves, 1.5 Gb/s: its queue is short but slow.
@test "a flow of low priority waits behind no mark: timely sees it in the RTT, and dcqcn does not" {
	for cc in dcqcn timely:variant=paper,t_low=20us,t_high=60us; do
		fabric --topology star:3@25g --flows "6=pairs:2,0,1g+3=pairs:1,0,1g" --cc $cc \
			--priority-cc 6=fixed:rate=23.5g --ack-priority 7 --cnp-priority 7 --for 60ms --warmup 40ms
		port_to_0 '.priorities[] | select(.priority == 3).mean_bytes' | tee -a queues
		value '.flows[] | select(.priority == 3).rtt_us' | tee -a rtts
	done
	# Below the least length that is marked, 102 400 bytes, and yet more than 500 us.
	awk 'NR == 1 { exit !($1 < 102400 && $1 > 51200) }' queues
	awk '{ rtt[NR] = $1 } END { exit !(rtt[1] > 500 && rtt[2] < 60) }' rtts
}

# HPCC, 3.2 and figure 6.
@test "hpcc keeps a shorter queue if ports count the bytes that they sent, not those that came" {
	for counted in sent received; do
		fabric --topology star:17@100g --flows incast:16,1g --cc hpcc:variant=ns3 --for 2ms \
			--warmup 100us --telemetry $counted
		port_to_0 '[.queue_bytes.p99, .queue_bytes.max] | @tsv' | tee -a figures
	done
	awk '{ p99[NR] = $1; most[NR] = $2 } END {
		exit !(p99[2] > 1.5 * p99[1] && most[2] > 1.3 * most[1]) }' figures
	run "$ccfabric" run -q --telemetry both
	[ "$status" -eq 2 ]
	[[ $output == "ccfabric: --telemetry: 'both' is neither sent nor received"* ]]
}

# With a message per flow, 512 flows of 8 hosts got advice so rarely that 80 times as much waited.
@test "agents advise as often with many flows of a host as with one" {
	for copies in 1 64; do
		fabric --topology star:9@25g --flows "$copies*cross:1-8,0,1g" --cc rcp --agents --warmup 200ms \
			--for 260ms
		port_to_0 .queue_bytes.mean | tee -a queues
	done
	awk '{ queue[NR] = $1 } END { exit !(queue[2] < 16000) }' queues
}

# With segments of 4 KB in their place, the agent took 1.5 MB for what 8 SENDs leave by chance.
@test "agents know the length of SENDs, which are not split" {
	fabric --topology star:9@1g --delay 3us --flows cross:1-8,0,1g --message 64k --verb send --hosts shim \
		--cc rcp --agents --rto 1s --warmup 500ms --for 1s
	port_to_0 '[.queue_bytes.p99, .utilisation] | @tsv' | awk '{ exit !($1 < 400e3 && $2 > 0.95) }'
}

# 2 MiB at a tenth of the NIC's rate into a port of half of it.
@test "a segment's packets leave at once, or at a rate, and the algorithm's rate paces segments" {
	for segment in "" "--segment 64k" "--segment 64k:4g"; do
		# shellcheck disable=SC2086
		fabric --topology star:1@5g,1@10g --flows pairs:1,0,2m --cc fixed:rate=1g $segment
		port_to_0 .queue_bytes.max | tee -a queues
		value '.flows[0] | .size * 8 / .fct_ns' | tee -a rates
	done
	# A packet has 1106 bytes on the line; half of a segment waits.
	awk '{ queue[NR] = $1 } END { exit !(queue[1] == 1106 && queue[2] > 32 * 1024 && queue[2] < 36 * 1106 &&
		queue[3] == 1106) }' queues
	awk '$1 < 0.9 || $1 > 1 { exit 1 }' rates
}

@test "noise of hosts makes RTTs longer, by half of it on average, and loses nothing" {
	for hosts in plain shim; do
		for noise in 0 100us; do
			fabric --topology star:2@10g --flows pairs:1,0,2m --cc fixed:rate=1g --hosts $hosts --noise $noise
			value '.flows[0].rtt_us' > rtt.$noise
			[ "$(value '.packets | .sent == .received and .retransmitted == 0')" = true ]
		done
		paste rtt.0 rtt.100us | awk '{ exit !($2 - $1 > 45 && $2 - $1 < 55) }'
	done
}
