# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions that ./demo and ./check share: Debian packages, a build outside of the source
# tree, and steps with a number, a clock and a log.
#
# Set before: top, the source tree; name, the program's; steps, how many.

# What the callers set or use, shellcheck cannot see from here:
# shellcheck disable=SC2034,SC2154,SC2164
readonly out=$top/out src=$top/out/src
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=$PATH:/usr/sbin:/sbin
# configure, make and libtool start a shell for each file, and dash starts faster than bash.
[[ ! -x /bin/dash ]] || export CONFIG_SHELL=/bin/dash

# Set width to the columns of the terminal on stdout; 80 if there is none.
measure_width() {
  { width=$(stty size <&3 2>/dev/null) || width=0; } 3>&1
  width=${width#* }
  ((width > 0)) || width=80
}

# wrap FD: a filter that breaks lines between words at 80 columns if FD is a terminal. In a
# file each message stays one line.
wrap() {
  if [[ -t $1 ]]; then fold -s -w 80; else cat; fi
}

complain() { printf '%s: %s\n' "$name" "$*" | wrap 2 >&2; }

fail() { complain "$*"; exit 1; }

have() { command -v "$1" >/dev/null; }

# End a step that cannot run here, which is no failure.
skip() { printf 'skipped: %s\n' "$*"; exit 77; }

# One run at a time in a tree: they share out/.
begin() {
  [[ ! -e $top/config.status ]] ||
    fail "this tree was configured in place, which confuses builds outside of it: run 'make distclean'"
  mkdir -p "$out" || fail "cannot write to $out"
  exec 9>"$out/lock"
  ! have flock || flock -n 9 || fail "another ./demo or ./check runs in this tree"
}

# -- packages ----------------------------------------------------------------

readonly build_packages=(gcc libc6-dev make autoconf automake libtool pkg-config
  libibverbs-dev libmicrohttpd-dev libseccomp-dev libsodium-dev)
# To compile the lab's kernel, rxe's provider, and the programs that build the network.
readonly lab_packages=(gcc libc6-dev libibverbs-dev make flex bison bc perl patch binutils xz-utils
  iproute2 procps kmod libelf-dev libssl-dev ibverbs-providers)
readonly demo_packages=(gnuplot-nox jq)
readonly conformance_packages=(ibverbs-utils rdmacm-utils perftest python3-pyverbs fio
  ucx-utils libfabric-bin)
readonly debian_packages=(abigail-tools debhelper lintian mmdebstrap rpm rpmlint systemd-container)
readonly container_packages=(podman crun)
# What the documents' commands use beside that.
readonly documents_packages=(ca-certificates gnuplot-nox ibverbs-utils jq libcmocka-dev libopenmpi-dev rdmacm-utils
  openmpi-bin perftest valgrind)
readonly slurm_packages=(libslurm-dev munge slurm-client slurmctld slurmd)
# Programs and libraries that share a process with the shim in tests/verbs/matrix.bats.
readonly matrix_packages=(faketime gdb libclang-rt-14-dev libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4
  musl-tools)
# What the tests of make check use, which skip what is missing.
readonly test_packages=(bats curl file fish g++ gnuplot-nox iproute2 jq libcmocka-dev locales man-db procps python3
  zsh python3-jsonschema python3-prometheus-client python3-yaml systemtap-sdt-dev valgrind)
readonly check_packages=(clang llvm libopenmpi-dev openmpi-bin shellcheck mandoc
  bpftrace chromium iputils-ping "${test_packages[@]}" "${conformance_packages[@]}" "${container_packages[@]}"
  "${debian_packages[@]}" "${slurm_packages[@]}" "${matrix_packages[@]}")
readonly full_packages=(qemu-system-x86 busybox-static cpio dapl2-utils iperf libmpich-dev mpich netpipe-mpich2
  netpipe-openmpi netpipe-tcp openmpi-bin sockperf)

installed() { [[ $(dpkg-query -Wf '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# The source of the lab's kernel, as the newest package that there is.
kernel_source() {
  local file
  for file in /usr/src/linux-source-6.{12,1}.tar.xz; do
    [[ ! -e $file ]] || return 0
  done
  if apt-cache show linux-source-6.12 >/dev/null 2>&1; then
    echo linux-source-6.12
  else
    echo linux-source
  fi
}

# missing PACKAGE…: those of them that are not installed.
missing() {
  local package
  for package in "$@"; do
    installed "$package" || echo "$package"
  done
}

# packages PACKAGE…: install those that are missing, and with the lab's the source of its kernel. Without
# root they are only named: other steps may not need them.
packages() {
  local wanted source=''
  have apt-get || skip "no apt-get here; what Debian calls these is needed: $*"
  mapfile -t wanted < <(missing "$@")
  [[ " $* " != *" ${lab_packages[*]} "* ]] || source=$(kernel_source)
  ((${#wanted[@]} + ${#source})) || return 0
  [[ $EUID -eq 0 ]] || skip "as root: apt-get install ${wanted[*]} $source"
  apt-get -qq update || echo "apt-get update failed: trying with the lists that are there"
  [[ -z $source ]] || source=$(kernel_source)
  apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install \
    "${wanted[@]}" ${source:+"$source"}
}

# -- building ----------------------------------------------------------------

# autoconf writes beside configure.ac, so it is given a directory of links to
# the sources: the tree itself stays as it is.
sources() {
  local path
  mkdir -p "$src"
  for path in "$top"/* "$top"/.{ci,containerignore}; do
    case ${path##*/} in
      out | configure | configure~ | config.* | build-aux | m4 | aclocal.m4 | autom4te.cache | \
        Makefile | Makefile.in | libtool | *.tar.*) ;;
      *) ln -sfn "$path" "$src/${path##*/}" ;;
    esac
  done
  [[ -e $src/configure ]] || "$src/autogen.sh"
}

# configured DIR ARG…: a build tree in DIR, configured with ARG….
configured() {
  local dir=$1
  shift
  sources
  mkdir -p "$dir"
  cd "$dir"
  [[ -e config.status && $(cat arguments 2>/dev/null) == "$*" ]] && return
  "$src/configure" -q "$@"
  echo "$*" >arguments
}

build() {
  configured "$@"
  make -s -j"$(nproc)"
}

kernel() { "$top/ci/lab/lab" --prepare --engine uml; }

# -- steps -------------------------------------------------------------------

step=0 job='' log='' line=''
limit=${CCS_STEP_LIMIT:-2400}   # seconds in which any step ought to be through

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# descendants PID: print it and all processes that descend from it, in any process group.
descendants() {
  have ps || { echo "$1"; return; }
  ps -eo ppid=,pid= | awk -v root="$1" '
    { parent[$2] = $1 }
    END {
      for (pid in parent) {
        for (p = pid; p > 1 && p != root; p = parent[p]);
        if (p == root) print pid
      }
    }'
}

# end_job PID: end it, with ten seconds for its cleanup.
end_job() {
  local all tries
  mapfile -t all < <(descendants "$1")
  kill -TERM "${all[@]}"
  for ((tries = 0; tries < 50; tries++)); do
    kill -0 "$1" || break
    sleep 0.2
  done
  kill -KILL "${all[@]}"
} 2>/dev/null

end_jobs() {
  local id
  for id in $(jobs -rp); do
    end_job "$id" || true
  done
}

interrupted() {
  trap - "$1" EXIT
  end_jobs
  echo
  complain "interrupted in step $step"
  kill -s "$1" $$
}

watch_signals() {
  local signal
  trap end_jobs EXIT
  for signal in INT TERM HUP; do
    # shellcheck disable=SC2064 # the name is wanted now
    trap "interrupted $signal" "$signal"
  done
}

# background LOG CMD…: start CMD, as $!.
background() {
  local log=$1
  shift
  # bash announces a job that ends before set +m, on stderr.
  {
    set -m
    (set -e; "$@") >"$log" 2>&1 </dev/null 9>&- &
    set +m
  } 2>/dev/null
}

# draw LINE SECONDS: on a terminal, redraw the line of the current step, with its time and the
# last line of its log. It is cut to the terminal's width: where a line wraps, \r returns to
# the start of its last part only, and each redraw would leave a line behind.
draw() {
  local text width
  [[ -t 1 ]] || return 0
  printf -v text '%s %s  %s' "$1" "$(clock "$2")" \
    "$(tail -n 1 "$log" | tr -cd '[:print:]')"
  measure_width
  printf '\r%s\e[K' "${text:0:width - 1}"
}

# finish_line TEXT: complete the line that run_step left open, with TEXT on lines of its own
# if the whole would be wider than 80 columns.
finish_line() {
  if ((${#line} + 1 + ${#1} <= 80)); then
    printf ' %s\n' "$1"
  else
    echo
    fold -s -w 76 <<<"$1" | sed 's/^/    /'
  fi
}

give_up() {
  end_job "$job" || true
  echo "gave up after $limit s" >>"$log"
}

# run_step TITLE CMD…: run CMD and set status (77 means skipped), log, line and seconds. The
# line is left open for finish_line. Never call it in a condition: there, set -e would have
# no effect in CMD.
run_step() {
  local title=$1 slug begun=$SECONDS
  shift
  status=0
  ((++step))
  slug=${title//[^a-zA-Z0-9]/-}
  printf -v log '%s/%02d-%s.log' "$logs" "$step" "${slug,,}"
  printf -v line '[%*d/%d] %5s  %-38s' ${#steps} "$step" "$steps" "$(clock "$SECONDS")" "$title"
  printf '%s' "$line"
  : >"$log"   # the first redraw reads it, and may precede the job
  background "$log" "$@"
  job=$!
  while kill -0 "$job" 2>/dev/null; do
    draw "$line" $((SECONDS - begun))
    ((SECONDS - begun < limit)) || give_up
    sleep 0.2
  done
  wait "$job" || status=$?
  seconds=$((SECONDS - begun))
  [[ ! -t 1 ]] || printf '\r%s\e[K' "$line"
}

# Filter: quoted lines of a log, long ones cut, and folded to 80 columns.
quote() { cut -c 1-200 | fold -w 74 | sed 's/^/    | /'; }

# show_tail LOG [LINES]: the end of a log, on the terminal.
show_tail() {
  { printf '%s\n' "${1#"$top/"}:"; tail -n "${2:-15}" "$1"; } | quote
}
