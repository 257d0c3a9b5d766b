#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# ccbench's scenarios on the fake device, without a network: what is asked for is what is sent,
# and the JSON says so. What traffic does to a network is for tests/lab/ccbench.bats.

load tools.bash

# Four hosts, whatever the caller has set. What is preloaded is for ccbench alone.
setup_bench() {
	local name
	for name in ${!LAB_@} ${!CCSHIM_@}; do unset "$name"; done
	[ -e "$top_builddir/.libs/libfakerdma.so" ] || skip "no fake device"
	command -v jq > /dev/null || skip "no jq"
	! grep -q fsanitize "$top_builddir/Makefile" || skip "a sanitizer's runtime has to come first"
	export FAKERDMA_WIRE=$BATS_TEST_TMPDIR/wire FAKERDMA_DEVICES=4
	fake="$top_builddir/.libs/libccshim.so $top_builddir/.libs/libfakerdma.so"
	out=$BATS_TEST_TMPDIR/out.json
}

bench() {
	setup_bench
	bench_only "$@"
}

bench_only() {
	LD_PRELOAD=$fake run2 "$top_builddir/bench/ccbench/ccbench" "$@" -d fake0 --hosts 4 --senders 3 \
		--no-victim --timeout 600 --out_json "$out"
	[ "$status" -eq 0 ]
}

# A device that precedes the shim, as a sanitizer's runtime does, and never calls it.
before_the_shim() {
	bare=$BATS_TEST_TMPDIR/libasan.so
	ln -s "$top_builddir/.libs/libfakerdma.so" "$bare"
}

# The last document of each test has the form that docs/schemas describes.
teardown() {
	local schema=ccbench
	[ -n "${out:-}" ] && [ -s "$out" ] || return 0
	jq -e .runs "$out" > /dev/null || schema=ccbench-matrix
	/usr/bin/python3 -c 'import jsonschema' 2> /dev/null || return 0
	/usr/bin/python3 "$top_srcdir/tests/tools/schema.py" "$top_srcdir/docs/schemas/$schema.json" < "$out"
}

json() { jq -e "$1" "$out"; }

@test "each scenario sends between the hosts that it names" {
	bench incast -n 5 -s 4k
	json '[.runs[0].flows[] | [.host, .peer]] == [[2,1],[3,1],[4,1]]'
	bench readincast -n 5 -s 4k
	json '.bench == "readincast" and .runs[0].op == "read" and
		([.runs[0].flows[] | [.host, .peer]] == [[2,1],[3,1],[4,1]])'
	bench permutation -n 5 -s 4k
	json '.runs[0].flows | length == 4 and all(.host != .peer) and
		(map(.host) | sort) == [1,2,3,4] and (map(.peer) | sort) == [1,2,3,4]'
	bench alltoall -n 5 -s 4k -q 2
	json '.runs[0].flows | length == 24 and (map([.host, .peer]) | unique | length) == 12 and
		all(.messages == 5 and .errors == 0)'
}

@test "collectives, trunks, claims and requests send between the hosts that they name" {
	for kind in halving tree ring; do
		for op in write send; do
			bench collective --collective $kind --op $op -n 5 -s 64k -q 2 --pause 10us --cc none
			jq -c '.runs[0] | [.operation_us, .jain, (.flows | length)]' "$out"
			# Inner hosts of both trees begin no operation.
			json '.runs[0] | all(.flows[]; .errors == 0 and .messages % 5 == 0) and .jain > 0.99 and
				.operation_slowdown == 1 and
				(.operation_us.samples | . >= 5 * 2 and . <= 5 * 4)'
		done
	done
	bench trunk -n 5 -s 4k
	json '[.runs[0].flows[] | [.host, .peer]] == [[3,1],[4,2]]'
	bench claims -n 5 -s 4k --claims 3 --devices fake0,fake1,fake2,fake3,fake0
	json '[.runs[0].flows[] | [.host, .peer]] == [[2,1],[3,1],[4,1]]'
	bench kv -n 20 -s 4k --victim-interval 10us --response 1k --cc none
	json '.runs[0] | ([.flows[] | [.host, .peer]] == [[2,1],[3,1],[4,1]]) and .operation_us.samples > 0'
}

