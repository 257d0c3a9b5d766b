# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the suites of host agents in the lab begin with; for bats's `load`.

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export ccshimd=$top_builddir/tools/ccshimd/ccshimd ccbench=$top_builddir/bench/ccbench/ccbench
  export lab=$top_srcdir/ci/lab/lab top_builddir seed=${CCS_SEED:-3}
  echo "# CCS_SEED=$seed"
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

setup() {
  local name
  for name in ${!LAB_@} ${!CCSHIM_@}; do
    [[ $name == CCSHIM_LAB_* ]] || unset "$name"
  done
  cd "$BATS_TEST_TMPDIR" || return
}
