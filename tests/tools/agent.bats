#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What is around the host agent: its unit, its key, its privileges, and hooks.

load tools.bash

include=$top_srcdir/libshim/include

teardown() {
	[ -z "${rival-}" ] || kill "$rival" 2> /dev/null || true
	[ -z "${agent-}" ] || ! kill "$agent" || wait "$agent"
}

# start ARG…: an agent, ready, as $agent; at $socket, with an address of its own.
start() {
	socket=$BATS_TEST_TMPDIR/agent.sock
	"$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none --socket "$socket" \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.78 "$@" 2> agent.err 3>&- &
	agent=$!
	until "$top_builddir/tools/ccshimd/ccshimd" --status --socket "$socket" > status 2> /dev/null; do
		kill -0 $agent || { cat agent.err; return 1; }
		sleep 0.05
	done
}

# key MODE TEXT
key() {
	printf %s "$2" > key
	chmod "$1" key
}

no_key() {
	run2 "$top_builddir/tools/ccshimd/ccshimd" --no-capture --socket "$PWD/s" --key-file key
	[ "$status" -eq 1 ] && [ "$(wc -l <<< "$errors")" -eq 1 ]
	said "$1"
}

@test "a key is refused if others know it, or could guess it" {
	run2 "$top_builddir/tools/ccshimd/ccshimd" --no-capture --socket "$PWD/s" --key-file none
	[ "$status" -eq 1 ]
	[[ $errors != *"without libsodium"* ]] || skip "built without libsodium"
	said "none: No such file"
	key 644 0123456789abcdef0123456789abcdef
	no_key "chmod 600"
	key 600 short
	no_key "at least 16 bytes"
	key 600 0123456789abcdef0123456789abcdef
	start --key-file key
}

# reloads WORDS: SIGHUP makes the agent print them, and it goes on.
reloads() {
	kill -HUP $agent
	until grep -F -e "$1" agent.err; do
		kill -0 $agent
		sleep 0.05
	done
	"$top_builddir/tools/ccshimd/ccshimd" --status --socket "$socket" > status
	[ "$(jq .pid status)" -eq $agent ]
}

@test "SIGHUP reloads the keys, keeps them if the file is bad, and never ends the agent" {
	key 600 0123456789abcdef0123456789abcdef
	start --key-file key || { grep -F "without libsodium" agent.err && skip "built without libsodium"; }
	key 600 $'[keys]\n0 0123456789abcdef0123456789abcdef\n1 ffffffffffffffffffffffffffffffff send'
	reloads "loaded keys of key: 0, 1 send"
	key 600 $'[keys]\n0 0123456789abcdef0123456789abcdef\n1 ffffffffffffffffffffffffffffffff'
	reloads "key: line 2: several keys have the same prefix: mark one of them with send; the keys loaded before stay in use"
	rm key
	reloads "key: No such file or directory; the keys loaded before stay in use"
	key 600 $'[keys]\n1 ffffffffffffffffffffffffffffffff 10.0.0.0/8'
	reloads "loaded keys of key: 1 10.0.0.0/8 send"
}

# The tenants, as the status has them.
tenants() {
	"$top_builddir/tools/ccshimd/ccshimd" --socket "$socket" --status | jq -c '.tenants | map([.tenant, .weight])'
}

@test "tenants are read at the start and at SIGHUP, and a mistake leaves those read before" {
	printf '%s\n' '[tenant a]' 'match = job:7' 'weight = 3' '[app "x"]' 'mode = nonsense' > conf
	start --tenants conf
	[ "$(tenants)" = '[["a",3]]' ]
	printf '%s\n' '[tenant b]' 'match = uid:0' '[tenant c]' 'match = app:x*' > conf
	kill -HUP $agent
	until [ "$(tenants)" = '[["b",1],["c",1]]' ]; do :; done
	printf '%s\n' '[tenant d]' 'match = uid:0' 'cap = 1' > conf
	reloads "conf:3: cap: '1' is not a rate from 1m to 1000t"
	[ "$(tenants)" = '[["b",1],["c",1]]' ]
	rm conf
	kill -HUP $agent
	until [ "$(tenants)" = '[]' ]; do :; done
}