@test "tenants: each has its queue pairs, its share relative to its weight, and its index" {
	# A tenant whose rivals have ended first has no rate, and no index.
	bench tenants -n 5 -s 4k --tenants 1:1,4:2:2 --cc none
	json '.runs[0] | ([.flows[] | [.host, .peer, .qp]] == [[2,1,0],[3,1,0],[4,1,0],[3,1,1],[4,1,1]]) and
		([.tenants[] | [.tenant, .qps, .hosts, .weight]] == [[1,1,1,1],[2,4,2,2]]) and .errors == 0'
	json '.runs[0] | .tenants as [$a, $b] | ($a.share + $b.share - 1 | fabs) < 1e-6 and ($a.jain // 1) == 1 and
		($a.share * 3 - $a.share_per_weight | fabs) < 1e-6 and
		($b.share * 1.5 - $b.share_per_weight | fabs) < 1e-6 and ($b.jain // 1) > 0 and ($b.jain // 1) < 1 + 1e-9'
	json '.runs[0].tenants[0].goodput_bps == .runs[0].flows[0].goodput_bps'
	[[ $output == *"tenant-2 "*"off its weight, worst"* ]]
	bench permutation -n 5 -s 4k
	json '.runs[0].tenants == null'
}

@test "a tenant's processes have its name, by which agents know them" {
	setup_bench
	LD_PRELOAD=$fake "$top_builddir/bench/ccbench/ccbench" tenants -D 3600 -s 4k --tenants 1:1,2:1:2 -d fake0 \
		--no-victim --timeout 7200 3>&- &
	until [ "$(cat "/proc/$!/task/$!/children" | xargs -n 1 sh -c 'cat /proc/$0/comm' | sort | tr '\n' ' ')" = \
		"ccbench tenant-1 tenant-2 tenant-2 " ]; do
		kill -0 $!
		sleep 0.05
	done
	kill $!
	wait $! || true
}

@test "writes, reads and sends go both ways between the same hosts" {
	for op in write read send; do
		bench alltoall -n 7 -s 1k --op "$op"
		json ".runs[0] | .op == \"$op\" and all(.flows[]; .messages == 7)"
	done
}

@test "messages larger than a WR arrive whole, and are counted by size" {
	bench permutation --sizes websearch --load 50% --rate 1g -n 20
	json '.runs[0] | .sizes == "websearch" and .load == 0.5 and
		all(.flows[]; .messages == 20 and .errors == 0)'
	# What came before the first flow was through; all of it in some class of sizes.
	json '.runs[0].slowdown | (.[:-1] | map(.messages) | add) == .[-1].messages and
		.[-1].class == "all" and .[-1].messages > 0 and all(.p50 <= .p95 and .p95 <= .p99)'
	json '.unloaded | length == 4 and all(.us[0] > 0)'
}

@test "a latency class goes beside the bulk class of the same host" {
	bench victim -D 1 --victim-interval 1ms
	json '.runs[0] | .victim_samples > 0 and .slowdown[-1].messages == .victim_samples and
		(.flows | length) == 3'
}

@test "mice come between elephants" {
	bench mice -D 1 --rate 100m --load 20%
	json '.runs[0] | .sizes == "hadoop" and .load == 0.2 and .victim_samples > 0 and
		(.flows | length) == 3 and all(.flows[]; .messages > 0)'
}

@test "a pool's messages are carried by its queue pairs, each once" {
	bench alltoall -D 1 --sizes hadoop --load 20% --rate 1g --qp-pool 4 --op send
	json '.runs[0] | .qp_pool == 4 and (.flows | length) == 48 and all(.flows[]; .errors == 0) and
		.waited_share >= 0 and .waited_share < 1'
	# Those that arrived are all timed, warm-up left out, and no queue pair had them all.
	json '.runs[0] | (.flows | map(.messages) | add) >= .message_latency_us.samples and
		.message_latency_us.samples > 0 and ([.flows[] | select(.messages > 0)] | length) > 12'
	printed "a pool of 4 QPs"
	bench mice -D 1 --rate 100m --load 20% --qp-pool 3
	json '.runs[0] | (.flows | length) == 3 and .victim_samples > 0 and .waited_share != null'
}

@test "none runs without a preload of the shim, and says so" {
	bench permutation -n 5 -s 4k --cc none,off
	[ "$(grep -c "none runs without the libccshim.so of LD_PRELOAD" <<< "$errors")" -eq 1 ]
	LD_PRELOAD=$top_builddir/.libs/libfakerdma.so run2 "$top_builddir/bench/ccbench/ccbench" permutation \
		-d fake0 --hosts 4 -n 5 --cc none
	[[ $status -eq 0 && $errors != *LD_PRELOAD* ]]
}

@test "a report that the caller asks for is not written, and that is said" {
	setup_bench
	CCSHIM_REPORT=$PWD/mine.json bench_only permutation
	[[ $status -eq 0 && $errors == *"CCSHIM_REPORT is not used: the file of --out_json has the reports"* ]]
	[ ! -e mine.json ]
}

@test "a device that is preloaded is behind the shim" {
	setup_bench
	fake=$top_builddir/.libs/libfakerdma.so bench_only permutation -n 5 -s 4k --cc timely
	json '.runs[0].shim | all(.report.qps | length > 0)'
}

@test "a percentile of too few samples is not printed, and JSON has their number" {
	# Ten requests at most; on a busy machine there may be none, and then the run is repeated for longer.
	for ((ms = 200; ms < 2000000; ms *= 2)); do
		bench victim -D ${ms}ms --victim-interval $((ms / 10))ms
		! jq -e '.runs[0].victim_latency_us.samples > 0' "$out" || break
	done
	printed "of only"
	json '.runs[0].victim_latency_us | .samples > 0 and .samples < 100 and .p99 > 0'
}

@test "a setting that was not in force is no column, but a failure" {
	setup_bench
	before_the_shim
	LD_PRELOAD=$bare run2 "$top_builddir/bench/ccbench/ccbench" permutation \
		-d fake0 --hosts 4 -n 5 --cc none,timely --timeout 600 --out_json "$out"
	[ "$status" -eq 1 ]
	[[ $errors == *"timely: host 1 (fake0): timely was not in force: the shim was not called"* ]]
	[ ! -e "$out" ]
	[ "$(grep -c ^timely <<< "$output")" -eq 0 ]
}

@test "the share that an algorithm's fallback carried is in the table and in the JSON" {
	setup_bench
	export CCSHIM_AGENT=$BATS_TEST_TMPDIR/none.sock
	bench_only permutation -n 20 -s 4k --cc hpcc,timely
	json '.runs | .[0].fallback_share == 1 and .[0].fallback == .[0].shim[0].report.qps[0].cc and
		.[1].fallback_share == null'
	output=$(tr -s '\n ' ' ' <<< "$output")
	printed "carried 100.0 % of the bytes, on 4 of 4 queue pairs; feedback at the end: no-agent"
}

@test "a picture of many flows has at most 64 bands" {
	setup_bench
	mkdir bin
	printf '#!/bin/sh\ncat\n' > bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH bench_only incast -q 40 -n 2 -s 64 --plot "$PWD/many.svg"
	json '.runs[0].flows | length == 120'
	[ "$(grep -c 'RATE0 using' many.svg)" -eq 64 ]
	# The last band's top is the sum of all.
	[ "$(sed -n '/^.RATE0 << EOD/,/^EOD/p' many.svg | awk 'NF > 1 { print NF }' | sort -u | tail -n 1)" -eq 65 ]
}

@test "senders come and go" {
	bench joinleave -D 600ms
	json '.runs[0] | .convergence.events == 5 and .jain == null and (.flows | length) == 3'
}

@test "repeats have seeds of their own, and a spread" {
	bench alltoall -n 20 -s 4k --repeat 3 --seed 5 --cc none,observe
	json '[.runs[] | [.cc, .seed, .repeat]] == [["none",5,0],["observe",5,0],["none",6,1],
		["observe",6,1],["none",7,2],["observe",7,2]]'
	json '.spread | map(.cc) == ["none","observe"] and
		all(.runs == 3 and .goodput_bps.min <= .goodput_bps.median and
		.goodput_bps.median <= .goodput_bps.max)'
	printed "medians of 3 runs"
}

