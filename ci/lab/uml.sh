# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # it shares ci/lab/lab's variables
#
# Engine uml: the hosts' kernel is a process. Debian's kernel source built for
# ARCH=um with the real rxe driver, the host's own tree as its root.

uml_source=''   # the tarball
uml_dir=''      # cache: linux, clock (address of its virtual clock), config
seed_dir=''     # cache: seed.so, poll.so

engine_prepare() {
  local hash
  need gcc gcc
  uml_find_source
  hash=$({ stat -Lc '%n %s %Y' "$uml_source"; echo "${UML_BUILT[@]}"
    cat "$parts/uml.config" "$parts"/kernel/*; } | sha256sum)
  uml_dir=$cache/$(uml_version)-${hash:0:12}
  once "$uml_dir" uml_build
  [[ -e $uml_dir/$provider ]] ||
    fail "--provider $provider: the kernel in $uml_source has another rxe" \
      "than 6.12; apt-get install linux-source-6.12"
  hash=$(cat "$parts"/{seed,poll}.c | sha256sum)
  seed_dir=$cache/seed-${hash:0:12}
  once "$seed_dir" uml_build_seed
}

uml_find_source() {
  local version
  for version in 6.12 6.1; do
    uml_source=/usr/src/linux-source-$version.tar.xz
    [[ ! -e $uml_source ]] || return 0
  done
  # The cache of a kernel is found by its source.
  fail "no kernel source in /usr/src: apt-get install linux-source-6.12" \
    "(or linux-source on Debian 12 without the security suite)"
}

uml_version() {
  local name=${uml_source##*/linux-source-}
  echo "uml-${name%.tar.xz}"
}

# -- building ----------------------------------------------------------------

uml_build() {
  local build done_dir log
  uml_build_needs
  build=$(mktemp -d "$cache/build.XXXXXX")
  scratch+=("$build")
  log=$build/log done_dir=$build/done
  mkdir "$done_dir"
  say "building the User-Mode Linux kernel into $uml_dir (once, some minutes)"
  uml_unpack "$build/src" || fail "cannot unpack $uml_source"
  uml_add_providers "$build/src/drivers/infiniband/sw" "$done_dir" >"$log" 2>&1 ||
    say "  this kernel's rxe gets no other user ABI"
  uml_add_speed "$build/src" >>"$log" 2>&1 || say "  this kernel's system calls stay slow"
  uml_configure "$build/src" >>"$log" 2>&1 || uml_build_failed "$log"
  uml_compile "$build/src" "$log" || uml_build_failed "$log"
  uml_clock_address "$build/src/linux" >"$done_dir/clock"
  cp "$build/src/.config" "$done_dir/config"
  strip -o "$done_dir/linux" "$build/src/linux"
  mv -T "$done_dir" "$uml_dir"
  rm -rf -- "$build"
}

uml_build_needs() {
  need make make
  need flex flex
  need bison bison
  need bc bc
  need xz xz-utils
  need patch patch
  need nm binutils
  need perl perl
}

uml_build_failed() {
  tail -n 15 "$1" | sed 's/^/lab:   /' >&2
  fail "the kernel did not build"
}

# Unpack the source without other machines' device trees and one driver's gigabyte of registers.
uml_unpack() {
  mkdir "$1"
  say "  unpacking"
  tar -xf "$uml_source" -C "$1" --strip-components=1 \
    --exclude='*/drivers/gpu/drm/amd/include' --exclude='*/arch/*/boot/dts'
}

# Give rxe the user ABIs of other providers, each of which is noted as a file in $2. The
# patch is for 6.12; in a kernel where it does not fit there is only rxe's own.
uml_add_providers() {
  local file
  : >"$2/rxe"
  patch -d "$1" -p0 --dry-run <"$parts/kernel/rxe.patch" || return
  patch -d "$1" -p0 <"$parts/kernel/rxe.patch"
  cp "$parts"/kernel/*.[ch] "$1/rxe"
  for file in "$parts"/kernel/rxe_*_queue.c; do
    file=${file##*/rxe_}
    : >"$2/${file%_queue.c}"
  done
}

# The patch is for 6.12.
uml_add_speed() {
  patch -d "$1" -p0 --dry-run <"$parts/kernel/uml.patch" &&
    patch -d "$1" -p0 <"$parts/kernel/uml.patch"
}

uml_configure() {
  make -C "$1" ARCH=um allnoconfig &&
    (cd "$1" && scripts/kconfig/merge_config.sh -m .config "$parts/uml.config") &&
    make -C "$1" ARCH=um olddefconfig &&
    grep -x CONFIG_RDMA_RXE=y "$1/.config"
}

uml_compile() {
  session env "${UML_BUILT[@]}" make -C "$1" ARCH=um -j"$(nproc)" linux >>"$2" 2>&1
  progress "$2" '^ +(CC|AS) ' "$UML_OBJECTS" "$leader"
  [[ -x $1/linux ]]
}
readonly UML_OBJECTS=1010

