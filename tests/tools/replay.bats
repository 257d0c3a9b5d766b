#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

data=$top_srcdir/tests/data
p1=timely:variant=snippet,min_rtt=20,t_low=50,t_high=1000,add_rate=10m,beta=0.8,alpha=0.02
p1+=,min_rate=10m,init_rate=10g
path=(--line-rate 10g --base-rtt 20us)

# Replay a trace of these lines with the algorithm $cc.
cc=timely
replay() {
	printf '%s\n' "$@" > t.csv
	run2 $ccshim replay -a "$cc" "${path[@]}" t.csv
}

# Status 1 (or $want), one line on stderr: place, then what is wrong.
fault() {
	[ "$status" -eq "${want:-1}" ] || { echo "status $status: $errors"; return 1; }
	[ "$(wc -l <<< "$errors")" -eq 1 ]
	said "ccshim replay: $1"
	said "$2"
}

# Two CSV files column by column, numbers to 1e-9.
same() {
	paste -d, "$1" "$2" | awk -F, '{ n = NF / 2
		for (i = 1; i <= n; i++) {
			a = $i; b = $(n + i); d = a - b; if (d < 0) d = -d
			m = b < 0 ? -b : b
			if (a != b && !(a + 0 == a && d <= 1e-9 * m)) {
				print "line " NR ": " a " is not " b; exit 1
			}
		}
	}'
}

@test "help and usage" {
	run2 $ccshim replay -h
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	printed "usage: ccshim replay"
	refused $ccshim replay
	said "-a ALG is missing"
	refused $ccshim replay -a timely
	said "a trace is missing"
	refused $ccshim replay -a timely a b
	said "unexpected argument 'b'"
	refused $ccshim replay -a timly x
	said "did you mean 'timely'?"
	refused $ccshim replay -a timely:bta=1 x
	said "did you mean 'beta'?"
	refused $ccshim replay -a timely --line-rate 10g x
	said "--line-rate needs --base-rtt"
	refused $ccshim replay -a timely --qp 1x x
	said "--qp: '1x'"
	refused $ccshim replay -a timely --pid 0 x
	said "--pid: '0'"
	refused $ccshim replay --table
	said "a trace is missing"
	refused $ccshim replay --table -a timely x
	said "--cc and --table exclude each other"
	refused $ccshim replay -a timely --line-rate fast x
	said "line_rate: 'fast' is not a rate"
}

@test "a published trace gives the published decisions" {
	awk -F, 'NR > 1 { print $2 ",ack," $3 }' "$data/timely_snippet_P1_ramp.csv" |
		sed '1i t_us,event,rtt_us' > in.csv
	run2 $ccshim replay -a $p1 "${path[@]}" in.csv
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[ "$(head -1 <<< "$output")" = i,t_us,event,rate_bps,window_bytes,avg_rtt_diff_us,norm_grad,neg_count,branch ]
	tail -n +2 <<< "$output" | cut -d, -f1,2,4,6- > got
	awk -F, 'NR > 1 { print $1 "," $2 "," $5 "," $7 "," $8 "," $10 "," $6 }' \
		"$data/timely_snippet_P1_ramp.csv" > want
	[ "$(wc -l < want)" -eq 12 ]
	same got want
}

@test "HPCC's published trace, links and all" {
	awk -F, 'NR > 1 { print $5 "," $3 "," NR * 1000 "," $2 ",ack," $4 }' "$data/hpcc_paper_incast.csv" |
		sed '1i hops,snd_nxt,t_ns,ack_seq,event,path' > in.csv
	run2 $ccshim replay -a hpcc:variant=paper,max_stage=5,w_ai=80,min_window=1000 \
		--line-rate 100g --base-rtt 4us in.csv
	[ "$status" -eq 0 ]
	tail -n +2 <<< "$output" | cut -d, -f1,4-8 > got
	awk -F, 'NR > 1 { print $1 "," $14 "," $10 "," $9 "," $11 "," $12 }' \
		"$data/hpcc_paper_incast.csv" > want
	[ "$(wc -l < want)" -eq 12 ]
	same got want
}