@test "every algorithm carries all that was sent" {
	bench permutation -n 50 --cc timely,swift,dcqcn,hpcc
	json '.runs | length == 4 and all(.flows | length == 4 and
		all(.messages == 50 and .errors == 0))'
	# It was the algorithm that was asked for; without feedback, its fallback.
	json '.runs[:2] | all(.cc as $cc | .shim | length == 4 and all(.report.qps[0].cc == $cc))'
	json 'all(.runs[].shim[]; .report.mode == "enforce")'
}

# Every line of stdout is at most 80 columns wide.
fits() {
	awk 'length > 80 { print "too wide: " $0; bad = 1 } END { exit bad }' <<< "$output"
}

@test "tables fit into 80 columns, with the settings in blocks" {
	bench incast -n 20 --cc none,off,observe,timely,swift
	fits
	[ "$(grep -c '^  goodput' <<< "$output")" -eq 2 ]
	[ "$(grep -c '^  messages\|^  flow ' <<< "$output")" -eq 5 ]
	bench incast -n 20 --repeat 2 --cc none,timely,swift
	fits
	bench alltoall -D 1 --sizes hadoop --load 20% --rate 1g --qp-pool 4 --cc none,timely,swift,dcqcn
	fits
	[ "$(grep -c 'p50 *p95 *p99' <<< "$output")" -eq 2 ]
}

