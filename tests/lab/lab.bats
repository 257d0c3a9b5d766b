#!/usr/bin/env bats
# shellcheck disable=SC2016 # what expands, expands in the guest
# SPDX-License-Identifier: BSD-2-Clause
#
# The contract of ci/lab/lab, on the uml engine. Needs root and, once, the minutes
# in which the kernel is built.

setup_file() {
  bats_require_minimum_version 1.5.0
  top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  export lab=$top/ci/lab/lab
  [[ $EUID -eq 0 ]] || skip "needs root"
  "$lab" --prepare --engine uml
}

setup() {
  [[ $EUID -eq 0 ]] || skip "needs root"
  scratch=$BATS_TEST_TMPDIR
  cd "$scratch" || return
}

# uml ARG…: run the lab, with stdout and stderr in files and its status in $status.
uml() {
  status=0
  "$lab" --engine uml "$@" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
}

stdout() { cat "$scratch/stdout"; }
stderr() { cat "$scratch/stderr"; }

# expect STATUS: show stderr if the status is another.
expect() {
  [[ $status -eq $1 ]] || { echo "status $status, not $1"; stderr; return 1; }
}

# leftovers MARK: print what is left of the labs whose CMD contains MARK. The processes of a
# guest are found by their current directory, the work directory.
leftovers() {
  local dir
  for dir in /tmp/ccshim-lab.*; do
    [[ ! -e $dir/cmd ]] || ! grep -qF "$1" "$dir/cmd" || echo "$dir"
  done
  MARK=$1 awk 'index($0, ENVIRON["MARK"]) { print FILENAME }' \
    /proc/[0-9]*/cmdline 2>/dev/null || true
  find /proc/[0-9]*/cwd -maxdepth 0 -lname '/tmp/ccshim-lab.*(deleted)' \
    2>/dev/null || true
  grep -F ccshim-lab /proc/mounts || true
}

# -- the environment of CMD ----------------------------------------------------------

@test "CMD's exit status is the lab's" {
  uml -- true
  expect 0
  uml -- sh -c 'exit 42'
  expect 42
  uml -- no-such-program
  expect 127
  uml -- sh -c 'kill -TERM $$'
  expect 143
}

@test "stdout is CMD's alone, byte for byte, and stderr its own" {
  printf 'a\r\n\tb\0\377no newline at the end' >want
  uml -- sh -c 'cat want; echo oops >&2; echo "<3>kernel line" >/dev/kmsg'
  expect 0
  cmp want "$scratch/stdout"
  grep -qx oops "$scratch/stderr"
}

@test "a megabyte of output arrives whole" {
  uml -- seq 1 150000
  expect 0
  seq 1 150000 | cmp - "$scratch/stdout"
}

@test "arguments reach CMD as they were given" {
  uml -- printf '[%s]' 'two words' "it's" '"q"' '' $'new\nline' '$HOME' '*' -x
  expect 0
  [[ $(stdout) == $'[two words][it\'s]["q"][][new\nline][$HOME][*][-x]' ]]
}

@test "stdin is empty, the directory the caller's, the user root" {
  mkdir 'a b'
  cd 'a b'
  uml -- sh -c 'cat; pwd; id -u' <<<"not for CMD"
  expect 0
  [[ $(stdout) == "$PWD"$'\n0' ]]
}

@test "CMD may write anywhere, and nothing of it reaches the machine" {
  uml -- sh -c 'echo changed >file; echo x >/etc/ccshim-lab-test; cat file'
  expect 0
  [[ $(stdout) == changed ]]
  [[ ! -e file && ! -e /etc/ccshim-lab-test ]]
}

@test "the variables are there, in base units" {
  CCSHIM_TEST='a b' uml --hosts 3 --rate 1.5gbit --nic 10gbit --queue 1mb \
    --ecn 100kb:400kb:0.5 --delay 5us --mtu 1024 --seed 7 -- \
    sh -c 'env | grep -E "^(LAB|CCSHIM)_" | LC_ALL=C sort'
  expect 0
  diff - "$scratch/stdout" <<'TXT'
CCSHIM_LINE_RATE=10000000000
CCSHIM_TEST=a b
LAB_DELAY_NS=5000
LAB_ECN=102400:409600:0.5
LAB_ENGINE=uml
LAB_HOSTS=3
LAB_MTU=1024
LAB_NIC_BPS=10000000000
LAB_OUT=/run/lab/out
LAB_PRIORITY=
LAB_PROVIDER=rxe
LAB_QUEUE_BYTES=1048576
LAB_RATE_BPS=1500000000
LAB_SEED=7
LAB_SWITCH_ADDRESS=10.9.0.254
LAB_SWITCH_NS=sw
LAB_SWITCH_PORT=p_1
LAB_TIME=virtual
LAB_TRUNK=
TXT
}

@test "nothing else of the caller's environment is" {
  LEAK=yes BASH_ENV=/nowhere uml -- env
  expect 0
  run ! grep -E '^(LEAK|BASH_ENV|CCSHIM_LAB_CACHE)=' "$scratch/stdout"
}