@test "a mistake in the file leaves the terms that were set in force" {
	[ "$EUID" -eq 0 ] || skip "only root sets terms"
	printf '%s\n' '[tenant a]' 'match = job:7' > conf
	start --tenants conf
	CCSHIM_AGENT=$socket "$top_builddir/tools/ccshim/ccshim" set tenant a weight=3
	echo '[Tenant b]' >> conf
	reloads "conf:3: expected [tenant NAME]; the section is ignored"
	[ "$(tenants)" = '[["a",3]]' ]
}

@test "terms that have no effect, and a file that is missing, are reported" {
	printf '%s\n' '[tenant a]' 'match = uid:1' 'class = background' '[tenant b]' 'match = uid:2' > conf
	start --tenants conf
	grep -F "conf:1: without --key-file the guarantee and class of tenant a count only for data that it READs" agent.err
	[ "$(grep -c "without --key-file" agent.err)" -eq 1 ]
	rm conf
	reloads "conf: No such file or directory: there are no tenants"
}

# Its user ID is root's, and so is the tenant.
@test "root without CAP_NET_ADMIN, as in a container, lowers no cap of root" {
	[ "$EUID" -eq 0 ] || skip "needs root"
	printf '%s\n' '[tenant a]' 'match = uid:0' 'cap = 10g' > conf
	start --tenants conf
	export CCSHIM_AGENT=$socket
	run setpriv --bounding-set=-all --inh-caps=-all "$top_builddir/tools/ccshim/ccshim" set tenant a cap=1m
	[ "$status" -eq 1 ]
	[[ $output == *"terms of tenants are set by root"* ]]
	"$top_builddir/tools/ccshimd/ccshimd" --socket "$socket" --status | jq -e '.tenants[0].cap_bps == 1e10'
}

@test "guarantees above .9 of the fastest port are refused, in the file and by ccshim set" {
	printf '%s\n' '[tenant a]' 'match = uid:1' 'guarantee = 50t' '[tenant b]' 'match = uid:2' 'guarantee = 45t' > conf
	start --tenants conf --capacity lo=100t
	[ "$(tenants)" = '[]' ]
	grep -F "conf:4: with tenant b the guarantees are 95000 Gb/s in sum, above 0.9 of this host's fastest port" agent.err
	sed -i s/45t/40t/ conf
	kill -HUP $agent
	until [ "$(tenants)" = '[["a",1],["b",1]]' ]; do :; done
	[ "$EUID" -eq 0 ] || return 0
	CCSHIM_AGENT=$socket run "$top_builddir/tools/ccshim/ccshim" set tenant a guarantee=51t
	[ "$status" -eq 1 ]
	[[ $output == *"would exceed 0.9 of this host's fastest port"* ]]
}

@test "with a mistake in the file at the start no tenant is in force" {
	printf '%s\n' '[tenant a]' 'match = uid:0' '[tenant b]' 'match = uid:0' > conf
	start --tenants conf
	[ "$(tenants)" = '[]' ]
	grep -F "conf:3: tenant b matches processes of tenant a (conf:1)" agent.err
	grep -F "conf: its tenants are not in force; correct the file, and send SIGHUP" agent.err
}

@test "ccshim set tenant changes a weight; stat --by tenant needs the agent" {
	printf '%s\n' '[tenant a]' "match = uid:$EUID" > conf
	start --tenants conf
	export CCSHIM_AGENT=$socket
	ccshim=$top_builddir/tools/ccshim/ccshim
	for bad in "a" "a weight=0" "a weight=x" "a cap=1" "a class=x" "a floor=1" "a class=background class=foreground" \
		"a weight=1 weight=2" "a guarantee=1g weight" "a =1" ""; do
		read -ra words <<< "$bad"
		run "$ccshim" set tenant "${words[@]}"
		[ "$status" -eq 2 ]
	done
	run "$ccshim" set tenant b weight=2
	[ "$status" -eq 1 ]
	if [ "$EUID" -eq 0 ]; then
		[[ $output == *"the agent has no tenant 'b'"* ]]
		"$ccshim" set tenant a weight=2.5
		[ "$(tenants)" = '[["a",2.5]]' ]
		"$ccshim" set tenant a weight=3 cap=2g guarantee=1g
		for bad in cap=900m class=background floor=2% guarantee=3g; do
			run "$ccshim" set tenant a "$bad"
			[ "$status" -eq 1 ]
			[[ $output == *"the agent refuses these terms of tenant a"* ]]
		done
		"$ccshim" set tenant a guarantee=none class=background floor=2%
		"$top_builddir/tools/ccshimd/ccshimd" --socket "$socket" --status |
			jq -e '.tenants == [{tenant: "a", weight: 3, cap_bps: 2e9, guarantee_bps: 0, class: "background", floor: 0.02}]'
	else
		[[ $output == *"are set by root"* ]]
	fi
	run "$ccshim" stat --by tenant --prometheus
	[ "$status" -eq 2 ]
	kill $agent
	wait $agent
	agent=
	run "$ccshim" stat --by tenant
	[ "$status" -eq 1 ]
	[[ $output == *"no reply from the agent"* ]]
}