@test "results are named as they are called outside of the lab" {
	setup_bench
	mkdir results
	results() {
		LAB_OUT=$PWD/results LD_PRELOAD=$fake run2 "$top_builddir/bench/ccbench/ccbench" \
			incast -d fake0 --senders 1 -n 5 --no-victim --plot none.svg
	}
	results
	[[ $output == *$'\n'"$PWD/results/incast.json"* ]]
	printf 'on/the/host' > results.name
	results
	[[ $output == *$'\n'"on/the/host/incast.json"* ]]
	: > results.name
	results
	printed "incast.json is not kept: ci/lab/lab was started without --out DIR"
	[ -s results/incast.json ]
}

# tabled NAME WORD: a table of bench/scripts/headlines has such a row.
tabled() {
	jq -r --arg table "$1" -f "$top_srcdir/bench/scripts/headlines.jq" "$out" | grep -F -- "| $2"
}

@test "the headlines' tables have a row for each setting" {
	bench incast -n 20 --cc none,timely
	tabled incast timely
	tabled classes timely
	tabled converge none
	bench alltoall -n 20 --sizes hadoop --load 50% --rate 1g
	tabled slowdown '<= 1 KB'
}

@test "completion knows scenarios, options and their values" {
	source "$top_srcdir/completion/ccbench"
	offered() {
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_ccbench
		echo "${COMPREPLY[*]}"
	}
	[ "$(offered "$top_builddir/bench/ccbench/ccbench" per)" = permutation ]
	[ "$(offered "$top_builddir/bench/ccbench/ccbench" incast --rep)" = --repeat ]
	[ "$(offered "$top_builddir/bench/ccbench/ccbench" incast --sizes w)" = websearch ]
	[ "$(offered "$top_builddir/bench/ccbench/ccbench" collective --collective r)" = ring ]
	[ "$(PATH=$top_builddir/tools/ccshim:$PATH offered "$top_builddir/bench/ccbench/ccbench" incast --cc tim)" = timely ]
}

