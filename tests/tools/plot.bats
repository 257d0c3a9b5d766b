#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

header=t_us,event,qp,rtt_us,bytes,inflight,hops,rate_bps,clock_us

# A trace of $1 flows with $2 acknowledgements each; flow i acknowledges i times 1000 bytes.
trace() {
	echo "# ccshim 0.1.0: a test, process 1, cc=timely"
	echo $header
	awk -v flows="$1" -v acks="$2" 'BEGIN {
		for (i = 1; i <= flows; i++)
			for (k = 1; k <= acks; k++)
				printf "%d,ack,%d,%d,%d,%d,0:0:%d:1e9,%d,%d\n", k * 10, i, 20 + k % 7,
					1000 * i, 2000 * i, 500 * k, 1e8 * i, 5000000 + k * 10 + i
	}'
}

# Points of a data block in the script that was printed; $F0W1: the first flow's RTTs.
points() {
	awk -v block="\$$1" '$0 == block " << EOD" { on = 1; next } $1 == "EOD" { on = 0 } on' <<< "$output"
}

needs_gnuplot() {
	command -v gnuplot > /dev/null || skip "no gnuplot"
}

is_png() {
	[ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
	[ "$(tail -c 8 "$1" | head -c 4)" = IEND ]
	[ "$(stat -c %s "$1")" -gt 5000 ]
}

# The directory contains only $*.
only() {
	[ "$(echo *)" = "$*" ] || { ls -la; return 1; }
}

failed() {
	[ "$status" -eq 1 ] && [ -z "$output" ]
}

@test "help and usage" {
	run2 $ccshim plot -h
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed "usage: ccshim plot"
	refused $ccshim plot
	said "FILE is missing"
	refused $ccshim plot --output x.pdf t.csv
	said "'x.pdf' does not end in .png, .svg or .json"
	refused $ccshim plot --output x.json --cdf rtt t.csv
	said "--cdf and --dry-run are for pictures"
	refused $ccshim plot --dry-run --output x.json t.csv
	refused $ccshim plot --cdf rt t.csv
	said "did you mean 'rtt'?"
	refused $ccshim plot --cdf cnps t.csv
	refused $ccshim plot --flows many t.csv
	refused $ccshim plot --flows 0 t.csv
	refused $ccshim plot --qp -1 t.csv
}

@test "a trace that may not be read is not called anything else" {
	local without=()
	[ "$EUID" -ne 0 ] || without=(setpriv --bounding-set -dac_override,-dac_read_search)
	trace 1 3 > t.csv
	chmod 0 t.csv
	run2 "${without[@]}" "$ccshim" plot --output x.svg t.csv
	failed
	[ "$errors" = "ccshim plot: t.csv: Permission denied" ]
}

@test "each value of the trace is a point, and times have one origin" {
	trace 2 30 > t.csv
	for k in 1 2 3; do echo "$((300 + k)),cnp,2,,,,,5e7,$((5000400 + k))" >> t.csv; done
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	# QP 2 is the busier: the first.
	[ "$(points F0W0 | wc -l)" -eq 33 ]
	[ "$(points F1W0 | wc -l)" -eq 30 ]
	for what in 1 2 3; do
		[ "$(points F0W$what | wc -l)" -eq 30 ]
		[ "$(points F1W$what | wc -l)" -eq 30 ]
	done
	[ "$(points F0W4 | awk '{ printf "%.6f %d,", $1, $2 }')" = "0.000390 1,0.000391 2,0.000392 3," ]
	[ "$(points F1W4 | wc -l)" -eq 0 ]
	[ "$(points F1W1 | head -1)" = "0 2.1e-05" ]
	[ "$(points F1W3 | tail -1 | cut -d' ' -f2)" = 15000 ]
	printed 'front "QP 2"'
	# Sizes in KB of 1024 bytes.
	printed "ylabel 'in flight, KB'"
	printed '$F0W2 using 1:($2/1024) with lines'
	run2 $ccshim plot --dry-run --cdf queue t.csv
	printed "xlabel 'longest queue, KB'"
	printed '$F0W3 using ($1/1024):2 with lines'
	run2 $ccshim plot --dry-run t.csv
	# Of the axes only that of RTTs is logarithmic.
	[ "$(grep -E "^set ylabel|logscale" <<< "$output" | grep -B1 '^set logscale' | grep -c "ylabel 'RTT'")" -eq 1 ]
	[ "$(grep -c '^set logscale' <<< "$output")" -eq 1 ]
}

@test "a flow without the host's clock starts at the current time of the trace" {
	printf '%s\n' t_us,event,qp,rtt_us 10,ack,1,20 5000000,ack,1,20 10,ack,2,20 20,ack,2,20 > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ]
	[ "$(points F0W1 | awk '{ printf "%.5f ", $1 }')" = "0.00000 4.99999 " ]
	[ "$(points F1W1 | awk '{ printf "%.5f ", $1 }')" = "4.99999 5.00000 " ]
}

