#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Unmodified programs on Soft-RoCE in ci/lab/lab: each runs bare, with
# the shim on the client, and with it on both sides in both modes, and does the same
# every time. What fails bare is skipped. No test passes or fails by time. make says
# where the trees are; by hand, run it in the build tree.

bats_require_minimum_version 1.5.0

load agents.bash

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab pair=$top_srcdir/tests/lab/pair.sh
  export ccshim=$top_builddir/tools/ccshim/ccshim verify=$top_builddir/tests/lab/verify
  export endure=$top_builddir/tests/lab/endure
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

# in_lab ARG…: a lab of two hosts, results in out/. ib_write_lat is single-stepped, which takes CPU time
# before virtual time goes on, more on a slow machine.
in_lab() {
  status=0
  "$lab" --engine uml --hosts 2 --rate 10gbit --spin 120 --out out "$@" >stdout 2>stderr || status=$?
  [[ $status -eq 0 ]] || { echo "the lab ended with $status"; cat stdout stderr; return 1; }
}

# four_ways PROGRAM [ARG…]: and what holds of any program. Segments are shorter than these programs'
# requests.
four_ways() {
  local mode side
  command -v "$1" >/dev/null || skip "no $1"
  # shellcheck disable=SC2016 # what expands, expands in the guest
  in_lab -- bash -c 'CCSHIM_SEGMENT=8k exec "$1" "$LAB_OUT" "${@:2}"' - \
    "$pair" "$ccshim" "bare client enforce observe" "$@"
  for side in server client; do
    [[ -e out/bare/clock || $(<out/bare/$side.status) -eq 0 ]] ||
      skip "$side fails bare: $(head -n 1 out/bare/$side.err)"
  done
  for mode in client enforce observe; do
    for side in server client; do
      # Where the clock spoils a run its status says nothing.
      [[ -e out/$mode/clock || $(<out/$mode/$side.status) -eq 0 ]] || told $mode $side
      ! grep -i ccshim out/$mode/$side.err || told $mode $side
    done
  done
  report client client '.mode == "enforce"'
  [[ ! -e out/client/server.json ]]
  for side in server client; do
    report enforce $side '.mode == "enforce"'
    report observe $side '.mode == "observe"'
  done
}

told() {
  echo "$1, $2: status $(<"out/$1/$2.status")"
  cat "out/$1/$2".{out,err}
  jq . "out/$1/$2.json"
  return 1
}

# report MODE SIDE FILTER: it holds for the report, which is JSON.
report() {
  jq -e "$3" "out/$1/$2.json" >/dev/null || { echo "not so: $3"; told "$1" "$2"; }
}

# The same for the reports of all runs of the clients, or both sides'.
clients() { everyone "client/client enforce/client observe/client" "$1"; }
servers() { everyone "enforce/server observe/server" "$1"; }
everyone() {
  local run
  for run in $1; do report "${run%/*}" "${run#*/}" "$2"; done
}

# Nothing passed by; N QPs were there, and each posted so many requests of SIZE bytes.
controlled() {
  "${1}s" "([.uncontrolled[]] | add) == 0 and .qps_omitted == 0 and (.qps | length) == $2 and
    all(.qps[]; .wrs == $3 and .bytes == $3 * $4)"
}

# What is observed is as it was posted; what is enforced is in segments, or not.
segmented() {
  report observe client 'all(.qps[]; .segments == .wrs and .wrs_deferred == 0)'
  everyone "client/client enforce/client" "all(.qps[]; .segments $1 .wrs)"
}

# perftest's own count, where it gives one: that of the requests in the report. The
# figures, which depend on the machine and are not judged, are shown.
counted() {
  local mode side iterations line="# $BATS_TEST_DESCRIPTION:"
  for mode in bare client enforce observe; do
    for side in server client; do
      iterations=$(awk 'row { print $2; exit } $1 == "#bytes" { row = 1 }' out/$mode/$side.out)
      [[ -z $iterations || $iterations -eq $1 ]] || { cat out/$mode/$side.out; return 1; }
    done
    line+=" $mode $(awk -v column="$2" 'row { print $column; exit }
      $1 == "#bytes" { row = 1 }' out/$mode/client.out)"
  done
  echo "$line" >&3
}

