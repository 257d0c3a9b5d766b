#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $stderr
# SPDX-License-Identifier: BSD-2-Clause
#
# tests/on-hardware, which is for machines with a card, on Soft-RoCE in the lab.
# make says where the trees are; by hand, run it in the build tree.

bats_require_minimum_version 1.5.0

setup() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  lab=$top_srcdir/ci/lab/lab script=$top_srcdir/tests/on-hardware
  build=$(realpath "$top_builddir")
  cd "$BATS_TEST_TMPDIR"
}

@test "one report has versions and results, why a step was skipped, and no addresses" {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --engine uml --time real --rate 10gbit --hosts 2 --out . -- bash -c \
    "exec $script --device rxe_1 --other rxe_2 --build $build --quick --only 'programs|peer' \
     --report \"\$LAB_OUT/report\""
  grep '^{' report >report.jsonl
  jq -es '[.[] | select(.step == "system")] | length == 1 and .[0].device == "rxe_1" and
    (.[0] | has("fw") and has("kernel") and has("rdma_core"))' report.jsonl
  jq -es '[.[] | select(.step == "program")] | length == 10 and all(.status != "fail")' report.jsonl
  jq -es 'any(.step == "peer" and .status == "skipped" and .why == "no --peer")' report.jsonl
  jq -es 'any(.step == "suite" and .status == "skipped")' report.jsonl
  run ! grep -iE '10\.9\.0|[0-9a-f]{4}:[0-9a-f]{2}(ff|00)' report
}

@test "a dry run says what would be done, and does nothing" {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --engine uml --hosts 2 --out . -- bash -c \
    "exec $script --device rxe_1 --build $build --dry-run --report \"\$LAB_OUT/report\"" >said
  grep -q 'suite: would run' said
  grep -q 'ccbench: would run' said
  [[ $(grep -c '^{' report) -eq 1 ]]
}

@test "a device that is not there is refused" {
  run --separate-stderr "$script" --device no-such --build "$build"
  [[ $status -eq 2 && $stderr == *'no device no-such'* ]]
  run --separate-stderr "$script" --build "$build"
  [[ $status -eq 2 && $stderr == *'--device is missing'* ]]
}
