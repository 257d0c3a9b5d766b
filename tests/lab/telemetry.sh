#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# telemetry.sh BUILDDIR MS SENDERS: in the lab, agents at the hosts and at the switch, an
# incast towards host 1, and what senders receive about it: watch's lines, status.json and
# switch.json in $LAB_OUT. With --ecn the receiver has to find out what its link can carry.
set -euo pipefail

build=$1 ms=$2 senders=$3
hosts=/run/hosts.sock switch=/run/switch.sock

# shellcheck source=guest.bash source-path=SCRIPTDIR
. "${BASH_SOURCE[0]%/*}/guest.bash"

ready "$switch" at "$LAB_SWITCH_NS" --no-capture \
  --publish "$LAB_SWITCH_PORT,to=10.9.0.1,from=10.9.0.0/24"
ready "$hosts" --switch "$LAB_SWITCH_ADDRESS" --no-capture --capacity "h_1=$LAB_RATE_BPS"
flows=()
for ((i = 2; i < senders + 2; i++)); do
  flows+=("10.9.0.$i" 10.9.0.1)
done
"$build/bench/ccbench/ccbench" incast --senders "$senders" -D 300ms >"$LAB_OUT/bench" 2>&1 &
"$build/tests/lab/telemetry" "$hosts" "$ms" 1000 h_1 "$LAB_SWITCH_PORT" "${flows[@]}" \
  >"$LAB_OUT/watch"
"$build/tools/ccshimd/ccshimd" --status --socket "$hosts" >"$LAB_OUT/status.json"
"$build/tools/ccshimd/ccshimd" --status --socket "$switch" >"$LAB_OUT/switch.json"