# -- perftest ----------------------------------------------------------------

n=104 # more than one of perftest's rounds of 100

@test "ib_write_bw" {
  four_ways ib_write_bw -s 65536 -n $n
  controlled client 1 $n 65536
  controlled server 1 0 0
  segmented '>'
  counted $n 4
}

@test "ib_write_bw, several QPs and lists of requests" {
  four_ways ib_write_bw -s 65536 -n $n -q 4 --post_list 8
  controlled client 4 $n 65536
  controlled server 4 0 0
  segmented '>'
  counted $((4 * n)) 4
}

@test "ib_read_bw" {
  four_ways ib_read_bw -s 65536 -n $n
  controlled client 1 $n 65536
  controlled server 1 0 0
  segmented '>'
  counted $n 4
}

@test "ib_send_bw" {
  four_ways ib_send_bw -s 65536 -n $n
  controlled client 1 $n 65536
  controlled server 1 0 0
  segmented '=='
  counted $n 4
}

@test "ib_send_bw, with events" {
  four_ways ib_send_bw -s 65536 -n $n -e
  controlled client 1 $n 65536
  segmented '=='
  counted $n 4
}

@test "ib_write_lat" {
  four_ways ib_write_lat -n $n
  controlled client 1 $n 2
  controlled server 1 $n 2
  segmented '=='
  counted $n 5
}

@test "ib_atomic_bw" {
  four_ways ib_atomic_bw -n $n
  controlled client 1 $n 8
  segmented '=='
  counted $n 4
}