# One CNP, and the timers that it starts until the trace ends.
@test "DCQCN's published trace, with its timers" {
	printf '%s\n' t_us,event 100,cnp 430,tick > in.csv
	run2 $ccshim replay --timers -a dcqcn:variant=paper \
		--line-rate 40g --base-rtt 4us in.csv
	[ "$status" -eq 0 ]
	head -1 <<< "$output" | grep -q '^i,t_us,event,rate_bps,window_bytes,target_bps,alpha,'
	tail -n +2 <<< "$output" | cut -d, -f1-4,6,7 | head -12 > got
	awk -F, 'NR > 1 { print $1 "," $2 "," $3 "," $5 "," $6 "," $7 }' \
		"$data/dcqcn_paper_single.csv" > want
	[ "$(wc -l < want)" -eq 12 ]
	same got want
	[ "$(tail -1 <<< "$output" | cut -d, -f1-3)" = 13,430,tick ] # the rate timer's at 430 is 12
	run2 $ccshim replay -a dcqcn:variant=paper \
		--line-rate 40g --base-rtt 4us in.csv
	[ "$(wc -l <<< "$output")" -eq 3 ]
}

@test "endless timers of a plug-in are reported as a mistake in the time" {
	command -v cc > /dev/null || skip "no compiler"
	cat > tick.c <<- 'END'
		#include <ccshim/cc.h>
		static void derive(const struct ccs_cc_path *path, double *p) { (void)path, (void)p; }
		static void on_init(struct ccs_cc *cc) { cc->out.rate = 1e9; cc->out.timer_us = 1; }
		static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *a) { (void)cc, (void)a; }
		static void on_timer(struct ccs_cc *cc, double now_us) { cc->out.timer_us = now_us + 1; }
		const struct ccs_cc_ops ccs_cc_plugin = { .abi = CCS_CC_ABI, .size = sizeof(ccs_cc_plugin),
			.name = "tick", .doc = "ticks", .derive = derive, .on_init = on_init,
			.on_ack = on_ack, .on_timer = on_timer };
	END
	cc -shared -fPIC -I"$top_srcdir/libshim/include" tick.c -o tick.so
	cc=./tick.so replay t_us,event 1000000,tick 9e15,tick
	fault "t.csv:3: column t_us: " "more than 100000000 timers"
	[ "$(wc -l <<< "$output")" -eq 2 ]
}

@test "an ack without bytes acknowledges the given segment" {
	cc=swift:base_target=25,fs_range=0,ai=1,segment=4096,init_window=40960
	replay t_us,event,rtt_us 100,ack,20
	[ "$(tail -n 1 <<< "$output" | cut -d, -f7)" = 10.1 ]
	replay t_us,event,rtt_us,bytes 100,ack,20,2048
	[ "$(tail -n 1 <<< "$output" | cut -d, -f7)" = 10.050000000000001 ]
}

@test "numbers have 17 digits" {
	cc=fixed:rate=0.3g replay t_us,event 0.1,tick
	printed "0,0.10000000000000001,tick,300000000,0"
}

@test "whole numbers may be in floating-point notation" {
	cc=dcqcn replay t_us,event,bytes 1,cnp, 2,send,10000000 3,send,10000000
	want=$output
	cc=dcqcn replay t_us,event,bytes 1,cnp, 2,send,1e7 3,send,10000000.0
	[ "$status" -eq 0 ]
	[ "$output" = "$want" ]
}

@test "columns in any order, units, unknown ones, comments, CRLF, blanks, standard input" {
	cc=$p1 replay t_us,event,rtt_us 100,ack,20 220,ack,500.5 230,tick, 300.25,loss,
	want=$output
	[ "$(wc -l <<< "$want")" -eq 5 ]
	cc=$p1 replay '# made by hand' '' 'rtt_ns, weather ,t_ns,event' '20000,"fine",100000,ack' \
		'#' '500500,,220000,ack' ',,230000,tick' ' , ,300250,loss '
	[ -z "$errors" ]
	[ "$output" = "$want" ]
	printf '\xef\xbb\xbft_us,event,rtt_us\r\n100,ack,20\r\n220,ack,500.5\r\n230,tick,\r\n300.25,loss,' |
		$ccshim replay -a $p1 "${path[@]}" - > got
	[ "$(cat got)" = "$want" ]
}