@test "PNG and SVG pictures get the trace's name or the given one" {
	needs_gnuplot
	trace 3 200 > t.csv
	run2 $ccshim plot t.csv
	[ "$status" -eq 0 ] && [ -z "$output" ] && [ -z "$errors" ]
	is_png t.png
	run2 $ccshim plot --output "a 'b\" \`c\`.svg" t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	grep -q '</svg>' "a 'b\" \`c\`.svg"
	rm a*
	for what in rtt rate inflight queue; do
		run2 $ccshim plot --cdf $what --output $what.png t.csv t.csv
		[ "$status" -eq 0 ] && [ -z "$errors" ]
		is_png $what.png
	done
	only inflight.png queue.png rate.png rtt.png stderr t.csv t.png
	(umask 027; $ccshim plot t.csv)
	[ "$(stat -c %a t.png)" = 640 ]
}

@test "a CDF is of all samples, and rises to 1" {
	trace 1 20000 > t.csv
	run2 $ccshim plot --dry-run --cdf rtt t.csv
	[ "$status" -eq 0 ]
	[ "$(points F0W1 | head -1)" = "2e-05 0.000000" ]
	points F0W1 | tail -1 | awk '{ exit !($2 == 1 && $1 > 25.9e-6 && $1 < 26.1e-6) }'
	# RTTs are 20 to 26 us, each a seventh.
	points F0W1 | awk '$1 > 22.5e-6 { exit !($2 > 0.41 && $2 < 0.45) }'
}

@test "a long trace keeps its extremes, and few points" {
	trace 1 50000 | awk -F, -v OFS=, 'NR == 30001 { $4 = 9999 } { print }' > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$(points F0W1 | wc -l)" -le 8192 ]
	[ "$(points F0W1 | wc -l)" -gt 1000 ]
	points F0W1 | grep -q ' 0.009999$'
	points F0W1 | awk '$1 < t { exit 1 } { t = $1 }'
}

@test "of too many flows the busiest are drawn, with a message" {
	trace 40 3 > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ]
	said "of 40 flows the 16 busiest are drawn"
	printed 'front "QP 40"'
	printed 'front "QP 25"'
	[[ $output != *'front "QP 24"'* ]]
	run2 $ccshim plot --dry-run --flows 2 t.csv
	said "of 40 flows the 2 busiest"
	run2 $ccshim plot --dry-run --qp 7 t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed 'front "QP 7"'
	[ "$(points F33W1 | wc -l)" -eq 3 ]
	run2 $ccshim plot --dry-run --qp 99 t.csv
	failed
	said "there is no QP 99"
}

