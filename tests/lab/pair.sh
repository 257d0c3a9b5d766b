#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# pair.sh DIR CCSHIM MODES PROGRAM [ARG…]: inside a lab, run PROGRAM's server on host
# 1 and its client on host 2, once for each of MODES, which are
#   bare              without the shim
#   client            with it on the client only
#   enforce, observe, off  with it on both sides
# DIR/MODE/SIDE.{out,err,status,json} say what happened; a file "clock" there means
# that perftest moved its messages, but found the cycle counter unsteady and gave no
# figures. Programs that share one CPU with their peer often do.
set -u
dir=$1 ccshim=$2 modes=$3
shift 3
readonly tries=4
port=18600

server_ready() {
  if [[ $1 == rping ]]; then
    rdma resource show cm_id | grep -q "LISTEN.*:$port"
  else
    ss -Htln "sport = :$port" | grep -q .
  fi
}

# side NAME COMMAND…
side() {
  CCSHIM_REPORT=$PWD/$1.json timeout 300 "${@:2}" >"$1.out" 2>"$1.err"
  echo $? >"$1.status"
}

once() {
  local server=() client=() at_server at_client i
  rm -f clock {server,client}.*
  # A port in TIME_WAIT is no good.
  ((port += 1))
  case $mode in
    client) client=("$ccshim" run -o rtt_jitter=20ms) ;;
    enforce | observe | off)
      client=("$ccshim" run -o rtt_jitter=20ms -m "$mode")
      server=("${client[@]}")
      ;;
  esac
  case $1 in
    rping)
      at_server=(-s -a 10.9.0.1 -p "$port")
      at_client=(-c -a 10.9.0.1 -I 10.9.0.2 -p "$port")
      ;;
    ibv_*)
      at_server=(-g 1 -p "$port" -d rxe_1)
      at_client=(-g 1 -p "$port" -d rxe_2 127.0.0.1)
      ;;
    *)
      at_server=(-x 1 -p "$port" -d rxe_1)
      at_client=(-x 1 -p "$port" -d rxe_2 127.0.0.1)
      ;;
  esac
  side server "${server[@]}" "$@" "${at_server[@]}" &
  for ((i = 0; i < 2400; i++)); do
    if server_ready "$1" || [[ -e server.status ]]; then
      break
    fi
    sleep 0.05
  done
  side client "${client[@]}" "$@" "${at_client[@]}"
  wait $!
  ! grep -qs "Can't produce a report" server.err client.err || touch clock
}

for mode in $modes; do
  mkdir -p "$dir/$mode"
  cd "$dir/$mode" || exit
  for ((try = 0; try < tries; try++)); do
    once "$@"
    [[ -e clock ]] || break
  done
done
