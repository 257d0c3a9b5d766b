#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim plan: the values that articles print, and what it refuses.

load tools.bash

plan() {
	run2 "$ccshim" plan "$@"
	[ "$status" -eq 0 ] || { echo "status $status: $errors"; return 1; }
	[ -z "$errors" ]
}

# is FILTER VALUE: what jq makes of the JSON just printed.
is() {
	local got
	got=$(jq -c "$1" <<< "$output")
	[ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
}

@test "help and usage" {
	plan -h
	printed "usage: ccshim plan CALCULATION"
	plan headroom -h
	printed "--cable LENGTH"
	refused "$ccshim" plan
	said "a calculation is missing"
	refused "$ccshim" plan headrom
	said "did you mean 'headroom'?"
	refused "$ccshim" plan headroom 100g
	said "unexpected argument '100g'"
}

@test "--explain prints formulas with their sources, in JSON, too" {
	plan headroom --explain
	printed "H = ceil(T * rate / slot)"
	printed "(UCloud's article, section Headroom)"
	plan headroom --explain --json
	is '.explain | length > 3' true
	is 'all(.explain[]; .formula and .source)' true
}

# types KEY:TYPE…: members of the JSON just printed that programs may rely on.
types() {
	local key
	for key; do
		jq -e --arg type "${key#*:}" "(${key%%:*} | type) == \$type" <<< "$output" > /dev/null ||
			{ echo "no $key in $output"; return 1; }
	done
}

@test "JSON has the documented keys, and their types" {
	plan headroom --json
	types .cells:number .bytes:number .terms_ns:object .terms_ns.{tm1,tr1,tm2,tr2}:number
	plan buffer --json
	types .{cells,headroom_cells,guarantee_cells,shared_cells,xoff_cells}:number .inequality_holds:boolean
	plan thresholds --json
	types .{t_pfc_bytes,t_ecn_bytes}:number
	plan ecn --json
	types .pmax_effective:number
	plan deadlock --clos 4x2 --failures 2 --json
	types .{cases,with_cycle}:number .cycles:array .cycles[0].links:array
}

@test "headroom: the two ports of UCloud's article" {
	plan headroom --rate 100g --cable 100m --json
	is '[.cells, .bytes]' '[408,104448]'
	is '.terms_ns | keys' '["tm1","tm2","tr1","tr2"]'
	is '.total_ns - ([.terms_ns[]] | add) | fabs < 1e-6' true
	plan headroom --rate 25g --cable 15m --json
	is '[.cells, .bytes]' '[98,25088]'
	plan headroom
	printed "This is the least; real switches get a margin."
}

@test "headroom: the worst frame fills small cells badly" {
	# Frames of 64 to 9216 bytes; 96 bytes and 319 cells: 458.
	for cell in 48 64 80 96 128 146 147 192 208 256 512; do
		plan headroom --rate 100g --cable 40m --mtu 1500 --cell $cell --json
		is .cells "$(awk -v cell=$cell 'BEGIN {
			for (f = 64; f <= 9216; f++) {
				r = int((f + cell - 1) / cell) / (8 * (f + 20))
				worst = r > worst ? r : worst
			}
			cells = 214000 * worst - 1e-9
			print int(cells) + (cells > int(cells)) }')"
	done
	plan headroom --rate 100g --cable 40m --cell 96 --json
	is .cells 458
}

@test "headroom: the response time of 802.3 for each rate that has one" {
	while read -r rate quanta; do
		plan headroom --rate "$rate" --t0 standard --mtu 64 --json
		is '[.standard_t0_ns, .total_ns - 1000] | map(. * 10 | round)' \
			"$(jq -nc "[1, 1] | to_entries | map($quanta * 5120 / ${rate%g} + .key * 10240 / ${rate%g} | round)")"
	done <<- 'END'
		10g 67
		25g 80
		40g 118
		50g 147
		100g 394
		200g 453
		400g 905
		800g 905
	END
	plan headroom --rate 30g --json
	is .standard_t0_ns null
	plan buffer --ports 2x100g:10m --t0 standard --json
	printf '%s\n' '3 1 2' 2 '0 2 100Gbps 500ns 0' '1 2 30Gbps 75ns 0' > topo
	refused "$ccshim" plan headroom --all topo --t0 standard --json
	said "--t0: 802.3 has no value for ports of 30 Gb/s; give a time"
}