@test "files that are not traces are refused" {
	echo 'root:x:0:0' > passwd
	head -c 1000 /dev/zero > zero
	echo $header > empty.csv
	: > nothing
	for file in passwd zero empty.csv nothing . missing /dev/null; do
		run2 $ccshim plot --output x.png "$file"
		failed || { echo "$file: $status $output"; return 1; }
		[ -n "$errors" ]
		[ ! -e x.png ]
	done
	run2 $ccshim plot --output x.png passwd
	said "passwd is neither a trace nor a recording"
	run2 $ccshim plot --output x.png empty.csv
	said "no events to draw: nothing was recorded of a queue pair that ccshim controls; 'ccshim check COMMAND' names reasons"
	run2 $ccshim plot --output x.png nothing
	said "nothing: the file is empty, without a header"
	said "no events to draw: nothing was recorded"
	[[ $errors != *neither* ]]
	run2 $ccshim plot --output x.png .
	said "not a regular file"
	printf '%s\n1,ack,1,x,1,1,,1,1\n' $header > bad.csv
	run2 $ccshim plot --output x.png bad.csv
	failed
	said "bad.csv:2: column rtt_us: 'x' is not a number"
	trace 1 3 | cut -d, -f1-3 > bare.csv
	run2 $ccshim plot --output x.png --cdf queue bare.csv
	failed
	said "no values of that kind"
}