@test "wrong options are refused before anything runs" {
	setup_bench
	run2 "$top_builddir/bench/ccbench/ccbench" inkast
	[ "$status" -eq 2 ]
	[[ $errors == *"there is no scenario 'inkast'; did you mean 'incast'?"* ]]
	refused "$top_builddir/bench/ccbench/ccbench" incast --tenants 1:1,16:2
	said "--tenants: only the scenario tenants has this option"
	LD_PRELOAD=$fake run2 "$top_builddir/bench/ccbench/ccbench" incast -d fake0 --hosts 3 --senders 2 -n 3 \
		--out_json "$BATS_TEST_TMPDIR/no/x.json"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $errors == *"no/x.json: No such file or directory"* ]]
	LD_PRELOAD=$fake run2 "$top_builddir/bench/ccbench/ccbench" incast -d fake0 --hosts 3 --senders 2 -n 3 \
		--plot rates.gif
	[ "$status" -eq 2 ] || { echo "$status: $output"; false; }
	[[ $errors == *"--plot rates.gif: the name does not end in .png or .svg"* ]]
}

@test "the matrix has 27 of ccfabric's models" {
	setup_bench
	"$top_builddir/bench/ccbench/ccbench" matrix --list > list
	[ "$(grep -c ' hosts: ' list)" -eq 27 ]
	grep -oE '^[A-P]-[^ ]+' "$top_srcdir/bench/ccfabric/models/ucloud.models" | sort > models
	[ -z "$(awk '{ print $1 }' list | sort | comm -13 models -)" ]
}

# matrix OPTION...: on the fake device, whose times are the machine's: no verdict is bounded.
matrix() {
	LD_PRELOAD=$fake "$top_builddir/bench/ccbench/ccbench" matrix -d fake0 -D 60ms --rate 1g \
		--timeout 600 --cc none,observe --out_json "$out" "$@" > table 2> log || { cat log; return 1; }
	cat table
}

@test "the matrix has a verdict per model and setting, and names what is not run" {
	setup_bench
	export LAB_HOSTS=4 LAB_OUT=$BATS_TEST_TMPDIR
	out=verdicts.json
	matrix --only 'H-[jl]*'
	out=$BATS_TEST_TMPDIR/verdicts.json
	json '[.models[] | select(.run)] | map([.name, .cc]) == [["H-join-2", "none"],
		["H-join-2", "observe"], ["H-leave", "none"], ["H-leave", "observe"]] and
		all((.utilisation | type) == "number" and .g2 and .errors == 0)'
	json '.base_us > 0 and (.models[] | select(.name == "H-join-4") | .reason) ==
		"5 hosts are needed, the lab has 4"'
	json '.passed == (.models | map(select(.run)) | group_by(.cc) |
		map({ (.[0].cc): map(select(.pass)) | length }) | add)'
	[ "$(grep -c '^model ' table)" -eq 1 ]
	grep -q '^H-join-4 *5 hosts are needed, the lab has 4' table
}

@test "the matrix refuses what it cannot do" {
	for option in --only=Z-* --repeat=2 --out=x --no-such; do
		run2 "$top_builddir/bench/ccbench/ccbench" matrix "$option"
		[ "$status" -eq 2 ]
		[[ $errors == "ccbench: "* ]]
	done
}

