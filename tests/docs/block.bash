# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The start of the scripts of tests/docs/commands.
set -e

# interrupt COMMAND: run it on a terminal, and press Ctrl-C when it has printed something.
# A background job of a script ignores SIGINT unless it is told not to.
interrupt() {
  local dir status=0
  dir=$(mktemp -d)
  mkfifo "$dir/keys"
  exec 9<>"$dir/keys"
  env --default-signal=INT script -qefc "stty rows 24 cols 80; exec $1" /dev/null <&9 >"$dir/screen" 2>&1 &
  until [[ -s $dir/screen ]]; do
    kill -0 $!
    sleep 0.1
  done
  printf '\003' >&9
  wait $! || status=$?
  exec 9>&-
  cat "$dir/screen"
  rm -rf "$dir"
  [[ $status -eq 0 || $status -eq 130 ]] || { echo "$1: status $status"; return 1; }
}

# ends_with STATUS COMMAND: with that or 0.
ends_with() {
  local status=0
  eval "$2" || status=$?
  [[ $status -eq 0 || $status -eq $1 ]] || { echo "$2: status $status"; return 1; }
}