@test "a trace of several processes is drawn: headers repeat, and rows before the first are left out" {
	{ trace 9 2 | tail -n 2; trace 1 3; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[[ $output != *"QP 9"* ]]
	printed "QP 1"
	{ trace 1 3; trace 2 3; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed "QP 2"
	trace 9 2 | tail -n 2 > t.csv
	run2 $ccshim plot --dry-run t.csv
	failed
	said "t.csv: the file has no header"
}

@test "lines have the median and the 99th percentile of RTTs over time" {
	# 10 parts of 100 RTTs: the k-th part has 99 of k * 10 us and one of 5 ms.
	{ echo $header
	for i in $(seq 0 999); do
		echo "$i,ack,7,$((i % 100 ? (i / 100 + 1) * 10 : 5000)),1000,0,,1e9,$i"
	done; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	lines=$(points P0)
	[ "$(wc -l <<< "$lines")" -eq 20 ]
	awk '{ want = (int((NR - 1) / 2) + 1) * 1e-5
		if ($2 < want * .98 || $2 > want * 1.02 || $3 < $2) bad = 1 } END { exit bad }' <<< "$lines"
	[ "$(awk '$3 > .0045' <<< "$lines" | wc -l)" -eq 10 ]
	printed '$P0 using 1:($2) with lines'
	printed '$P0 using 1:($3) with lines'
	trace 1 30 > t.csv
	run2 $ccshim plot --dry-run t.csv
	[[ $output != *'$P0'* ]]
}

@test "of many values, bytes in flight are percentiles over time, not curves" {
	# 16 flows of 200 values: 4 parts. Flow i has 2000 * i, and in each third value 0.
	{ echo $header
	for k in $(seq 0 199); do
		for i in $(seq 16); do
			echo "$((k * 10)),ack,$i,$((20 + k % 7)),$i,$((k % 3 ? 2000 * i : 0)),,1e9,$((k * 10))"
		done
	done; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	[[ $output != *'$F0W2'* ]]
	[ "$(points I0 | wc -l)" -eq 4 ]
	# The busiest is the first; buckets of the histogram are a sixty-fourth wide.
	points I0 | awk '$2 < 31500 || $2 > 32500 || $3 < $2 { exit 1 }'
	points I15 | awk '$2 < 1968 || $2 > 2032 { exit 1 }'
	printed '$I15 using 1:($2/1024) with lines'
	printed '$I15 using 1:($3/1024) with lines'
	run2 $ccshim plot --dry-run --cdf inflight t.csv
	printed '$F15W2 using ($1/1024):2 with lines'
	! command -v gnuplot > /dev/null || {
		run2 $ccshim plot t.csv
		[ "$status" -eq 0 ] && [ -z "$errors" ]
		is_png t.png
	}
}

@test "a rate that was replaced in the same instant, or is above max_rate, is not drawn" {
	local set='line_rate=1e10;base_rtt=10;rtt_jitter=0;segment=4096;flows=1;epoch=0'
	{ echo t_us,event,qp,rtt_us,bytes,set,rate_bps,clock_us
	echo "0,start,7,,,$set,1e10,0"
	echo "0,set,7,,,$set;max_rate=2e9,1e10,0"
	echo "10,ack,7,10,1000,,1e9,10"
	echo "10,ack,7,10,1000,,1.5e9,10"
	echo "20,ack,7,10,1000,,3e9,20"; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ] || { echo "$errors"; false; }
	diff <(points F0W0) - <<-'END'
		0 2e+09
		1e-05 1.5e+09
		2e-05 2e+09
	END
}

@test "a truncated trace is drawn, with a message" {
	trace 1 30 | head -c -20 > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ]
	said "ends in the middle of a line"
	[ "$(wc -l <<< "$errors")" -eq 1 ]
	[ "$(points F0W1 | wc -l)" -eq 29 ]
	{ trace 1 3; echo "# 17 events are lost near here"; echo "# 4 events are lost near here"; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	said "t.csv: 21 events were dropped"
}

# Of the export: events whose JSON has the words, one per line.
events() {
	jq -c '.traceEvents[]' "$1" | grep -- "$2"
}

is_trace_event_format() {
	/usr/bin/python3 -c 'import jsonschema' 2> /dev/null || return 0
	/usr/bin/python3 "$top_srcdir/tests/tools/schema.py" "$top_srcdir/tests/data/trace_event.schema.json" < "$1"
}

@test "--output FILE.json exports every value of every flow for Perfetto" {
	head='t_us,event,qp,rtt_us,bytes,inflight,advised_bps,set,rate_bps,window_bytes,clock_us,pid'
	path='line_rate=1e9;base_rtt=10;rtt_jitter=0;segment=4096;flows=1'
	printf '%s\n' '# ccshim 0.1.0: one"two, process 7, host n1, rank 3, cc=timely' "$head" \
		"0,start,5,,,,,$path,1e9,0,1000,7" '# QP 5 sends to 10.0.0.2 (process 7)' \
		10,ack,5,20,4096,8192,2e8,,5e8,65536,1010,7 20,ack,5,20,4096,0,,,5e8,65536,1020,7 \
		30,cnp,5,,,,,,4e8,65536,1030,7 40,loss,5,,,,,,inf,65536,1040,7 > a.csv
	sed 's/host n1/host n2/; s/1e9,0,1000/2e9,0,2000/' a.csv > b.csv # another process 7
	: > empty.csv
	run2 $ccshim plot --output a.json a.csv b.csv
	[ "$status" -eq 0 ] && [ -z "$output$errors" ]
	is_trace_event_format a.json
	events a.json '"M"' | jq -r '"\(.pid) \(.tid) \(.args.name)"' > names
	diff names - <<- 'END'
		7 5 one_two rank 3 on n1
		7 5 QP 5 to 10.0.0.2
		4194311 5 one_two rank 3 on n2
		4194311 5 QP 5 to 10.0.0.2
	END
	cp b.csv c.csv
	sed 's/host n1/host n3/; /^0,start/{p;s/,5,/,6,/}' a.csv > d.csv # with two queue pairs
	run2 $ccshim plot --output c.json a.csv c.csv d.csv
	[ "$status" -eq 0 ] && [ -z "$output$errors" ]
	[ "$(events c.json '"M"' | jq -r '"\(.pid) \(.tid)"' | sort -u | paste -sd ';')" = "4194311 5;7 5;8388615 5;8388615 6" ]
	rm c.csv d.csv c.json
	# Values that stay are not repeated, an infinite rate is none.
	events a.json '"C"' | jq -r 'select(.pid == 7) | "\(.ts) \(.name[17:]) \(.args | to_entries[] | "\(.value) \(.key)")"' |
		sort > values
	diff - values <<- 'END'
		1000 rate 1000000000 bit/s
		1010 RTT 20 us
		1010 advice 200000000 bit/s
		1010 in flight 8192 bytes
		1010 rate 500000000 bit/s
		1010 window 65536 bytes
		1020 in flight 0 bytes
		1030 CNPs 1 CNPs
		1030 rate 400000000 bit/s
	END
	[ "$(events a.json '"i"' | jq -r 'select(.pid == 7) | "\(.ts) \(.name)"' | paste -sd ';')" = "1000 start;1030 cnp;1040 loss" ]
	# Without a description, and more flows than a picture has.
	trace 40 3 | tail -n +2 > many.csv
	run2 $ccshim plot --output many.json many.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	is_trace_event_format many.json
	[ "$(events many.json thread_name | wc -l)" -eq 40 ]
	[ "$(events many.json process_name | jq -r .args.name)" = many.csv ]
	head -c -5 many.csv > cut.csv
	run2 $ccshim plot --output many.json cut.csv
	[ "$status" -eq 0 ]
	said "cut.csv ends in the middle of a line"
	is_trace_event_format many.json
	cp many.json before.json
	echo 1,2 >> many.csv
	for wrong in empty.csv many.csv; do
		run2 $ccshim plot --output many.json "$wrong"
		failed
		cmp many.json before.json
	done
	trace 40 30 > many.csv
	run2 bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' - "$ccshim" plot --output many.json many.csv
	failed
	said "many.json: "
	cmp many.json before.json
	ln -s /dev/full full.json
	run2 $ccshim plot --output full.json a.csv
	failed
	said "full.json: No space left"
	[ "$(readlink full.json)" = /dev/full ]
	rm full.json
	only a.csv a.json b.csv before.json cut.csv empty.csv many.csv many.json names stderr values
	run2 $ccshim plot --output no/such.json a.csv
	failed
	said "no/such.json: No such file"
}

@test "a recording is exported too" {
	for t in 1 2; do
		echo "{\"time\":$t,\"interval_s\":1,\"processes\":[{\"pid\":9,\"program\":\"x\",\"qps\":[{\"lqpn\":7,
			\"rate_bps\":${t}e9,\"bytes\":5,\"rtt_us\":{\"p50\":3,\"p99\":4}}]}]}" | paste -sd ''
	done > stat.jsonl
	run2 $ccshim plot --output s.json stat.jsonl
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	is_trace_event_format s.json
	[ "$(events s.json '"C"' | jq -r '"\(.pid) \(.ts) \(.name) \(.args[])"' | paste -sd ';')" = \
		"9 1000000 QP 7 rate 1000000000;9 1000000 QP 7 RTT 3;9 2000000 QP 7 rate 2000000000" ]
}

@test "results of ccbench are drawn: goodput and queue of each run" {
	echo '{"scenario": "x", "runs": [
		{"cc": "none", "flows": [{"rate_bps": [1e6, 2e6]}, {"rate_bps": [1e6, null, 5e6]}], "bin_s": 0.5,
		 "queue_series_bytes": [100, 200, 300]},
		{"cc": "copa:x=1", "flows": [{"rate_bps": [4e6]}], "bin_s": 0.5, "queue_series_bytes": []}]}' > bench.json
	for form in --tab -c; do
		jq $form . bench.json > b.json
		run2 $ccshim plot --dry-run b.json
		[ "$status" -eq 0 ] && [ -z "$errors" ]
		printed "none"
		printed "copa:x=1"
		[[ $output != *"QP 0"* ]]
		[ "$(points F0W0 | paste -sd ';')" = "0.5 2000000;1 2000000;1.5 5000000" ]
		[ "$(points F0W3 | paste -sd ';')" = "0.5 100;1 200;1.5 300" ]
		[ "$(points F1W0)" = "0.5 4000000" ]
	done
	echo '{"runs": [{"cc": "old", "goodput_bps": 5}]}' > old.json
	run2 $ccshim plot --dry-run old.json
	failed
	said "no values of that kind"
	echo '{"runs": []}' > none.json
	run2 $ccshim plot --dry-run none.json
	failed
	said "there are no events to draw"
	echo '{"runs": [{"cc": ' > cut.json
	run2 $ccshim plot --dry-run cut.json
	failed
	said "cut.json: not a result of ccbench, near character"
	for bin in null 0 -1 1e308; do
		jq ".runs[1].bin_s = $bin" bench.json > bin.json
		run2 $ccshim plot --dry-run bin.json
		failed
		said "bin.json: not a result of ccbench, near character"
	done
	run2 $ccshim plot --dry-run b.json cut.json
	failed
	trace 1 3 > t.csv
	run2 $ccshim plot --dry-run b.json t.csv
	failed
	said "have no common time line"
}

@test "queue pairs of several processes with one number are separate flows" {
	{ trace 1 3; trace 1 3 | sed 's/process 1/process 2/'; } > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed "a test[1] QP 1"
	printed "a test[2] QP 1"
}

@test "the picture never replaces a trace" {
	trace 1 30 > t.png
	run2 $ccshim plot t.png
	failed
	said "the picture would replace t.png"
	ln t.png u.svg
	run2 $ccshim plot --output u.svg t.png
	failed
	head -1 t.png | grep -q '^# ccshim'
}

@test "a missing gnuplot is reported" {
	trace 1 30 > t.csv
	run2 env PATH=/nowhere "$(realpath "$ccshim")" plot t.csv
	failed
	said "no picture: gnuplot is not installed"
	only stderr t.csv
}

@test "a failure of gnuplot is reported" {
	trace 1 30 > t.csv
	mkdir bin
	printf '#!/bin/sh\necho half a picture; exit 1\n' > bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH run2 "$ccshim" plot t.csv
	failed
	said "gnuplot failed"
	[ ! -e t.png ]
}

@test "after a failed write the old picture is unchanged" {
	needs_gnuplot
	trace 1 30 > t.csv
	echo before > t.svg
	# More than that many kilobytes in a file are refused, as by a full disk.
	run2 bash -c 'trap "" XFSZ; ulimit -f 8; exec "$@"' - "$ccshim" plot --output t.svg t.csv
	failed || { echo "$status $errors"; return 1; }
	said "no picture: t.svg: File too large"
	[ "$(cat t.svg)" = before ]
	only stderr t.csv t.svg
	run2 $ccshim plot --output no/such/t.png t.csv
	failed
	said "no/such/t.png: No such file"
}

# Recordings of two processes with a queue pair each, a line each tenth of a second.
recording() {
	awk -v lines="$1" -v interval="$2" 'BEGIN {
		for (i = 0; i < lines; i++) {
			printf "{\"time\": %.1f, ", 1700000000 + i / 10
			if (interval) printf "\"interval_s\": 0.1, "
			printf "\"processes\": ["
			for (pid = 7; pid <= 8; pid++)
				printf "%s{\"pid\": %d, \"program\": \"a \\\"b\", \"new\": [{}, [true, null]], " \
					"\"qps\": [{\"ifname\": \"rxe_1\", \"lqpn\": 17, \"rate_bps\": %d, " \
					"\"bytes\": %d, \"inflight_bytes\": 4096, \"rp_cnp_handled\": %d, " \
					"\"rtt_us\": {\"count\": 5, \"p50\": %d, \"p99\": 90.5}, " \
					"\"telemetry\": {\"age_us\": 3, \"hops\": [{\"queue_bytes\": 10}, " \
					"{\"queue_bytes\": 700}]}}]}", (pid > 7 ? ", " : ""), pid, 1e6 * i,
					1000 * pid, (pid - 7) * (interval ? 1 : i + 1), 20 + i
			print "]}"
		}
	}'
}