@test "headroom: each link of a topology file" {
	printf '%s\n' '3 1 2' 2 '0 2 100Gbps 500ns 0' '1 2 25Gbps 75ns 0' > topo
	plan headroom --all topo --json
	is '[.links[] | [.from, .to, .cells]]' '[[0,2,408],[1,2,98]]'
}

@test "headroom: wrong options are refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan headroom --json $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
		[ "$(wc -l <<< "$errors")" -eq 1 ]
	done <<- 'END'
		--mtu 63|--mtu: a frame of 63 bytes is shorter than the smallest one
		--slot 1e6|--mtu: a frame of 1500 bytes is shorter than the smallest one
		--rate 0|--rate: '0' is not a positive rate
		--rate 100q|--rate: '100q' is not a positive rate
		--rate inf|--rate: 'inf' is not
		--rate 10GB/s|--rate: '10GB/s' is not a positive rate in bit/s
		--rate 1e30|--rate: '1e30' is not in the range 1k to 100t
		--mtu 1e30|--mtu: '1e30' is not in the range 1 to 1t
		--cell 1e-30|--cell: '1e-30' is not in the range
		--cable 1e30|--cable: '1e30' is not in the range
		--t0 100s --rate 100t|--rate: with this cable, MTU and t0 the headroom is 14880952529798 cells
		--cable 5cm|--cable: '5cm' is not a length
		--velocity 0|--velocity: '0' is not a positive number
		--slot 0|--slot: '0'
		--cell 0|--cell: '0'
		--all missing|--all: missing: No such file
	END
}

@test "a mistake in a topology file is named with its line" {
	while IFS='|' read -r text says; do
		printf "$text" > topo
		refused "$ccshim" plan headroom --all topo || { echo "accepted: $text"; return 1; }
		said "--all: topo:$says" || { echo "in: $text"; return 1; }
	done <<- 'END'
		|1: the file is empty
		2 1\n|1: '' is not the number of links
		2 3 1\n|1: '3' is not the number of switches
		2 1 1\n5\n|2: '5' is not a switch
		2 1 1\n1\n|3: a link is missing
		2 1 1\n1\n0 1 100q 1us 0\n|3: '100q' is not the link's rate
		2 1 1\n1\n\n0 1 100Gbps x 0\n|4: 'x' is not the link's delay
		2 1 1\n1\n0 7 100Gbps 1us 0\n|3: '7' is not a node
		2 1 1\n1\n1 1 100Gbps 1us 0\n|3: the link connects a node with itself
	END
}

tor=(--buffer 32m --cell 256 --ports 32x25g:15m,8x100g:100m --lossless 1 --kmax 1400cells)

@test "buffer: headrooms, guarantees and the pool of a top-of-rack switch" {
	plan buffer "${tor[@]}" --alpha 1/8 --json
	is '[.cells, .headroom_cells, .guarantee_cells, .shared_cells]' '[131072,6400,1440,123232]'
	is '[.xoff_cells, .xoff_alone_cells, .inequality_holds]' '[2621,13692,true]'
	is '[.alphas[] | [.each_cells, .all_cells]] | .[3:]' \
		'[[2621,102256],[2865,111768],[3005,117220],[3080,120151]]'
}

@test "buffer: the inequality holds for every alpha, unless Queue-Share is small" {
	plan buffer "${tor[@]}" --alpha 1 --json
	is '[.left_cells, .right_cells, .largest_static_share_cells]' '[127857,131072,3163]'
	is 'all(.alphas[]; .holds)' true
	run2 "$ccshim" plan buffer "${tor[@]}" --queue-share 100000cells
	[ "$status" -eq 1 ]
	printed "The peers are paused before the queue drops: NO"
}

@test "buffer: a small alpha keeps queues below Kmax" {
	plan buffer "${tor[@]}" --json
	is '[.alphas[] | [.queues_to_kmax, .queues_to_half_kmax]]' \
		'[[1,2],[2,5],[5,10],[9,19],[17,35],[29,58],[44,88]]'
	plan buffer "${tor[@]}"
	printed "ECN is dead if one ingress feeds more than 19 queues"
}

