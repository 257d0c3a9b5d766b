#!/usr/bin/env bats
# shellcheck disable=SC2016 # what expands, expands in the guest
# SPDX-License-Identifier: BSD-2-Clause
#
# Device clocks that drift, are set, stop, or count in another unit than stated, in the lab with
# mlx5's user ABI: requests one at a time on an idle path, whose RTT is 45 us. One poll in ten is
# 200 us late, which RTTs include only if the clock cannot be used.
# make says where the trees are; by hand, run it in the build tree.

bats_require_minimum_version 1.5.0

# case NAME PPM FAULT…: run ccbench; after 40 ms the faults occur, one each 20 ms.
readonly guest='
  parameters=/sys/module/rdma_rxe/parameters
  inject() {
    sleep 0.04
    for fault in "$@"; do
      case $fault in
        khz=*) echo "${fault#*=}" >"$parameters/abi_clock_khz" ;;
        *) echo "$fault" >"$parameters/abi_fault" ;;
      esac
      sleep 0.02
    done
  }
  case_() {
    mkdir "$LAB_OUT/$1" && cd "$LAB_OUT/$1" || exit
    echo "$2" >"$parameters/abi_clock_ppm"
    inject "${@:3}" &
    CCSHIM_TRACE=%p.csv timeout 60 "$ccbench" incast --senders 1 --no-victim -s 4k -t 1 -n 2000 \
      --late 10%:200us --cc fixed:rate=10g --out . >log 2>&1
    echo $? >status
    wait
    echo 156250 >"$parameters/abi_clock_khz"
  }
  case_ right 0
  case_ drift-slow -100
  case_ drift-fast 100
  case_ forth 0 "clock-jump ns=5000000" "clock-jump ns=50000"
  case_ back 0 "clock-jump ns=-5000000" "clock-jump ns=-50000"
  case_ stops 0 clock-stop
  echo clock-run >"$parameters/abi_fault"
  case_ wrong-unit 0 khz=312500
'

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  local lab=$top_srcdir/ci/lab/lab ccbench
  ccbench=$(realpath "$top_builddir/bench/ccbench/ccbench")
  "$lab" --prepare --engine uml --provider mlx5 || skip "the lab has no provider mlx5"
  "$lab" --engine uml --provider mlx5 --hosts 2 --rate 10gbit --queue 1mb \
    --out "$BATS_FILE_TMPDIR" -- bash -uc "ccbench=$ccbench; $guest"
}

# rtts NAME: the least RTT of that case, its 98th percentile and the largest, in whole us. The path takes
# 44 us; conversions of the device's clock vary an RTT by some tens of nanoseconds.
rtts() {
  cat "$BATS_FILE_TMPDIR/$1"/*.csv | awk -F, '$2 == "ack" && ++n > 10 { print int($4) }' |
    sort -n | awk '{ rtt[NR] = $1 } END { print rtt[1], rtt[int(NR * .98)], rtt[NR] }'
}

# The case lost no completion and warned $2 times; sets least, most (of 98 %) and worst.
ran() {
  local dir=$BATS_FILE_TMPDIR/$1
  cat "$dir/log"
  [[ $(<"$dir/status") -eq 0 ]]
  jq -e '.runs[0].flows[0].messages == 2000' "$dir/incast.json"
  [[ $(grep -c 'timestamps contradict' "$dir/log") -eq $2 ]]
  read -r least most worst <<<"$(rtts "$1")"
  echo "$1: RTTs of $least to $most us, at most $worst"
}

@test "a late poll does not lengthen an RTT that the device timestamps" {
  ran right 0
  ((least >= 43 && worst < 50))
}

@test "drift of 100 ppm changes no RTT by more than 2 us" {
  ran drift-slow 0
  ((least >= 43 && worst < 50))
  ran drift-fast 0
  ((least >= 43 && worst < 50))
}

@test "a clock that is set costs the timestamps of a moment" {
  ran forth 0
  ((least >= 43 && most < 50 && worst < 260))
  ran back 0
  ((least >= 43 && most < 50 && worst < 260))
}

@test "a clock that stops is given up, once, and polls count" {
  ran stops 1
  ((least >= 20 && worst >= 200 && worst < 260))
}

@test "a clock of another frequency than stated is given up, once, and polls count" {
  ran wrong-unit 1
  ((least >= 40 && worst >= 200 && worst < 260))
}
