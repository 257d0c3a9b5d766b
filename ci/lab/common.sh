# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Functions that the lab and its engines share: messages, and tc's units.

readonly LAB_USAGE=2 LAB_FAILED=125

# Messages are broken at 80 columns on a terminal; in a file each is one line.
say() {
  if [[ -t 2 ]]; then
    printf 'lab: %s\n' "$*" | fold -s -w 80 >&2
  else
    printf 'lab: %s\n' "$*" >&2
  fi
}

# The lab itself failed, not CMD.
fail() { say "$*"; exit "$LAB_FAILED"; }

# An option is wrong.
usage_error() { say "$* (see --help)"; exit "$LAB_USAGE"; }

# need PROGRAM:PACKAGE…: name all that are missing at once, with Debian's and Ubuntu's packages, or
# install these (--install). A PROGRAM with a slash is a file or a pattern.
need() {
  local pair programs='' packages=()
  for pair; do
    ! present "${pair%:*}" || continue
    programs+=${programs:+, }${pair%:*}
    [[ " ${packages[*]} " == *" ${pair#*:} "* ]] || packages+=("${pair#*:}")
  done
  ((${#packages[@]})) || return 0
  [[ -n $install ]] ||
    fail "missing: $programs. On Debian and Ubuntu: apt-get install ${packages[*]} (or --install)"
  say "apt-get install ${packages[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install \
    "${packages[@]}" >/dev/null </dev/null || fail "cannot install ${packages[*]}"
}

present() {
  if [[ $1 == */* ]]; then compgen -G "$1" >/dev/null; else command -v "$1" >/dev/null; fi
}

need_root() {
  [[ $EUID -eq 0 ]] || fail "the $1 engine needs root: run it under sudo"
}

# scaled VALUE UNITS: VALUE's number times its unit's factor, rounded; fails
# on anything else. UNITS is "name=factor …", "=factor" being no unit at all.
scaled() {
  [[ ${1,,} =~ ^([0-9]+(\.[0-9]*)?|\.[0-9]+)([a-z]*)$ ]] || return
  local number=${BASH_REMATCH[1]} unit=${BASH_REMATCH[3]} pair
  for pair in $2; do
    [[ $unit == "${pair%%=*}" ]] || continue
    awk -v n="$number" -v f="${pair#*=}" 'BEGIN { printf "%.0f\n", n * f }'
    return
  done
  return 1
}

# tc's own units: decimal bits (bare number) or bytes ("bps") per second,
# binary bytes for sizes, and microseconds for a bare time.
rate_bps() {
  scaled "$1" "=1 bit=1 kbit=1e3 mbit=1e6 gbit=1e9 tbit=1e12 \
kibit=1024 mibit=1048576 gibit=1073741824 \
bps=8 kbps=8e3 mbps=8e6 gbps=8e9 kibps=8192 mibps=8388608 gibps=8589934592"
}

size_bytes() {
  scaled "$1" "=1 b=1 k=1024 kb=1024 m=1048576 mb=1048576 g=1073741824 \
gb=1073741824 kbit=128 mbit=131072 gbit=134217728"
}

time_ns() { scaled "$1" "=1e3 ns=1 us=1e3 ms=1e6 s=1e9"; }

# A kernel is built or fetched once, however many labs start together: run
# "$2…" under a lock unless directory $1 is there; it must leave it complete.
once() {
  local dir=$1
  shift
  [[ -d $dir ]] && return
  { mkdir -p "${dir%/*}" 2>/dev/null && [[ -w ${dir%/*} ]]; } ||
    fail "cannot write ${dir%/*}: set CCSHIM_LAB_CACHE"
  local lock
  exec {lock}>"$dir.lock"
  if ! flock -n "$lock"; then
    say "waiting for another lab that is preparing ${dir##*/}"
    flock "$lock"
  fi
  [[ -d $dir ]] || "$@"
  exec {lock}>&-
}

# progress FILE WORDS TOTAL PID: while PID lives, print which part of about TOTAL lines of FILE that
# match ERE WORDS there are, and the time left: on a terminal one line, in a file each tenth.
progress() {
  local start=$SECONDS count part told=-1 text
  while sleep 2 && kill -0 "$4" 2>/dev/null; do
    count=$(grep -cE "$2" "$1" || true)
    part=$((count < $3 ? count * 100 / $3 : 99))
    text="  $part % compiled"
    ((part == 0)) || text+=", $(duration $(((SECONDS - start) * (100 - part) / part))) left"
    if [[ -t 2 ]]; then
      printf '\rlab: %s\e[K' "$text" >&2
    elif ((part / 10 > told)); then
      told=$((part / 10))
      say "$text"
    fi
  done
  [[ ! -t 2 ]] || printf '\r\e[K' >&2
}

duration() {
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# Messages of the kernel that report an error, for grep -E.
readonly KERNEL_TROUBLE='WARNING:|BUG:|kernel BUG at|Oops|Call Trace|general '\
'protection|Kernel panic|Modules linked in:|refcount_t:|unregister_netdevice: '\
'waiting|INFO: (task|possible|suspicious|trying)|possible recursive locking|'\
'blocked for more than|(soft|hard) lockup|rcu.*(stall|suspicious)|Out of memory'\
'|UBSAN|KASAN|page allocation failure|scheduling while atomic|'\
'list_(add|del) corruption|slab-use-after-free|nobody cared'

# scan_kernel_log FILE: report what is wrong in it; fails if anything is.
scan_kernel_log() {
  local bad
  [[ -s $1 ]] || { say "no kernel log came back"; return 1; }
  bad=$(grep -aE "$KERNEL_TROUBLE" "$1") || return 0
  say "the kernel complained during this run:"
  head -n 20 <<<"$bad" | sed 's/^/lab:   /' >&2
  return 1
}
