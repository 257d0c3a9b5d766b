#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric: what PFC does alone, and with DCQCN, as in DCQCN 2.2 and 6.1.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash

# Two pods of two ToRs with eight hosts each: T1 0 to 7, T2 8 to 15, T3 16 to 23, T4 24 to 31.
# clos CC PAIR...: flows without end between pairs "SOURCE-DESTINATION"
clos() {
	local cc=$1 pair
	shift
	echo $# > flows
	for pair; do
		echo "${pair%-*} ${pair#*-} 3 100 400000000 0" >> flows
	done
	fabric --topology clos:2x2x2x2/8@40g:40g --flows flows --buffer 12m --warmup 5ms --for 20ms \
		--cc "$cc"
}

# port NAME: its utilisation
port() {
	value ".ports[] | select(.name == \"$1\").utilisation"
}

# The victim of T1 sends to T2; hosts of T1 and, two hops away, of T3 send to one of T4.
@test "PFC alone slows down a victim, more so with senders that share none of its links; DCQCN does not" {
	incast=(0-24 1-24 2-24 3-24)
	for cc in none dcqcn; do
		clos $cc "${incast[@]}" 4-8
		port "33->8" > few.$cc
		clos $cc "${incast[@]}" 4-8 16-24 17-24
		port "33->8" > many.$cc
		[ "$(jq -n "$(port "35->24") > 0.97")" = true ]
		echo "$cc: the victim has $(cat few.$cc), with two senders more $(cat many.$cc)"
	done
	jq -n -e "$(cat many.none) < 0.6 * $(cat few.none)"
	jq -n -e "$(cat few.dcqcn) > 1.5 * $(cat few.none) and $(cat many.dcqcn) > 3 * $(cat many.none)"
	jq -n -e "$(cat many.dcqcn) > 0.9 * $(cat few.dcqcn)"
}

# The sender beside the receiver has an ingress port of its own, the others share two.
@test "PFC alone is unfair to senders that share an ingress port, DCQCN less so" {
	for cc in none dcqcn; do
		clos $cc 0-24 1-24 2-24 25-24
		for name in "0->32" "1->32" "2->32" "25->35"; do
			port "$name"
		done > shares.$cc
		jq -sc . shares.$cc
	done
	jq -s -e 'max > 1.9 * min' shares.none
	jq -s -e 'max < 1.6 * min' shares.dcqcn
}

@test "39 senders at once without control: no packet is dropped and the port is full" {
	fabric --topology star:40@25g --flows incast:39,1m --buffer 32m
	[ "$(value '.packets | .sent == .received and .pauses > 0')" = true ]
	[ "$(value '.ports[] | select(.name == "40->0").utilisation > 0.995')" = true ]
}

# DCQCN starts at line rate (3.1).
@test "without PFC DCQCN's start loses packets, with PFC none" {
	for pfc in off on; do
		fabric --topology star:33@25g --flows incast:32,1m --buffer 4m --alpha 1 --cc dcqcn --pfc $pfc
		value .packets.dropped_no_buffer_ingress > drops.$pfc
	done
	[ "$(cat drops.off)" -gt 100 ]
	[ "$(cat drops.on)" = 0 ]
}

@test "small cells: no lossless packet is dropped, with frames a byte longer than cells" {
	for words in "--cell 84 --mtu 64" "--cell 63 --mtu 64" "--cell 96 --mtu 115" "--cell 48 --mtu 4096"; do
		# shellcheck disable=SC2086 # words
		fabric --topology star:17@100g --flows incast:16,1m --buffer 8m $words
		[ "$(value '[.packets.dropped_no_buffer_ingress, .packets.pauses > 0]' | jq -c)" = '[0,true]' ] ||
			{ echo "$words"; value .packets; return 1; }
	done
}

@test "two lossless priorities at once: neither loses a packet, a third does" {
	fabric --topology star:17@100g --flows 3=incast:16,1m+4=incast:16,1m+2=incast:16,1m --buffer 8m \
		--lossless 3,4 --queue-alpha 1/8 --queue 2:1 --queue 3:1 --queue 4:1
	[ "$(value '[.ports[].priorities[] | select(.priority == 3 or .priority == 4) | .drops] | add')" = 0 ]
	[ "$(value '[.ports[].priorities[] | select(.priority == 2) | .drops] | add > 0')" = true ]
	for list in 3, 8 a 3-4 '' '3 4'; do
		run "$ccfabric" run --lossless "$list"
		[ "$status" -eq 2 ] && [[ $output == *"--lossless: '$list' is not N[,N]..., priorities from 0 to 7"* ]]
	done
}
