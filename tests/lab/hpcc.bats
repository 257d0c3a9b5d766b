#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# HPCC end to end on Soft-RoCE, on telemetry of agents alone. In virtual time: what is bounded
# here is a function of the seed, and was seen to hold for several. make says where the trees
# are; by hand, run it in the build tree.

# shellcheck disable=SC2154 # what agents.bash sets

bats_require_minimum_version 1.5.0

load agents.bash

# incast SWITCH: four senders and a victim towards host 1, whose agent knows its link's rate;
# if yes, an agent at the switch tells of its queue. Results are in out/.
incast() {
  local status=0
  # shellcheck disable=SC2016 # what expands, expands in the guest
  "$lab" --engine uml --hosts 6 --rate 200mbit --queue 256kb --priority --seed "$seed" \
    --timeout 900 --out out -- bash -euc "$(declare -f guest); guest \"\$1\" $1" \
    "$ccshimd" "$ccbench" >stdout 2>stderr || status=$?
  cat stdout stderr
  [[ $status -eq 0 ]]
}

# $0 is ccshimd.
guest() {
  local ask=()
  # ready SOCKET CMD…: an agent there, in the background.
  ready() {
    local socket=$1
    shift
    "$@" --socket "$socket" --verify none &
    until "$0" --status --socket "$socket" >/dev/null 2>&1; do
      kill -0 $!
      sleep 0.01
    done
  }
  if [[ $2 == yes ]]; then
    ready /run/switch.sock ip netns exec "$LAB_SWITCH_NS" "$0" --no-capture \
      --publish "$LAB_SWITCH_PORT,to=10.9.0.1,from=10.9.0.0/24"
    ask=(--switch "$LAB_SWITCH_ADDRESS")
  fi
  ready /run/ccshim/agent.sock "$0" --no-capture --capacity "h_1=$LAB_RATE_BPS" "${ask[@]}"
  "$1" incast --senders 4 -D 1.2 --warmup 800ms --cc hpcc
}

# holds FILTER: for the figures of a run.
holds() {
  jq -e "$1" out/incast.json >/dev/null || { echo "not so: $1"; return 1; }
}

# The four senders' QPs.
readonly qps='[.runs[0].shim[].report.qps[] | select(.bytes > 1000000)]'

# 8 KB are two packets, 16 KB four: about one of each flow.
small_queue() {
  holds '.runs[0] | .utilisation >= 0.93 and .jain >= 0.9 and .drops_after_warmup == 0'
  holds '.runs[0].queue_bytes.p99 < 20000 and .runs[0].victim_latency_us.p99 < 1000'
  holds "$qps | length == 4 and all(.cc == \"hpcc\" and .signals == \"ok\" and
    .telemetry.flows >= 4)"
}

@test "on the receiver's record alone: echo" {
  incast no
  small_queue
  holds "$qps | all(.parameters.variant == \"echo\" and .switches == 1 and
    (.telemetry.hops | length) == 1)"
}

@test "with the switch's record: paper" {
  incast yes
  small_queue
  holds "$qps | all(.parameters.variant == \"paper\" and (.telemetry.hops | length) == 2)"
}
