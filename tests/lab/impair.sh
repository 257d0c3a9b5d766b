#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# impair.sh CCSHIM: inside a lab, print what ib_write_bw's and rping's clients say of each failure.
set -u
port=18700

# client NAME SERVER-COMMAND -- CLIENT-COMMAND: both get the port; the server must listen first.
client() {
  local name=$1 server=() pid
  shift
  while [[ $1 != -- ]]; do server+=("$1"); shift; done
  shift
  ((port += 1))
  timeout 20 "${server[@]}" -p "$port" >server.out 2>&1 &
  pid=$!
  until [[ -n $(ss -Htln "sport = :$port") ]] || rdma resource show cm_id | grep -q "LISTEN.*:$port"; do
    kill -0 $pid || break
    sleep 0.05
  done
  timeout 20 "$@" -p "$port" >client.out 2>&1
  echo "$name $?"
  kill $pid 2>/dev/null
  wait $pid || true
}

for kind in retry rnr access invalid operation flush fatal port; do
  client $kind ib_write_bw -x 1 -d rxe_1 -s 4096 -n 1000 -- \
    "$1" impair --$kind 300 ib_write_bw -x 1 -d rxe_2 -s 4096 -n 1000 127.0.0.1
  grep -o 'Failed status [0-9]*.*' client.out
done
# Its status depends on whether the event of the disconnection comes first.
export CCSHIM_REPORT=$PWD/report.json
client rping rping -s -a 10.9.0.1 -C 50 -- \
  "$1" impair --rnr 30 rping -c -a 10.9.0.1 -I 10.9.0.2 -C 50 | sed 's/ .*//'
grep -o '"wrs": [0-9]*' report.json
client delayed rping -s -a 10.9.0.1 -C 20 -- \
  "$1" impair --delay 1ms --jitter 500us --rate 1g rping -c -a 10.9.0.1 -I 10.9.0.2 -C 20
