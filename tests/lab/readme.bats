#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The lab commands that README.md and docs/guide/tutorial.md print, run as they are printed, in a tree
# such as ./demo leaves behind; tests/docs/commands runs the others. make says where the trees are; by
# hand, run it in the build tree.

setup_file() {
  bats_require_minimum_version 1.5.0
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  : "${top_builddir:=$PWD}"
  export top_srcdir=${top_srcdir:-$(realpath "$BATS_TEST_DIRNAME/../..")}
  tree "$(realpath "$top_builddir")" "$BATS_FILE_TMPDIR/tree"
  export tree=$BATS_FILE_TMPDIR/tree
  "$tree/ci/lab/lab" --prepare --engine uml
}

# tree BUILD DIR: in DIR, what of the source tree and of build tree BUILD the commands use.
tree() {
  local build=$2/out/build
  mkdir -p "$build/tools" "$build/bench" "$build/.libs"
  cp -r "$top_srcdir/ci" "$2"
  cp -r "$1/tools/ccshim" "$1/tools/ccshimd" "$build/tools"
  cp -r "$1/bench/ccbench" "$build/bench"
  cp "$1/.libs/libccshim.so" "$build/.libs"
  cp "$1/config.status" "$build"
}

# commands FILE: the commands of its indented blocks that run in the lab, one a line.
commands() {
  awk '/^    (\.\.\/\.\.\/)?(ci\/lab\/lab|ccbench) / { on = 1 }
    on { sub(/^ +/, ""); on = sub(/\\$/, ""); printf "%s%s", $0, on ? "" : "\n" }' "$1"
}

# succeeds DIR COMMAND: run COMMAND in DIR of the tree, with no variable of the test's.
succeeds() {
  cd "$tree/$1"
  status=0
  env -i HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin ${CCSHIM_LAB_CACHE+"CCSHIM_LAB_CACHE=$CCSHIM_LAB_CACHE"} \
    bash -c "$2" >"$BATS_TEST_TMPDIR/stdout" 2>"$BATS_TEST_TMPDIR/stderr" || status=$?
  [[ $status -eq 0 ]] || { echo "$2: status $status"; cat "$BATS_TEST_TMPDIR/stderr"; return 1; }
}

fits() { awk 'length > 80 { print "too wide: " $0; bad = 1 } END { exit bad }' "$1"; }

@test "README's lab command runs as printed, and names results that are there" {
  command=$(commands "$top_srcdir/README.md")
  [[ $(wc -l <<<"$command") -eq 1 ]]
  succeeds . "$command"
  grep -qx out/mine/lab/incast.json "$BATS_TEST_TMPDIR/stdout"
  [[ -s out/mine/lab/incast.json ]]
  fits "$BATS_TEST_TMPDIR/stdout"
}

@test "the tutorial's lab command runs as printed" {
  command=$(commands "$top_srcdir/docs/guide/tutorial.md")
  [[ $(wc -l <<<"$command") -eq 1 ]]
  succeeds out/build "$command"
  grep -q 'not kept: ci/lab/lab was started without --out' "$BATS_TEST_TMPDIR/stdout"
  fits "$BATS_TEST_TMPDIR/stdout"
}
