#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The verbs suite in the lab, over Soft-RoCE's own provider and libmlx5: bare, and under ccshim in
# each mode. An application must see the same: each check passes, and each fact is as bare, except
# for those that suite.known lists. CCS_RDMA_CORE may name a directory with another Debian, whose
# rdma-core the suite then uses too. make says where the trees are; by hand, run it in the build
# tree. In virtual time: the same each run.

bats_require_minimum_version 1.5.0

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab known=$BATS_TEST_DIRNAME/suite.known
  export guest=$BATS_TEST_DIRNAME/suite.sh build
  build=$(realpath "$top_builddir")
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
  # Both at once: one uses one CPU.
  in_both rxe &
  in_both mlx5
  wait
}

setup() {
  local name
  for name in ${!LAB_@} ${!CCSHIM_@}; do
    [[ $name == CCSHIM_LAB_CACHE ]] || unset "$name"
  done
  cd "$BATS_TEST_TMPDIR" || return
}

# in_both PROVIDER: in virtual and in real time.
in_both() {
  in_lab "$1" "$BATS_FILE_TMPDIR/$1"
  in_lab "$1" "$BATS_FILE_TMPDIR/$1/real" --time real
}

# in_lab PROVIDER OUT [OPTION…] [-- PREFIX…]: the suite in all modes. Results are in OUT. Its checks
# sleep between polls. Polls take no time: the shim polls more often than an application, and what rxe
# does in that time, such as the flush of receives that were posted before, would be another.
in_lab() {
  local provider=$1 out=$2 options=()
  shift 2
  while (($#)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  mkdir -p "$out"
  "$lab" --engine uml --provider "$provider" --free-polls --rate 10gbit --timeout 40000 --build "$build" \
    "${options[@]}" --out "$out" -- "$guest" "$build" "${@:2}" >"$out/stdout" 2>"$out/stderr" ||
    echo "the lab ended with $?" >>"$out/stderr"
}

# results TAP: a line NAME=RESULT for each check, and one for each fact.
results() {
  sed -n 's/^ok [0-9]* - \([a-z_0-9]*\):.*# SKIP.*/\1=skipped/p
    s/^ok [0-9]* - \([a-z_0-9]*\):.*/\1=ok/p
    s/^not ok [0-9]* - \([a-z_0-9]*\):.*/\1=failed/p
    s/^# fact: //p' "$1"
}

# The suite ran to its end: the TAP has a plan.
finished() {
  grep -q '^1\.\.' "$1/$2.tap" ||
    { echo "$2 did not finish"; cat "$1/stderr"; tail -n 5 "$1/$2".{tap,err}; return 1; }
}

bare() {
  local out=$1
  finished "$out" bare
  results "$out/bare.tap" | sed -n 's/=failed$//p' | while read -r name; do
    echo "# bare ${out##*/} fails $name" >&3
  done
  # Most of it must work, or the comparison is worth nothing.
  [[ $(results "$out/bare.tap" | grep -c '=ok$') -ge 100 ]]
}

# differences OUT MODE: the names whose results or values are not as bare. What fails bare was
# left out.
differences() {
  join -t = -a 1 -a 2 -e absent -o 0,1.2,2.2 \
    <(results "$1/bare.tap" | without_failed "$1" | sort) \
    <(results "$1/$2.tap" | without_failed "$1" | sort) | awk -F = '$2 != $3'
}

# Without the checks that fail bare, their facts, and "close", which needs that none failed.
without_failed() {
  awk -F = 'NR == FNR { if ($2 == "failed") bad[$1]; next }
    { split($1, name, "."); if (!(name[1] in bad) && $1 != "close") print }' \
    <(results "$1/bare.tap") -
}

# known_facts PROVIDER MODE: the names that are known to differ.
known_facts() {
  local provider mode fact
  while read -r provider mode fact; do
    [[ $provider != '#'* && -n $fact ]] || continue
    # shellcheck disable=SC2053 # patterns are wanted
    [[ $1 == $provider && "|$mode|" == *"|$2|"* ]] && echo "$fact"
  done <"$known"
  return 0
}

# same_as_bare OUT PROVIDER MODE: what differs is known, and what is known differs.
same_as_bare() {
  finished "$1" bare
  finished "$1" "$3"
  differences "$1" "$3" >differ
  known_facts "$2" "$3" | sort >known
  cut -d = -f 1 differ | sort | diff -u known - || {
    echo "name=bare=$3:"
    cat differ
    grep '^# [a-z_0-9]*: ' "$1/$3.tap" | grep -v '^# fact: ' || true
    return 1
  }
  verdicts "$1" "$3"
}

# verdicts OUT MODE: the suite breaks queue pairs, and the shim says why, but nothing else.
verdicts() {
  local why
  if grep -v '^ccshim: warn: QP [0-9]* to .*, failed: ' "$1/$2.err" || [[ $2 == off && -s $1/$2.err ]]; then
    cat "$1/$2.err"
    return 1
  fi
  [[ $2 != off ]] || return 0
  for why in 'the peer refused the access: check rkey' "the peer's queue pair failed (remote op" \
    'the receiver had no buffers (RNR)' 'no request was answered since the first WR'; do
    grep -qF ": $why" "$1/$2.err" || { echo "no verdict: $why"; cat "$1/$2.err"; return 1; }
  done
}

of_provider() { same_as_bare "$BATS_FILE_TMPDIR/$1" "$1" "$2"; }

@test "librxe: the suite passes bare, but for what is listed" { bare "$BATS_FILE_TMPDIR/rxe"; }
@test "librxe: mode off is as bare" { of_provider rxe off; }
@test "librxe: mode observe is as bare" { of_provider rxe observe; }
@test "librxe: mode enforce is as bare" { of_provider rxe enforce; }
@test "libmlx5: the suite passes bare, but for what is listed" { bare "$BATS_FILE_TMPDIR/mlx5"; }
@test "libmlx5: mode off is as bare" { of_provider mlx5 off; }
@test "libmlx5: mode observe is as bare" { of_provider mlx5 observe; }
@test "libmlx5: mode enforce is as bare" { of_provider mlx5 enforce; }

# threads_of PROVIDER
threads_of() {
  local mode out=$BATS_FILE_TMPDIR/$1/real
  for mode in bare off observe enforce; do
    finished "$out" $mode
    # Also "close", which all end with.
    [[ $(results "$out/$mode.tap" | grep -c '=ok$') -eq 6 ]] || { cat "$out/$mode.tap"; return 1; }
  done
}

@test "librxe: threads in real time" { threads_of rxe; }
@test "libmlx5: threads in real time" { threads_of mlx5; }

@test "under enforce most requests had to wait" {
  local provider
  for provider in rxe mlx5; do
    jq -e '[.qps[].wrs_deferred] | add > 500' "$BATS_FILE_TMPDIR/$provider/enforce.json"
  done
}

# with_setting PROVIDER NAME=VALUE…: the same under these settings of the provider's library.
with_setting() {
  local provider=$1 mode
  [[ -n ${CCS_FULL-} ]] || skip "only with ./check --full"
  in_lab "$provider" out -- env "${@:2}"
  for mode in off observe enforce; do
    same_as_bare out "$provider" $mode
  done
}

@test "libmlx5: CQEs of 128 bytes" { with_setting mlx5 MLX5_CQE_SIZE=128; }
@test "libmlx5: no data in CQEs" { with_setting mlx5 MLX5_SCATTER_TO_CQE=0; }
@test "libmlx5: no BlueFlame" { with_setting mlx5 MLX5_SHUT_UP_BF=1; }
@test "libmlx5: BlueFlame only for inline data" { with_setting mlx5 MLX5_POST_SEND_PREFER_BF=0; }
@test "libmlx5: single-threaded" { with_setting mlx5 MLX5_SINGLE_THREADED=1; }
@test "libmlx5: 32 micro UARs" { with_setting mlx5 MLX5_TOTAL_UUARS=32; }
@test "libmlx5: queues in huge pages" { with_setting mlx5 MLX_QP_ALLOC_TYPE=PREFER_HUGE; }
@test "libmlx5: pollers that stall" { with_setting mlx5 MLX5_STALL_CQ_POLL=1; }

# other_rdma_core PROVIDER
other_rdma_core() {
  local mode
  [[ -n ${CCS_RDMA_CORE-} ]] || skip "CCS_RDMA_CORE does not name a Debian"
  in_lab "$1" out --root "$CCS_RDMA_CORE"
  for mode in off observe enforce; do
    same_as_bare out "$1" $mode
  done
}

@test "librxe of another rdma-core" { other_rdma_core rxe; }
@test "libmlx5 of another rdma-core" { other_rdma_core mlx5; }
