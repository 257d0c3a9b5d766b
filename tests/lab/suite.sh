#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# suite.sh BUILD [PREFIX…]: inside a lab, run the verbs suite bare and then under ccshim in each
# mode, each time behind the command PREFIX. $LAB_OUT/MODE.{tap,err,status} are the results. Checks
# that fail bare are left out with the shim. Under enforce small segments and a low rate make most
# requests wait.
#
# In real time only the checks of threads run. thread_post runs only there: libmlx5's doorbells are
# page faults in the lab, in which a thread sleeps with a spinlock held; in virtual time, which
# stands still while a program is busy, the other thread would never stop spinning.
set -u
build=$1
shift
readonly build suite=$build/tests/lab/suite/suite ccshim=$build/tools/ccshim/ccshim
excluded=() selected=() limit=(timeout 7200)
if [[ $LAB_TIME == real ]]; then
  selected=('thread_*') limit=()
else
  excluded=(-x thread_post)
fi

# run MODE COMMAND…
run() {
  local mode=$1
  shift
  CCSHIM_REPORT=$LAB_OUT/$mode.json "${limit[@]}" "$@" \
    "$suite" "${excluded[@]}" rxe_1 rxe_2 "${selected[@]}" \
    >"$LAB_OUT/$mode.tap" 2>"$LAB_OUT/$mode.err"
  echo $? >"$LAB_OUT/$mode.status"
}

run bare "$@"
while read -r name; do
  excluded+=(-x "$name")
done < <(sed -n 's/^not ok [0-9]* - \([a-z_0-9]*\):.*/\1/p' "$LAB_OUT/bare.tap")
for mode in off observe enforce; do
  run $mode "$@" "$ccshim" run -m $mode -a timely -o segment=4k -o max_rate=200m
done