@test "its privileges end when its sockets are open" {
	start
	grep -E '^Cap(Inh|Prm|Eff|Amb):' /proc/$agent/status > caps
	[ "$(wc -l < caps)" -eq 4 ]
	if grep -v '0000000000000000$' caps; then return 1; fi
	grep -E '^NoNewPrivs:\s*1$' /proc/$agent/status
}

# Skips where there is no filter.
need_filter() {
	grep -q '^Seccomp_filters:' /proc/self/status || skip "no seccomp"
	[[ $(ldd "$top_builddir/tools/ccshimd/ccshimd") == *libseccomp* ]] ||
		skip "built without libseccomp, or with a sanitizer"
}

@test "it restricts its system calls when its sockets are open" {
	need_filter
	outside=$(sed -n 's/^Seccomp_filters:\s*//p' /proc/self/status)
	start
	[ "$(sed -n 's/^Seccomp_filters:\s*//p' /proc/$agent/status)" -gt "$outside" ]
	grep -E '^Seccomp:\s*2$' /proc/$agent/status
	[ ! -s agent.err ]
}

@test "code inside a running agent runs, writes, creates and traces nothing, and does not end it" {
	need_filter
	LD_PRELOAD=$top_builddir/tests/tools/.libs/intruder.so start
	until grep -q '^intruder: done$' agent.err; do
		kill -0 $agent
		sleep 0.05
	done
	cat agent.err
	[ "$(grep -c '^intruder: .*: EPERM$' agent.err)" -ge 16 ]
	[ "$(grep -c -v -e ': EPERM$' -e ': done$' agent.err)" -eq 0 ]
	"$top_builddir/tools/ccshimd/ccshimd" --status --socket "$socket" > status
	[ "$(jq .pid status)" -eq $agent ]
}

@test "it notifies the service manager that it is ready, and then its watchdog" {
	command -v perl > /dev/null || skip "no perl"
	perl -MIO::Socket::UNIX -MSocket -e '
		my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "notify") or die;
		for (1 .. 4) { $s->recv(my $m, 99); print "$m\n" }' > got 3>&- &
	receiver=$!
	until [ -S notify ]; do sleep 0.05; done
	NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=300000 start
	wait $receiver
	diff got - <<< $'READY=1\nWATCHDOG=1\nWATCHDOG=1\nWATCHDOG=1'
}

# receive N: the first N messages to the service manager, in the file got.
receive() {
	perl -MIO::Socket::UNIX -MSocket -e '
		my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => "notify") or die;
		$| = 1;
		for (1 .. shift) { $s->recv(my $m, 99); print "$m\n" }' "$1" > got 3>&- &
	receiver=$!
	until [ -S notify ]; do sleep 0.05; done
}

# mark TEXT: put a line between the agent's messages that are sent before and those that are sent later.
mark() {
	perl -MIO::Socket::UNIX -MSocket -e '
		IO::Socket::UNIX->new(Type => SOCK_DGRAM, Peer => "notify")->send(shift) or die' "$1"
	until grep -qx "$1" got; do sleep 0.05; done
}