@test "buffer: a lossy queue takes the pool, unless it is limited" {
	plan buffer "${tor[@]}"
	printed "A full lossy queue with alpha 8 lowers XOFF from 13692 to 1688 cells"
	plan buffer "${tor[@]}" --lossy-alpha 1/8 --json
	is .xoff_beside_lossy_cells 12323
}

@test "buffer: the time to drain it" {
	plan buffer "${tor[@]}" --buffer 32000000 --json
	is '[.bytes_per_ms, .drain_ms]' '[3125000,10.24]'
}

@test "buffer: wrong options are refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan buffer $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
	done <<- 'END'
		--alpha 0|--alpha: '0' is not a positive fraction
		--alpha 1/0|--alpha: '1/0' is not
		--alpha 1/8x|--alpha: '1/8x' is not
		--buffer 1m|--buffer: 4096 cells are too few: headroom needs 6400
		--frame 64m|--buffer: 131072 cells are too few for one port
		--ports 2x25g:1e8|--buffer: 131072 cells are too few for one port
		--buffer 1e18|--buffer: '1e18' is not in the range
		--lossless 9|--lossless: '9' is not a whole number from 1 to 8
		--ports 32|--ports: '32' is not NxRATE:LENGTH
		--ports 1x25g:15m|--ports: a switch has at least two
		--ports 1.5x25g:15m|--ports: '1.5' is not a number of ports
		--ports 2x0:15m|--ports: '0' is not a positive rate
		--kmax 0cells|--kmax: '0cells' is not
		--ingresses 40|--ingresses: '40' is not a whole number from 1 to 39
	END
}

trident=(--buffer 12000k --ports 32 --flight 22.4k --beta 8)

@test "thresholds: the switch of DCQCN's paper, in its KB" {
	plan thresholds "${trident[@]}" --priorities 8
	printed "t_PFC static                   24.475 KB"
	printed "t_ECN with dynamic t_PFC  <    21.756 KB"
	printed "t_ECN with static t_PFC         0.765 KB"
	printed "That gives 97.900 KB"
	plan thresholds "${trident[@]}" --priorities 8 --json
	is '[.t_pfc_bytes, .t_ecn_bytes] | map(round)' '[24475,21756]'
	for row in '2 146756' '1 313422'; do
		plan thresholds "${trident[@]}" --priorities "${row% *}" --json
		is '.t_ecn_bytes | round' "${row#* }"
	done
}

@test "thresholds: marks are checked against both conditions" {
	plan thresholds "${trident[@]}" --check 5k:20k
	printed "Kmax <= t_ECN       holds"
	run2 "$ccshim" plan thresholds "${trident[@]}" --check 5k:200k
	[ "$status" -eq 1 ]
	printed "Kmax <= t_ECN       BROKEN"
	run2 "$ccshim" plan thresholds "${trident[@]}" --check 5k:20k --t-pfc 24.47k --json
	[ "$status" -eq 1 ]
	is '.check | [.kmax_below_t_ecn, .ecn_before_pfc]' '[true,false]'
}

@test "thresholds: wrong options are refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan thresholds $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
	done <<- 'END'
		--buffer 1000k|--buffer: 1000000 bytes are too few: 5734400 may arrive
		--beta 0|--beta: '0' is not a positive number
		--ports 0|--ports: '0' is not a whole number
		--check 5k|--check: '5k' is not KMIN:KMAX
		--check 5k:1k|--check: Kmin is above Kmax
	END
}

@test "ecn: the largest effective Pmax, and that it is a knee" {
	plan ecn --pps 2227007 --at 0.25%,0.45%,1%,2%,4.05%,100% --json
	is '.pmax_effective * 1e5 | round' 898
	is '[.by_mtu[].pmax_effective * 1e5 | round]' '[216,380,708,1363,2674]'
	is '[.cnps[].cnps_per_s | round]' '[4355,6676,10537,13802,16370,19822]'
	plan ecn --pps 2227007
	printed "0.898   10000          +0 %"
	printed "Kmin  below      125000 bytes =    488 cells of 256, 40 us at 25 Gb/s"
	printed "Kmax  at most    250000 bytes =    976 cells of 256, 80 us at 25 Gb/s"
}

