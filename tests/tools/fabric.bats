#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: the times of single flows, what is conserved, results and mistakes.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash
load terminal.bash

# One flow at a time, 2 ms apart, of each of the sizes.
alone() {
	{
		echo $#
		start=0
		for size; do
			echo "2 1 3 100 $size $(awk "BEGIN { print $start / 1000 }")"
			start=$((start + 2))
		done
	} > flows
}

# What the HPCC simulator's source says of an empty star, where times are truncated to ns: the packets
# one after another through the slowest link, the last one over both, 4 links, two ACKs. A full last
# packet; the ACK before that of a short one delays it. HPCC slows down a flow that is alone for long.
@test "alone, a flow takes the time of its packets, links and acknowledgements, to the ns" {
	alone 1 1000 2000 10000 50000 100000 1000000
	for case in "none 48 60 1000000" "dcqcn:variant=mlx 48 60 1000000" "timely:variant=ns3 56 60 1000000" \
		"hpcc:variant=ns3 90 88 50000"; do
		read -r cc header ack most <<< "$case"
		fabric --like ns3 --topology star:3@100g --flows flows --cc "$cc" --base-rtt 4160ns
		while read -r size fct; do
			packets=$(((size + 999) / 1000))
			full=$(((1000 + header) * 8 / 100))
			last=$(((size - (packets - 1) * 1000 + header) * 8 / 100))
			expected=$(((packets - 1) * full + 2 * last + 4 * 1000 + 2 * (ack * 8 / 100)))
			echo "$cc $size: $fct, expected $expected"
			[ "$fct" = "$expected" ]
		done < <(value ".flows[] | select(.size <= $most) | \"\(.size) \(.fct_ns)\"")
		# What the tool itself calls the ideal is the same.
		[ "$(value "[.flows[] | select(.size <= $most and .slowdown != 1)] | length")" = 0 ]
	done
}

@test "results have the documented keys, and their types" {
	fabric --topology star:3@100g --flows incast:2,100k --cc dcqcn
	jq -e '(.events | type) == "number" and (.wall_s | type) == "number" and
		(.flows | length) == 2 and (.ports | length) == 6 and
		all(.flows[] | (.id, .src, .dst, .size, .start_ns, .fct_ns, .slowdown); type == "number") and
		all(.ports[] | (.pauses, .drops, .marks, .utilisation); type == "number") and
		all(.ports[] | .queue_bytes | (.mean, .p50, .p99, .max); type == "number") and
		all(.ports[]; .name | type == "string")' out.json
}

@test "every packet is received, dropped for a reason, or under way, under every algorithm" {
	for cc in none copa swift timely dcqcn hpcc "hpcc:variant=echo --agents" "auto --agents"; do
		for hosts in plain shim; do
			for network in "--pfc on" "--pfc off --buffer 1m --rto 1ms"; do
				# shellcheck disable=SC2086
				fabric --topology leaf-spine:2x8x2@25g:25g --flows hadoop:60% --for 2ms \
					--hosts $hosts $network --cc $cc
				echo "$cc $hosts $network: $(jq -c .packets out.json)"
				value '.packets | .sent == .received + .under_way +
					([to_entries[] | select(.key | startswith("dropped")).value] | add)' |
					grep -qx true
				value '.packets.sent > 1000 and (.flows | all(.fct_ns == null or .slowdown > 0.99))' |
					grep -qx true
			done
		done
	done
}

