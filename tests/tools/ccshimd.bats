#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The host agent's command line and its life as a process. Without --no-capture it
# needs privileges; tests/lab/agent.bats tests its captures.

load tools.bash

setup() {
	ccshimd=$top_builddir/tools/ccshimd/ccshimd
	cd "$BATS_TEST_TMPDIR" || return
	socket=$BATS_TEST_TMPDIR/run/agent.sock
	port=$((20000 + RANDOM % 10000))
	agent=
}

teardown() {
	[ -z "$agent" ] || kill -KILL "$agent" 2>/dev/null || true
}

# start: an agent in the background, ready; its address is one of its own.
start() {
	"$ccshimd" --no-capture --socket "$socket" --port $port --address 127.0.0.77 \
		2>agent.err 3>&- &
	agent=$!
	until [ -S "$socket" ] && "$ccshimd" --status --socket "$socket" >status.json 2>/dev/null; do
		kill -0 $agent || { cat agent.err; return 1; }
		sleep 0.05
	done
}

# stop SIGNAL: and it ends as it should.
stop() {
	local status=0
	kill "-$1" $agent
	wait $agent || status=$?
	agent=
	return $status
}

@test "help goes to stdout, and names every option; so does the manual" {
	run2 "$ccshimd" --help
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	grep -oE -- '--[a-z-]{2,}' <<<"$output" | sort -u >help
	sed -n '/^The options are/,/^\.Sh/p' "$top_srcdir/docs/man/ccshimd.8" |
		sed -n 's/^\.It Fl \(.* , \)\?-\([a-z-]*\).*/--\2/p' | sort -u >man
	diff help man
	run2 "$ccshimd" --version
	[ "$status" -eq 0 ]
	printed ccshimd
}

@test "hosts without a derived key file are refused" {
	refused "$ccshimd" --hosts hosts
	said "ccshimd: --hosts has no effect without --derive"
}

@test "a full standard output is an error" {
	start
	for option in --help --version --status; do
		run2 bash -c '"$@" > /dev/full' - "$ccshimd" --socket "$socket" $option
		[ "$option $status" = "$option 1" ]
		[ "$errors" = "ccshimd: standard output: No space left on device" ]
	done
	stop TERM
}

@test "ports and switches that cannot be are said" {
	run2 "$ccshimd" --no-capture --socket "$socket" --port $port --publish none0
	[ "$status" -eq 1 ]
	said "cannot publish port none0: No such device"
	run2 "$ccshimd" --no-capture --socket "$socket" --port $port --publish lo,hop=2
	[ "$status" -eq 1 ]
	said "cannot publish port lo: its qdisc has no counters"
	run2 "$ccshimd" --no-capture --socket "$socket" --port $port --switch 10.0.0
	[ "$status" -eq 1 ]
	said "'10.0.0' is not a valid address of a switch"
}

@test "wrong options are refused with status 2 and the remedy" {
	refused "$ccshimd" --port 0
	said "--port 0: expected a whole number from 1 to 65535"
	refused "$ccshimd" --capacity eth0
	said "--capacity eth0: expected INTERFACE=RATE"
	refused "$ccshimd" --capacity =25g
	refused "$ccshimd" --capacity eth0=0
	refused "$ccshimd" --publish ,to=10.0.0.0/8
	said "--publish ,to=10.0.0.0/8: expected PORT"
	refused "$ccshimd" --publish eth0,to=10.0.0.0/33
	refused "$ccshimd" --publish eth0,from=
	refused "$ccshimd" --publish eth0,hop=0
	refused "$ccshimd" --publish eth0,rate=fast
	refused "$ccshimd" --publish eth0,
	refused "$ccshimd" --publish eth0,what=1
	refused "$ccshimd" --port 80x
	refused "$ccshimd" --dscp 64
	said "0 to 63"
	refused "$ccshimd" --interval 50kg
	said "like 50us"
	refused "$ccshimd" --interval -1us
	refused "$ccshimd" --verify perhaps
	said "kernel or none"
	refused "$ccshimd" --frob
	refused "$ccshimd" stray
	said "unexpected argument 'stray'"
}

@test "what cannot be had is said in one line, with status 1" {
	run2 "$ccshimd" --no-capture --socket "$socket" --address localhorst
	[ "$status" -eq 1 ]
	said "'localhorst' is not a unicast IP address"
	run2 "$ccshimd" --no-capture --socket /proc/no/agent.sock --port $port --address 127.0.0.77
	[ "$status" -eq 1 ] && [ "$(wc -l <<<"$errors")" -eq 1 ]
	said "/proc/no/agent.sock"
	run2 "$ccshimd" --status --socket "$socket"
	[ "$status" -eq 1 ]
	said "agent at $socket"
}