# Only its loop does. A stopped process is stuck, too.
@test "a stuck agent sends its watchdog nothing" {
	command -v perl > /dev/null || skip "no perl"
	receive 1000000
	NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=30000 start
	until [ "$(wc -l < got)" -ge 5 ]; do sleep 0.05; done
	kill -STOP "$agent"
	until grep -q '^State:.*stopped' "/proc/$agent/status"; do sleep 0.05; done
	mark stuck
	sleep 0.5
	mark later
	[ "$(sed -n '/^stuck$/,/^later$/p' got)" = $'stuck\nlater' ]
	before=$(wc -l < got)
	kill -CONT "$agent"
	until [ "$(wc -l < got)" -gt "$before" ]; do sleep 0.05; done
	kill $receiver
}

name_sockets() { socket=$PWD/agent.sock port=$((20000 + RANDOM % 10000)); }

# inherit COMMAND…: run it as $agent with two sockets that are open already, as from the service
# manager: $socket, and UDP port $port of 127.0.0.79.
inherit() {
	perl -MSocket -MPOSIX= -e '
		my ($path, $port, @command) = @ARGV;
		my ($u, $i);
		POSIX::close($_) for 3 .. 9;
		$^F = 9;
		socket($u, AF_UNIX, SOCK_SEQPACKET, 0) or die "socket: $!";
		bind($u, sockaddr_un($path)) && listen($u, 9) or die "bind: $!";
		socket($i, AF_INET, SOCK_DGRAM, 0) or die "socket: $!";
		setsockopt($i, SOL_SOCKET, SO_REUSEADDR, 1); # as systemd does
		bind($i, sockaddr_in($port, inet_aton("127.0.0.79"))) or die "bind: $!";
		fileno($u) == 3 && fileno($i) == 4 or die "descriptors";
		($ENV{LISTEN_PID}, $ENV{LISTEN_FDS}) = ($$, 2);
		exec @command' "$socket" "$port" "$@" 2> agent.err 3>&- &
	agent=$!
}

ccshimd=$top_builddir/tools/ccshimd/ccshimd

# inherited ARG…: until the agent answers.
inherited() {
	inherit "$ccshimd" --no-capture --verify none --socket "$socket" "$@"
	until "$ccshimd" --status --socket "$socket" > status 2> /dev/null; do
		kill -0 $agent || { cat agent.err; return 1; }
		sleep 0.05
	done
	[ "$(jq .pid status)" -eq $agent ]
}

@test "sockets of the service manager are used, and stay when the agent ends" {
	command -v perl > /dev/null || skip "no perl"
	name_sockets
	inherited --address 127.0.0.79 --port "$port"
	[ ! -s agent.err ] || { cat agent.err; return 1; }
	kill $agent
	wait $agent
	agent=
	[ -S agent.sock ]
}

# bind_beside: another user binds $port of 127.0.0.79, in the process $rival.
bind_beside() {
	setpriv --reuid 65534 --clear-groups perl -MSocket -e '
		socket($i, AF_INET, SOCK_DGRAM, 0) or die "socket: $!";
		setsockopt($i, SOL_SOCKET, SO_REUSEADDR, 1) or die "setsockopt: $!";
		bind($i, sockaddr_in($ARGV[0], inet_aton("127.0.0.79"))) or die "bind: $!";
		$| = 1;
		print "bound\n";
		sleep 1000' "$port" > bound 2> refused 3>&- &
	rival=$!
	until [ -s bound ]; do
		kill -0 $rival 2> /dev/null || return 1
		sleep 0.05
	done
}

@test "no user binds the agent's port beside the service manager's socket" {
	[ "$EUID" -eq 0 ] && command -v perl setpriv > /dev/null || skip "not root, or no perl"
	name_sockets
	inherited --address 127.0.0.79 --port "$port"
	! bind_beside || { kill $rival; false; }
	grep -F "Address already in use" refused
	! grep -F "UDP port" agent.err
}

@test "a user who has bound the agent's port before it started is reported" {
	[ "$EUID" -eq 0 ] && command -v perl setpriv > /dev/null || skip "not root, or no perl"
	name_sockets
	bind_beside
	inherited --address 127.0.0.79 --port "$port"
	kill $rival
	grep -F "a process of user 65534 has opened UDP port $port, too" agent.err
}

