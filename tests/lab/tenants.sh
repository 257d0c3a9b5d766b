#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# tenants.sh BUILDDIR NAME=TENANTS...: in the lab, `ccbench tenants --tenants TENANTS` for each under rcp,
# with a host agent that knows these tenants and has a key, without which each host would have the weight 1.
# A NAME that ends in + has a victim, and the same run under none before. Results are in $LAB_OUT, NAME.json.
set -euo pipefail

build=$1
shift
# shellcheck source=guest.bash source-path=SCRIPTDIR
. "${BASH_SOURCE[0]%/*}/guest.bash"

# sections TENANTS: the agent's file.
sections() {
  local i=0 tenant weight
  for tenant in ${1//,/ }; do
    weight=${tenant#*:}
    printf '[tenant t%d]\nmatch = app:tenant-%d\nweight = %s\n' $((++i)) "$i" "${weight%%:*}"
  done
}

# Devices beyond the lab's hosts are used again: the processes of a tenant may share hosts.
devices() {
  local i n=1 tenant list=rxe_1 hosts
  for tenant in ${1//,/ }; do
    hosts=${tenant#*:*:}
    [[ $hosts != *:* ]] || hosts=1
    n=$((n + hosts))
  done
  for ((i = 1; i < n + 1; i++)); do list+=,rxe_$((2 + (i - 1) % (LAB_HOSTS - 1))); done
  echo "$list"
}

dir=$(mktemp -d)
(umask 077 && echo 00112233445566778899aabbccddeeff >"$dir/key")
for run; do
  name=${run%%=*} tenants=${run#*=} options=(--cc rcp --no-victim)
  [[ $name != *+ ]] || options=('--cc=none,rcp')
  sections "$tenants" >"$dir/tenants"
  ready /run/ccshim/agent.sock --capacity "h_1=$LAB_RATE_BPS" --no-capture --tenants "$dir/tenants" \
    --key-file "$dir/key"
  "$build/bench/ccbench/ccbench" tenants --tenants "$tenants" --devices "$(devices "$tenants")" "${options[@]}" \
    --size 16k --tx-depth 4 -D "${TENANTS_TIME:-0.3}" --warmup 100ms --out_json "${name%+}.json"
  kill "$pid"
  wait "$pid" || true
done