@test "ecn: a polled average keeps the queue below Kmax with 1:1400, not with 800:1400" {
	plan ecn --pps 2227007 --check 1:1400 --poll 50us --weight 1/4
	printed "stays below Kmax: yes"
	run2 "$ccshim" plan ecn --pps 2227007 --check 800:1400 --poll 50us --weight 1/4
	[ "$status" -eq 1 ]
	printed "stays below Kmax: NO"
	printed "(57 and 99 us at line rate)"
	plan ecn --pps 2227007 --check 800:1400 --json
	is .check.stays_below_kmax true
}

@test "ecn: queue pairs have CNPs of their own" {
	plan ecn --qps 10 --pps 2227007 --json
	is '.pmax_effective * 1e4 | round' 898
}

@test "ecn: wrong options are refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan ecn --json $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
	done <<- 'END'
		--pps 0|--pps: '0' is not a positive number
		--mtu 1kk|--mtu: '1kk' is not
		--latency 40us|--latency: '40us' is not two values
		--latency 80us:40us|--latency: the wanted latency is above
		--at 101%|--at: '101%' is not a share
		--pmax 2%|--pmax has no effect without --check
		--poll 50us --pps 2000000|--poll has no effect without --check
		--at .1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1,.1|--at: more than 32 probabilities
		--check 800|--check: '800' is not two values
		--check 5:1 --pps 1e6|--check: Kmin is above Kmax
		--check 1:1400|--check: the queue does not grow
		--check 1:1400 --pps 1e6 --pmax 0|--pmax: '0' is not a share
		--check 1:1400 --pps 1e6 --weight 2|--weight: it is not from 1/1024 to 1
	END
}

@test "deadlock: a Clos with four or eight aggregates has no cycle after two failures, with two it has" {
	while read -r clos failures options counts; do
		[ "$options" = - ] && options=
		# shellcheck disable=SC2086 # words
		plan deadlock --clos "$clos" --failures "$failures" $options --json
		is '[.cases, .with_cycle]' "$counts" || { echo "$clos $failures"; return 1; }
	done <<- 'END'
		4x4 0 - [1,0]
		4x4 1 - [16,0]
		4x4 2 - [120,0]
		4x4x2 0 - [1,0]
		4x4x2 1 - [24,0]
		4x4x2 2 - [276,0]
		4x8 2 - [496,0]
		4x2 2 - [28,12]
		4x2x2 2 - [66,12]
		4x4x2 1 --summaries [24,16]
		4x4x2 2 --summaries [276,248]
		4x4 1 --transient [16,16]
		4x4x2 1 --transient [24,16]
	END
}

@test "deadlock: the cycle is printed link by link" {
	plan deadlock --clos 4x2 --fail t0-a0,t1-a1 --json
	is '[.cases, .with_cycle]' '[1,1]'
	is '.cycles[0].links as $l | [range($l | length)] | all($l[.] as $x | $l[(. + 1) % ($l | length)] as $y |
		($x | split(">")[1]) == ($y | split(">")[0]))' true
	plan deadlock --clos 4x2 --failures 2
	printed "failed: t0-a0, t1-a1"
	printed "... and 9 more"
}

@test "deadlock: while tables change, mixtures of old and new ones have cycles" {
	plan deadlock --clos 4x4x2 --transient --fail t0-a0 --json
	is '[.mixtures, .bad_mixtures]' '[128,62]'
}

@test "deadlock: switches fail, too" {
	plan deadlock --clos 4x4x2 --nodes --failures 1 --json
	is '[.cases, .with_cycle]' '[30,0]'
}

# Two spines, two leaves, two hosts.
@test "deadlock: a topology file is the same network" {
	printf '%s\n' '6 4 6' '2 3 4 5' '0 2 100Gbps 1us 0' '1 3 100Gbps 1us 0' '2 4 100Gbps 1us 0' \
		'2 5 100Gbps 1us 0' '3 4 100Gbps 1us 0' '3 5 100Gbps 1us 0' > topo
	plan deadlock --topology topo --failures 2 --json
	want=$(jq -c '[.cases, .with_cycle]' <<< "$output")
	plan deadlock --clos 2x2 --failures 2 --json
	is '[.cases, .with_cycle]' "$want"
	plan deadlock --topology topo --fail s2-s4 --transient
	printed "mixtures of tables"
}

