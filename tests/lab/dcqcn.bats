#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# DCQCN end to end on Soft-RoCE: a port that marks, agents that answer marks with CNPs, and
# flows that depend on these. In virtual time; the bounds are the grid's, 95 % of the line and a
# queue within the marking band, as runs vary with the seed. make says where the trees are; by hand,
# run it in the build tree.

# shellcheck disable=SC2154 # what agents.bash sets

bats_require_minimum_version 1.5.0

load agents.bash

# in_lab SENDERS SCRIPT: them and a victim towards host 1, whose port marks as ccshim-cc(7)
# recommends; SCRIPT is bash, with the functions of `guest`. Its results are in out/.
in_lab() {
  local status=0
  # shellcheck disable=SC2016 # what expands, expands in the guest
  "$lab" --engine uml --hosts $(($1 + 2)) --rate 200mbit --queue 256kb --ecn 20kb:80kb:1 \
    --seed "$seed" --timeout 40000 --out out -- \
    bash -euc "$(declare -f guest); guest $1 \"\$1\"; $2" "$ccshimd" "$ccbench" \
    >stdout 2>stderr || status=$?
  cat stdout stderr
  [[ $status -eq 0 ]]
}

# What SCRIPT may use: $0 is ccshimd, $2 ccbench.
guest() {
  senders=$1 ccbench=$2
  # agent ARG…: one in the background, ready; its process id is in $pid.
  agent() {
    rm -f /run/ccshim/agent.sock
    "$0" "$@" &
    pid=$!
    while [[ ! -S /run/ccshim/agent.sock ]]; do
      kill -0 $pid
      sleep 0.01
    done
  }
  bench() { "$ccbench" incast --senders "$senders" --tclass 2 "$@"; }
}

# holds FILTER: for the figures of a run, of what agents and the port say after it.
holds() {
  jq -e "$1" out/incast.json >/dev/null ||
    { echo "not so: $1"; jq -c "$qps | .[] | del(.parameters)" out/incast.json; return 1; }
}

# QPs that have sent something.
readonly qps='[.runs[0].shim[].report.qps[] | select(.bytes > 0)]'

@test "four senders share the line, in the marking band, and each mark is answered" {
  # shellcheck disable=SC2016
  in_lab 4 'agent
    bench -D 1.2 --warmup 500ms --cc dcqcn
    "$0" --status >"$LAB_OUT/status"
    tc -n sw -s -j qdisc show dev p_1 >"$LAB_OUT/qdisc"
    kill $pid
    wait $pid
    "$ccbench" incast --senders 4 --tclass 2 -D 600ms --warmup 300ms --out_json none.json >/dev/null'
  holds '.runs[0] | .utilisation >= 0.95 and .jain >= 0.95 and .drops_after_warmup == 0'
  # N/40 of the way from Kmin to Kmax, 26 KB; without CNPs it is what the caps let pass, 68 KB.
  holds '.runs[0].queue_bytes | .mean > 10e3 and .mean < 45e3 and .p99 < 80e3'
  holds '.runs[0].victim_latency_us.p99 < 4000'
  jq -e --slurpfile none out/none.json \
    '.runs[0].victim_latency_us.p99 * 2 < $none[0].runs[0].victim_latency_us.p99' out/incast.json
  jq -e --slurpfile qdisc out/qdisc '.ce_packets + .messages_marked == ([$qdisc[0][].marked // 0] | add) and
    .ce_packets > 50 and .ce_dropped == 0 and .ce_unasked == 0' out/status
  jq -e --slurpfile run out/incast.json '.cnps_sent == .cnps_accepted and ([.refused[]] | add) == 0 and
    .cnps_sent == ([$run[0].runs[0].shim[].report.qps[].rp_cnp_handled] | add)' out/status
}

# The reader's QPs: the reader sets the rate of the responses.
readonly readers='[.runs[0].shim[].report.qps[] | select(.bytes > 1000000)]'

@test "READs of four hosts share the line, in the marking band" {
  # shellcheck disable=SC2016
  in_lab 4 'agent
    "$ccbench" readincast --senders 4 --tclass 2 -D 1.2 --warmup 500ms --cc dcqcn --out_json incast.json
    "$0" --status >"$LAB_OUT/status"
    kill $pid
    wait $pid'
  holds '.runs[0] | .utilisation >= 0.95 and .jain >= 0.95 and .drops_after_warmup == 0'
  holds '.runs[0].queue_bytes | .mean > 10e3 and .mean < 45e3 and .p99 < 80e3'
  holds "$readers | length == 4 and all(.feedback == \"ok\" and .switches == 0 and .rp_cnp_handled > 20)"
  jq -e --slurpfile run out/incast.json '.ce_unasked == 0 and .cnps_inbound > 100 and
    .cnps_inbound + .cnps_accepted ==
      ([$run[0].runs[0].shim[].report.qps[].rp_cnp_handled] | add)' out/status
}

@test "a host that is only READ from needs no agent" {
  # shellcheck disable=SC2016
  in_lab 4 'agent --address 10.9.0.1
    "$ccbench" readincast --senders 4 --tclass 2 -D 700ms --warmup 400ms --cc dcqcn --out_json incast.json
    kill $pid'
  holds "$readers | length == 4 and all(.feedback == \"ok\" and .switches == 0) and
    (map(.rp_cnp_handled) | add) > 20"
}

@test "a reader whose agent does not watch for marks: the fallback timely runs" {
  # shellcheck disable=SC2016
  in_lab 2 'agent --no-capture
    "$ccbench" readincast --senders 2 --tclass 2 -D 700ms --warmup 400ms --cc dcqcn --out_json incast.json
    kill $pid'
  holds "$readers | length == 2 and all(.feedback == \"unable\" and .cc == \"timely\")"
}

@test "no agent runs: the fallback timely runs" {
  in_lab 2 'bench -D 700ms --warmup 400ms --cc dcqcn'
  holds "$qps | length == 3 and all(.feedback == \"no-agent\" and .cc == \"timely\")"
}

# One that is back within a second is not missed: agent.bats.
@test "an agent that is killed and restarted: timely is the fallback meanwhile" {
  # shellcheck disable=SC2016
  in_lab 2 'agent
    bench -D 2.6 --warmup 500ms --cc dcqcn &
    bench=$!
    sleep 0.6
    kill -KILL $pid
    wait $pid || true
    sleep 1.3
    agent
    wait $bench
    kill $pid'
  holds "$qps | length == 3 and all(.feedback == \"ok\" and .switches == 2 and .cc == \"dcqcn\")"
  holds '.runs[0] | .utilisation >= 0.95 and .drops_after_warmup == 0'
}

@test "a peer without an agent: timely is the fallback" {
  # shellcheck disable=SC2016
  in_lab 2 'agent --address 10.9.0.2 --address 10.9.0.3 --address 10.9.0.4
    bench -D 1.8 --warmup 1.4 --cc dcqcn
    kill $pid'
  holds "$qps | length == 3 and all(.feedback == \"no-peer\" and .switches == 1 and .rp_cnp_handled == 0 and
    .cc == \"timely\")"
  holds '.runs[0] | .utilisation >= 0.95 and .drops_after_warmup == 0'
}
