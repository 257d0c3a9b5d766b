#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# hpcc.sh BUILDDIR RECORDS SCENARIO [ARG…]: in the lab, hosts' agents, which know the rates of
# the links of hosts 1 and 6; if RECORDS is switch, not echo, an agent at the switch, too, which
# reports its queue; and a scenario. Results are in $LAB_OUT, NAME.json.
set -euo pipefail

build=$1 records=$2 scenario=$3
shift 3
hosts=/run/ccshim/agent.sock switch=/run/switch.sock
agents=()

# shellcheck source=guest.bash source-path=SCRIPTDIR
. "${BASH_SOURCE[0]%/*}/guest.bash"

# switch_agent ARG…: more ports to publish.
switch_agent() {
  [[ $records == switch ]] || return 0
  ready "$switch" at "$LAB_SWITCH_NS" --no-capture \
    --publish "$LAB_SWITCH_PORT,to=10.9.0.1,from=10.9.0.0/24" "$@"
  agents+=("$pid")
}

host_agent() {
  local ask=()
  [[ $records != switch ]] || ask=(--switch "$LAB_SWITCH_ADDRESS")
  [[ -n $LAB_ECN ]] || ask+=(--no-capture)
  ready "$hosts" --capacity "h_1=$LAB_RATE_BPS" --capacity "h_6=$LAB_NIC_BPS" "${ask[@]}"
  agents+=("$pid")
}

# bench NAME ARG…
bench() {
  local name=$1
  shift
  "$build/bench/ccbench/ccbench" "$@" ${LAB_ECN:+--tclass 2} --out_json "$name.json" --plot "$name.png"
}

# -- scenarios ----------------------------------------------------------------------

# any SCENARIO-OF-CCBENCH ARG…
any() {
  switch_agent
  host_agent
  bench hpcc "$@"
}

# reverse CC …: acknowledgements and echoes share their way with what host 1 sends to host 6 by CC.
reverse() {
  local cc=$1
  shift
  switch_agent
  host_agent
  bench back incast --devices rxe_6,rxe_1 --senders 1 --no-victim -D 1.6 --switch-port '' \
    --cc "$cc" >/dev/null &
  bench hpcc incast --senders 3 "$@"
  wait $!
}

# Of what agents say to each other so much is lost, in each direction.
loss() {
  local i
  for ((i = 1; i <= LAB_HOSTS; i++)); do
    # p_1 has such a qdisc by the lab's --priority.
    ((i == 1)) || tc -n "$LAB_SWITCH_NS" -batch - <<TC
qdisc add dev p_$i root handle 2: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
filter add dev p_$i parent 2: protocol ip u32 match ip tos 0xc0 0xfc flowid 2:1
TC
    tc -n "$LAB_SWITCH_NS" qdisc add dev "p_$i" parent 2:1 handle 9: netem loss "$1%"
  done
  shift
  any "$@"
}

# Agents are killed while flows run, and restarted: swift is the fallback meanwhile.
restart() {
  switch_agent
  host_agent
  bench hpcc incast "$@" &
  local bench=$!
  sleep 0.7
  kill -KILL "${agents[@]}"
  wait "${agents[@]}" || true
  sleep 0.4
  rm -f "$hosts" "$switch"
  agents=()
  switch_agent
  host_agent
  wait $bench
}

# bursts CC,CC… ARG…: a long flow of host 2, and across it messages of 256 KB of hosts 3 to 5, a
# fifth of the link. hpcc.json has the former, and what the port sent.
bursts() {
  local cc runs=()
  switch_agent
  host_agent
  for cc in ${1//,/ }; do
    bench "burst-$cc" incast --devices rxe_1,rxe_3,rxe_4,rxe_5 --senders 3 --no-victim \
      --size 256k --load 0.2 --cc "$cc" "${@:2}" >/dev/null &
    bench "long-$cc" incast --devices rxe_1,rxe_2,rxe_6 --senders 1 --cc "$cc" "${@:2}"
    wait $!
    runs+=("$LAB_OUT/long-$cc.json")
  done
  jq -s '.[0].runs = map(.runs[0]) | .[0]' "${runs[@]}" >"$LAB_OUT/hpcc.json"
}

# series RATE: hosts 2 and 3 are behind another switch, whose link here has that rate; hosts 4
# and 5 are not. hpcc.json has the former, near.json the latter.
series() {
  local ns=$LAB_SWITCH_NS rate=$1 i pair
  ip -n "$ns" link add far mtu "$(cat /sys/class/net/h_1/mtu)" type bridge mcast_snooping 0
  ip -n "$ns" link add t_far mtu "$(cat /sys/class/net/h_1/mtu)" type veth peer name t_near \
    mtu "$(cat /sys/class/net/h_1/mtu)"
  for pair in 't_far far' 't_near fabric' 'p_2 far' 'p_3 far'; do
    ip -n "$ns" link set "${pair% *}" master "${pair#* }" up
  done
  ip -n "$ns" link set far up
  tc -n "$ns" qdisc add dev t_far root tbf rate "$rate" burst 10000 limit 262144
  for i in 2 3; do
    bridge -n "$ns" fdb add "02:00:0a:09:00:0$i" dev p_$i master static
    bridge -n "$ns" fdb add "02:00:0a:09:00:0$i" dev t_near master static
  done
  bridge -n "$ns" fdb add 02:00:0a:09:00:01 dev t_far master static
  switch_agent --publish "t_far,hop=2,to=10.9.0.1,from=10.9.0.2/31"
  host_agent
  bench near incast --devices rxe_1,rxe_4,rxe_5,rxe_6 --senders 2 "${@:2}" >/dev/null &
  bench hpcc incast --devices rxe_1,rxe_2,rxe_3 --senders 2 --no-victim "${@:2}"
  wait $!
}

"$scenario" "$@"