@test "recordings of ccshim stat are drawn" {
	for interval in 1 0; do
		recording 30 $interval > stat.json
		jq -e . stat.json > /dev/null
		run2 $ccshim plot --dry-run stat.json
		[ "$status" -eq 0 ] && [ -z "$errors" ]
		[ "$(points F0W0 | wc -l)" -eq 30 ]
		[ "$(points F0W1 | wc -l)" -eq 60 ]
		[ "$(points F1W2 | awk '$2 == 4096' | wc -l)" -eq 30 ]
		[ "$(points F1W3 | awk '$2 == 700' | wc -l)" -eq 30 ]
		# Process 8 is the busier; its CNPs are one more each time, process 7 has none.
		[ "$(points F0W4 | awk '{ printf "%.1f %d", $1, $2; exit }')" = "0.0 1" ]
		[ "$(points F0W4 | tail -1 | awk '{ printf "%.1f %d", $1, $2 }')" = "2.9 30" ]
		[ "$(points F1W4 | wc -l)" -eq 0 ]
		printed "[8] QP 17"
	done
	run2 $ccshim plot --dry-run --cdf rtt stat.json
	[ "$status" -eq 0 ]
	points F0W1 | tail -1 | grep -q ' 1.000000$'
	needs_gnuplot
	run2 $ccshim plot stat.json
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	is_png stat.png
}