setup_mpi() {
	setup_bench
	[ -x "$top_builddir/bench/ccbench/ccbench-mpi" ] || skip "built without MPI"
	mpirun=(mpirun --oversubscribe --allow-run-as-root --mca btl self,tcp
		--mca btl_tcp_if_include lo --mca plm isolated)
	"${mpirun[@]}" -np 1 true || skip "no mpirun that works here"
	ccbench_mpi=$top_builddir/bench/ccbench/ccbench-mpi
}

# job RANKS ARG…: ccbench-mpi on so many ranks of this machine, each with a device of its own.
job() {
	local ranks=$1
	shift
	setup_mpi
	run2 "${mpirun[@]}" -np "$ranks" -x LD_PRELOAD="${preloaded:-$fake}" "$ccbench_mpi" "$@" --timeout 600 --out_json "$out"
}

readonly devices=fake0,fake1,fake2

@test "ranks of an MPI job are the hosts" {
	job 3 incast --devices $devices -n 20 --cc none,timely
	[ "$status" -eq 0 ]
	json '.runs | length == 2 and all(.hosts == 3 and .senders == 1 and .victim_samples > 0 and
		all(.flows[]; .messages == 20 and .errors == 0))'
	# Each rank's worker ran under the shim, and said so.
	json '.runs[1].shim | length == 3 and all(.report.mode == "enforce")'
	job 3 alltoall --devices $devices --sizes hadoop --load 20% --rate 1g -n 20 --repeat 2
	[ "$status" -eq 0 ]
	json '(.runs | length) == 2 and all(.runs[].flows | length == 6; .) and
		.runs[0].slowdown[-1].messages > 0'
}

@test "an error on one rank is reported once, and all ranks return one status" {
	job 3 incast --devices fake0,fake1,nodev
	[ "$status" -eq 2 ]
	[ "$(grep -c "^ccbench: .*no such device" <<< "$errors")" -eq 1 ]
	job 2 incast --senders 9 --devices $devices
	[ "$status" -eq 2 ]
	[ "$(grep -c "11 hosts are needed, the job has 2 ranks" <<< "$errors")" -eq 1 ]
	before_the_shim
	preloaded=$bare job 3 incast --devices $devices -n 5 --cc timely
	[ "$status" -eq 1 ]
	[ "$(grep -c "timely was not in force: the shim was not called" <<< "$errors")" -eq 1 ]
}

@test "a setting that was not in force on one host only is a failure that names the host" {
	setup_mpi
	before_the_shim
	set -- permutation --devices fake0,fake1,fake2,fake3 --hosts 4 -n 5 --cc none,timely --timeout 600 \
		--out_json "$out"
	run2 "${mpirun[@]}" -np 2 -x LD_PRELOAD="$fake" "$ccbench_mpi" "$@" : \
		-np 1 -x LD_PRELOAD="$bare" "$ccbench_mpi" "$@" : \
		-np 1 -x LD_PRELOAD="$fake" "$ccbench_mpi" "$@"
	[ "$status" -eq 1 ]
	[[ $errors == *"timely: host 3 (fake2): timely was not in force: the shim was not called"* ]]
	[ "$(grep -c "was not in force" <<< "$errors")" -eq 1 ]
	[ ! -e "$out" ]
	[ "$(grep -c ^timely <<< "$output")" -eq 0 ]
}

@test "a full stdout is reported" {
	run2 bash -c '"$1" --help > /dev/full' - "$top_builddir/bench/ccbench/ccbench"
	[ "$status" -eq 1 ]
	said "ccbench: standard output: No space left on device"
	run2 bash -c '"$1" --version > /dev/full' - "$top_builddir/bench/ccbench/ccbench"
	[ "$status" -eq 1 ]
	[ "$errors" = "ccbench: standard output: No space left on device" ]
	[ -x "$top_builddir/bench/ccbench/ccbench-mpi" ] || return 0
	run2 bash -c '"$1" --help > /dev/full' - "$top_builddir/bench/ccbench/ccbench-mpi"
	[ "$status" -eq 1 ]
	said "ccbench: standard output: No space left on device"
}
