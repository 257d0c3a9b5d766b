#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The whole loop on Soft-RoCE: a switch marks, agents see every mark and send CNPs, and
# each CNP reaches the queue pair that it is for. In virtual time; no test passes or fails
# by time. make says where the trees are; by hand, run it in the build tree.

# shellcheck disable=SC2154 # what agents.bash sets

bats_require_minimum_version 1.5.0

load agents.bash

# in_lab SCRIPT: three senders and a victim towards host 1, whose port marks; SCRIPT is
# bash, with the functions of `guest` below; what it leaves in $LAB_OUT is in out/.
in_lab() {
  local status=0
  # shellcheck disable=SC2016 # what expands, expands in the guest
  "$lab" --engine uml --hosts 5 --queue 256kb --nic 1gbit --ecn 20kb:80kb:0.1 --seed "$seed" \
    --timeout 40000 --out out -- bash -euc "$(declare -f guest); guest \"\$1\"; $1" "$ccshimd" "$ccbench" \
    >stdout 2>stderr || status=$?
  [[ $status -eq 0 ]] || { echo "the lab ended with $status"; cat stdout stderr; return 1; }
}

# Functions for the guest: $0 is ccshimd, $1 ccbench.
guest() {
  ccshimd=$0 ccbench=$1
  # agent NAME ARG…: one in the background, ready; its process id is in $pid.
  agent() {
    "$ccshimd" --socket "/run/$1.sock" "${@:2}" 2>>"$LAB_OUT/$1.err" &
    pid=$!
    while [[ ! -S /run/$1.sock ]]; do
      kill -0 $pid
      sleep 0.01
    done
  }
  status() { "$ccshimd" --status --socket "/run/$1.sock" >"$LAB_OUT/$1.json"; }
  bench() {
    timeout 300 "$ccbench" incast --senders 3 -D 100ms --cc dcqcn "$@" >"$LAB_OUT/bench" 2>&1
  }
  qdisc() { ip netns exec "$LAB_SWITCH_NS" tc -s -j qdisc show dev "$LAB_SWITCH_PORT" >"$LAB_OUT/qdisc"; }
}

marked() { jq '[.[] | .marked // 0] | add' out/qdisc; }

# holds FILTER: for the status of all agents of the run, in the order of their names.
holds() {
  jq -es --argjson marked "$(marked)" "$1" out/*.json >/dev/null ||
    { echo "not so: $1"; marked; cat out/*.json out/bench; return 1; }
}

quiet() { cat out/*.err; ! grep . out/*.err; }

@test "every mark is seen, and every CNP arrives" {
  # shellcheck disable=SC2016
  in_lab 'export CCSHIM_AGENT=/run/one.sock
    agent one
    bench
    status one
    qdisc
    kill $pid
    wait $pid'
  rm -f out/incast.json
  holds '.[0] | .ce_packets + .messages_marked == $marked and $marked > 50 and .ce_dropped == 0'
  holds '.[0] | .ce_unasked == 0 and .ce_no_qp == 0 and .cnps_sent <= .ce_packets and .cnps_sent > 20'
  holds '.[0] | .cnps_sent == .cnps_received and .cnps_received == .cnps_accepted'
  holds '.[0] | .send_failed == 0 and ([.refused[]] | add) == 0'
  quiet
}

# As if each had a kernel of its own. Host 1 does not send, and no process there is served.
@test "one agent at the receiver, another one at the senders" {
  # shellcheck disable=SC2016
  in_lab 'agent receiver --address 10.9.0.1
    receiver=$pid
    agent senders --address 10.9.0.2 --address 10.9.0.3 --address 10.9.0.4 --address 10.9.0.5
    CCSHIM_AGENT=/run/senders.sock bench
    status receiver
    status senders
    qdisc
    kill $receiver $pid
    wait $receiver $pid'
  rm -f out/incast.json
  holds '.[0] | .ce_packets + .messages_marked == $marked and $marked > 50 and .cnps_sent > 20 and
    .cnps_received == 0 and .ce_unasked == 0 and .ce_dropped == 0'
  holds '.[1] | .ce_packets == 0 and .cnps_sent == 0 and ([.refused[]] | add) == 0'
  holds '.[0].cnps_sent == .[1].cnps_accepted'
  quiet
}

@test "an agent that is killed, and comes back" {
  # shellcheck disable=SC2016
  in_lab 'export CCSHIM_AGENT=/run/one.sock
    agent one
    bench -D 4s &
    bench=$!
    sleep 1
    status one
    mv "$LAB_OUT/one.json" "$LAB_OUT/before.json"
    kill -KILL $pid
    wait $pid || true
    sleep 0.3
    agent one
    wait $bench
    status one
    qdisc
    kill $pid
    wait $pid'
  rm -f out/incast.json
  holds 'all(.[]; .cnps_accepted > 20 and .cnps_sent == .cnps_accepted)'
}