@test "a rank is part of the legend" {
	recording 30 1 | sed 's/"pid": 8,/"pid": 8, "rank": 3,/' > stat.json
	run2 $ccshim plot --dry-run stat.json
	printed '[8] rank 3 QP 17'
	printed '[7] QP 17'
	trace 2 30 | sed '1s/.*/# ccshim 0.1.0: app, rank 9, process 4, job 7, rank 12, cc=none/' > t.csv
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed 'front "rank 12 QP 2"'
}

@test "a peer is part of the legend, for which there is space" {
	cat > t.csv <<-'END'
		t_us,event,qp,rtt_us,bytes,set,rate_bps
		# QP 2 sends to 2001:db8:1111:2222:3333:4444:5555:6666
		1,start,2,,,line_rate=1e10;base_rtt=10;rtt_jitter=0;segment=65536;flows=1,1e9
		2,ack,2,20,1000,,1e9
		3,start,1,,,line_rate=1e10;base_rtt=10;rtt_jitter=0;segment=65536;flows=1,1e9
		4,ack,1,20,1000,,1e9
	END
	run2 $ccshim plot --dry-run t.csv
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed 'front "QP 2 to 2001:db8:1111:2222:3333:4444:5555:6666"'
	printed 'front "QP 1"'
	# Of 1200 columns, 8 for each of its 46 letters.
	grep -q '^set label at screen 0.6933,' <<< "$output"
	recording 30 1 | sed 's/"lqpn": 17,/"lqpn": 17, "peer": "10.1.2.3",/' > stat.json
	run2 $ccshim plot --dry-run stat.json
	printed '[7] QP 17 to 10.1.2.3'
}

