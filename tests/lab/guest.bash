# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What scripts that run in the lab have in common; $build is where make was run.

# ready SOCKET ARG…: a host agent there, in the background; its process id is in $pid. `at NS`
# before the ARGs has it run in that network namespace.
ready() {
  local socket=$1 at=()
  shift
  if [[ $1 == at ]]; then
    at=(ip netns exec "$2")
    shift 2
  fi
  # shellcheck disable=SC2154 # $build
  "${at[@]}" "$build/tools/ccshimd/ccshimd" "$@" --socket "$socket" --verify none &
  pid=$!
  until "$build/tools/ccshimd/ccshimd" --status --socket "$socket" >/dev/null 2>&1; do
    kill -0 "$pid"
    sleep 0.01
  done
}