@test "--nic is --rate if not given" {
  uml --rate 123mbit -- sh -c 'echo $LAB_NIC_BPS $CCSHIM_LINE_RATE'
  expect 0
  [[ $(stdout) == "123000000 123000000" ]]
}

# build_tree DIR: a build tree with programs in DIR, as far as the lab can see.
build_tree() {
  mkdir -p "$1/tools/ccshim" "$1/tools/ccshimd" "$1/bench/ccbench"
  printf '#!/bin/sh\necho "$0"\n' >"$1/bench/ccbench/ccbench"
  cp "$1/bench/ccbench/ccbench" "$1/tools/ccshim/ccshim"
  cp "$1/bench/ccbench/ccbench" "$1/tools/ccshimd/ccshimd"
  chmod +x "$1"/{tools,bench}/*/cc*
  touch "$1/config.status"
}

# runs DIR [OPTION…]: in this lab, CMD's programs are those of build tree DIR.
runs() {
  local dir=$1
  shift
  uml "$@" -- bash -c 'type -p ccbench ccshim ccshimd'
  expect 0
  diff - "$scratch/stdout" <<TXT
$dir/bench/ccbench/ccbench
$dir/tools/ccshim/ccshim
$dir/tools/ccshimd/ccshimd
TXT
}

@test "the programs of the build tree come first on PATH: --build, or the current directory" {
  build_tree "$scratch/given"
  build_tree "$scratch/current"
  runs "$scratch/given" --build given
  cd current
  runs "$scratch/current"
  runs "$scratch/given" --build ../given
}

@test "the default build tree is out/build of the source tree, or else out/mine" {
  mkdir -p "$scratch/ci" && cp -r "${lab%/lab}" "$scratch/ci"
  lab=$scratch/ci/lab/lab
  build_tree "$scratch/out/mine"
  mkdir -p "$scratch/out/build/tools/ccshim"
  runs "$scratch/out/mine"
  build_tree "$scratch/out/build"
  runs "$scratch/out/build"
}

@test "a build tree without programs is refused" {
  mkdir given
  touch given/config.status
  uml --build given -- true
  expect 2
  stderr | grep -q -- '--build given: .*make'
}

@test "CMD's environment does not depend on the caller's" {
  local long
  printf -v long '/a/directory%.0s:' {1..50}
  LEAK=yes LAB_LEAK=yes PATH=$long$PATH uml -- env
  expect 0
  cp "$scratch/stdout" first
  PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C uml -- env
  expect 0
  diff first "$scratch/stdout"
  grep -Eq '^PATH=(.*:)?/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin$' first
  run ! grep LEAK first
}

@test "what is in LAB_OUT is copied to --out, whatever CMD's status" {
  uml --out results/here -- sh -c 'mkdir $LAB_OUT/d; echo 1 >$LAB_OUT/d/f; exit 9'
  expect 9
  [[ $(find results/here -type f) == results/here/d/f ]]
  [[ $(<results/here/d/f) == 1 ]]
}

# -- the topology ------------------------------------------------------------

@test "results that --out has no space for are kept" {
  mkdir full
  unshare -m sh -ec 'mount -t tmpfs -o size=64k none full && exec "$@"' sh \
    "$lab" --engine uml --out full -- sh -c 'head -c 300000 /dev/zero >"$LAB_OUT/big"' 2>stderr &&
    return 1
  grep -E '^lab: cannot copy all results to full: they are kept in /tmp/ccshim-lab\.[^ ]*$' stderr
  kept=$(sed -n 's/.*kept in //p' stderr)
  [[ $(stat -c %s "$kept/big") -eq 300000 ]]
  rm -r "$kept"
}

@test "output of CMD that cannot be written fails the run" {
  status=0
  "$lab" --engine uml -- echo lost >/dev/full 2>"$scratch/stderr" || status=$?
  expect 125
  grep -q '^lab: cannot write all that CMD printed' "$scratch/stderr"
}

@test "34 hosts, each with its device, address and path MTU" {
  uml --hosts 34 --mtu 2048 -- sh -c '
    ls /sys/class/infiniband | wc -l
    ip -br address show h_34 | tr -s " "
    ibv_devinfo -d rxe_34 | grep -c "active_mtu:.*2048"
    ip netns exec "$LAB_SWITCH_NS" ls /sys/class/net | grep -c ^p_'
  expect 0
  [[ $(stdout | tr -d ' ') == 34$'\n'h_34@*UP10.9.0.34/24$'\n1\n34' ]]
}

@test "RDMA traffic crosses the switch in virtual time" {
  uml -- bash -c '
    ibv_rc_pingpong -e -g 1 -d rxe_1 -n 500 & sleep 0.1
    ibv_rc_pingpong -e -g 1 -d rxe_2 -n 500 127.0.0.1 >/dev/null && wait $! &&
    tc -n sw -s qdisc show dev p_1'
  expect 0
  # 500 messages of four packets, an ACK for each that went back, and on 6.1 a
  # few that rxe sends again for no reason.
  stdout | grep -qE ' 25[0-9]{2} pkt'
}

# As MPICH's ranks do, which connect to themselves.
@test "a device connects to itself, by RC and by an address handle" {
  uml -- bash -c '
    for program in ibv_rc_pingpong ibv_ud_pingpong; do
      $program -e -g 1 -d rxe_2 -n 50 & sleep 0.1
      timeout 100 $program -e -g 1 -d rxe_2 -n 50 127.0.0.1 >/dev/null && wait $! || exit
    done
    tc -n sw -s qdisc show dev p_1'
  expect 0
  # Nothing of it crosses the switch.
  stdout | grep -q ' 0 pkt' || { stdout; false; }
}

@test "a plain rdma_cm connection crosses the switch too" {
  uml -- bash -c '
    rping -s -a 10.9.0.1 -C 100 & sleep 0.1
    rping -c -a 10.9.0.1 -C 100 && wait $! && tc -n sw -s qdisc show dev p_1'
  expect 0
  stdout | grep -qE ' [1-9][0-9]{2,} pkt'
}

@test "perftest runs in real time" {
  # On a busy machine perftest may find the cycle counter unsteady and give up.
  uml --time real --rate 10gbit -- bash -c '
    for _ in {1..10}; do
      ib_write_bw -x 1 -d rxe_1 -s 65536 -n 500 >/dev/null &
      while kill -0 $! && ! ss -Hltn sport = :18515 | grep -q .; do sleep 0.01; done
      ! ib_write_bw -x 1 -d rxe_2 -s 65536 -n 500 127.0.0.1 || exit 0
      kill $!
      wait $!
    done
    exit 1'
  expect 0
  stdout | awk '$1 == 65536 { seen = $2 == 500 && $4 > 1 } END { exit !seen }'
}

# rate_of PACKETS BYTES: what host 1 receives in bit/s on the wire, between the
# first and the last of a burst that host 2 sends at once.
write_rate_of() {
  cat >rate_of <<'PY'
import os, socket, sys, time
n, size = int(sys.argv[1]), int(sys.argv[2])
from_start = len(sys.argv) > 3
rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
rx.setsockopt(socket.SOL_SOCKET, 33, 1 << 27)  # SO_RCVBUFFORCE
rx.bind(("10.9.0.1", 7))
rx.settimeout(1)
start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
if os.fork() == 0:
    tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tx.bind(("10.9.0.2", 0))
    for _ in range(n):
        tx.sendto(bytes(size), ("10.9.0.1", 7))
    os._exit(0)
at = []
for _ in range(n):
    rx.recv(65536)
    at.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
if from_start:
    print(round(n * (size + 42) * 8e9 / (at[-1] - start)))
else:
    first = n // 4
    print(round((n - 1 - first) * (size + 42) * 8e9 / (at[-1] - at[first])))
PY
}

within_a_percent() {
  awk -v got="$(stdout)" -v want="$1" 'BEGIN {
    print got " bit/s, should be " want
    exit !(got > want * 0.99 && got < want * 1.01) }'
}

@test "the bottleneck has the rate asked for, from 200 Mb/s to 10 Gb/s" {
  local rate
  write_rate_of
  for rate in 200 10000; do
    uml --rate ${rate}mbit --nic 25gbit --queue 64mb -- python3 rate_of 2000 4096
    expect 0
    within_a_percent ${rate}000000
  done
}

@test "a host's interface has the rate asked for, from the first packet on" {
  write_rate_of
  uml --rate 40gbit --nic 10gbit --queue 64mb -- python3 rate_of 2000 4096
  expect 0
  within_a_percent 10000000000
}

# A token bucket alone would let it pass at the rate of the hosts.
@test "the bottleneck takes its time for a lone packet, too" {
  local more rtt
  for more in "" "--ecn 20kb:80kb:0.1 --priority"; do
    # shellcheck disable=SC2086 # words are wanted
    uml --rate 100mbit --nic 10gbit $more -- ping -q -c 3 -s 4000 -I 10.9.0.2 10.9.0.1
    expect 0
    rtt=$(stdout | sed -n 's|.*= [0-9.]*/\([0-9.]*\)/.*|\1|p')
    # 4042 bytes at 100 Mb/s, twice at 10 Gb/s, and 20 us each way
    awk -v got="$rtt" 'BEGIN { print got " ms"; exit !(got > 0.365 && got < 0.385) }'
  done
}

