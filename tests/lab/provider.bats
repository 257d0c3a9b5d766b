#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Other providers than rxe's in the lab: unmodified libmlx5 and libirdma on devices that have their
# user ABI.
# make says where the trees are; by hand, run it in the build tree.

setup_file() {
  bats_require_minimum_version 1.5.0
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export top_builddir top_srcdir lab=$top_srcdir/ci/lab/lab
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

setup() {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  cd "$BATS_TEST_TMPDIR" || return
}

# on PROVIDER ARG…: run the lab in virtual time, with stdout in $output.
on() {
  run --separate-stderr "$lab" --provider "$1" --build "$top_builddir" "${@:2}"
  # shellcheck disable=SC2154 # bats sets it
  [[ $status -eq 0 ]] || { echo "the lab ended with $status"; echo "$output$stderr"; return 1; }
}

# incast PROVIDER DIR ARG…: of four hosts; what it gives is in DIR/incast.json.
incast() {
  on "$1" --hosts 6 --rate 200mbit --nic 1gbit --queue "${queue:-256kb}" --out "$2" -- \
    ccbench incast --senders 4 -D 100ms "${@:3}"
}

@test "libmlx5 binds to its devices, and ccshim info, check and ccbench name it" {
  on mlx5 --out out -- bash -c 'ccshim info -d rxe_1 && ccshim check | grep device &&
    ccbench incast --senders 1 --no-victim --cc timely -D 20ms >/dev/null'
  [[ $output == *"rxe_1: RoCE, libmlx5, firmware "*"hw timestamps  yes"*"control        yes"* ]]
  [[ $output == *"rxe_2, RoCE, software, on h_2, libmlx5, "* ]]
  jq -e 'all(.runs[]; .provider == "libmlx5")' out/incast.json
}

@test "libirdma binds to its devices, which have no hardware timestamps" {
  on irdma --out out -- bash -c 'ccshim info -d rxe_1 &&
    ccbench incast --senders 1 --no-victim --cc timely -D 20ms >/dev/null'
  [[ $output == *"rxe_1: RoCE, libirdma, firmware "*"hw timestamps  no"*"control        yes"* ]]
  jq -e 'all(.runs[]; .provider == "libirdma")' out/incast.json
}

@test "unshaped traffic gives the same results on rxe, mlx5 and irdma" {
  local provider queue
  for queue in 4mb 256kb; do
    incast rxe rxe --cc off
    for provider in mlx5 irdma; do
      incast "$provider" "$provider" --cc off
      # It starts some microseconds later, for another number of system calls: not the same bytes.
      # With losses (256 KB) these decide whose packets are lost.
      jq -es 'def near(f; $part): (.[0] | f) as $a | (.[1] | f) as $b | ($a - $b | fabs) <= $a * $part;
        map(.runs[0]) | if .[0].drops == 0
          then near(.goodput_bps; .01) and near(.queue_bytes.p99; .01) and .[1].drops == 0 and
            near(.victim_latency_us.max; .01)
          else near(.goodput_bps; .05) and near(.queue_bytes.p99; .01) and near(.drops; .05) end
        ' {rxe,"$provider"}/incast.json
    done
  done
}

# irdma has one doorbell page, and arms its CQs with a number of two bits.
@test "no doorbell and no event of irdma is lost in real time" {
  # shellcheck disable=SC2016 # expands in the guest
  on irdma --time real --rate 10gbit --out out -- bash -c 'exec "$0" "$LAB_OUT" "$@"' \
    "$top_srcdir/tests/lab/pair.sh" "$top_builddir/tools/ccshim/ccshim" "bare observe" \
    ibv_rc_pingpong -e -n 500
  [[ $(cat out/{bare,observe}/{client,server}.status) == $'0\n0\n0\n0' ]]
}

@test "the same seed gives the same run on mlx5, with the shim" {
  incast mlx5 first --cc timely
  incast mlx5 second --cc timely
  cmp {first,second}/incast.json
}

@test "with each injected fault a program ends as without the shim" {
  local rule mode result bare=''
  on mlx5 --rate 10gbit --out out -- "$top_srcdir/tests/lab/faults.sh" "$top_builddir"
  while IFS='|' read -r rule mode result; do
    echo "$rule|$mode|$result"
    [[ $mode != ' bare ' ]] || bare=$result
    [[ $result == "$bare" ]]
  done <<<"$output"
  grep -q '^none | bare | completes' <<<"$output"
  grep -q '^drop .* | bare | hangs' <<<"$output"
  grep -qE '^error .*status=12 | bare | .*[Ww][Cc]' <<<"$output"
}

@test "rules that the fault injection does not know are refused" {
  on mlx5 -- bash -c 'cd /sys/module/rdma_rxe/parameters
    for rule in nonsense "drop at" "drop at=x" "drop colour=1" "fatal dev=rxe_9" \
        "cq-error dev=rxe_1 cq=4711" "drop $(printf %0200d 1)"; do
      ! echo "$rule" >abi_fault || exit 1
    done 2>/dev/null'
}

@test "pollers on 16 queue pairs do not exhaust the guest's memory" {
  # shellcheck disable=SC2016 # expands in the guest
  on mlx5 --time real --rate 200mbit -- bash -c '
    pair() { timeout 15 ib_send_bw -q 16 -s 65536 -n 100 -x 1 -F "$@" >/dev/null 2>&1; }
    pair -d rxe_1 &
    while kill -0 $! && ! ss -Hltn sport = :18515 | grep -q .; do sleep 0.01; done
    pair -d rxe_2 127.0.0.1
    awk "/MemAvailable/ { exit \$2 < 500000 }" /proc/meminfo'
}
