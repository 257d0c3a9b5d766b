#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Programs that know nothing of the shim, a server and a client, on the fake device's wire:
# bare, and behind the shim in each mode. They end as they do without it.

setup() {
	libs=$top_builddir/.libs
	! nm -D "$libs/libfakerdma.so" | grep -Eq '__[at]san_' || skip "programs without a sanitizer"
	export CCSHIM_CONFIG= CCSHIM_LOG_LEVEL=warn FAKERDMA_WIRE=$BATS_TEST_TMPDIR/wire
	export CCSHIM_CC=fixed:rate=2g CCSHIM_SEGMENT=16k CCSHIM_BASE_RTT=20us
	unset LD_PRELOAD
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[[ -z ${server:-} ]] || kill -KILL "$server" 2>/dev/null || true
}

# listens PORT PID: that process, and not one of another run of these tests.
listens() {
	local inode
	inode=$(awk -v port="$(printf ':%04X' "$1")" '
		$4 == "0A" && index($2, port) { print $10; exit }' /proc/net/tcp*)
	[[ -n $inode && -n $(find "/proc/$2/fd" -lname "socket:\[$inode\]" 2>/dev/null) ]]
}

# side SIDE MODE PROGRAM [ARG…]: to be run in the background, so that $! is the program.
side() {
	local side=$1 mode=$2 preload=$libs/libfakerdma.so
	shift 2
	[[ $mode == bare ]] || preload="$libs/libccshim.so $preload"
	[[ $mode == bare ]] || export CCSHIM_MODE=$mode CCSHIM_REPORT=$PWD/$side.json
	LD_PRELOAD=$preload exec "$@" </dev/null >"$side.out" 2>"$side.err"
}

# serve MODE PROGRAM [ARG…]: a server that listens on $port, with the other options in $fixed.
serve() {
	local i try gid=-x
	[[ $2 != ibv_* ]] || gid=-g
	for try in 1 2 3 4 5; do
		port=$((20000 + RANDOM % 10000))
		fixed=("$gid" 1 -p "$port")
		side server "$@" "${fixed[@]}" -d fake0 &
		server=$!
		while kill -0 "$server" 2>/dev/null; do
			! listens "$port" "$server" || return 0
			sleep 0.02
		done
	done
	cat server.err
	return 1
}

# pair MODE PROGRAM [ARG…]: $status is the client's, $served the server's.
pair() {
	rm -f {client,server}.*
	serve "$@"
	status=0 served=0
	side client "$1" "${@:2}" "${fixed[@]}" -d fake1 127.0.0.1 &
	wait $! || status=$?
	[[ $status -eq 0 ]] || kill -KILL "$server" || true # it may wait for a client for ever
	wait "$server" || served=$?
}

# What perftest says of its messages: size and number.
row() {
	awk 'row { print $1, $2; exit } $1 == "#bytes" { row = 1 }' "$1"
}

told() {
	echo "$1: client $status, server $served"
	tail -n 20 {client,server}.{out,err}
	return 1
}

# in_every_mode PROGRAM [ARG…]: bare and with the shim it ends well, after the same messages.
# perftest may find the clock too unsteady for figures; that is nobody's fault.
in_every_mode() {
	local mode try said
	command -v "$1" >/dev/null || skip "no $1"
	for mode in bare off observe enforce; do
		for try in 1 2 3; do
			pair "$mode" "$@"
			grep -qs "Can't produce a report" {client,server}.err || break
		done
		[[ $status -eq 0 && $served -eq 0 ]] || told "$mode"
		! grep -i ccshim {client,server}.err || told "$mode"
		[[ $mode != bare ]] || said=$(row client.out)
		[[ $(row client.out) == "$said" ]] || told "$mode"
	done
	[[ $1 == ibv_* || -n $said ]] || told "no figures"
}

# controlled N BYTES: the last one's requests were posted by the shim.
controlled() {
	jq -e "[.qps[] | select(.wrs > 0)] | length == 1 and all(.[]; .wrs == $1 and .bytes == $1 * $2)" \
		client.json >/dev/null || { jq . client.json; return 1; }
}

n=104 # more than one of perftest's rounds of 100

@test "ib_write_bw" {
	in_every_mode ib_write_bw -s 65536 -n $n
	controlled $n 65536
}

@test "ib_read_bw" {
	in_every_mode ib_read_bw -s 65536 -n $n
	controlled $n 65536
}

@test "ib_send_bw" {
	in_every_mode ib_send_bw -s 65536 -n $n
	controlled $n 65536
}

@test "ib_send_bw, both ways, by events" {
	in_every_mode ib_send_bw -s 65536 -n $n -b -e
}

@test "ib_atomic_bw" {
	in_every_mode ib_atomic_bw -n $n
	controlled $n 8
}

@test "ib_write_lat" {
	in_every_mode ib_write_lat -n 20
}

@test "ib_write_bw by ibv_wr_*, several QPs and lists of requests" {
	# a ConnectX-5, perftest thinks
	FAKERDMA_VENDOR=0x2c9:4119 in_every_mode ib_write_bw -s 4096 -n $n -q 4 -l 4
	grep -q 'ibv_wr\* API  *: ON' client.out
}

@test "ib_send_bw over XRC, by either way to post" {
	in_every_mode ib_send_bw -c XRC -s 65536 -n $n
	controlled $n 65536
	FAKERDMA_VENDOR=0x2c9:4119 in_every_mode ib_send_bw -c XRC -s 4096 -n $n -q 2
	grep -q 'ibv_wr\* API  *: ON' client.out
}

@test "ib_send_bw of datagrams" {
	in_every_mode ib_send_bw -c UD -s 1024 -n $n
}

@test "ibv_rc_pingpong, every byte compared" {
	in_every_mode ibv_rc_pingpong -n 100 -c
	in_every_mode ibv_rc_pingpong -n 100 -c -e
}

@test "ibv_rc_pingpong by ibv_wr_*" {
	in_every_mode ibv_rc_pingpong -n 100 -c -N
}

@test "ibv_rc_pingpong with timestamps" {
	FAKERDMA_CLOCK=156250 in_every_mode ibv_rc_pingpong -n 100 -c -t
}

@test "the other pingpongs" {
	in_every_mode ibv_srq_pingpong -n 100 -q 4
	in_every_mode ibv_uc_pingpong -n 100
	in_every_mode ibv_ud_pingpong -n 100 -s 1024
}

# What goes wrong goes wrong in the same way. The server would wait for ever, as on any
# device. Whether a failed SEND or a flushed receive is polled first is not promised.
@test "faults from the environment" {
	command -v ibv_rc_pingpong >/dev/null || skip "no ibv_rc_pingpong"
	local mode fault expected words
	while read -r fault expected words; do
		for mode in bare observe enforce; do
			rm -f {client,server}.*
			serve $mode ibv_rc_pingpong -n 100
			status=0 served=-
			FAKERDMA_FAULT=$fault side client $mode ibv_rc_pingpong -n 100 \
				"${fixed[@]}" -d fake1 127.0.0.1 &
			wait $! || status=$?
			[[ $status -eq 0 ]] || kill -KILL "$server" || true
			wait "$server" || true
			[[ $status -eq $expected ]] || told "$fault, $mode"
			grep -q "$words" client.{out,err} || told "$fault, $mode"
		done
	done <<-END
		post:9:ENOMEM 1 Couldn't post
		post:9:-EINVAL 1 Couldn't post
		doorbell:9 1 Couldn't post
		cqe:9:REM_ACCESS_ERR 1 Failed status
		rnr:9 1 Failed status
		retry:9 1 Failed status
		notready:9:3 0 100 iters
		stale,destroy_qp:1 0 100 iters
		create_cq 1 Couldn't create CQ
		modify_qp:1 1 Failed to modify QP to RTR
		destroy_qp 1 Couldn't destroy QP
	END
}

@test "a server that dies ends the client" {
	command -v ib_write_bw >/dev/null || skip "no ib_write_bw"
	for mode in bare off observe enforce; do
		rm -f {client,server}.*
		serve $mode ib_write_bw -s 4096 -n 100000000
		side client $mode ib_write_bw -s 4096 -n 100000000 "${fixed[@]}" \
			-d fake1 127.0.0.1 &
		client=$!
		sleep 0.5 # whatever it does by then, it ends
		kill -KILL "$server"
		status=0
		wait $client || status=$?
		served=killed
		[[ $status -ne 0 ]] || told $mode
	done
}
