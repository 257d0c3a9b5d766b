# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # it shares ci/lab/lab's variables
#
# Engine uml: the hosts' kernel is a process, built from Linux's source with ARCH=um and the
# real rxe driver, the host's own tree as its root.

uml_dir=''      # linux, clock (address of its virtual clock), config, a file for each provider
seed_dir=''     # seed.so, poll.so
uml_memory=''   # directory of the file that is the guest's memory; empty: /dev/shm
uml_fixed=()    # programs get fixed addresses by it

engine_prepare() {
  [[ -n $prepare ]] || uml_check_host
  if [[ -n $install ]]; then
    apt-get -qq update >/dev/null || say "apt-get update failed: trying with the lists that are there"
  fi
  uml_find_kernel
  need "${UML_RUN[@]}"
  [[ -e $uml_dir/$provider ]] || fail "--provider $provider: the kernel in $uml_dir has another" \
    "rxe than 6.12; apt-get install linux-source-6.12, or use --source"
  seed_dir=$parts
  [[ -e $seed_dir/seed.so ]] || uml_find_preloads
  [[ -z $prepare ]] || echo "$uml_dir"
}

# User-Mode Linux is a tracer of the guest's programs, and executes its memory's file. Containers
# may forbid either; docker also makes /dev/shm small.
uml_check_host() {
  local dir
  [[ $(uname -m) == x86_64 ]] || fail "the uml engine needs an x86-64 machine: use --engine native"
  # PTRACE_TRACEME; perl is part of each Debian and Ubuntu.
  ! command -v perl >/dev/null || perl -e 'exit syscall(101, 0, 0, 0, 0) != 0' ||
    fail "ptrace(2) is not permitted here, which the uml engine needs: run the container with" \
      "--cap-add SYS_PTRACE --security-opt seccomp=unconfined (see also kernel.yama.ptrace_scope)"
  if setarch -R true 2>/dev/null; then
    uml_fixed=(setarch -R)
  else
    say "personality(2) is not permitted here: repeated runs may differ" \
      "(run the container with --security-opt seccomp=unconfined)"
  fi
  for dir in /dev/shm /tmp; do
    uml_memory=$dir
    uml_check_memory "$dir" && return
  done
  fail "as root: mount -o remount,exec,size=2g /dev/shm"
}

# Whether programs in directory $1 can be executed and it has space for a guest.
uml_check_memory() {
  local free
  free=$(df -Pk "$1" 2>/dev/null | awk 'END { print int($4 / 1024) }')
  if [[ ,$(findmnt -nro OPTIONS -T "$1"), == *,noexec,* ]]; then
    say "$1 is mounted noexec, and cannot have the guest's memory"
  elif ((${free:-0} < 1000)); then
    say "$1 has only ${free:-0} MB for the guest's memory, which may need 1000"
  else
    return 0
  fi
  return 1
}

# -- the kernel and its cache --------------------------------------------------

# The kernel's version, configuration, patches and compiler decide the binary, and name its
# directory. One that was installed with the lab is preferred to the caller's cache. A source is
# needed only where no kernel of this configuration and these patches is found.
uml_find_kernel() {
  local recipe file=$source version
  recipe=$({ echo "${UML_BUILT[@]}"; cat "$parts/uml.config" "$parts"/kernel/*; } | short_hash)
  [[ -n $file ]] || ! uml_ready "$parts/kernels" "$recipe" || return 0
  [[ -z $file || -e $file ]] || fail "--source $file: no such file or directory"
  [[ -n $file ]] || file=$(uml_source)
  if [[ -z $file ]] || ! type -P gcc ld "$(uml_unpacker "$file")" >/dev/null; then
    [[ -n $source ]] || ! uml_ready "$cache" "$recipe" || return 0
    uml_build_needs "$file"
    [[ -n $file ]] || file=$(uml_source)
  fi
  version=$(uml_version "$file") || exit
  uml_dir=$cache/uml-$version-$recipe-$(uml_compiler)
  once "$uml_dir" uml_build "$file"
}

short_hash() { sha256sum | cut -c 1-8; }

# Set uml_dir to the newest version in directory $1 that was built by recipe $2, if there is one.
uml_ready() {
  local dirs
  dirs=$(cd "$1" 2>/dev/null && printf '%s\n' uml-*-"$2"-*/linux | sort -V | tail -n 1)
  [[ -e $1/$dirs ]] || return
  uml_dir=$1/${dirs%/linux}
}

uml_compiler() { { gcc --version | sed 1q; ld --version | sed 1q; } | short_hash; }

# Print the source in /usr/src: 6.12, for which the patches are, else 6.1, else the newest. Debian
# has it there as .tar.xz, Ubuntu as .tar.bz2, also in a directory of the package's name.
uml_source() {
  local version file found=''
  for version in 6.12. 6.1. ''; do
    while read -r file; do
      [[ ${file##*/} != "linux-source-$version"* ]] || found=$file
    done < <(find -L /usr/src -maxdepth 2 -regextype egrep \
      -regex '.*/linux-source-[0-9.]+\.tar\.(xz|bz2|zst|gz)' 2>/dev/null | sort -V)
    [[ -z $found ]] || break
  done
  echo "$found"
}

# The program that unpacks source $1; a tree needs none.
uml_unpacker() {
  case $1 in
    *.bz2) echo bzip2 ;;
    *.zst) echo zstd ;;
    *.gz) echo gzip ;;
    *.xz) echo xz ;;
    *) echo tar ;;
  esac
}

