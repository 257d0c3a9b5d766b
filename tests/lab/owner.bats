#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Whose a queue pair is, asked of a real kernel. make says where the trees are; by hand,
# run it in the build tree.

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab owner=$top_builddir/tests/lab/owner
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

@test "a process has its own queue pairs, and no others" {
  "$lab" --engine uml --timeout 40000 -- "$owner" rxe_1 rxe_2 >answers
  diff - answers <<TXT
counted more: 1
own: 0
for another process: 1
connected: 0
connected to another: 1
no queue pair: 2
no device: 19
a thread's: 0
a thread's, for another process: 1
an ended thread's: 1
destroyed: 2
TXT
}
