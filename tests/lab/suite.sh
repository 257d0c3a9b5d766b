#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# suite.sh BUILD [PREFIX…]: inside a lab, run the verbs suite bare and then under ccshim in each
# mode, each time behind the command PREFIX. $LAB_OUT/MODE.{tap,err,status} are the results. Checks
# that fail bare are left out with the shim. Under enforce small segments and a low rate make most
# requests wait.
set -u
build=$1
shift
readonly build suite=$build/tests/lab/suite/suite ccshim=$build/tools/ccshim/ccshim
excluded=()

# run MODE COMMAND…
run() {
  local mode=$1
  shift
  CCSHIM_REPORT=$LAB_OUT/$mode.json timeout 300 "$@" "$suite" "${excluded[@]}" rxe_1 rxe_2 \
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