# Print the version in the source's Makefile. It is read once, as an archive takes a second.
uml_version() {
  local memo makefile version
  memo=$cache/version-$(stat -Lc '%n %s %Y' "$1" | short_hash)
  if [[ -d $1 ]]; then
    makefile=$(cat "$1/Makefile" 2>/dev/null) || makefile=''
  elif [[ -e $memo ]]; then
    cat "$memo"
    return
  else
    makefile=$(tar -xOf "$1" --wildcards --no-wildcards-match-slash --occurrence=1 '*/Makefile') ||
      makefile=''
  fi
  version=$(awk '/^(VERSION|PATCHLEVEL|SUBLEVEL) *= *[0-9]/ { v = v s $3; s = "." } /^EXTRAVERSION/ { v = v $3 }
    /^NAME/ { print v; exit }' <<<"$makefile")
  [[ -n $version ]] || fail "$1 is no source of Linux: its Makefile has no version"
  [[ -d $1 ]] || { mkdir -p "$cache" && echo "$version" >"$memo"; } 2>/dev/null || true
  echo "$version"
}

# -- building ----------------------------------------------------------------

# The programs that a run needs, and their packages in Debian and Ubuntu.
readonly UML_RUN=(ip:iproute2 tc:iproute2 rdma:iproute2 setpriv:util-linux findmnt:util-linux
  "/usr/lib/*/libibverbs/librxe*:ibverbs-providers")

# uml_build_needs SOURCE: the programs that compile it, and a source if it is empty.
uml_build_needs() {
  local unpacker=xz package=''
  if [[ -n $1 ]]; then
    unpacker=$(uml_unpacker "$1")
  else
    package=$(uml_source_package)
  fi
  need "${UML_RUN[@]}" gcc:gcc /usr/include/stdio.h:libc6-dev make:make flex:flex bison:bison bc:bc perl:perl \
    patch:patch ld:binutils /usr/include/infiniband/verbs.h:libibverbs-dev "$unpacker:${unpacker/%xz/xz-utils}" \
    ${package:+"/usr/src/linux-source-*:$package"}
}

# Debian 12 has 6.12 in its security suite; Ubuntu's is of another version.
uml_source_package() {
  if apt-cache show linux-source-6.12 >/dev/null 2>&1; then echo linux-source-6.12; else echo linux-source; fi
}

uml_build() {
  local build done_dir log
  uml_build_needs "$1"
  build=$(mktemp -d "$cache/build.XXXXXX")
  scratch+=("$build")
  log=$build/log done_dir=$build/done
  mkdir "$done_dir"
  say "building the User-Mode Linux kernel into $uml_dir (once, some minutes)"
  uml_unpack "$1" "$build/src" || fail "cannot unpack $1"
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

uml_build_failed() {
  tail -n 15 "$1" | sed 's/^/lab:   /' >&2
  fail "the kernel did not build"
}

# Unpack or copy source $1 into $2, without other machines' device trees and one driver's gigabyte of registers.
uml_unpack() {
  local without=(--exclude='*/drivers/gpu/drm/amd/include' --exclude='*/arch/*/boot/dts' --exclude=.git)
  mkdir "$2"
  say "  unpacking"
  if [[ -d $1 ]]; then
    tar -C "$1" "${without[@]}" -cf - . | tar -xf - -C "$2" && make -s -C "$2" ARCH=um mrproper
  else
    tar -xf "$1" -C "$2" --strip-components=1 "${without[@]}"
  fi
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

# The patches are for 6.12.
uml_add_speed() {
  local file
  for file in uml same; do
    patch -d "$1" -p0 --dry-run <"$parts/kernel/$file.patch" || return
    patch -d "$1" -p0 <"$parts/kernel/$file.patch"
  done
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

# What guests' programs and the kernel preload: installed with the lab, otherwise compiled.
uml_find_preloads() {
  seed_dir=$cache/preload-$(cat "$parts"/*.c | short_hash)
  [[ -d $seed_dir ]] || need gcc:gcc "/usr/include/stdio.h:libc6-dev" \
    "/usr/include/infiniband/verbs.h:libibverbs-dev"
  once "$seed_dir" uml_build_preloads
}

uml_build_preloads() {
  local build file
  build=$(mktemp -d "$cache/build.XXXXXX")
  scratch+=("$build")
  mkdir "$build/done"
  for file in "$parts"/*.c; do
    gcc -O2 -Wall -Wextra -shared -fPIC -o "$build/done/$(basename "$file" .c).so" "$file" ||
      fail "cannot compile $file"
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
  # LD_PRELOAD cannot name a path with spaces or colons. A link, as /tmp may be mounted noexec.
  ln -s "$seed_dir/seed.so" "$work"
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
    LD_PRELOAD=./seed.so LAB_SEED="$seed" TMPDIR="$uml_memory" \
    "${uml_fixed[@]}" "$uml_dir/linux" mem=2G umid=lab uml_dir=uml \
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