@test "events that an algorithm does not handle yield rows too" {
	cc=fixed:rate=1g replay t_us,event,bytes 1,cnp, 2,send,4096 3,loss, 4,tick, 5,ack,
	[ "$status" -eq 0 ]
	[ "$(cut -d, -f1-5 <<< "$output" | tail -n +2 | tr '\n' ' ')" = \
		"0,1,cnp,1000000000,0 1,2,send,1000000000,0 2,3,loss,1000000000,0 3,4,tick,1000000000,0 4,5,ack,1000000000,0 " ]
	cc=none replay t_us,event 1,ack
	printed "0,1,ack,inf,0"
}

@test "a completion without a round trip is ignored" {
	cc=$p1 replay t_us,event,rtt_us 100,ack,0
	printed "0,100,ack,10000000000,0,0,0,0,ignored"
}

@test "each mistake in the header is named" {
	: > t.csv
	run2 $ccshim replay -a timely "${path[@]}" t.csv
	fault "t.csv: " "the file is empty"
	replay '# only a comment'
	fault "t.csv: " "the file is empty"
	replay time,event
	fault "t.csv:1: column t_us: " "nor t_ns"
	replay '#' t_us,rtt_us
	fault "t.csv:2: column event: " "has no such column"
	replay t_us,event,t_us
	fault "t.csv:1: column t_us: " "twice"
	replay t_us,event,t_ns
	fault "t.csv:1: column t_ns: " "the header has t_us as well"
	replay t_us,event,rtt_ns,rtt_us
	fault "t.csv:1: column rtt_ns: " "the header has rtt_us as well"
	replay "t_us,event$(printf ',x%.0s' {1..200})"
	fault "t.csv:1: " "more than 128 columns"
	run2 $ccshim replay -a timely "${path[@]}" missing.csv
	fault "missing.csv: " "No such file"
	run2 $ccshim replay -a timely "${path[@]}" .
	fault ".:1: " "Is a directory"
}

@test "each mistake in a line is named with its line and column" {
	local h=t_us,event,rtt_us,bytes,path,flows,qp
	while IFS='|' read -r line column says; do
		replay "$h" '10,ack,20,1,1,1,7' '# comment' "$line"
		fault "t.csv:4: $column" "$says" || { echo "in: $line"; return 1; }
		[ "$(wc -l <<< "$output")" -eq 2 ] # what was good before it
	done <<- 'END'
		9.99,ack,20,,,,7|column t_us: |time goes back, from 10 us in line 2 to 9.9900000000000002 us
		-1,ack,20,,,,7|column t_us: |'-1' is negative
		,ack,20,,,,7|column t_us: |it is empty
		nan,ack,20,,,,7|column t_us: |'nan' is not a number
		inf,ack,20,,,,7|column t_us: |'inf' is not a number
		0x10,ack,20,,,,7|column t_us: |'0x10' is not a number
		1e400,ack,20,,,,7|column t_us: |'1e400' is above
		99999999999999999,ack,20,,,,7|column t_us: |is above 9007199254740992
		11us,ack,20,,,,7|column t_us: |'11us' is not a number
		11,ac,20,,,,7|column event: |no event 'ac'; did you mean 'ack'?
		11,timer,20,,,,7|column event: |no event 'timer'
		11,,20,,,,7|column event: |no event ''
		11,ack,,,,,7|column rtt_us: |it is empty, but ack needs it
		11,ack,-3,,,,7|column rtt_us: |'-3' is negative
		11,ack,nan,,,,7|column rtt_us: |'nan' is not a number
		11,ack,1e300,,,,7|column rtt_us: |'1e300' is above
		11,ack,20,-5,,,7|column bytes: |'-5' is negative
		11,ack,20,1.5,,,7|column bytes: |'1.5' is not a whole number
		11,ack,20,4096.0x,,,7|column bytes: |'4096.0x' is not a whole number
		11,ack,20,1e300,,,7|column bytes: |'1e300' is not a whole number
		11,ack,20,99999999999999999999999,,,7|column bytes: |is above
		11,send,,,,,7|column bytes: |it is empty, but send needs it
		11,ack,20,1,x,,7|column path: |'x' is not a whole number
		11,ack,20,1,4294967296,,7|column path: |is above 4294967295
		11,ack,20,1,1,-2,7|column flows: |'-2' is negative
		11,ack,20,1,1,1,|column qp: |it is empty
		11,ack,20,1,1,1,8|column qp: |the trace contains QP 7 and QP 8: choose one with --qp
		11,ack,20,1,1,1|column qp: |the line has 6 fields, the header 7
		11,ack,20,1,1,1,7,|the line has 8 fields|the header 7
		11|column event: |the line has 1 field, the header 7
	END
}