# A busy machine may make it slower. Between two arrivals it may seem faster, if the receiver was
# late to see the first of them, so the time counts from before the first packet was sent.
@test "the bottleneck has no more than the rate asked for in real time" {
  write_rate_of
  uml --time real --rate 20mbit --nic 1gbit --queue 64mb -- python3 rate_of 600 4096 from-start
  expect 0
  awk -v got="$(stdout)" 'BEGIN { print got; exit !(got > 0 && got < 20200000) }'
}

@test "the delay is what was asked for" {
  local rtt
  uml --rate 10gbit --delay 500us -- ping -q -c 3 -I 10.9.0.2 10.9.0.1
  expect 0
  rtt=$(stdout | sed -n 's|.*= [0-9.]*/\([0-9]*\)\..*|\1|p')
  ((rtt == 1 )) || { stdout; false; }
}

@test "--ecn marks what can be marked instead of dropping it" {
  write_rate_of
  sed -i 's/    tx.bind/    tx.setsockopt(0, 1, 2)\n    tx.bind/' rate_of
  uml --rate 1gbit --nic 10gbit --queue 512kb --ecn 20kb:80kb:0.1 -- \
    sh -c 'python3 rate_of 100 4096 >/dev/null; tc -n sw -s qdisc show dev p_1'
  expect 0
  stdout | grep -qE '^qdisc red .* limit 512Kb min 20Kb max 80Kb'
  stdout | grep -qE 'marked [1-9][0-9]+ early 0 pdrop 0'
}