# iterated: an ibv_*_pingpong says so, on both sides.
iterated() {
  local run
  for run in out/*; do
    grep -q '^100 iters' "$run/client.out"
    grep -q '^100 iters' "$run/server.out"
  done
}

# passed: there was one QP, and the shim has left it alone.
passed() {
  local filter='.uncontrolled["not-rc"] == 1 and ([.uncontrolled[]] | add) == 1 and .qps == []'
  clients "$filter"
  servers "$filter"
}

@test "datagrams pass" {
  four_ways ibv_ud_pingpong -e -n 100
  iterated
  passed
}

@test "unreliable connections pass" {
  four_ways ib_write_bw -c UC -s 65536 -n $n
  passed
  counted $n 4
}

# -- others, which verify what they receive ----------------------------------

ponged() {
  iterated
  controlled client 1 100 4096
  controlled server 1 100 4096
  segmented '=='
}

@test "ibv_rc_pingpong" {
  four_ways ibv_rc_pingpong -c -n 100
  ponged
}

@test "ibv_rc_pingpong, with events" {
  four_ways ibv_rc_pingpong -c -e -n 100
  ponged
}

# The kernel reports 1 Gbit/s for a bridge, which has no speed; here its traffic is far faster.
@test "an interface without a speed gets no rate from the kernel's default" {
  in_lab --time real -- bash -euc 'unset CCSHIM_LINE_RATE
    ip link add br9 type bridge
    ip link set br9 up
    ip address add 10.99.0.1/24 dev br9
    rdma link add rxe9 type rxe netdev br9
    ibv_devinfo -v -d rxe9 >"$LAB_OUT/devinfo"
    pingpong() { "$0" run -o report="$LAB_OUT/$1.json" -- ibv_rc_pingpong -g 1 -n 20 -d rxe9 "${@:2}"; }
    pingpong server &
    while ! ss -Hlt sport = :18515 | grep -q .; do kill -0 $!; sleep 0.01; done
    pingpong client 10.99.0.1
    wait $!
    "$0" info -d rxe9 >"$LAB_OUT/info"
    "$0" check >"$LAB_OUT/check" || true' "$ccshim"
  grep -E 'active_width:.*1X' out/devinfo
  grep -E 'active_speed:.*2.5 Gbps' out/devinfo
  jq -e '.qps[0].line_rate_bps == 10e9' out/server.json
  jq -e '.qps[0].line_rate_bps == 10e9' out/client.json
  grep 'rate unknown' out/info
  grep -E '^warn +device +rxe9.* 10 Gb/s is assumed' out/check
}

@test "rping" {
  local run
  four_ways rping -V -v -C 20 -S 60000
  for run in out/*; do
    [[ $(grep -c 'ping data: rdma-ping-' "$run/server.out") -eq 20 ]]
    [[ $(grep -c 'ping data: rdma-ping-' "$run/client.out") -eq 20 ]]
  done
  clients '([.uncontrolled[]] | add) == 0'
  # Of each round, a READ and a WRITE of the whole, and two short SENDs to say so.
  # The server may end before it polls the completion of the last SEND.
  servers '([.uncontrolled[]] | add) == 0 and ([.qps[].wrs_posted] | add) == 80 and
    ([.qps[].wrs] | add) >= 79 and ([.qps[].bytes] | add) > 40 * 60000'
  report observe server 'all(.qps[]; .segments == .wrs)'
  report enforce server 'all(.qps[]; .segments > .wrs)'
}

# -- every byte --------------------------------------------------------------

# verified ARG…: ccshim run's. The same requests as bare, in virtual time.
verified() {
  local seed=4
  [[ -x $verify ]] || skip "no $verify: make check builds it"
  # shellcheck disable=SC2016
  in_lab -- bash -c 'export CCSHIM_REPORT=$LAB_OUT/report.json
    timeout 100 "$1" rxe_1 rxe_2 24 "$2" >"$LAB_OUT/bare" &&
    timeout 100 "${@:3}" "$1" rxe_1 rxe_2 24 "$2" >"$LAB_OUT/shim"' - \
    "$verify" $seed "$ccshim" run "$@"
  [[ ! -s stderr ]] || { cat stderr; return 1; }
  diff out/bare out/shim
  [[ $(<out/bare) == "$(jq -r '"\([.qps[].wrs] | add) requests, \([.qps[].bytes] | add) bytes"' \
    out/report.json)" ]]
  jq -e '([.uncontrolled[]] | add) == 0 and (.qps | length) == 2' out/report.json
}

@test "every byte is right when all is deferred and in segments of a few packets" {
  verified -a fixed:rate=100m -o segment=3000
  jq -e 'all(.qps[]; .segments > 4 * .wrs and .completions_internal > .wrs and
    .wrs_deferred > .wrs / 2)' out/report.json
}

@test "every byte is right with one segment at a time, shorter than a packet" {
  verified -a fixed:rate=400m -o segment=512 -o max_inflight=512 -o split_imm=y
  jq -e 'all(.qps[]; .segments > 20 * .wrs)' out/report.json
}

@test "every byte is right under TIMELY" {
  verified -a timely
}

@test "every byte is right when only observed" {
  verified -m observe
  jq -e 'all(.qps[]; .segments == .wrs and .wrs_deferred == 0)' out/report.json
}

# -- the same results --------------------------------------------------------

# All that the programs print, their statuses and times, and the shim's reports. pyverbs draws
# numbers of its own.
@test "programs that poll run in virtual time, with equal results in two runs, bare and with the shim" {
  local run cases='^(ib_(write|read|send)_(bw|lat)|ib_atomic|ibv_|rping|ucmatose|udaddy|rstream|rcopy|rdma_|uc|mpi|fi_)'
  for run in 1 2; do
    (cd "$top_builddir" && "$top_srcdir/tests/conformance" --engine uml --only "$cases" --modes timely --labs 1 \
      --out "$BATS_TEST_TMPDIR/$run") >"$run.tap" 2>&1 &
  done
  wait -n && wait -n || { cat ./*.tap; return 1; }
  run ! grep -E '^not ok|# SKIP' 1.tap
  diff -r 1 2
}

# -- a long time ---------------------------------------------------------------

# In virtual time, which is mostly skipped: a day of it takes some minutes.
@test "queue pairs come and go for hours, and nothing is left of them" {
  local hours=2
  [[ -z ${CCS_FULL-} ]] || hours=24
  [[ -x $endure ]] || skip "no $endure: make check builds it"
  in_lab -- "$ccshim" run -a timely "$endure" rxe_1 rxe_2 $hours 30
  [[ ! -s stderr ]] || { cat stderr; return 1; }
  [[ $(grep -c ' connections, ' stdout) -eq $hours ]]
}
