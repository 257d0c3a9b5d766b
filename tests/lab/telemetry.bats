#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Telemetry on real counters: the receiver's and the switch's, compared with sysfs and tc. make
# says where the trees are; by hand, run it in the build tree.

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab top_srcdir top_builddir
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

@test "senders receive for the receiver's port and the switch's queue the values of tc" {
  "$lab" --engine uml --timeout 40000 --hosts 6 --rate 200mbit --queue 2mb --priority \
    --out "$BATS_TEST_TMPDIR" -- \
    "$top_srcdir/tests/lab/telemetry.sh" "$(realpath "$top_builddir")" 500 4
  # 4 senders of 200 Mb/s fill the queue by 75 bytes a us, within about 3 ms.
  awk -v slack=250000 -v limit_us=2000 -f "$top_srcdir/tests/lab/telemetry.awk" \
    "$BATS_TEST_TMPDIR/watch"
  jq -e '.links[] | select(.interface == "p_1") |
    .capacity == 200000000 and .flows == 4 and .peers == 1' "$BATS_TEST_TMPDIR/switch.json"
  jq -e '(.refused | add) == 0 and .send_failed == 0 and .samples_late == 0' \
    "$BATS_TEST_TMPDIR/status.json"
}