@test "--priority: packets of agents bypass the queue, others keep their queue and marks" {
  uml --queue 512kb --ecn 20kb:80kb:0.1 --priority -- sh -c '
    python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"10.9.0.2\", 0))
for tos, n in (0xc2, 7), (0x02, 5):
    s.setsockopt(0, 1, tos)
    for i in range(n):
        s.sendto(bytes(100), (\"10.9.0.1\", 9))"
    sleep 0.1; tc -n sw -s class show dev p_1; tc -n sw qdisc show dev p_1'
  expect 0
  stdout | grep -A1 '^class prio 2:1 ' | grep -q ' 7 pkt'
  stdout | grep -A1 '^class prio 2:2 ' | grep -q ' 5 pkt'
  stdout | grep -qE '^qdisc red 10: parent 2:2 limit 512Kb min 20Kb max 80Kb'
}

@test "the switch answers at its address" {
  uml --hosts 3 -- sh -c '
    ip netns exec sw python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"\", 4000))
s.sendto(*s.recvfrom(100))" &
    sleep 0.1
    python3 -c "
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((\"10.9.0.3\", 0))
s.sendto(b\"there\", (os.environ[\"LAB_SWITCH_ADDRESS\"], 4000))
s.settimeout(10)
print(s.recv(100))"'
  expect 0
  stdout | grep -q there
}

# -- determinism -------------------------------------------------------------

write_fingerprint() {
  cat >fingerprint <<'SH'
ibv_rc_pingpong -e -g 1 -d rxe_1 -n 300 & sleep 0.1
ibv_rc_pingpong -e -g 1 -d rxe_2 -n 300 127.0.0.1
wait
python3 -c 'import os, time
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), time.time_ns())
print(os.urandom(16).hex(), hash("a"), id(os), os.getpid())'
for i in $(seq 30); do (sleep 0.00$i; echo $BASHPID $RANDOM) & done; wait
ip -s link; rdma statistic; tc -n sw -s qdisc; rdma resource show
cat /proc/sys/kernel/random/uuid
SH
}

@test "the same seed gives the same run, another seed another" {
  write_fingerprint
  uml --seed 5 -- bash fingerprint
  expect 0
  cp "$scratch/stdout" first
  uml --seed 5 -- bash fingerprint
  expect 0
  diff first "$scratch/stdout"
  uml --seed 6 -- bash fingerprint
  expect 0
  run ! cmp -s first "$scratch/stdout"
}

# The dynamic linker finds no cache, and tries each directory. Only addresses differ.
@test "the same seed gives the same run where the machine has other files" {
  write_fingerprint
  sed -i 's/id(os)/0/' fingerprint
  uml --seed 5 -- bash fingerprint
  expect 0
  cp "$scratch/stdout" first
  : >empty
  printf '#!/bin/bash\nexec unshare -m sh -c "mount --bind %q /etc/ld.so.cache && exec \\"\\$@\\"" sh %q "$@"\n' \
    "$PWD/empty" "$lab" >elsewhere
  chmod +x elsewhere
  lab=$PWD/elsewhere uml --seed 5 -- bash fingerprint
  expect 0
  diff first "$scratch/stdout"
}

# Errors that a program repeats take time, or this would end by --spin.
@test "a loop of failing calls ends when another program has created the file" {
  uml -- bash -c '(sleep 0.005; : >/run/there) & until [[ -e /run/there ]]; do :; done'
  expect 0
}

# -- programs that wait without sleeping -----------------------------------------

# waiter KIND: its other thread sets a variable after 3 ms, which KIND of loop awaits. Prints the time.
write_waiter() {
  cat >waiter.c <<'C'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile int set, never;
static volatile long tests;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *setter(void *arg)
{
	usleep(3000);
	set = 1;
	return arg;
}

static void *count(void *arg)
{
	pthread_setname_np(pthread_self(), "counter");
	while (!never)
		tests++;
	return arg;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	unsigned long cycles;
	pthread_t thread;
	int pair[2];
	long began;
	char byte;

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	puts(kind);
	fflush(stdout);
	if (!strcmp(kind, "counting")) {
		pthread_create(&thread, NULL, count, NULL);
		return pthread_join(thread, NULL);
	}
	while (!strcmp(kind, "never") && !never)
		;
	pthread_create(&thread, NULL, setter, NULL);
	began = now();
	cycles = __rdtsc();
	if (!strcmp(kind, "memory"))
		while (!set)
			;
	else if (!strcmp(kind, "calls"))
		while (!set)
			poll(NULL, 0, 0);
	else if (!strcmp(kind, "yield"))
		while (!set)
			sched_yield();
	else if (!strcmp(kind, "recv"))
		while (!set)
			recv(pair[0], &byte, 1, MSG_DONTWAIT);
	else if (!strcmp(kind, "cycles"))
		while (__rdtsc() - cycles < 3000000)
			;
	printf("%ld %lu\n", now() - began, __rdtsc() - cycles);
	return pthread_join(thread, NULL);
}
C
  gcc -O1 -pthread -o waiter waiter.c
}

@test "a loop on memory, polls, sched_yield(), recv() or the cycle counter takes the time that it waits" {
  local kind
  write_waiter
  for kind in memory calls yield recv cycles; do
    uml -- ./waiter $kind
    expect 0
    cp "$scratch/stdout" first
    uml -- ./waiter $kind
    expect 0
    diff first "$scratch/stdout"
    # 3 ms, and the timer slack of usleep(); 16th later at most
    awk -v kind=$kind 'NR == 2 { print kind, $0; exit !($1 >= 3e6 && $1 < 3.3e6 && $2 > $1 - 1000 && $2 < $1 + 1000) }' first
  done
}

# pingpong PREFIX…: one whose programs poll.
pingpong() {
  uml -- bash -c '
    "$@" ibv_rc_pingpong -g 1 -d rxe_1 -n 200 & sleep 0.1
    "$@" ibv_rc_pingpong -g 1 -d rxe_2 -n 200 127.0.0.1 && wait $!' - "$@"
}

@test "empty polls take time, in children and without an environment" {
  pingpong env
  expect 0
  cp "$scratch/stdout" first
  pingpong env -i sh -c '/usr/bin/"$@"; exit $?' -
  expect 0
  [[ $(grep -c '^200 iters' "$scratch/stdout") -eq 2 ]]
  pingpong env
  expect 0
  diff first "$scratch/stdout"
}

# -- when things go wrong ----------------------------------------------------

@test "wrong options are refused in one line, with status 2" {
  local wrong
  while read -r wrong; do
    status=0
    # shellcheck disable=SC2086 # words are wanted
    "$lab" $wrong >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
    [[ $status -eq 2 && $(stderr | wc -l) -eq 1 && ! -s $scratch/stdout ]] ||
      { echo "$wrong: status $status"; stderr; return 1; }
  done <<'TXT'

--
--hosts
--hosts 0 -- true
--hosts 201 -- true
--hosts two -- true
--hosts 08 -- true
--rate fast -- true
--rate 0 -- true
--rate 10parsecs -- true
--nic -1mbit -- true
--queue 1 -- true
--queue 1xb -- true
--ecn 1 -- true
--ecn 80kb:20kb:0.1 -- true
--ecn 20kb:80kb:2 -- true
--ecn 20kb:80kb:0 -- true
--ecn 20kb:900kb:0.1 -- true
--ecn 20kb:80kb:0.1:9 -- true
--delay soon -- true
--mtu 1500 -- true
--seed x -- true
--timeout 0 -- true
--engine vax -- true
--time imaginary -- true
--engine qemu --time virtual -- true
--engine native --time virtual -- true
--provider mlx6 -- true
--engine qemu --provider mlx5 -- true
--engine native --provider mlx5 -- true
--root /nonexistent -- true
--engine qemu --root / -- true
--colour -- true
--prepare=no -- true
--json -- true
--matrix=file -- true
true
TXT
}

@test "options that take no value, or come first, are named as such" {
  uml --install=yes -- true
  [[ $status -eq 2 && $(stderr) == "lab: --install takes no value"* ]]
  uml --json -- true
  [[ $status -eq 2 && $(stderr) == *"--matrix FILE is the first option"* ]]
}

@test "paths with spaces and colons, and a relative cache, do not change a run" {
  mkdir -p "a b:c/ci"
  cp -r "${lab%/lab}" "a b:c/ci"
  lab="$scratch/a b:c/ci/lab/lab"
  command=(cat /proc/sys/kernel/random/uuid)
  uml -- "${command[@]}"
  expect 0
  cp stdout first
  cp -r "${CCSHIM_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ccshim-lab}" 'd e:f'
  CCSHIM_LAB_CACHE='d e:f' uml -- "${command[@]}"
  expect 0
  diff first stdout
}

@test "a cache that cannot be written is used, or named in one line" {
  cp -r "${CCSHIM_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ccshim-lab}" cache
  rm -f cache/version-*
  mkdir empty
  for dir in cache empty; do
    status=0
    CCSHIM_LAB_CACHE=$scratch/$dir unshare --mount sh -c 'mount --bind "$2" "$2" &&
      mount -o remount,ro,bind "$2" && exec "$1" --engine uml -- true' sh "$lab" "$scratch/$dir" 2>stderr || status=$?
    [[ $dir != cache ]] || [[ $status -eq 0 && -z $(stderr) ]]
  done
  [[ $status -eq 125 && $(stderr) == "lab: cannot write $scratch/empty: set CCSHIM_LAB_CACHE" ]]
}

@test "the programs beside a ccshim in another directory are on PATH" {
  mkdir -p opt/bin opt/sbin ci
  cp -r "${lab%/lab}" ci
  lab=$scratch/ci/lab/lab
  "$lab" "$scratch/opt/bin/ccshim" --engine uml -- printenv PATH >stdout
  [[ $(stdout) == "$scratch/opt/bin:$scratch/opt/sbin:/usr/local/bin:"* ]]
  "$lab" /usr/bin/ccshim --engine uml -- printenv PATH >stdout
  [[ $(stdout) == "/usr/local/bin:"* ]]
  build_tree "$scratch/tree"
  "$lab" "$scratch/tree/tools/ccshim/ccshim" --engine uml -- ccbench >stdout
  [[ $(stdout) == "$scratch/tree/bench/ccbench/ccbench" ]]
}

@test "--help says how, on stdout" {
  uml --help
  expect 0
  stdout | grep -q -- '--hosts'
}

@test "a warning in the kernel log fails the run, with the line" {
  uml -- sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at lab.bats" >/dev/kmsg'
  expect 125
  grep -q 'WARNING: CPU: 0 PID: 1 at lab.bats' "$scratch/stderr"
}

@test "every kind of trouble in the kernel log is seen" {
  uml -- sh -c 'cat trouble >/dev/null'
  local line
  while read -r line; do
    uml -- sh -c "echo '$line' >/dev/kmsg"
    expect 125
  done <<'TXT'
unregister_netdevice: waiting for h_1 to become free. Usage count = 2
INFO: task ccbench:42 blocked for more than 60 seconds.
TXT
}

@test "CMD's own failure is not hidden by the kernel log's" {
  uml -- sh -c 'echo "<4>WARNING: CPU: 0" >/dev/kmsg; exit 3'
  expect 3
  grep -q 'WARNING: CPU: 0' "$scratch/stderr"
}

@test "a kernel that dies fails the run" {
  local mark=mark-$$-$RANDOM id guest
  start_lab "$mark"
  for guest in $(pgrep -P "$id"); do
    [[ $(readlink "/proc/$guest/cwd") != "$work" ]] || kill -KILL "$guest"
  done
  status=0
  wait "$id" || status=$?
  expect 125
  grep -q 'ended before CMD did' "$scratch/stderr"
}

@test "a program that stops virtual time is killed, with its name, its thread and the remedy" {
  write_waiter
  uml --timeout 600 --spin 3 -- ./waiter counting
  expect 125
  [[ $(stdout) == counting ]]
  grep -E 'process waiter \(PID [0-9]+\), thread counter \([0-9]+\) has run .*sched_yield.*--time real.*--spin' \
    "$scratch/stderr"
}

@test "a loop in which nothing ever changes is ended, with its name" {
  write_waiter
  uml --timeout 600 -- ./waiter never
  expect 125
  [[ $(stdout) == never ]]
  grep -E 'process waiter \(PID [0-9]+\), thread waiter .* nothing has changed for 60 s of virtual' "$scratch/stderr"
}

@test "a program that sleeps between bursts of work is not" {
  uml --spin 3 -- python3 -c '
import time
for _ in range(8):
    sum(range(20000000))
    time.sleep(0.001)'
  expect 0
}

@test "a program that spins is not ended in real time before --timeout" {
  uml --time real --spin 1 -- timeout 4 sh -c 'while :; do :; done'
  expect 124
  uml --time real --timeout 3 -- sh -c 'while :; do :; done'
  expect 125
  grep -q 'gave up after 3 s' "$scratch/stderr"
}

@test "a program that waits forever is given up after --timeout" {
  uml --timeout 3 -- sh -c 'read line </dev/zero & sleep infinity'
  expect 125
}

@test "what CMD leaves running does not keep the lab" {
  uml -- sh -c 'sleep 100000 & setsid sleep 100000 & exit 5'
  expect 5
}

@test "a missing kernel source is reported with the remedy" {
  # A cache that is empty, and a mount of nothing over the sources.
  CCSHIM_LAB_CACHE=$scratch/cache run unshare --mount sh -c \
    'mount -t tmpfs none /usr/src && exec "$1" --engine uml -- true' sh "$lab"
  [[ $status -eq 125 ]]
  [[ $output == *"apt-get install linux-source-6.12"* ]]
}

# lacking PROGRAM…: PATH has all programs of the system but these.
lacking() {
  mkdir bin
  ln -sf /usr/bin/* /bin/* /usr/sbin/* /sbin/* bin/
  (cd bin && rm -f "$@")
  PATH=$scratch/bin
}

@test "all missing programs are named at once, with their packages" {
  lacking ip rdma gcc flex bc
  CCSHIM_LAB_CACHE=$scratch/cache uml -- true
  expect 125
  [[ $(stderr) == "lab: missing: ip, rdma, gcc, flex, bc. On Debian and Ubuntu: apt-get install iproute2 gcc flex bc"* ]]
}

@test "a kernel in the cache needs neither source nor compiler, and no other name or time matters" {
  local file
  lacking gcc ld flex bison xz
  unshare --mount sh -c 'mount -t tmpfs none /usr/src && exec "$1" --engine uml -- true' sh "$lab" 2>stderr
  PATH=/usr/sbin:/usr/bin:/sbin:/bin
  file=$(find -L /usr/src -maxdepth 1 -name 'linux-source-6.*.tar.xz' | sort -V | tail -n 1)
  [[ -n $file ]] || skip "no source here"
  ln -s "$file" other-name.tar.xz
  uml --source other-name.tar.xz -- true
  expect 0
  [[ -z $(stderr) ]]
}

# A source that is compiled at once, to a program that is no kernel.
write_source() {
  mkdir -p "$1/drivers/infiniband/sw" "$1/scripts/kconfig"
  printf '%s\n' 'VERSION = 6' 'PATCHLEVEL = 8' "SUBLEVEL = $2" 'EXTRAVERSION =' 'NAME = test' \
    'mrproper:' 'allnoconfig olddefconfig:' '	echo CONFIG_RDMA_RXE=y >.config' \
    'linux:' '	cp /bin/true linux' >"$1/Makefile"
  printf '#!/bin/sh\n' >"$1/scripts/kconfig/merge_config.sh"
  chmod +x "$1/scripts/kconfig/merge_config.sh"
}

# compiles VERSION CMD…: this makes a kernel of the version in an empty cache.
compiles() {
  rm -rf cache
  CCSHIM_LAB_CACHE=$scratch/cache "${@:2}" 2>stderr || { cat stderr; return 1; }
  [[ -x $(echo cache/uml-"$1"-*/linux) ]] || { ls cache; cat stderr; return 1; }
}

