#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Verdicts on real failures, on Soft-RoCE's own provider and libmlx5: each cause of a failure, made with
# tc, ip and a peer that misbehaves, and ends that are no failure. The verdict must be right with the
# file of one end, and with those of both; tests/lab/failing.sh has the cases. In virtual time, so
# each run of a seed is the same. CCS_SEEDS lists the seeds: 1, with ./check --full 1 to 5.

bats_require_minimum_version 1.5.0

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab guest=$BATS_TEST_DIRNAME/failing.sh build
  export seeds=${CCS_SEEDS:-1${CCS_FULL:+ 2 3 4 5}}
  build=$(realpath "$top_builddir")
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
  # Both at once: one uses one CPU.
  in_lab rxe &
  in_lab mlx5
  wait
}

# in_lab PROVIDER: what the guest prints for each seed is in PROVIDER.SEED.
in_lab() {
  local seed out=$BATS_FILE_TMPDIR/$1
  for seed in $seeds; do
    "$lab" --engine uml --provider "$1" --seed "$seed" --hosts 6 --rate 40mbit --queue 64kb --build "$build" \
      -- "$guest" "$build" >"$out.$seed" 2>"$out.$seed.err" || echo "the lab ended with $?" >>"$out.$seed"
  done
}

# The case | the cause by the client's file | the cause by the files of both ends.
expected='
clean | none | none
hasty | none | none
flush | none | none
leave | none | none
closed | none | none
congestion | congestion | congestion
path | path | path
peer | peer | peer
link | peer | peer
receives | no-receives | no-receives
firewall | no-answer | no-answer
reverse | no-answer | no-answer
gid | no-answer | no-answer
mtu | no-answer | no-answer
operation | peer-qp | peer-qp
short | peer-qp | peer-qp
access | refused | refused
disabled | refused | refused
destroyed | path | destroyed
ended | peer | destroyed
broken | path | destroyed
port | port | port'

# right PROVIDER
right() {
  local seed
  for seed in $seeds; do
    diff -u <(tail -n +2 <<<"$expected") <(cut -d '|' -f 1-3 "$BATS_FILE_TMPDIR/$1.$seed" | sed 's/ *$//') || {
      echo "seed $seed:"
      cat "$BATS_FILE_TMPDIR/$1.$seed"{,.err}
      return 1
    }
  done
}

@test "librxe: each cause has its verdict, and an end that is no failure has none" { right rxe; }
@test "libmlx5: each cause has its verdict, and an end that is no failure has none" { right mlx5; }