@test "an agent whose port a user has bound does not start, and reports which user" {
	[ "$EUID" -eq 0 ] && command -v perl setpriv > /dev/null || skip "not root, or no perl"
	name_sockets
	bind_beside
	run2 "$ccshimd" --no-capture --verify none --socket "$socket" --address 127.0.0.79 --port "$port"
	[ "$status" -eq 1 ]
	said "port $port of 127.0.0.79: Address already in use; a process of user 65534 has it"
	[ ! -e "$socket" ]
}

@test "sockets of the service manager that the options exclude are reported" {
	command -v perl > /dev/null || skip "no perl"
	name_sockets
	inherited --address 127.0.0.78 --port "$((port + 1))"
	grep -F "1 sockets of the service manager are not used" agent.err
}

@test "an agent that the service manager did not start leaves its socket alone" {
	command -v perl > /dev/null || skip "no perl"
	name_sockets
	inherit sleep 1000
	until [ -S "$socket" ]; do sleep 0.05; done
	run2 "$ccshimd" --no-capture --verify none --socket "$socket" --address 127.0.0.78 --port "$((port + 1))"
	[ "$status" -eq 1 ]
	said "another agent uses it"
	[ -S "$socket" ]
	kill $agent
	wait $agent || true
	agent=
}

@test "the unit has limits, a watchdog and a user of its own" {
	for setting in WatchdogSec MemoryMax TasksMax Restart DynamicUser CapabilityBoundingSet \
		Nice CPUWeight; do
		grep -E "^$setting=[^ ]+$" "$top_builddir/tools/ccshimd/ccshimd.service"
	done
}

@test "the unit is one, and leaves little" {
	command -v systemd-analyze > /dev/null || skip "no systemd"
	sed "s,^ExecStart=.*/ccshimd,ExecStart=$(type -P true)," \
		"$top_builddir/tools/ccshimd/ccshimd.service" > ccshimd.service
	cp "$top_srcdir/tools/ccshimd/ccshimd.socket" .
	grep -E '^ExecStart=/' ccshimd.service
	run2 systemd-analyze verify --man=no ./ccshimd.service
	[ -z "$errors$output" ]
	if systemd-analyze --help | grep -q -e --threshold; then
		systemd-analyze security --offline=true --threshold=30 ./ccshimd.service > security
	fi
}

@test "hooks: the header compiles alone, as C and as C++" {
	command -v cc > /dev/null || skip "no compiler"
	for compiler in "cc -std=c99 -x c" "c++ -std=c++11 -x c++"; do
		command -v "${compiler%% *}" > /dev/null || continue
		$compiler -Wall -Wextra -Wpedantic -Werror -I"$include" -c -o /dev/null - \
			<<< '#include <ccshim/feed.h>'
	done
}

@test "hooks: the example of ccshim_feed(3) is built, and tells why it does not deliver" {
	command -v cc > /dev/null || skip "no compiler"
	sed -n '/^#include/,/^\.Ed/p' "$top_srcdir/docs/man/ccshim_feed.3" | sed '/^\.Ed/d' > cnp.c
	cc -Wall -Wextra -Werror -I"$top_srcdir/libshim/include" cnp.c -o cnp \
		-L"$top_builddir/.libs" -lccshim_feed -Wl,-rpath,"$top_builddir/.libs"
	[ ! -e /run/ccshim/agent.sock ] || skip "an agent runs here"
	run2 ./cnp
	said "no CNP was delivered: "
}

# line VERDICT WORDS: what ccshim check says of the agent at $socket under DCQCN.
line() {
	run2 env CCSHIM_CC=dcqcn CCSHIM_AGENT="$socket" "$ccshim" check
	grep -E "^$1 +agent " <<< "$output" | grep -F -e "$2" || { echo "$output"; return 1; }
}

@test "check: an agent that is there, that only takes CNPs, and none" {
	start
	line warn "process $agent, version 1, receives CNPs but sends none"
	run2 env CCSHIM_CC=dcqcn CCSHIM_AGENT="$socket" "$ccshim" check --json
	[ "$(jq -r '.checks[] | select(.check == "agent").status' <<< "$output")" = warn ]
	kill $agent
	wait $agent
	agent=
	line warn "no agent runs at $socket; start ccshimd"
	socket=off line warn "agent=off"
	CCSHIM_CC=timely "$ccshim" check | grep -E '^ok +agent +not needed for timely'
}
