# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # it shares ci/lab/lab's variables
#
# Engine native: the running kernel, if it has rdma_rxe. The topology is in the machine's
# first network namespace during the run; CMD and all that it starts run in a PID namespace
# of their own, which ends with the run.

native_up=''

engine_prepare() {
  need_root native
  need ip:iproute2 tc:iproute2 rdma:iproute2 unshare:util-linux
  modprobe -qa rdma_rxe ib_uverbs rdma_ucm 2>/dev/null || true
  [[ -d /sys/class/infiniband ]] ||
    fail "this kernel has no rdma_rxe: use --engine uml"
}

# One at a time: the names and addresses are the same in every run. The lock is
# on a directory that every machine has, so that no file is left.
engine_start() {
  exec 9</run
  flock -n 9 || { say "waiting for another lab on this machine"; flock 9; }
  ! native_occupied ||
    fail "h_1 or network namespace $LAB_SWITCH_NS exists already on this machine"
  write_command "$work/out"
  native_up=yes
  session unshare --mount --pid --fork --kill-child --mount-proc \
    "$work/inside" "$work" 9<&- >"$work/console" 2>&1
}

native_occupied() {
  [[ -e /sys/class/net/h_1 || -e /run/netns/$LAB_SWITCH_NS ]]
}

# `inside` takes the topology down itself, unless it was interrupted.
engine_cleanup() {
  if [[ -z $native_up ]] || ! native_occupied; then
    return
  fi
  # shellcheck source=/dev/null
  (. "$work/vars" && "$work/topology" down) 2>/dev/null
}