@test "a column that an event needs and the header lacks is reported" {
	replay t_us,event '10,tick' '11,ack'
	fault "t.csv:3: column rtt_us: " "ack needs it, but the header has no such column"
	cc=hpcc replay t_us,event,hops,ack_seq '10,ack,1:1:1:1,5'
	fault "t.csv:2: column snd_nxt: " "ack needs it, but the header has no such column"
	cc=hpcc replay t_us,event,hops,ack_seq,snd_nxt '10,ack,,5,6'
	fault "t.csv:2: column hops: " "it is empty, but ack needs it"
	cc=swift replay t_us,event,rtt_us '10,ack,'
	fault "t.csv:2: column rtt_us: " "it is empty, but ack needs it"
	replay t_us,event '10,tick' '11,send'
	fault "t.csv:3: column bytes: " "send needs it, but the header has no such column"
	replay t_us,event '10,set'
	fault "t.csv:2: column set: " "set needs it"
}

@test "telemetry records are parsed" {
	while IFS='|' read -r hops says; do
		cc=none replay t_us,event,hops "10,ack,$hops"
		fault "t.csv:2: column hops: " "$says" || { echo "in: $hops"; return 1; }
	done <<- 'END'
		1:2:3|'1:2:3' is not ts_ns:tx_bytes:qlen_bytes:capacity_bps
		1:2:3:4:5|is not ts_ns
		1:2:3:4;|'' is not ts_ns
		1:2:3:|'' is not a number
		1:-2:3:4|'-2' is negative
		1.5:2:3:4|'1.5' is not a whole number
		18446744073709551616:2:3:4|is above 18446744073709551615
		1:2:3:0|a link without capacity
		1:2:3:inf|'inf' is not a number
		1:1:1:1;1:1:1:1;1:1:1:1;1:1:1:1;1:1:1:1;1:1:1:1|more than 5 records
	END
	cc=none replay t_us,event,hops '10,ack,1:1:1:1e9;1:1:1:1;1:1:1:1;1:1:1:1;1:1:1:1' '11,ack,-' '12,ack,'
	[ "$status" -eq 0 ]
}

@test "binary files and overlong lines are refused" {
	printf 't_us,event\n1,ti\0ck\n' > t.csv
	run2 $ccshim replay -a none "${path[@]}" t.csv
	fault "t.csv:2: " "a NUL byte"
	{ echo t_us,event; head -c 100000 /dev/zero | tr '\0' 1; } > t.csv
	run2 $ccshim replay -a none "${path[@]}" t.csv
	fault "t.csv:2: " "longer than"
	replay t_us,event $'1,\e[2J'
	fault "t.csv:2: column event: " "'?[2J'"
}

