#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The commands of `ccshim plan qos` on a Linux switch, as in docs/guide/fabric.md. make says where the trees are; by hand,
# run it in the build tree.

# shellcheck disable=SC2154 # what agents.bash sets

bats_require_minimum_version 1.5.0

load agents.bash

# in_lab SCRIPT: bash, in which $0 is ccshim; its results are in out/.
in_lab() {
  local status=0
  "$lab" --engine uml --hosts 3 --seed "$seed" --timeout 40000 --out out -- bash -euc "$1" \
    "$top_builddir/tools/ccshim/ccshim" >stdout 2>stderr || status=$?
  [[ $status -eq 0 ]] || { echo "the lab ended with $status"; cat stdout stderr; return 1; }
}

@test "queues of plan qos load into a Linux switch, and CNPs of agents and NICs get the first one" {
  # shellcheck disable=SC2016 # what expands, expands in the guest
  in_lab '
    "$0" plan qos --format tc --dev "$LAB_SWITCH_PORT" --rate 200m --cap 20m >"$LAB_OUT/commands"
    ip netns exec "$LAB_SWITCH_NS" bash -eux "$LAB_OUT/commands"
    python3 -c "
import socket
for port, dscp, n in (4791, 48, 3), (4793, 48, 4), (4791, 46, 5), (4793, 46, 6), (9, 48, 7):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((\"10.9.0.3\", 0))
    s.setsockopt(0, 1, dscp << 2)
    for i in range(n):
        s.sendto(bytes(100), (\"10.9.0.1\", port))"
    sleep 0.1
    tc -n "$LAB_SWITCH_NS" -s -j qdisc show dev "$LAB_SWITCH_PORT" >"$LAB_OUT/qdiscs"
    tc -n "$LAB_SWITCH_NS" -s class show dev "$LAB_SWITCH_PORT" >"$LAB_OUT/classes"'
  cat out/classes
  [[ $(jq '.[] | select(.handle == "16:").packets' out/qdiscs) == 7 ]]
  [[ $(jq '.[] | select(.handle == "15:").packets' out/qdiscs) == 5 ]]
  grep -A1 '^class htb 2:3 ' out/classes | grep -qE ' (1[3-9]|2[0-9]) pkt' # and ARP, perhaps
}