@test "deadlock: wrong options are refused" {
	printf '%s\n' '2 2 1' '0 1' '0 1 1g 1us 0' > hostless
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan deadlock --json $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan deadlock --explain $words || { echo "printed: $output"; return 1; }
	done <<- 'END'
		--clos 4|--clos: '4' is not TORSxAGGREGATES
		--clos 4x4x|--clos: '4x4x' is not TORSxAGGREGATES
		--clos 4x0|--clos: '4x0' is not TORSxAGGREGATES
		--clos 4x4x2x1|--clos: '4x4x2x1' is not TORSxAGGREGATES
		--clos 2x65|--clos: a switch has more than 64 links
		--clos 99x99|--clos: more than 4096 links
		--clos 1x1 --failures 2|--failures: the network has 1 elements that can fail
		--fail t0-a0 --failures 2|--failures and --fail exclude each other
		--failures 5|--failures: '5' is not a whole number from 0 to 4
		--clos 8x32 --failures 4|--failures: more than 1000000 cases
		--fail t9-a0|--fail: there is no link or switch 't9-a0'; the first link is t0-a0
		--topology missing|--topology: missing: No such file
		--topology hostless|--topology: hostless: no switch has a host
		--clos 20x4 --transient|--transient: more than 16 switches change
	END
}

@test "qos: the article's maps, and a row for ccshim's agents" {
	plan qos --json
	is '[.edge[] | [.udp_dport, .dscp, .queue]]' '[[4791,48,6],[4791,46,5],[4793,48,6]]'
	is '[.inside, .other]' '[{"46":5,"48":6},2]'
	is .agents_in_first_queue true
	plan qos --edge 4791/48:6,4791/46:5
	printed "CNPs of ccshim's agents (UDP 4793, DSCP 48) do NOT get into queue 6"
}

@test "qos: a CNP waits for a frame per hop, which jumbo frames make too long" {
	for row in '1024 0.53 true' '4096 2.01 true' '9216 4.46 false'; do
		read -r mtu us holds <<< "$row"
		plan qos --mtu "$mtu" --json
		is '.cnp_wait_us * 100 | round / 100' "$us"
		is .cnp_latency_holds "$holds"
	done
	plan qos --mtu 9216
	printed "A CNP waits at most 4.46 us for frames of MTU 9216 on its path:"
	printed "this is LONGER than 3 us"
}

@test "qos: the limit of the first queue is printed with its loss" {
	plan qos --flows 1000 --json
	is '[.cnps_bps, .cap_bps] | map(. / 1e6 | round)' '[11840,500]'
	plan qos
	printed "1000 flows could send 11.8 Gb/s of CNPs"
	printed "passes the CNPs of 42 flows"
}

@test "qos: tc commands classify, limit, weigh and mark" {
	plan qos --format tc --dev p_1
	printed "tc qdisc add dev p_1 root handle 1: prio bands 2"
	printed "tbf rate 500000000bit"
	printed "dst_port 4793 ip_tos 0xc0/0xfc classid 1:1"
	printed "dst_port 4791 ip_tos 0xb8/0xfc classid 2:6"
	printed "htb rate 20000000000bit ceil 25000000000bit"
	printed "probability 0.01 ecn"
	plan qos --format tc --where inside
	[[ $output != *dst_port* ]]
	plan qos --format tc --json
	is 'all(.commands[]; startswith("tc "))' true
}

@test "qos: two lossless queues, as SONiC has" {
	both=(--lossless 3,4 --weights 3:40,4:40,2:20 --inside 48:6,26:3,24:4 --edge 4791/48:6,4791/26:3,4791/24:4,4793/48:6)
	plan qos "${both[@]}" --json
	is .lossless '[3,4]'
	plan qos "${both[@]}"
	printed "Queue 3: weight 40, PFC and ECN"
	printed "Queue 4: weight 40, PFC and ECN"
	plan qos "${both[@]}" --format tc
	printed "parent 2:4 handle 13: red"
	printed "parent 2:5 handle 14: red"
	printed "prio-pfc all:off 3:on 4:on"
}

