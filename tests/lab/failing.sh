#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# failing.sh BUILD [CASE…]: inside a lab, make connections of host 2 fail by each cause that libccshim(7)
# lists, and by none. For each case it prints CASE | CAUSE by the client's file | CAUSE by the files of both
# ends | the line on stderr. LAB_SEED varies the messages, the queue pairs and the faulty one. Faults begin
# after a number of messages. All waits are in virtual time.
set -u
readonly build=$1 seed=$LAB_SEED
readonly ccshim=$build/tools/ccshim/ccshim failing=$build/tests/lab/failing
shift
number=0

# shim FILE COMMAND…: under ccshim, which takes part in the traffic of every other run.
shim() {
  local mode=observe
  (((seed + number) % 2)) || mode=enforce
  exec "$ccshim" run -m $mode -o "failures=$1" -- "${@:2}"
}

# serve HOST NAME: a server on that host, whose input is the descriptor in $to.
serve() {
  mkfifo "$2.in"
  (shim "$2.json" "$failing" serve "rxe_$1" "$2" <"$2.in" 2>"$2.err") &
  exec {to}>"$2.in"
  until [[ -S $2 ]]; do sleep 0.001; done
}

# client OPTION…: host 2's, in the background; returns at its mark, or at its end.
client() {
  local line
  mkfifo out in
  (shim client.json "$failing" send rxe_2 "$@" <in >out 2>err) &
  pid=$!
  exec {input}>in {from}<out
  while read -ru "$from" line && [[ $line != mark ]]; do
    echo "$line" >>said
  done
}

# finish: wait for the client.
finish() {
  exec {input}>&-
  cat <&"$from" >>said
  exec {from}<&-
  wait "$pid"
}

# in the switch, packets that arrive from host $1 and match: dropped.
drop() {
  tc -n sw filter add dev "p_$1" ingress protocol ip flower ip_proto udp "${@:2}" action drop
}

# port LQPN RQPN: the source port that the kernel gives packets of this queue pair (rdma_get_udp_sport).
source_port() {
  local v=$(($1 * $2))
  v=$((v ^ v >> 20))
  v=$(((v ^ v >> 40) & 0xfffff))
  echo $((((v & 0x3fff) ^ (v & 0xfc000) >> 14) | 0xc000))
}

# -- the cases: each makes its servers, its client and the fault --------------------------------

readonly qps=$((3 + seed % 4)) mark=$((60 + 13 * seed)) hit=$((seed % 3))
readonly on=("qps=$qps" messages=1000000 "mark=$mark")

# Of different sizes: else they arrive in step, and the full queue drops packets of the same QPs each time.
congestion() {
  local i
  serve 1 a
  for i in 3 4 5 6; do
    "$failing" serve rxe_1 "noise$i" </dev/null &
    until [[ -S noise$i ]]; do sleep 0.001; done
  done
  client "${on[@]}" qps=3 timeout=14 retry=2 a
  for i in 3 4 5 6; do
    "$failing" send "rxe_$i" qps=2 messages=1000000 size=$((5000 + 613 * i)) window=2 mtu=5 retry=7 timeout=14 \
      "noise$i" >/dev/null 2>&1 &
  done
}

path() {
  serve 1 a
  client "${on[@]}" a
  read -r _ l r < <(grep "^pair $hit " said | cut -d ' ' -f 2-)
  port=$(source_port "$l" "$r")
  drop 2 src_port "$port"
}

peer() {
  serve 1 a
  serve 3 b
  client "${on[@]}" a b
  drop 2 dst_ip 10.9.0.1
}

link() {
  serve 1 a
  serve 3 b
  client "${on[@]}" a b
  ip -n sw link set p_1 down
}

receives() {
  serve 1 a
  client "${on[@]}" sends=1 rnr=2 a
  echo quiet >&"$to"
}

firewall() {
  serve 1 a
  drop 2 dst_port 4791
  client "${on[@]}" a
}

reverse() {
  serve 1 a
  drop 1 dst_port 4791
  client "${on[@]}" a
}

gid() {
  serve 1 a
  client "${on[@]}" gid=::ffff:10.9.0.3 a
}

mtu() {
  serve 1 a
  ip -n sw link set p_1 mtu 1000
  client "${on[@]}" size=4096 mtu=5 a
}

operation() {
  serve 1 a
  client "${on[@]}" sends=1 a
  echo unreadable >&"$to"
}

access() {
  serve 1 a
  client "${on[@]}" a
  echo forbid >&"$to"
}

short() {
  serve 1 a
  client "${on[@]}" sends=1 a
  echo shorter >&"$to"
}

disabled() {
  serve 1 a
  client "${on[@]}" a
  echo "disable $hit" >&"$to"
}

port() {
  serve 1 a
  serve 3 b
  client "${on[@]}" a b
  ip link set h_2 down
}

destroyed() {
  serve 1 a
  client "${on[@]}" a
  echo "destroy $hit" >&"$to"
}

ended() {
  serve 1 a
  client "${on[@]}" a
  echo exit >&"$to"
}

broken() {
  serve 1 a
  client "${on[@]}" a
  echo "break $hit" >&"$to"
}

clean() { serve 1 a; client qps=$qps messages=$mark a; }
hasty() { serve 1 a; client qps=$qps messages=$mark end=hasty a; }
flush() { serve 1 a; client qps=$qps messages=$mark end=flush a; }
leave() { serve 1 a; client qps=$qps messages=$mark end=exit a; }
closed() {
  serve 1 a
  client qps=$qps messages=$mark mark=$mark end=wait a
  echo exit >&"$to"
}

# restore: the network as it was.
restore() {
  local i
  for ((i = 1; i <= LAB_HOSTS; i++)); do
    tc -n sw filter del dev "p_$i" ingress
  done
  ip -n sw link set p_1 up mtu $((LAB_MTU + 104))
  sleep 1 # until queues are empty
}

# causes FILE…: of the failures of the client, in the account of these files.
causes() {
  "$ccshim" doctor --json "$@" | jq -r '[.failures[] | select(.file == "client.json").cause] |
    if . == [] then "none" else unique | join(" ") end'
}

run() {
  number=$((number + 1))
  mkdir "$LAB_OUT/$1" && cd "$LAB_OUT/$1" || exit
  "$1"
  finish
  jobs -p | xargs -r kill 2>/dev/null
  exec {to}>&-
  wait
  echo "$1 | $(causes client.json) | $(causes client.json a.json) | $(grep -h '^ccshim: ' err)"
  restore
}

for ((i = 1; i <= LAB_HOSTS; i++)); do
  tc -n sw qdisc add dev "p_$i" clsact
done
# The last takes host 2's routes with it.
(($#)) || set -- clean hasty flush leave closed congestion path peer link receives firewall reverse gid mtu \
  operation short access disabled destroyed ended broken port
for name; do
  run "$name"
done