@test "selective repeat sends far fewer packets again than go-back-n, and all flows end" {
	load=(--topology leaf-spine:2x8x2@25g:25g --flows all-to-all:256k --pfc off --buffer 700k
		--rto 300us)
	for kind in go-back-n selective; do
		for hosts in plain shim; do
			fabric "${load[@]}" --recovery $kind --hosts $hosts
			echo "$kind $hosts $(jq -c '.packets | [.sent, .retransmitted]' out.json)"
			value .packets.retransmitted > $kind.$hosts
			[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
			[ "$(value '.packets | .dropped_no_buffer_ingress > 0 and .sent >= .received')" = true ]
		done
	done
	[ "$((3 * $(cat selective.plain)))" -lt "$(cat go-back-n.plain)" ]
	[ "$((3 * $(cat selective.shim)))" -lt "$(cat go-back-n.shim)" ]
}

@test "with selective repeat, a flow continues when a timeout has closed a gap" {
	fabric --topology star:17@100g --flows incast:16,200k --cc swift --pfc off --buffer 200k \
		--recovery selective --for 200ms
	[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
}

# Both flows lose all packets. What all flows send again at once would be lost again.
@test "timeouts of flows that begin together are not in step" {
	fabric --topology star:4@10g --flows pairs:0-1,2-3,10k --rto 4ms --for 20ms \
		--fail 0-4@0 --restore 0-4@3ms --fail 1-4@0 --restore 1-4@3ms
	value '[.flows[].fct_ns / 1e6]'
	[ "$(value '[.flows[].fct_ns / 1e6 | floor] | tostring')" = "[4,6]" ]
}

@test "by default, the timeout is longer where a link is slower than 1 Gb/s" {
	for rate in 100m=40ms 1g=4ms 25g=4ms; do
		run=(--topology "star:9@${rate%=*}" --flows incast:8,64k --hosts shim --cc copa)
		fabric "${run[@]}"
		mv out.json default.json
		fabric "${run[@]}" --rto "${rate#*=}"
		diff <(jq .flows default.json) <(jq .flows out.json)
	done
	# Beside 52 flows of 100 Mb/s, a packet waits for longer than 4 ms.
	fabric --topology star:53@100m --flows incast:52,64k --hosts shim --cc copa
	value '"\(.packets.retransmitted) packets are sent again"'
	[ "$(value '.packets.retransmitted < 1000')" = true ]
	fabric --topology star:53@100m --flows incast:52,64k --hosts shim --cc copa --rto 4ms
	[ "$(value '.packets.retransmitted > 10000')" = true ]
}

@test "with PFC nothing is dropped, and all flows are done" {
	fabric --topology leaf-spine:4x8x2@100g:100g --flows all-to-all:256k --buffer 8m
	[ "$(value '.packets | .pauses > 0 and .sent == .received and .dropped_no_buffer_ingress == 0 and
		.dropped_no_buffer_egress == 0')" = true ]
	[ "$(value '[.flows[] | select(.fct_ns == null)] | length')" = 0 ]
}

@test "auto without agents is copa with the same parameters" {
	for cc in auto copa auto:delta=2 copa:delta=2; do
		fabric --topology star:5@10g --flows incast:4,1m --hosts shim --cc "$cc"
		value '.flows | map(.fct_ns)' > "times.$cc"
	done
	cmp times.auto times.copa
	cmp times.auto:delta=2 times.copa:delta=2
	run cmp times.auto times.auto:delta=2
	[ "$status" -eq 1 ]
}

@test "one seed gives one result, another seed another" {
	for seed in 7 7 8; do
		fabric --topology clos:2x2x2x4/4@25g:100g --flows websearch:50% --for 2ms --cc dcqcn \
			--hosts shim --seed $seed
		jq -c 'del(.wall_s, .cpu_s, .time)' out.json | sha1sum >> sums
	done
	[ "$(sort -u sums | wc -l)" -eq 2 ]
	[ "$(sed -n 1p sums)" = "$(sed -n 2p sums)" ]
}

@test "a path of the routes file is taken, and equal-cost paths are shared" {
	printf '%s\n' 'ROUTE 4 -> 2 via 6' 'ROUTE 4 -> 3 via 6' > routes
	fabric --topology leaf-spine:2x2x2@25g:25g --flows permutation:1m
	[ "$(value '[.ports[] | select(.name == "4->6" or .name == "4->7").utilisation] | add > 0')" = true ]
	fabric --topology leaf-spine:2x2x2@25g:25g --flows permutation:1m --routes routes
	[ "$(value '.ports[] | select(.name == "4->7").utilisation')" = 0 ]
}

# Kmin 1 holds Kmax however marks are made; Kmin 800 does not where the switch polls an average.
@test "the UCloud article's settings: no alarm with Kmin 1, one with Kmin 800 and a polled average" {
	"$(realpath "$BATS_TEST_DIRNAME/../..")/bench/scripts/fabric-ucloud" --build "${ccfabric%/bench/*}" --seeds 2 --json rows
	jq -e '.rows | length == 8 and all(.first < .kmax and .second > .first)' rows
	jq -e '.rows | map(select(.poll == "50us:1/4")) | length == 2 and all(.second > .kmax)' rows
}

@test "if all flows end within --warmup, the table says that ports are counted from the start" {
	for warmup in 100us 1s; do
		run "$ccfabric" run --quiet --flows incast:16,100k --warmup $warmup
		[ "$status" -eq 0 ]
		[ "$warmup $(grep -c "within --warmup" <<< "$output")" = "$warmup $([ $warmup = 1s ] && echo 1 || echo 0)" ]
	done
}

@test "files with lines of Windows, and with the explanation at the end of the simulator's, are read" {
	{ printf '\xef\xbb\xbf'; printf '%s\r\n' '3 1 2' 2 '0 2 100000000000 0.001ms 0' '1 2 100Gbps 1us 0.000000'; } > windows
	printf '%s\n' 2 '0 1 3 100 1000 2.0' '1 0 3 100 1000 2' '' 'First line: # of flows' '1 more' > explained
	fabric --topology windows --flows explained
	[ "$(value '.flows | length')" -eq 2 ]
}

@test "mistakes are refused with what is wrong" {
	printf '%s\n' 1 '0 9 3 100 1000 0' > far
	printf '%s\n' 2 '0 1 3 100 1000 0' > short
	printf '%s\n' 1 '0 0 3 100 1000 0' > self
	printf '%s\n' 1 '0 1 9 100 1000 0' > priority
	echo 0 > none
	{ echo 1; head -c 2000000 /dev/zero | tr '\0' 1; } > endless
	head -c 2000000 /dev/zero | tr '\0' '\n' > empty
	printf '%s\n' '6 2 4' '4 5' '0 4 1g 1us 0' '1 4 1g 1us 0' '2 5 1g 1us 0' '3 5 1g 1us 0' > islands
	printf '%s\n' '3 1 2' '2' '0 2 1g 1us 0' '1 2 1g 1us 0.5' > errors
	printf '%s\n' '3 1 2' '2' '0 2 100 1us 0' '1 2 1g 1us 0' > slow
	printf '%s\n' '4 1 4' '3' '0 3 1g 1us 0' '1 3 1g 1us 0' '2 3 1g 1us 0' '0 1 1g 1us 0' > triangle
	printf '%s\n' 1 '0 3 3 100 1000 0' > between
	printf '%s\n' 1 '0 2 3 100 1000 0' > along
	printf '%s\n' '1 2 3 100 1000000 2.0' '2 1 3 100 1000000 2' > headless
	printf '%s\n' 1 '0 1 3 100 1000 0' '1 0 3 100 1000 0' > many
	printf '%s\n' 1 '0 1 3 100 1000 0' '' '1 0 3 100 1000 0' > apart
	printf '%s\n' 1 '0 1 3 100 1000 0' 'and so on' > text
	printf '%s\n' 1 '0 1 3 100 1000 0 7' > wide
	printf '%s\n' 1 '0 1 3 100 1000' > narrow
	printf '%s\n' 1 '0 -1 3 100 1000 0' > negative
	printf '%s\n' 1 '0 1 3 100 99999999999999999999 0' > overflow
	printf '%s\n' 1 '0 1 3 100 1000 1e17' > late
	printf '1\n0 1 3 100 1000\r 0\n' > return
	printf '1\n0 1 3\0 100 1000 0\n' > null
	: > nothing
	printf '%s\n' '3 1 2 9' '2' '0 2 1g 1us 0' '1 2 1g 1us 0' > first
	printf '%s\n' '3 1 2' '2 1' '0 2 1g 1us 0' '1 2 1g 1us 0' > switches
	printf '%s\n' '4 2 2' '2 2' '0 2 1g 1us 0' '1 2 1g 1us 0' > twice
	printf '%s\n' '3 1 2' '2' '0 2 1g 1us 0 0' '1 2 1g 1us 0' > link
	printf '%s\n' '3 1 1' '2' '0 2 1g 1us 0' '1 2 1g 1us 0' > links
	echo 'ROUTE 0 -> 2 via 1' > through
	echo 'ROUTE 0 -> 2 over 1' > routes
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run "$ccfabric" run -q $options
		echo "$options: $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: $message"* ]]
	done <<-'END'
		--topology star:4@x|'star:4@x' is no topology
		--topology star:0@100g|'star:0@100g' is no topology
		--topology star:17@100|'star:17@100' is no topology: star:16@100g, leaf-spine:4x8x2@100g:400g and clos:4x4x4x8/20@100g:400g are, with rates of 1k to 100t bit/s
		--topology chain:2x2@100g:400|'chain:2x2@100g:400' is no topology
		--topology clos:2x2x2x4/4@25:100|'clos:2x2x2x4/4@25:100' is no topology
		--topology slow|slow:3: the link's rate is not in the range 1k to 100t bit/s
		--topology clos:2x2x2x3/4@25g|'clos:2x2x2x3/4@25g' is no topology
		--topology missing|missing: No such file
		--flows incast:16|'incast:16' is no traffic
		--flows websearch:300%|'websearch:300%' is no traffic
		--topology star:3@1g --flows far|far:2: node 9 is no host of the topology
		--flows none|the traffic has no flows
		--rto 1e-300|--rto: 1e-300 us is less than a packet takes on the slowest link
		--topology star:2@10g --flows incast:1,1k --rto 500ns|--rto: 0.5 us is less than a packet takes on the slowest link (0.885 us)
		--topology star:-1@1g,3@1g|'star:-1@1g,3@1g' is no topology
		--topology chain:-1x2@1g|'chain:-1x2@1g' is no topology
		--topology star:4@1g --flows incast:-1,1k|'incast:-1,1k' is no traffic
		--topology star:4@1g --flows -1*incast:1,1k|'-1*incast:1,1k' is no traffic
		--topology star:4@1g --flows claims:-1,0,1|'claims:-1,0,1' is no traffic
		--topology star:4@1g --flows allreduce-ring:1m,-1|'allreduce-ring:1m,-1' is no traffic
		--topology star:4@1g --flows incast:1,1k,1x|'incast:1,1k,1x' is no traffic
		--topology star:4@1g --flows incast:1,1k,1,2|'incast:1,1k,1,2' is no traffic
		--topology star:1@1g --flows permutation:1k|'permutation:1k' is no traffic for 1 host: it needs 2 or more
		--topology star:1@1g --flows allreduce-ring:1m|'allreduce-ring:1m' is no traffic for 1 host: it needs 2 or more
		--topology star:3@1g --flows incasts:5,1k,10%|'incasts:5,1k,10%' is no traffic for 3 hosts: it needs 6 or more
		--topology star:3@1g --flows cross:0,2-5,1k|'cross:0,2-5,1k' is no traffic for 3 hosts: it needs 6 or more
		--topology star:3@1g --flows incast:1,1k,7|'incast:1,1k,7' is no traffic for 3 hosts: it needs 8 or more
		--topology star:3@1g --flows claims:1,0,3|'claims:1,0,3' is no traffic for 3 hosts: it needs 4 or more
		--topology star:3@1g --flows allreduce-halving:1m|'allreduce-halving:1m' is no traffic for 3 hosts: halving needs a power of two
		--fail -1--2@1ms --for 2ms|--fail: '-1--2@1ms' is not NODE-NODE@TIME
		--seed 1.5|--seed: '1.5' is not a whole number, from 0 to
		--priority 3.7|--priority: '3.7' is not a whole number, from 0 to 7
		--mtu 1000.5|--mtu: '1000.5' is not a whole number of bytes such as 64k, from 64 to 16k
		--flows /dev/zero|/dev/zero:1: this is not a text: it has null bytes
		--topology /dev/zero|/dev/zero:1: this is not a text: it has null bytes
		--routes .|.:1: Is a directory
		--flows .|.:1: Is a directory
		--topology .|.:1: Is a directory
		--routes /dev/zero|/dev/zero:1: this is not a text: it has null bytes
		--flows endless|endless:2: the line is too long
		--flows empty|empty:1048577: the file has only empty lines from line 1
		--topology islands --flows between|flow 0 has no path from node 0 to 3
		--topology errors --flows incast:1|errors:4: '0.5' is not 0: links with errors are not supported
		--topology triangle --flows along --routes through|through:1: node 1 is a host, which forwards nothing
		--flows short|short:3: a flow is missing: SOURCE DESTINATION PRIORITY PORT BYTES SECONDS
		--flows headless|headless:1: '2' is a word too many; the line is: the number of flows, before a line for each: SOURCE
		--flows many|many:3: the file has a line after the flows that its first line counts
		--flows apart|apart:4: the file has a line after the flows that its first line counts
		--flows text|text:3: the file has a line after the flows that its first line counts
		--flows wide|wide:2: '7' is a word too many; the line is: SOURCE DESTINATION
		--flows narrow|narrow:2: '' is not the time of the flow's start in seconds
		--flows negative|negative:2: '-1' is not a node, a whole number below 65536
		--flows overflow|overflow:2: '99999999999999999999' is not the flow's bytes
		--flows late|late:2: the flow starts after more than 1e+06 seconds
		--flows return|return:2: '1000
		--flows null|null:2: this is not a text: it has null bytes
		--flows nothing|nothing:1: the file is empty: the number of flows is missing
		--topology nothing|nothing:1: the file is empty: NODES SWITCHES LINKS is missing
		--topology first|first:1: '9' is a word too many; the line is: NODES SWITCHES LINKS
		--topology switches|switches:2: '1' is a word too many; the line is: the switches that the first line counts
		--topology twice|twice:2: switch 2 is named twice
		--topology link|link:3: '0' is a word too many; the line is: NODE NODE RATE DELAY ERRORS
		--topology links|links:4: the file has a line after the links that its first line counts
		--flows self|self:2: the flow's source is its destination
		--flows priority|priority:2: '9' is not a priority, a whole number below 8
		--routes routes|routes:1: 'over' is not 'via'
		--cc unknown|there is no algorithm 'unknown'; there are reno, dctcp, eqds, nscc, auto, timely,
		--cc timly|there is no algorithm 'timly'; did you mean 'timely'?
		--cc dctpc:g=1/8|there is no algorithm 'dctpc'; did you mean 'dctcp'?
		--seed x|--seed: 'x' is not a whole number, from 0 to 9007199254740992
		--delay x|--delay: 'x' is not a time such as 50us, from 0
		--warmup 2ms --for 2ms|--warmup is not shorter than --for: nothing would be counted
		--cc rcp|--cc rcp needs --agents
		--ecn 400k:100k:1|--ecn: '400k:100k:1' is not [N=]MIN:MAX:P[@RATE]
		--ecn 8=1k:2k:1|--ecn: '8=1k:2k:1' is not [N=]MIN:MAX:P[@RATE]
		--ecn 1k:2k:2|--ecn: a probability of 2 is above 1
		--buffer x|--buffer: 'x' is not a whole number of bytes such as 64k, from 1
		--pfc maybe|--pfc: 'maybe' is neither on nor off
		--like htsim|--like: 'htsim' is not known; ns3 is
		--mtu 4096 --like ns3|--like: it would replace the value of --mtu: give --like before it
		--pfc off --watchdog 1ms|--watchdog: without PFC it has no effect: remove it, or --pfc off
		--lossless 3,4 --pfc off|--lossless: without PFC it has no effect: remove it, or --pfc off
		--hosts both|--hosts: 'both' is neither plain nor shim
		--recovery none|--recovery: 'none' is neither go-back-n nor selective
		--mtu 10|--mtu: '10' is not a whole number of bytes such as 64k, from 64 to 16k
		--segment 64k:0|--segment: '64k:0' is not BYTES[:RATE], such as 64k:700m
		--segment 1000|--segment: it is not a multiple of a packet's --mtu of 1024 bytes
		extra|'extra' is no option
	END
	run bash -c '"$1" run -q --topology star:2@1g --flows incast:1,64k > /dev/full' - "$ccfabric"
	[ "$status" -eq 1 ]
	[ "$output" = "ccfabric: standard output: No space left on device" ]
	for options in --help 'run --help'; do
		# shellcheck disable=SC2016,SC2086
		run bash -c '"$@" > /dev/full' - "$ccfabric" $options
		[ "$options: $status" = "$options: 1" ]
		[ "$output" = "ccfabric: standard output: No space left on device" ]
	done
	# Refused before anything is simulated.
	for option in --out_json; do
		run "$ccfabric" run -q --topology star:2@1g --flows incast:1,64k $option /missing/file
		[ "$option $status" = "$option 1" ]
		[[ $output == "ccfabric: /missing/file: No such file"* ]]
	done
	for option in --out_json; do
		run "$ccfabric" run -q --topology star:2@1g --flows incast:1,64k $option /dev/full
		[ "$option $status" = "$option 1" ]
		[[ $output == *"ccfabric: /dev/full: No space left on device"* ]]
	done
}

# A READ's request is 12 bytes longer than a WRITE's acknowledgement, and takes the same path.
@test "a READ's data come after its request, and its verb needs the flow layer" {
	for verb in write read; do
		fabric --topology star:2@25g --flows pairs:1,0,8000 --cc none --hosts shim --verb $verb
		value '.flows[0].fct_ns' > $verb
	done
	paste write read
	jq -se '.[1] > .[0] and .[1] < .[0] + 20' write read
	fabric --topology star:5@25g --flows cross:1-4,0,2m --cc swift --hosts shim --verb read
	[ "$(value '.flows | all(.fct_ns > 0)')" = true ]
	run "$ccfabric" run --cc none --verb send
	[ "$status" -eq 2 ]
	[[ $output == "ccfabric: --verb: only the flow layer makes a difference"* ]]
	run "$ccfabric" run --cc none --verb atomic
	[ "$status" -eq 2 ]
	[[ $output == "ccfabric: --verb: 'atomic' is none of write, read and send"* ]]
}

@test "the progress is erased when Ctrl-C ends the program" {
	local models=$top_srcdir/bench/ccfabric/models/ucloud.models
	for what in "run --topology star:2@1g --flows incast:1,100g" "matrix --models $models"; do
		# shellcheck disable=SC2086 # words
		interrupted simulating "$ccfabric" $what
		[ "$status" -eq 130 ] || { echo "$what: status $status"; cat -A screen; return 1; }
		[ "$(tail -c 4 screen)" = $'\r\e[K' ] || { echo "$what:"; cat -A screen; return 1; }
	done
}

@test "no process of a matrix survives the first" {
	local pids=
	"$ccfabric" matrix -q --models "$top_srcdir/bench/ccfabric/models/ucloud.models" --jobs 2 > /dev/null 2>&1 3>&- &
	until [ "$(wc -w <<< "$pids")" -eq 2 ]; do
		kill -0 $!
		sleep 0.1
		pids=$(pgrep -P $!) || true
	done
	kill -KILL $!
	# shellcheck disable=SC2086 # words
	while kill -0 $pids 2> /dev/null; do
		sleep 0.1
	done
}

# differs CC WORDS...: the run of this algorithm states exactly these differences, in table and JSON.
differs() {
	local cc=$1 n
	shift
	n=$#
	# shellcheck disable=SC2086 # words
	fabric --topology star:3@100g --flows incast:2,64k --cc $cc
	[ "$(value '.not_as_published | length')" -eq $n ] || { value .not_as_published; return 1; }
	[ "$(grep -c '^Not as published: ' out.txt || true)" -eq $n ]
	for words; do
		value '.not_as_published[]' | grep -F -- "$words"
		grep "^Not as published: " out.txt | grep -qF -- "$words"
	done
}

@test "a published algorithm states what is not as published" {
	frames="buffers, frames and acknowledgements are not the HPCC simulator's, --like ns3"
	marks="dcqcn: marks are not the paper's, --ecn 5k:200k:1%@40g"
	differs none
	differs auto
	differs dctcp
	differs dcqcn "dcqcn: variant ccshim is ccshim's; paper and mlx are published" "$marks" "$frames"
	differs dcqcn:variant=paper "$marks" "$frames"
	differs "dcqcn:variant=paper --ecn 5k:200k:1%@40g" "$frames"
	differs dcqcn:variant=mlx "dcqcn: parameters of variant mlx are derived" \
		"dcqcn: marks return as CNPs, at most one in 50 us" "$frames"
	differs hpcc "hpcc: variant ccshim is ccshim's; paper and ns3 are published" "$frames"
	differs hpcc:variant=ns3 "hpcc: parameters of variant ns3 are derived" "$frames"
	differs timely "timely: variant scaled is ccshim's" "$frames"
	differs hpcc:variant=ns3,min_rate=1g "$frames"
	differs "hpcc:variant=ns3,min_rate=1g --like ns3"
	differs "timely:variant=ns3,min_rate=1g --like ns3"
	differs "dcqcn:variant=mlx,min_rate=1g --like ns3"
	differs "none --priority-cc 3=timely" "timely: variant scaled is ccshim's" "$frames"
}
