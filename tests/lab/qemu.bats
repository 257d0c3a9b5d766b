#!/usr/bin/env bats
# shellcheck disable=SC2016 # what expands, expands in the guest
# SPDX-License-Identifier: BSD-2-Clause
#
# The lab on Debian's stock kernel under QEMU: slow, so separate from lab.bats,
# and limited to what depends on the engine.

setup_file() {
  bats_require_minimum_version 1.5.0
  : "${top_builddir:=$PWD}"
  lab=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)/ci/lab/lab
  export lab ccshim=$top_builddir/tools/ccshim/ccshim pair=$BATS_TEST_DIRNAME/pair.sh
  [[ $EUID -eq 0 ]] || skip "needs root"
  "$lab" --prepare --engine qemu
}

setup() {
  [[ $EUID -eq 0 ]] || skip "needs root"
  scratch=$BATS_TEST_TMPDIR
  cd "$scratch" || return
}

qemu() {
  status=0
  "$lab" --engine qemu "$@" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
}

expect() {
  [[ $status -eq $1 ]] || {
    echo "status $status, not $1"
    cat "$scratch/stderr"
    return 1
  }
}

@test "CMD's words, status and results come back as they are" {
  printf 'a\r\n\tb\0\377no newline at the end' >want
  qemu --out results -- sh -c 'cat want; echo "$1" >"$LAB_OUT/f"
    echo $LAB_ENGINE $LAB_TIME >&2; pwd >&2; exit 9' sh $'two words\n'"'"
  expect 9
  cmp want stdout
  [[ $(<results/f) == $'two words\n'"'" ]]
  [[ $(<stderr) == "qemu real"$'\n'"$scratch" ]]
}

@test "RDMA traffic crosses the bottleneck, on several CPUs" {
  qemu --rate 100mbit -- bash -c '
    nproc
    ib_write_bw -x 1 -d rxe_1 -s 65536 -n 200 >/dev/null &
    while kill -0 $! && ! ss -Hltn sport = :18515 | grep -q .; do sleep 0.01; done
    ib_write_bw -x 1 -d rxe_2 -s 65536 -n 200 127.0.0.1 && wait $!'
  expect 0
  awk 'NR == 1 && $1 > 0 { cpus = 1 }
    # MB are 2^20 bytes here; 100 Mb/s less the headers is 11.7 of them.
    $1 == 65536 && $2 == 200 && $4 > 1 && $4 < 11.9 { moved = 1 }
    END { exit !(cpus && moved) }' stdout
}

# Of apps.bats, which has the particulars, what several CPUs may change.
@test "unmodified programs under the shim, on several CPUs" {
  local program mode side n size
  [[ -x $ccshim ]] || skip "no $ccshim"
  for program in ib_write_bw rping; do
    command -v $program >/dev/null || skip "no $program"
  done
  qemu --rate 10gbit --timeout 400 --out out -- bash -c '
    for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat rping; do
      case $program in
        rping) arguments="-V -v -C 20 -S 60000" ;;
        *_lat) arguments="-n 104" ;;
        *) arguments="-s 65536 -n 104" ;;
      esac
      "$1" "$LAB_OUT/$program" "$2" "bare enforce" $program $arguments
    done' - "$pair" "$ccshim"
  expect 0
  for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat rping; do
    for mode in bare enforce; do
      for side in server client; do
        cd "$scratch/out/$program/$mode"
        echo "$program, $mode, $side: status $(<$side.status)"
        cat $side.err
        [[ -e clock || $(<$side.status) -eq 0 ]]
        run ! grep -i ccshim $side.err
        [[ $mode == bare ]] || jq -e '([.uncontrolled[]] | add) == 0' $side.json
      done
    done
    size=65536
    [[ $program != *_lat ]] || size=2
    if [[ $program == rping ]]; then
      [[ $(grep -c 'ping data: rdma-ping-' client.out) -eq 20 ]]
      jq -e '[.qps[].wrs] | add == 80' server.json
    else
      jq -e ".qps | length == 1 and .[0].wrs == 104 and .[0].bytes == 104 * $size" client.json
      n=$(awk 'row { print $2; exit } $1 == "#bytes" { row = 1 }' client.out)
      [[ -e clock || $n -eq 104 ]]
    fi
  done
}

@test "a warning in the kernel log fails the run" {
  qemu -- sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at qemu.bats" >/dev/kmsg'
  expect 125
  grep -q 'WARNING: CPU: 0 PID: 1 at qemu.bats' stderr
}

@test "nothing is left after SIGTERM" {
  local id
  "$lab" --engine qemu -- sh -c 'echo up; sleep infinity' >stdout 2>stderr 3>&- &
  id=$!
  until grep -q up stdout; do
    kill -0 "$id"
    sleep 0.1
  done
  pgrep -P "$id" >children
  [[ -s children ]]
  kill -TERM "$id"
  status=0
  wait "$id" || status=$?
  expect 143
  while read -r i; do
    [[ ! -e /proc/$i ]]
  done <children
}