@test "qos: tc accepts the commands at every rate" {
	command -v tc > /dev/null || skip "no tc"
	for rate in 1m 100m 10g 25g 100g 400g 800g; do
		for marks in "" "--mtu 4096 --kmin 1m --kmax 4m --pmax 20%"; do
			# shellcheck disable=SC2086 # words
			plan qos --format tc --dev nowhere0 --rate $rate $marks
			grep '^tc .* add ' <<< "$output" | sh 2> refused || true # each for want of the device
			grep -q 'Cannot find device' refused
			! grep -v '^Cannot find device "nowhere0"$' refused || return 1
		done
	done
}

@test "qos: wrong options are refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" plan qos $words || { echo "accepted: $words"; return 1; }
		said "ccshim plan: $says" || { echo "in: $words"; return 1; }
	done <<- 'END'
		--format xml|--format: 'xml' is not known; use table or tc
		--format sonic|--format: 'sonic' is not known; use table or tc
		--format tc --where here|--where: 'here' is neither
		--where inside|--where has no effect without --format
		--edge 4791:6|--edge: '4791:6' in the list has the wrong form
		--edge 4791/64:6|--edge: '4791/64:6' in the list has the wrong form or a number that is too large
		--edge 4791/48:6x|--edge: '4791/48:6x' in the list has the wrong form
		--edge 4791/48:7|--weights: queue 7 is used, but has no weight
		--lossless 8|--lossless: '8' is not a queue
		--lossless 3,|--lossless: '3,' is not a queue
		--lossless 3,4|--weights: queue 3 is used, but has no weight
		--inside 48|--inside: '48' in the list has the wrong form
		--weights 6:1|--weights: queue 6 has strict priority
		--weights 5:1,2:1,5:2|--weights: queue 5 has two weights
		--edge 4791/48:6,4791/46:5,4791/46:2|--edge: UDP port 4791 with DSCP 46 is named twice
		--inside 48:6,46:5,46:2|--inside: DSCP 46 is named twice
		--lossless 3 --weights 3:40,5:40,2:20|--lossless: no packet gets into queue 3; --edge and --inside choose
		--lossless 6|--lossless: queue 6 has strict priority, for CNPs: --first
		--cap 25g|--cap: it is not below the port's rate
		--format tc --dev a;b|--dev: 'a;b' is not the name of a port
		--format tc --kmin 2k|--kmin: tc needs two packets at least, 2172 bytes
		--format tc --kmax 2g|--kmax: tc has no marks above 1 GB
		--format tc --pmax 0.01%|--pmax: tc needs more than 0.0143 % between these marks
		--format tc --kmin 400k|--kmin: it is not below Kmax
		--hops 25g,0|--hops: '0' is not a positive rate
	END
}

# Status 1 says that something does not hold.
@test "the commands of docs/guide/fabric.md and of the manual page run" {
	n=0
	while read -r words; do
		# shellcheck disable=SC2086 # words
		run2 "$ccshim" $words
		[ "$status" -le 1 ] && [ -z "$errors" ] || { echo "$words: $errors"; return 1; }
		n=$((n + 1))
	done < <(sed -nE 's/^(    |\$ )ccshim (plan [^|#]*).*/\2/p' "$top_srcdir/docs/guide/fabric.md" \
		"$top_srcdir/docs/man/ccshim-plan.1" | grep -v FILE)
	[ "$n" -ge 13 ]
}

@test "the numbers in docs/guide/fabric.md are those that plan prints" {
	has() { grep -q "$1" "$top_srcdir/docs/guide/fabric.md" || { echo "docs/guide/fabric.md: no $1"; return 1; }; }
	plan headroom --rate 25g --cable 15m --json
	has "# $(jq .cells <<< "$output") cells"
	plan headroom --rate 100g --cable 100m --json
	has "# $(jq .cells <<< "$output") cells"
	run2 "$ccshim" plan ecn --pps 2227007 --check 800:1400 --poll 50us --weight 1/4 --json
	has "fills $(jq '.check.peak_cells | round' <<< "$output") cells"
	plan ecn --pps 2227007 --check 800:1400 --json
	has "without polling, $(jq '.check.peak_cells | round' <<< "$output")\."
}
