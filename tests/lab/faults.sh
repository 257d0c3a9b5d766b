#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# faults.sh BUILD: inside a lab whose provider injects faults, run a ping-pong for each fault of
# host 2's device, bare and with the shim, and print how the client ends: RULE | MODE | RESULT.
set -u
readonly ccshim=$1/tools/ccshim/ccshim fault=/sys/module/rdma_rxe/parameters/abi_fault
port=18600

# result STATUS: how the client ended; not, with how many completions in its last poll: the shim
# has completions of its own, which count as well, so two are made to fail.
result() {
  case $1 in
    0) echo completes ;;
    124) echo hangs ;;
    *) grep -v '^ccshim' client.err | tail -n 1 | sed 's/\(parse WC failed\) [0-9]*$/\1/' ;;
  esac
}

# pong MODE: ibv_rc_pingpong between the hosts; with events, so that virtual time passes.
pong() {
  local shim=()
  case $1 in
    off | observe) shim=("$ccshim" run -m "$1" --) ;;
    enforce) shim=("$ccshim" run -a timely --) ;;
  esac
  ((++port))
  timeout 9 "${shim[@]}" ibv_rc_pingpong -g 1 -e -n 60 -p $port -d rxe_1 >/dev/null 2>server.err &
  while ! ss -Htln "sport = :$port" | grep -q .; do sleep 0.01; done
  timeout 3 "${shim[@]}" ibv_rc_pingpong -g 1 -e -n 60 -p $port -d rxe_2 127.0.0.1 \
    >/dev/null 2>client.err
  result $?
  kill $! 2>/dev/null
  wait
}

cd "$LAB_OUT" || exit
while read -r rule; do
  for mode in bare off observe enforce; do
    echo clear >$fault
    [[ $rule == none ]] || echo "$rule" >$fault || exit
    echo "$rule | $mode | $(pong $mode)"
  done
done <<TXT
none
drop dev=rxe_2 at=20
delay dev=rxe_2 at=20 ns=3000000
duplicate dev=rxe_2 at=20
error dev=rxe_2 at=20 count=2 status=12
error dev=rxe_2 at=20 count=2 status=10
fatal dev=rxe_2
port-error dev=rxe_2
port-active dev=rxe_2
clock-jump ns=5000000000
clock-jump ns=-5000000000
clock-stop
clock-run
TXT