@test "watching takes a privilege, and it says which" {
	local without=()
	[ "$(id -u)" -ne 0 ] || without=(setpriv --bounding-set -net_raw)
	run2 "${without[@]}" "$ccshimd" --socket "$socket" --port $port
	[ "$status" -eq 1 ]
	said "CAP_NET_RAW is required: run as root, or grant that capability"
}

@test "it prints its state as JSON, and ends on SIGTERM without a trace" {
	start
	jq -e '.capturing == false and .cnps_sent == 0 and .peers == [] and .clients == [] and
		.refused.garbage == 0 and .pid > 0' status.json
	stop TERM
	[ ! -e "$socket" ]
	[ ! -s agent.err ]
	start
	stop INT
}

@test "a second agent is refused, and disturbs no process" {
	start
	run2 "$ccshimd" --no-capture --socket "$socket" --port $((port + 1)) --address 127.0.0.77
	[ "$status" -eq 1 ]
	said "another agent uses it"
	run2 "$ccshimd" --no-capture --socket "$socket.2" --port $port --address 127.0.0.77
	[ "$status" -eq 1 ]
	said "is another agent running?"
	"$ccshimd" --status --socket "$socket" | jq -e '.pid == '$agent
	stop TERM
}

@test "what a killed one has left is no obstacle" {
	start
	stop KILL || [ $? -eq 137 ]
	[ -S "$socket" ]
	start
	stop TERM
}

@test "it says when it is ready" {
	command -v python3 >/dev/null || skip "no python3"
	python3 - "$BATS_TEST_TMPDIR/notify" >notified <<'PY' 3>&- &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(60)
print(s.recv(100).decode())
PY
	until [ -S notify ]; do sleep 0.05; done
	NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify start
	until [ -s notified ]; do sleep 0.05; done
	[ "$(<notified)" = READY=1 ]
	stop TERM
}

# derive ADDRESS: the key file of a host of the site in the files site and hosts.
derive() { "$ccshimd" --key-file site --hosts hosts --derive "$1"; }

@test "keys for each pair of hosts are derived from the site's keys" {
	printf '[keys]\n1 000102030405060708090a0b0c0d0e0f send\n2 f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff\n' > site
	chmod 600 site
	printf '# the site\n10.0.0.1 fd00::1\n10.0.0.2\n10.0.0.3 # storage\n' > hosts
	derive 10.0.0.1 > a || { ! derive 10.0.0.1 2>&1 | grep 'without libsodium' || skip "no libsodium"; false; }
	derive 10.0.0.2 > b
	derive 10.0.0.3 > c
	derive fd00::1 | grep -v '^#' | diff - <(grep -v '^#' a) # any address of the host
	[ "$(grep -c send a)" -eq 2 ] && [ "$(grep -cv -e send -e '^#' -e keys a)" -eq 2 ]
	# Both ends of a pair have the same key, and the third host does not have it.
	key=$(awk '$1 == 1 && $3 == "10.0.0.2/32" { print $2 }' a)
	[ ${#key} -eq 64 ]
	[ "$key" = "$(awk '$1 == 1 && $3 == "10.0.0.1/32" { print $2 }' b)" ]
	[ "$key" = "$(awk '$1 == 1 && $3 == "fd00::1/128" { print $2 }' b)" ]
	bats_require_minimum_version 1.5.0
	run -1 grep "$key" c
	# As documented, for other programs.
	[ "$key" = "$(python3 -c 'import hashlib
v4 = lambda n: bytes(10) + b"\xff\xff" + bytes([10, 0, 0, n])
print(hashlib.blake2b(b"ccshim pair" + v4(1) + v4(2), key=bytes(range(16)), digest_size=32).hexdigest())')" ]
	for wrong in "10.0.0.9:no line has the address" "x:expected an address"; do
		run -1 derive "${wrong%%:*}"
		[[ $output == *"${wrong#*:}"* ]]
	done
	echo 'not-an-address' >> hosts
	run -1 derive 10.0.0.2
	[[ $output == *"hosts: line 5: 'not-an-address' is not an address"* ]]
	run -2 "$ccshimd" --derive 10.0.0.1
}
