#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# The commands of action.yml, ci/gitlab.yml and ci/Containerfile, with the examples of
# docs/guide/ci.md, and the recipes there. The packages are installed here; `./check --full fresh` runs
# the same commands on a bare Debian.

setup() {
  [[ $EUID -eq 0 ]] || skip "needs root"
  top=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return
  export CI_PROJECT_DIR=$PWD HOME=$PWD/home CCSHIM_URL=unused
  cache=${CCSHIM_LAB_CACHE:-${XDG_CACHE_HOME:-/root/.cache}/ccshim-lab}
  mkdir -p bin home/.cache
  ln -s "$cache" .ccshim-lab
  ln -s "$cache" home/.cache/ccshim-lab
  printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
  printf '#!/bin/sh\necho "${0##*/} $*" >>%q\n' "$PWD/called" | tee bin/apt-get bin/git >bin/chown
  chmod +x bin/*
  PATH=$PWD/bin:$PATH
}

# commands KIND: run them, with this tree in the place of its copy.
commands() {
  "$top/tests/lab/recipes" "$top" "$1" >script
  sed -i "s,/ccshim\([^-]\|$\),$top\1,g; s,=/ccshim-lab,=$cache,; s, && rm .*,," script
  bash script >stdout 2>stderr || { cat script stderr; return 1; }
}

@test "the action runs its example" {
  commands github
  grep -E '^key=[0-9a-f]{16}$' stdout
  [[ $(<called) == *'apt-get -qq -y install rdmacm-utils'*chown* ]]
}

@test "the template of GitLab runs its example" {
  commands gitlab
  [[ $(<called) == *'apt-get -qq -y install ca-certificates git'*"git clone -q --depth 1 unused"*rdmacm-utils* ]]
}

@test "the image's entry point runs a command" {
  commands container
  [[ $(<stdout) == *rxe_1*rxe_2* ]]
}

@test "the recipes for libfabric and UCX work" {
  # Each line after `ccshim lab` that is indented belongs to it.
  sed -n '/^libfabric and UCX/,/^This tests/s/^    //p' "$top/docs/guide/ci.md" |
    sed "s,^ccshim lab,'$top/ci/lab/lab' --engine uml," >script
  [[ $(grep -c -- '--engine uml' script) -eq 2 ]]
  command -v fi_pingpong && command -v ucx_perftest || skip "no libfabric-bin, ucx-utils"
  bash -e script
}

@test "the package of the kernel has the one that the lab uses, though the cache has others" {
  kernel=$("$top/ci/lab/lab" --prepare --engine uml)
  [[ -x $kernel/linux ]] || { echo "$kernel"; return 1; }
  mkdir -p tree/debian lab/uml-6.1.1-00000000-00000000 lab/uml-7.1-11111111-22222222
  cp -r "$top/ci" tree
  cp "$top/debian/rules" tree/debian
  cp -r "$kernel" lab
  touch lab/uml-{6.1.1-00000000-00000000,7.1-11111111-22222222}/linux lab/x.lock
  env -C tree DEB_BUILD_PROFILES=pkg.ccshim.kernel CCSHIM_LAB_CACHE="$PWD/lab" \
    make -f debian/rules execute_after_dh_auto_build
  [[ $(ls tree/debian/kernel) == "${kernel##*/}" ]] || { ls tree/debian/kernel; return 1; }
}