@test "files that are not recordings are refused" {
	for text in '{' '{}' '{"time": 1, "processes": [{"qps": [{}]}]}' '{"time": "x"}' '{"time": 1} 2' \
		'{"time": 1, "processes": [{"pid": -1}]}' "{\"time\": 1, \"x\": $(printf '[%.0s' {1..1000})" \
		'{"time": 1, "x": "\'; do
		echo "$text" > bad.json
		run2 $ccshim plot --output x.png bad.json
		failed || { echo "of $text: $status"; return 1; }
		said "bad.json:1: not a line of 'ccshim stat"
	done
	recording 3 1 | head -c -30 > cut.json
	run2 $ccshim plot --dry-run cut.json
	[ "$status" -eq 0 ]
	said "ends in the middle of a line"
	[ "$(points F0W0 | wc -l)" -eq 2 ]
	trace 1 3 > t.csv
	run2 $ccshim plot --dry-run t.csv cut.json
	failed
	said "no common time line"
}

@test "a picture is written into a pipe, and does not replace it" {
	needs_gnuplot
	trace 1 9 > t.csv
	mkfifo pipe.svg
	cat pipe.svg > got 3>&- &
	run2 $ccshim plot --output pipe.svg t.csv
	[ "$status" -eq 0 ] || { echo "$errors"; false; }
	[ -p pipe.svg ]
	wait $!
	grep -q '</svg>' got
}