@test "archives and trees of Linux, and those of Debian's and Ubuntu's packages, are sources" {
  local kind
  mkdir -p src/debian src/ubuntu/linux-source-6.8.0
  write_source linux-6.8.1 1
  for kind in xz bz2 gz zst; do
    command -v "${kind/bz2/bzip2}" >/dev/null || [[ $kind == gz ]] || continue
    tar -caf "linux-6.8.1.tar.$kind" linux-6.8.1
    compiles 6.8.1 "$lab" --prepare --engine uml --source "linux-6.8.1.tar.$kind"
  done
  compiles 6.8.1 "$lab" --prepare --engine uml --source linux-6.8.1
  write_source linux-source-6.8.0 12
  tar -cjf src/ubuntu/linux-source-6.8.0/linux-source-6.8.0.tar.bz2 linux-source-6.8.0
  ln -s linux-source-6.8.0/linux-source-6.8.0.tar.bz2 src/ubuntu/
  write_source linux-source-6.12 99
  tar -cJf src/debian/linux-source-6.12.tar.xz linux-source-6.12
  write_source linux-source-6.19 100
  tar -cJf src/debian/linux-source-6.19.tar.xz linux-source-6.19
  for kind in ubuntu:6.8.12 debian:6.8.99; do
    compiles "${kind#*:}" unshare --mount sh -c 'mount --bind "$2" /usr/src && exec "$1" --prepare --engine uml' \
      sh "$lab" "src/${kind%:*}"
  done
  echo no >no.tar.xz
  uml --prepare --source no.tar.xz
  expect 125
  stderr | grep -q 'no.tar.xz is no source of Linux'
}