@test "--qp selects the rows of a queue pair" {
	printf 't_us,qp,event,rtt_us\n10,7,ack,20\n5,8,ack,700\n12,7,ack,30\n6,8,ack,20\n' > t.csv
	run2 $ccshim replay -a $p1 "${path[@]}" --qp 8 t.csv
	[ "$status" -eq 0 ]
	[ "$(tail -n +2 <<< "$output" | cut -d, -f1,2)" = $'0,5\n1,6' ]
	run2 $ccshim replay -a $p1 "${path[@]}" --qp 9 t.csv
	fault "t.csv: " "there is no row of QP 9"
	printf 't_us,event,rtt_us\n10,ack,20\n' > t.csv
	run2 $ccshim replay -a $p1 "${path[@]}" --qp 9 t.csv
	fault "t.csv:2: column qp: " "the header has no such column"
}

# The first lines of the trace of process $1, rank $2.
header=t_us,event,qp,rtt_us,bytes,ack_seq,snd_nxt,inflight,path,flows,hops,covers_us,advised_bps,nic_wait_us
header+=,set,rate_bps,window_bytes,clock_us,pid
described() {
	echo "# ccshim 0.1.0: prog$1, process $1, host node$2, job 7, rank $2, cc=timely"
	[ -z "${3-$header}" ] || echo "${3-$header}"
}

# acks PROCESS TIME...: rows of QP 5.
acks() {
	local t
	for t in "${@:2}"; do
		echo "$t,ack,5,20,4096,,,8192,0,0,,,,,,1e9,65536,$((7000000 + t)),$1"
	done
}

# table COLUMN...: of the table on standard input; every row has all columns, and a column has one type.
table() {
	/usr/bin/python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
numbers = set("t_us qp rtt_us bytes inflight rate_bps window_bytes clock_us pid rank".split())
for row in rows:
    assert None not in row and None not in row.values(), row
    for name in numbers:
        row[name] == "" or float(row[name])
for row in rows:
    print(*(row[name] for name in sys.argv[1:]))' "$@"
}