# The kernel mixes the name and time of its build into its random numbers: they are constant,
# so that a seed gives the same run on another machine.
readonly UML_BUILT=(KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
  KBUILD_BUILD_USER=ccshim KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1)

# Where the kernel keeps its virtual clock: the watchdog reads it from outside,
# which has no effect on the guest.
uml_clock_address() {
  nm "$1" | awk '$3 == "time_travel_time" { print "0x" $1 }'
}

uml_build_seed() {
  local build name
  build=$(mktemp -d "$cache/build.XXXXXX")
  scratch+=("$build")
  mkdir "$build/done"
  for name in seed poll; do
    gcc -O2 -Wall -Wextra -shared -fPIC -o "$build/done/$name.so" "$parts/$name.c" ||
      fail "cannot build lab/$name.c: apt-get install libc6-dev libibverbs-dev"
  done
  mv -T "$build/done" "$seed_dir"
  rm -rf -- "$build"
}

# -- running -----------------------------------------------------------------

# The kernel's own randomness comes from the seed, its addresses and those of
# the programs in it are fixed, and so is the date: the run is then a function
# of CMD, the options and the seed. The kernel mixes its command line into its
# random numbers too, so that must be constant: the work directory is passed as the
# current directory of the process. In real time the date is the host's.
engine_start() {
  local mode=()
  write_command /run/lab/out
  [[ $time == real ]] ||
    mode=(time-travel=inf-cpu time-travel-start=1700000000000000000)
  mkdir "$work/uml"
  # Programs want the cycle counter's frequency from there: in real time they read the host's
  # counter, in virtual time the kernel answers with nanoseconds.
  if [[ $time == real ]]; then
    cat /proc/cpuinfo >"$work/cpuinfo"
  else
    printf '%s\t: %s\n' processor 0 'vendor_id' 'User Mode Linux' 'model name' UML \
      'cpu MHz' 1000.000 bogomips 2000.00 >"$work/cpuinfo"
    [[ -n $free_polls ]] || cp "$seed_dir/poll.so" "$work"
  fi
  session env -i -C "$work" PATH=/usr/bin:/bin \
    LD_PRELOAD="$seed_dir/seed.so" LAB_SEED="$seed" \
    setarch -R "$uml_dir/linux" mem=2G umid=lab uml_dir=uml \
    root=none rootfstype=hostfs rootflags=/ ro norandmaps \
    con=null con0=null,fd:1 quiet loglevel=4 log_buf_len=4M "${mode[@]}" \
    init=/proc/self/cwd/guest-init </dev/null >"$work/console" 2>&1
}

# -- the watchdog of virtual time --------------------------------------------

uml_last_clock='' uml_cpu_then=0

# A program that neither sleeps nor waits in a way that the kernel knows stops virtual time for all.
# From outside only the clock distinguishes it from heavy traffic, so the clock is
# compared, with CPU time rather than wall time: other load of the machine must not
# fail the run.
engine_watch() {
  local clock burnt
  [[ $time == virtual && $spin -gt 0 ]] || return 0
  clock=$(uml_clock "$1") || return 0
  if grep -qa 'ccshim-lab: .* is stuck' "$work/console"; then
    say "$(uml_spinner) is in a loop without system calls, in which nothing has changed for 60 s of" \
      "virtual time (--spin 0: go on)"
    return 1
  fi
  if [[ $clock != "$uml_last_clock" ]]; then
    uml_last_clock=$clock uml_cpu_then=''
    return 0
  fi
  burnt=$(session_cpu_seconds "$1")
  uml_cpu_then=${uml_cpu_then:-$burnt}
  ((burnt - uml_cpu_then >= spin)) || return 0
  say "virtual time stays at $clock ns: $(uml_spinner) has run for $spin s of CPU time without" \
    "sleeping. If it waits, let it call sched_yield() between its tests, or use --time real; if it" \
    "computes, use a larger --spin"
  return 1
}

# The task that the kernel has named on the console.
uml_spinner() {
  grep -aoE 'process .* \(PID [0-9]+\), thread .* \([0-9]+\)' "$work/console" | tail -n 1 | grep . ||
    echo "a program in CMD"
}

uml_clock() {
  local address
  address=$(<"$uml_dir/clock")
  dd if="/proc/$1/mem" bs=8 count=1 skip=$((address / 8)) 2>/dev/null |
    od -An -tu8 | tr -d ' '
}

# CPU time of a session's processes and of those they have waited for.
session_cpu_seconds() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v sid="$1" -v hz="$(getconf CLK_TCK)" '
    { sub(/^.*\) /, "") }   # a command name may hold anything
    $4 == sid { ticks += $12 + $13 + $14 + $15 }
    END { printf "%d\n", ticks / hz }'
}