@test "another version or another compiler is another kernel" {
  write_source linux 1
  compiles 6.8.1 "$lab" --prepare --engine uml --source linux
  sed -i 's/^SUBLEVEL.*/SUBLEVEL = 2/' linux/Makefile
  CCSHIM_LAB_CACHE=$scratch/cache "$lab" --prepare --engine uml --source linux
  mkdir cc
  printf '#!/bin/sh\necho "gcc (another) 1.0"\n' >cc/gcc
  chmod +x cc/gcc
  PATH=$scratch/cc:$PATH CCSHIM_LAB_CACHE=$scratch/cache "$lab" --prepare --engine uml --source linux
  [[ $(printf '%s\n' cache/uml-*/ | wc -l) -eq 3 && $(printf '%s\n' cache/uml-6.8.2-*/ | wc -l) -eq 2 ]]
}

@test "the compilation's progress has per cent and the time left, in 80 columns" {
  local tries=0
  printf '  CC      file.o\n%.0s' {1..424} >log
  # shellcheck source=/dev/null
  . "$(dirname "$lab")/common.sh"
  sleep() { SECONDS=145; }
  kill() { ((tries++ == 0)); }
  SECONDS=0
  progress log '^ +(CC|AS) ' 1010 1 2>progress
  diff - progress <<<"lab:   41 % compiled, 3 min 28 s left"
}