@test "--table makes one table of the traces of two and four processes" {
	{ described 11 0; acks 11 10 20; } > a.csv
	{ described 12 1; acks 12 10; } > b.csv
	run2 $ccshim replay --table a.csv b.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[ "$(table t_us pid program host rank <<< "$output")" = "10 11 prog11 node0 0
20 11 prog11 node0 0
10 12 prog12 node1 1" ]
	# Four that wrote one file: their rows are mixed, and one, of another version, had its own header.
	old=${header%,pid}
	{ described 1 0; described 2 0 ""; described 3 1 ""; acks 3 10; acks 1 10; acks 2 30; acks 3 40
		described 4 1 "$old"; acks 4 50 | cut -d, -f-18; described 3 1; acks 3 60; } > four.csv
	run2 $ccshim replay --table four.csv a.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[ "$(table pid program t_us <<< "$output" | paste -sd ';')" = \
		"3 prog3 10;1 prog1 10;2 prog2 30;3 prog3 40;4 prog4 50;3 prog3 60;11 prog11 10;11 prog11 20" ]
	# The table is a trace.
	echo "$output" > table.csv
	run2 $ccshim replay --table table.csv
	[ "$output" = "$(cat table.csv)" ]
}

@test "names of others' programs in a table do not control the terminal" {
	{ described 11 0 | sed $'s/prog11/a\033[2J\302\233b/'; acks 11 10; } > a.csv
	run2 $ccshim replay --table a.csv
	[ "$(table program <<< "$output")" = 'a_[2J?b' ]
}

@test "a host's name of any length and bytes is one host" {
	host=$(printf 'h"#\033%.0s' {1..20})
	{ echo t_us,event,qp,rtt_us,bytes,pid,host; printf "%d,ack,5,10,1000,7,$host\n" 10 20; } > host.csv
	run2 $ccshim replay -a timely --line-rate 10g --base-rtt 10us host.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	run2 $ccshim replay --table host.csv
	[ "$(table host <<< "$output" | sort -u)" = "$(printf 'h___%.0s' {1..15})h__" ]
	printf '# ccshim 1: p, process 7, host a"#b, cc=x\nt_us,event,rtt_us,pid\n10,ack,10,7\n' > host.csv
	run2 $ccshim replay --table host.csv
	[ "$(table host <<< "$output")" = a__b ]
}

@test "--table with cut, empty, foreign and damaged files" {
	{ described 11 0; acks 11 10 20; } > a.csv
	{ described 12 0; acks 12 10 20 | head -c -5; } > cut.csv
	: > empty.csv
	printf '%s\n' t_ns,event,rtt_ns,weather 1500,ack,20500,fine > foreign.csv
	run2 $ccshim replay --table empty.csv cut.csv foreign.csv a.csv
	[ "$status" -eq 0 ]
	said "empty.csv: the file is empty, without a header"
	said "cut.csv ends in the middle of a line"
	said "foreign.csv:1: column 'weather' is unknown to this version and left out"
	[ "$(table t_us rtt_us pid program <<< "$output")" = "10 20 12 prog12
1.5 20.5  
10 20 11 prog11
20 20 11 prog11" ]
	# Of these as well the table is a trace: rows without a queue pair are of QP 0.
	run2 $ccshim replay --table -- foreign.csv a.csv
	[ "$(table qp <<< "$output" | paste -sd ' ')" = '0 5 5' ] || { echo "$output $errors"; false; }
	echo "$output" > table.csv
	run2 $ccshim replay --table table.csv
	[ "$output" = "$(cat table.csv)" ] || { echo "$output $errors"; false; }
	echo 30,nonsense >> a.csv
	run2 $ccshim replay --table a.csv cut.csv
	[ "$status" -eq 1 ]
	said "a.csv:5: column rtt_us: the line has 2 fields" || said "a.csv:5: column qp: the line has 2 fields"
	[ "$(table pid <<< "$output" | paste -sd ' ')" = "11 11 12" ]
	run2 $ccshim replay --table empty.csv
	[ "$status" -eq 1 ]
	said "there are no events"
	[ "$(wc -l <<< "$output")" -eq 1 ]
	printf '%s\n' "# ccshim 1: a\"b,#c, process 5, host h, cc=x" "$header" "$(acks 5 10)" > odd.csv
	run2 $ccshim replay --table odd.csv
	[ "$(table program <<< "$output")" = "a_b__c" ]
}

@test "queue pairs of several processes with one number are told apart" {
	{ described 1 0; described 2 0 ""; acks 1 10; acks 2 5; acks 1 20; } > t.csv
	run2 $ccshim replay -a timely "${path[@]}" t.csv
	fault "t.csv:5: column pid: " "the trace contains QP 5 of processes 1 and 2: choose one with --pid"
	run2 $ccshim replay -a timely "${path[@]}" --pid 1 t.csv
	[ "$status" -eq 0 ] && [ "$(wc -l <<< "$output")" -eq 3 ]
	run2 $ccshim replay -a timely "${path[@]}" --pid 9 t.csv
	[ "$status" -eq 1 ]
	said "t.csv: there is no row of process 9"
}

@test "set and start apply the recorded rate and path" {
	local start='line_rate=1e10;base_rtt=20;rtt_jitter=0;segment=16384;flows=2'
	printf '%s\n' t_us,event,rtt_us,set "0,start,,$start" "5,ack,20," "6,set,,rate=2e9" \
		"7,set,,line_rate=1e10;base_rtt=40;rtt_jitter=1;segment=16384;flows=1;max_rate=3e9" \
		"100,ack,500," "0,start,,$start" "1,ack,20," > t.csv
	run2 $ccshim replay -a timely t.csv
	[ "$status" -eq 0 ]
	cut -d, -f4 <<< "$output" > rates
	[ "$(sed -n '2p;4p;7p' rates | tr '\n' ' ')" = "5000000000 2000000000 5000000000 " ]
	[ "$(sed -n 3p rates)" != "$(sed -n 4p rates)" ]
	want=2 replay_without_path
	while IFS='|' read -r set says; do
		printf '%s\n' t_us,event,set "1,set,$set" > t.csv
		run2 $ccshim replay -a timely "${path[@]}" t.csv
		fault "t.csv:2: column set: " "$says" || { echo "in: $set"; return 1; }
	done <<- 'END'
		rate=0|the rate is 0
		rate=x|'x' is not a number
		speed=1|there is no setting 'speed'
		speed|'speed' is not name=value
		line_rate=1e9|a path is line_rate
		line_rate=1e9;base_rtt=1;rtt_jitter=0;segment=1;flows=0|a path is line_rate
		line_rate=1e99;base_rtt=1;rtt_jitter=0;segment=1;flows=1|is above
	END
}

replay_without_path() {
	printf '%s\n' t_us,event,rtt_us "5,ack,20" > t.csv
	run2 $ccshim replay -a timely t.csv
	fault "t.csv:2: " "the network path is unknown: give --line-rate and --base-rtt"
}

@test "--check finds the first difference" {
	printf '%s\n' t_us,event,rtt_us 100,ack,20 160,ack,600 220,ack,90 > in.csv
	$ccshim replay -a timely "${path[@]}" in.csv > out.csv
	paste -d, in.csv <(cut -d, -f4,5 out.csv) > t.csv
	run2 $ccshim replay --check -a timely "${path[@]}" t.csv
	[ "$status" -eq 0 ]
	[ "$output" = "6 recorded values: the same" ]
	run2 $ccshim replay --check -a timely:beta=0.1 "${path[@]}" t.csv
	fault "t.csv:3: column rate_bps: " "recorded "
	[ -z "$output" ]
	printf '%s\n' t_us,event,rate_bps 1,tick,inf 2,tick, > t.csv
	run2 $ccshim replay --check -a none "${path[@]}" t.csv
	[ "$output" = "1 recorded values: the same" ]
	run2 $ccshim replay --check -a fixed "${path[@]}" t.csv
	fault "t.csv:2: column rate_bps: " "replayed 10000000000, recorded inf"
	run2 $ccshim replay --check -a timely "${path[@]}" in.csv
	fault "in.csv: " "no recorded decisions to check"
}

@test "a full disk is a failure" {
	printf '%s\n' t_us,event,rtt_us 100,ack,20 > t.csv
	run2 sh -c "'$ccshim' replay -a timely --line-rate 10g --base-rtt 20us t.csv > /dev/full"
	[ "$status" -eq 1 ]
	said "standard output"
}

# Damaged copies of a valid trace: a result or an error, never a crash.
@test "damaged traces never crash it" {
	local seed=${CCS_SEED:-$RANDOM} i
	echo "# CCS_SEED=$seed" >&3
	export ASAN_OPTIONS=$ASAN_OPTIONS:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
	printf '%s\n' 't_us,event,rtt_us,bytes,ack_seq,snd_nxt,path,flows,hops,set,rate_bps' \
		'1,start,,,,,,,,line_rate=1e10;base_rtt=20;rtt_jitter=0;segment=16384;flows=2,' \
		'2,ack,20,4096,4096,8192,1,2,1:2:3:1e9;4:5:6:1e9,,1e9' '3,send,,4096,,,,,,,' \
		'4,cnp,,,,,,,,,' '5,loss,,,,,,,,,' '6,set,,,,,,,,rate=1e9,' '7,tick,,,,,,,,,' \
		'8,ack,900,4096,8192,12288,1,0,9:9:9:1e9,,' > good.csv
	for ((i = 0; i < 150; i++)); do
		awk -v seed=$((seed + i)) 'BEGIN { srand(seed); RS = "^$"; ORS = ""
			bits = "0123456789.,;:=-e#\n\r\t \"\\xaksinftr" sprintf("%c", 200) } {
			for (n = int(rand() * 6); n >= 0; n--) {
				at = 1 + int(rand() * length($0)); cut = int(rand() * 4)
				put = substr(bits, 1 + int(rand() * length(bits)), int(rand() * 3))
				$0 = substr($0, 1, at) put substr($0, at + 1 + cut)
			}
			print }' good.csv > bad.csv
		status=0
		$ccshim replay -a timely "${path[@]}" bad.csv > out 2> err || status=$?
		[ "$status" -le 1 ] || { echo "seed $((seed + i)): status $status"; cat err; return 1; }
		[ "$status" -eq 0 ] || grep -q '^ccshim replay: bad.csv' err
		! grep -q nan out
	done
}
