# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # it shares guest's variables
#
# rdma-core's own tests, compared one by one. The tests are in PLAN's directory.

# suite MODE NAME…: run them, or all; in `results` are lines of VERDICT NAME MILLISECONDS REASON.
# The process is restarted after a test that ended it.
suite() {
  local mode=$1 after='' started
  enter "$mode" "$again"
  : >results
  while
    CCSHIM_REPORT=$PWD/report.json timeout --foreground -k 5 $((20 * limit)) "${under[@]}" \
      /usr/bin/python3 "$here/suite.py" "${plan%/*}" "${devices[1]}" "$limit" "$after" \
      "${@:2}" >part 2>>err
    status=$?
    grep -P '^(pass|fail|skip)\t' part >>results
    started=$(awk -F '\t' '$1 == "start" { name = $2; next } { name = "" } END { print name }' part)
    [[ -n $started ]]
  do
    printf 'fail\t%s\t-\tthe process ended with %d\n' "$started" "$status" >>results
    after=$started
  done
}

# worse BARE MODE: the results of MODE for what passed bare.
worse() {
  awk -F '\t' -v OFS='\t' '
    FILENAME == ARGV[1] { seen[$2] = $0; next }
    $1 == "pass" {
      if ($2 in seen) print seen[$2]
      else print "fail", $2, "-", "it did not run"
    }' "$2" "$1"
}

# passes RESULTS: the names of the tests that passed.
passes() { awk -F '\t' '$1 == "pass" { print $2 }' "$1"; }

# The words of $bad that are not in a list on stdin go; those that are get VERDICT.
settle() {
  local name left=()
  local -A in=()
  while read -r name; do in[$name]=1; done
  for name in "${bad[@]}"; do
    if [[ -n ${in[$name]-} ]]; then verdicts[$name]=$1; else left+=("$name"); fi
  done
  bad=("${left[@]}")
}

# doubt_suite MODE: run again what was worse, $bad, bare and in MODE; find $verdicts.
doubt_suite() {
  local again=-again try
  for ((try = 0; try < tries && ${#bad[@]}; try++)); do
    suite bare "${bad[@]}"
    settle unsteady < <(printf '%s\n' "${bad[@]}" | grep -vxFf <(passes results))
    ((${#bad[@]})) || break
    suite "$1" "${bad[@]}"
    settle once < <(passes results)
  done
}

# compare MODE: what passed bare, and what came of it in MODE.
compare() {
  local bad verdict name took reason
  local -A verdicts=()
  worse ../bare/results results >compared
  mapfile -t bad < <(awk -F '\t' '$1 != "pass" { print $2 }' compared)
  doubt_suite "$1"
  cd "$out/$number/$1" || exit
  while IFS=$'\t' read -r verdict name took reason; do
    told "$name" "$1" "${verdicts[$name]-$verdict}" "$took" "$reason"
  done <compared
}

run_suite() {
  local modes=$1 mode verdict name took reason
  shift
  suite bare "$@"
  [[ -s results ]] || told - bare fail - "$(tail -n 1 err)"
  while IFS=$'\t' read -r verdict name took reason; do
    told "$name" bare "$verdict" "$took" "$reason"
  done <results
  for mode in $modes; do
    suite "$mode" "$@"
    compare "$mode"
  done
}