@test "where /dev/shm is noexec or small, guests' memory is in /tmp, and the lab says so" {
  for options in noexec size=64m; do
    unshare --mount sh -c 'mount -t tmpfs -o "$2" none /dev/shm && exec "$1" --engine uml -- true' \
      sh "$lab" "$options" 2>stderr
    grep -qE '^lab: /dev/shm (is mounted noexec|has only [0-9]+ MB)' stderr
  done
  run unshare --mount sh -c 'mount --bind "$1" /mnt && mount -t tmpfs -o noexec none /dev/shm &&
    mount -t tmpfs -o size=9m none /tmp && cd / && exec /mnt/lab --engine uml -- true' sh "${lab%/lab}"
  [[ $status -eq 125 && $output == *"as root: mount -o remount,exec,size=2g /dev/shm" ]]
}

# forbidding SYSCALL CMD…: run it where this system call is not permitted, as in a container.
forbidding() {
  python3 -c '
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, int(sys.argv[1]), 6, 0, 0, 0x50001, 6, 0, 0, 0x7fff0000)
program = ctypes.create_string_buffer(code)
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(program)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execvp(sys.argv[2], sys.argv[2:])' "$@"
}

@test "a container without ptrace or personality is recognised at once" {
  run forbidding 101 "$lab" --engine uml -- true
  [[ $status -eq 125 && $output == "lab: ptrace(2) is not permitted here"* && ${#lines[@]} -eq 1 ]]
  run forbidding 135 "$lab" --engine uml -- echo works
  [[ $status -eq 0 && $output == *"personality(2) is not permitted here"*works ]]
}

@test "without root no kernel is compiled" {
  mkdir -p "$scratch/ci" && cp -r "${lab%/lab}" "$scratch/ci"
  chmod -R a+rX "$BATS_RUN_TMPDIR"
  mkdir -m 777 cache
  CCSHIM_LAB_CACHE=$scratch/cache run setpriv --reuid 65534 --clear-groups \
    "$scratch/ci/lab/lab" --engine uml -- true
  [[ $status -eq 125 && $output == *"needs root"* && ${#lines[@]} -eq 1 ]]
  [[ -z $(ls cache) ]]
}

@test "without root the lab says so" {
  run setpriv --reuid 65534 --clear-groups "$lab" --engine native -- true
  [[ $status -eq 125 && $output == *root* ]]
}

# -- nothing is left behind --------------------------------------------------

@test "nothing is left after a normal end, a failure and the watchdog" {
  local mark=mark-$$-$RANDOM
  uml -- sh -c "sleep 1000 & : $mark"
  expect 0
  uml -- sh -c "exit 3 $mark"
  expect 3
  uml --timeout 600 --spin 1 -- sh -c "while :; do : $mark; done"
  expect 125
  [[ -z $(leftovers $mark) ]] || { leftovers $mark; false; }
}

# start_lab MARK [OPTION…]: a lab in the background, as $id, with its work
# directory in $work, once its CMD is up. A shell starts background programs
# with SIGINT ignored: give it back.
start_lab() {
  local mark=$1
  env --default-signal "$lab" --engine uml --timeout 1200 -- \
    sh -c "echo up; sleep infinity; : $mark" \
    >"$scratch/stdout" 2>"$scratch/stderr" 3>&- &
  id=$!
  until grep -q up "$scratch/stdout"; do
    kill -0 "$id"
    sleep 0.1
  done
  work=$(leftovers "$mark" | grep ^/tmp/)
  [[ -n $work ]]
}

# interrupt SIGNAL STATUS
interrupt() {
  local mark=mark-$$-$RANDOM id work
  start_lab "$mark"
  kill -s "$1" "$id"
  status=0
  wait "$id" || status=$?
  expect "$2"
  [[ -z $(leftovers "$mark") ]] || { leftovers "$mark"; return 1; }
}

@test "nothing is left after SIGINT" { interrupt INT 130; }
@test "nothing is left after SIGTERM" { interrupt TERM 143; }
@test "nothing is left after a closed terminal" { interrupt HUP 129; }

@test "no process is left when the lab itself is killed" {
  local mark=mark-$$-$RANDOM id work
  start_lab "$mark"
  kill -KILL "$id"
  wait "$id" || true
  while [[ -n $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$work" 2>/dev/null) ]]; do
    sleep 0.1
  done
  rm -rf -- "$work"
}

# -- the native engine, on a kernel that has rdma_rxe: a uml guest's ------------

# Run the script from stdin where no topology is in the way of a native one.
on_a_guest() {
  {
    echo 'work=/run/lab; . "$work/vars"; "$work/topology" down'
    echo 'state() { ip rule; ip -br link; ip route show table all; ip netns; }'
    echo 'state >/run/before'
    cat
    echo 'state | diff /run/before - && ! pgrep -x sleep'
  } >script
  uml -- bash script "$lab"
}

@test "native: a run, its status and its variables" {
  on_a_guest <<'SH'
LEAK=yes "$1" --engine native --hosts 3 -- sh -c '
  echo $LAB_ENGINE $LAB_TIME $LEAK; ls /sys/class/infiniband
  setsid sleep 1000 & exit 7'
echo $?
SH
  expect 0
  [[ $(stdout) == $'native real\nrxe_1\nrxe_2\nrxe_3\n7' ]]
}

@test "native: nothing is left of an interrupted run" {
  on_a_guest <<'SH'
env --default-signal "$1" --engine native -- sh -c 'setsid sleep 1000 & sleep 1000' &
until ip -br link show h_1 2>/dev/null; do sleep 0.1; done
kill $!
wait $!
echo $?
SH
  expect 0
  [[ $(stdout) == h_1@*143 ]]
}

@test "native: only what the kernel says during the run counts" {
  on_a_guest <<'SH'
echo "WARNING: before" >/dev/kmsg
"$1" --engine native -- true
echo $?
"$1" --engine native -- sh -c 'echo "BUG: during" >/dev/kmsg'
echo $?
dmesg --clear
SH
  [[ $(stdout) == $'0\n125' ]]
  [[ $(grep -c 'BUG: during' "$scratch/stderr") -ge 1 ]]
}
