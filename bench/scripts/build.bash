# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2154 # top, the source tree

# Print where make has run, as ci/lab looks for it: this directory, or out/build or out/mine of the
# source tree; or the source tree.
default_build() {
  local dir
  for dir in "$PWD" "$top/out/build" "$top/out/mine"; do
    [[ ! -e $dir/config.status ]] || { echo "$dir"; return; }
  done
  echo "$top"
}
