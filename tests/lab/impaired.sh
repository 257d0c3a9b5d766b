#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# impaired.sh BUILD: inside a lab, let a connection of host 2 fail in each way that ccshim impair knows and
# that can be made, really and by ccshim impair, and print what the application saw: KIND HOW | LINE.
set -u
readonly build=$1
readonly failing=$build/tests/lab/failing

# between KIND HOW FAULT COMMAND…: a client behind COMMAND; at its mark FAULT is sent to the server, or
# executed if it begins with ip or tc.
between() {
  local line from to pid name=$1.$2 fault=$3 sends=0
  shift 3
  case $name in rnr* | operation*) sends=1 ;; esac
  mkfifo "$name.in" "$name.out"
  "$failing" serve rxe_1 "$name" <"$name.in" &
  exec {to}>"$name.in"
  until [[ -S $name ]]; do sleep 0.001; done
  "$@" "$failing" send rxe_2 record=1 window=1 messages=200 mark=20 rnr=2 sends=$sends "$name" >"$name.out" &
  pid=$!
  exec {from}<"$name.out"
  while read -ru "$from" line; do
    case $line in
      pair*) ;;
      mark)
        case $fault in
          none) ;;
          ip* | tc*) $fault ;;
          *) echo "$fault" >&"$to" ;;
        esac
        ;;
      *) echo "${name/./ } | $line" ;;
    esac
  done
  wait $pid
  exec {to}>&- {from}<&-
  wait
}

cd "$LAB_OUT" || exit
tc -n sw qdisc add dev p_2 clsact
# The last takes host 2's routes with it.
while read -r kind fault; do
  between "$kind" injected none "$build/tools/ccshim/ccshim" impair -q "--$kind" 30
  between "$kind" real "$fault"
  tc -n sw filter del dev p_2 ingress
done <<TXT
retry tc -n sw filter add dev p_2 ingress matchall action drop
rnr quiet
access forbid
invalid disable 0
operation unreadable
port ip link set h_2 down
TXT
