# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# The checks of ./check, a function each. Each runs with set -e in a shell of its own, with its
# output in a log, and calls `skip` if it cannot run.

# Paths of setup.sh and the caller's set -e, which shellcheck cannot see from here:
# shellcheck disable=SC2154,SC2164

readonly builds=$out/check
jobs=$(nproc)
readonly jobs

# -- the sources -------------------------------------------------------------

# Shell scripts, by their first line or their directive.
scripts() {
  find "$top" \( -name .git -o -path "$out" -o -name autom4te.cache -o -path "$top/build-aux" \
    -o -path "$top/m4" \) -prune -o -type f ! -name 'configure*' ! -name libtool ! -name '*.bats' \
    -exec awk 'FNR > 3 { nextfile }
      FNR == 1 && /^#!.*[\/ ](ba)?sh( |$)/ || /^# shellcheck shell=/ { print FILENAME; nextfile }' {} +
}

check_scripts() {
  local list
  mapfile -t list < <(scripts)
  printf '%s\n' "${list[@]}"
  have shellcheck || skip "no shellcheck"
  cd "$top"
  shellcheck -x "${list[@]}"
  # bats ends a test at a cd that fails; a file may be called as a command is.
  shellcheck -x -S warning -e SC2164,SC2238 tests/{lab,slurm}/*.bats
}

check_headers() {
  local bad
  bad=$(find "$top" \( -name .git -o -path "$out" -o -name autom4te.cache -o -path "$top/build-aux" \) \
    -prune -o -path "$top/ci/lab/kernel" -prune -o -type f \
    \( -name '*.[chS]' -o -name '*.mk' -o -name '*.am' -o -name '*.ac' -o -name '*.sh' -o \
    -name '*.bats' -o -name '*.bash' -o -name '*.map' -o -name '*.[1-8]' -o -name '*.md' \) \
    -exec grep -L 'SPDX-License-Identifier: BSD-2-Clause' {} +)
  # What becomes part of the lab's kernel has rxe's licence.
  bad+=$(grep -L 'SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB' "$top"/ci/lab/kernel/*.[ch]) ||
    true
  [[ -z $bad ]] || { printf 'no licence in:\n%s\n' "$bad"; return 1; }
}

check_words() {
  cd "$top"
  ci/words
}

check_components() {
  cd "$top"
  ci/components "$builds/gcc"
}

check_manuals() {
  have mandoc || skip "no mandoc"
  mandoc -Tlint -W warning "$top"/docs/man/*.[1-8]
}

# -- builds and unit tests -----------------------------------------------------

check_build() { build "$builds/$1" --enable-werror "${@:2}"; }

# The programs of the tests as well, which the lab's steps use while others run make here.
check_gcc() {
  check_build gcc
  make -s -j"$jobs" check TESTS=
}

# A program that hangs fails alone, with all processes that it has started. --under-load raises the
# limit, as it does for the steps.
readonly test_limit=$((limit * 3 / 8))

# A locale with a decimal comma, as applications may have set one.
german() {
  local dir=$builds/locale
  [[ -e /usr/share/i18n/locales/de_DE ]] && have localedef || return 0
  mkdir -p "$dir"
  [[ -e $dir/de_DE.UTF-8 ]] || localedef -i de_DE -f UTF-8 "$dir/de_DE.UTF-8"
  export LOCPATH=$dir
}

# run_tests BUILD GOAL WRAPPER [ARG…]: make GOAL with WRAPPER in front of each program. The output
# of a failed one is shown in full.
run_tests() {
  german
  cd "$builds/$1"
  make -j"$jobs" "$2" VERBOSE=1 LOG_FLAGS="$src/ci/alone $test_limit $3" "${@:4}"
}

check_unit() {
  configured "$builds/gcc" --enable-werror
  run_tests gcc check '' ${tests:+"TESTS=${tests[*]}"}
}

# The programs of tests/unit, verbs, fake and fuzz.
test_programs() {
  local file
  cd "$top"
  for file in tests/{unit,verbs,fake,fuzz}/test_*.c; do
    [[ ! -e $file ]] || printf '%s ' "${file%.c}"
  done
}

# run_programs BUILD WRAPPER PROGRAM…: build these tests, and what they preload or start, but
# nothing else, and run them.
run_programs() {
  make -C "$builds/$1" -s -j"$jobs" libibverbs-ccshim.la libfakerdma.la tests/verbs/traffic \
    tools/ccshimd/ccshimd "${@:3}"
  run_tests "$1" check-TESTS "$2" TESTS="${*:3}"
}

# Run a million steps of random programs with the shim, half of them on each processor, and half
# on each of mlx5 and rxe.
check_differential() {
  local seed status=0 pids=()
  make -C "$builds/gcc" -s tests/diff/test_diff libfakerdma.la
  for seed in "$CCS_SEED" $((CCS_SEED + 1)); do
    CMOCKA_MESSAGE_OUTPUT=TAP CCS_SEED=$seed CCS_STEPS=500000 \
      top_builddir=$builds/gcc top_srcdir=$top \
      "$src/ci/alone" $test_limit "$builds/gcc/tests/diff/test_diff" "random_programs*" \
      >"$builds/diff-$seed.tap" 2>&1 &
    pids+=("$!:$seed")
  done
  for seed in "${pids[@]}"; do
    wait "${seed%:*}" || status=1
    cat "$builds/diff-${seed#*:}.tap"
    grep -q "^ok 1 " "$builds/diff-${seed#*:}.tap" || status=1 # a filter that matches no test
  done
  return "$status"
}

# Check that algorithms with defaults miss their aims in no more rows than grid.bounds allows.
check_grid() {
  make -C "$builds/gcc" -s bench/grid/grid
  "$src/ci/alone" $test_limit "$builds/gcc/bench/grid/grid" --sample --seed "$CCS_SEED" \
    --bounds "$top/tests/sim/grid.bounds"
}

# objects BUILD: what make compiles there, each source once. make may first print that it configures
# the tree again.
objects() {
  # shellcheck disable=SC2016 # make expands it
  make -C "$builds/$1" -s --eval='list: ; @printf "%s\n" \
    $(sort $(filter %.o %.lo,$(foreach v,$(filter %_OBJECTS,$(.VARIABLES)),$($v))))' list |
    awk '!/\.l?o$/ { next } { source = $0; sub(/[^\/]*-/, "", source); sub(/\.l?o$/, "", source) } !seen[source]++'
}

# clang's front end has all of its warnings. What it compiles runs only with --full.
check_clang() {
  local list
  have clang || skip "no clang"
  if [[ -n $full ]]; then
    check_build clang CC=clang
    list=$(test_programs)
    run_tests clang check '' TESTS="$list"
    return
  fi
  configured "$builds/clang-warnings" --enable-werror CC=clang
  list=$(objects clang-warnings)
  # shellcheck disable=SC2086 # words are wanted
  make -s -j"$jobs" CFLAGS=-fsyntax-only $list
}

# Sanitizers' code compiles in half of the time so. Other builds have the warnings.
readonly sanitized='CFLAGS=-g1 -O1'

check_sanitized() {
  local list
  list="$(test_programs) tests/diff/test_diff tests/diff/test_stages"
  configured "$builds/asan" "$sanitized" --enable-sanitizer=address,undefined
  # shellcheck disable=SC2086 # words are wanted
  run_programs asan '' $list
}

# Programs with threads, which those that preload the shim have. ThreadSanitizer needs fixed
# addresses, where address randomisation may place other mappings, and sleeps a second before
# each program ends, if it may.
check_threads() {
  local list
  cd "$top"
  list=$({ printf '%s\n' tests/{verbs,fake}/test_*.c; grep -lE 'pthread_|ccs_thread' tests/unit/test_*.c; } |
    sed 's/\.c$//')
  configured "$builds/tsan" "$sanitized" --enable-sanitizer=thread
  export TSAN_OPTIONS=atexit_sleep_ms=0
  # shellcheck disable=SC2086 # words are wanted
  run_programs tsan 'setarch -R' $list
}

# A few tests: of parsers, lists and shared objects. The stack of a thread that runs until the
# end is reported as possibly lost. Under valgrind no dynamic program starts without stderr.
check_valgrind() {
  local options=(-q --trace-children=yes --trace-children-skip-by-arg=without-stderr
    --error-exitcode=99 --leak-check=full
    --show-leak-kinds=definite --errors-for-leak-kinds=definite)
  have valgrind || skip "no valgrind"
  run_programs gcc "valgrind ${options[*]}" \
    tests/{unit/test_{send_queue,rtt,slow_start,options,log,json,bench_io},verbs/test_{post,split,life,error}}
}

# libFuzzer with ASan and UBSan, from the corpus, and the lines that the corpus reaches: an hour with
# --full, otherwise a number of inputs that takes two minutes of a processor, with the build.
check_fuzz() {
  local parsers=(--runs 20000) agent=(--runs 50000)
  have clang || skip "no clang"
  have llvm-cov || skip "no llvm-cov"
  export CCS_CONFIGURE=$src/configure
  [[ -z $full ]] || parsers=(2700) agent=(900)
  "$top/tests/fuzz/fuzz" --keep parsers "${parsers[@]}"
  "$top/tests/fuzz/fuzz" --coverage parsers
  "$top/tests/fuzz/fuzz" --keep agent "${agent[@]}"
  "$top/tests/fuzz/fuzz" --coverage agent
}

# The release builds, and is installed and removed. Its tests are those of the other steps.
check_dist() {
  cd "$builds/gcc"
  make -s -j"$jobs" distcheck check_PROGRAMS= check_LTLIBRARIES= TESTS= \
    DISTCHECK_CONFIGURE_FLAGS="CFLAGS=-O0 --disable-lto"
  released
}

# Check that all files of git are in the tarball.
released() {
  local left
  git -C "$top" rev-parse >/dev/null 2>&1 || return 0
  left=$(comm -23 <(git -C "$top" ls-files | grep -vx .gitignore | sort) \
    <(tar -tf ccshim-*.tar.xz | sed 's,^[^/]*/,,' | sort))
  [[ -z $left ]] || { printf 'not in the tarball:\n%s\n' "$left"; return 1; }
}

# -- what is installed ---------------------------------------------------------

# Print NODE SYMBOL for each symbol of the version script; two have no node.
mapped_symbols() {
  printf ' %s\n' __asan_default_options dlopen verbs_open_device
  awk '/^[A-Z0-9_.]+ \{/ { node = $1 } /global:/ { on = 1; next } /local:|^}/ { on = 0 }
    on && /;/ { gsub(/[ \t;]/, ""); print node, $0 }' "$top/libshim/libccshim.map"
}

# Print the same for the symbols that the object exports.
exported_symbols() {
  nm -D --defined-only --with-symbol-versions "$1" |
    awk '$2 != "A" && split($3, s, /@+/) { print s[2], s[1] }' | sort
}

# Check that it needs only the C library, as every program does.
check_needed() {
  local bad
  bad=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vxE 'lib(c|m)\.so\.[0-9]+|ld-linux.*') || return 0
  printf 'needs beyond libc and libm: %s\n' "$bad"
  return 1
}

has_slurm() { [[ -e /usr/include/slurm/spank.h ]]; }

installed_files() {
  ! pkg-config --exists ompi-c && ! pkg-config --exists mpich || echo bin/ccbench-mpi
  ! has_slurm || echo lib/ccshim/spank_ccshim.so
  printf '%s\n' bin/ccbench bin/ccfabric bin/ccshim{,-fake} libexec/ccshim/ccshim-{debug,firewall,serve} sbin/ccshimd \
    include/ccshim/{cc,fake,feed,stats}.h lib/libccshim_feed.so.0.0.0 lib/ccshim/{ld.so.preload,lib{,ibverbs-}ccshim.so,libfakerdma.so} \
    lib/pkgconfig/{ccshim,ccshim_feed,fakerdma}.pc share/bash-completion/completions/{ccbench,ccfabric,ccshimd} \
    share/bash-completion/completions/ccshim.bash share/zsh/site-functions/_ccshim \
    share/fish/vendor_completions.d/{ccbench,ccfabric,ccshim,ccshimd}.fish share/ccshim/bpftrace/{gated,rate,rtt-hist}.bt \
    share/ccshim/fabric/{sonic,ucloud}.models share/doc/ccshim/examples/aimd.c \
    share/doc/ccshim/deploy/{Containerfile,apptainer.def,cdi.yaml,enroot-hook.sh,kubernetes{,-pod}.yaml,kubernetes-tenants.jq,modulefile,slurm-tenant} \
    share/doc/ccshim/{agents,ci,fabric,metrics,operate,telemetry,tutorial}.md share/doc/ccshim/{dcqcn,hpcc}.png share/doc/ccshim/ccshim.conf.example \
    share/doc/ccshim/metrics/{ccshim.json,ccshim-alerts.yml,ccshim-metrics.service,ccshim-metrics.timer} \
    share/doc/ccshim/schemas/{agent,ccbench{,-matrix},ccfabric-{matrix,run,scenario},check,doctor,failures,info,plan,report,stat}.json
  (cd "$top/ci" && printf 'libexec/ccshim/%s\n' lab/{poll,seed}.so lab/* lab/kernel/*) | grep -v '/kernel$'
  find "$top/docs/man" -name '*.[1-8]' | { if has_slurm; then cat; else grep -v /spank_ccshim; fi; } |
    sed 's,.*/\(.*\)\.\([1-8]\)$,share/man/man\2/\1.\2,'
}

check_install() {
  local to=$builds/installed usr=$builds/installed/usr/local lib said
  rm -rf "$to"
  configured "$builds/gcc" --enable-werror
  make -s DESTDIR="$to" install
  find "$to" -type f ! -name '*.la' | sed "s,^$usr/,," | sort | diff <(installed_files | sort) -
  lib=$usr/lib/ccshim/libccshim.so
  if readelf -d "$lib" | grep SONAME; then return 1; fi
  readelf -d "${lib%/*}/libibverbs-ccshim.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | head -n 2 |
    diff - <(printf '%s\n' libccshim.so libibverbs.so.1)
  check_needed "$lib"
  # musl lacks the functions of _FORTIFY_SOURCE and __tls_get_addr() of glibc's linker.
  if nm -D "$lib" | grep -E '_chk@|__tls_get_addr'; then return 1; fi
  diff <(mapped_symbols | sort) <(exported_symbols "$lib")
  [[ $("$usr/bin/ccshim" -V) == *"$(sed -n 's/^AC_INIT(\[ccshim\], \[\([^]]*\)\].*/\1/p' \
    "$top/configure.ac")"* ]]
  CCSHIM_CONFIG='' CCSHIM_LIB=$lib "$usr/bin/ccshim" run --dry-run -a timely | grep -F "$lib"
  # It finds its parts by its own place.
  CCSHIM_CONFIG='' "$usr/bin/ccshim" run --dry-run -a timely | grep -F "$lib"
  "$usr/bin/ccshim" debug --help | grep -q '^usage: ccshim debug'
  "$usr/bin/ccshim" lab --help | grep -q '^usage: ccshim lab'
  [[ $("$usr/bin/ccshim-fake" --path) == "$usr/lib/ccshim/libfakerdma.so" ]]
  [[ $("$usr/bin/ccfabric" matrix --only none 2>&1) == *'no model has a name like'* ]]
  # Where they are not beside it, they are in the prefix.
  mkdir -p "$to/other/bin"
  cp "$usr/bin/ccshim" "$to/other/bin"
  "$to/other/bin/ccshim" info --versions | grep -F ' /usr/local/lib/ccshim/libccshim.so'
  # In a program without verbs it prints nothing.
  said=$(LD_PRELOAD=$lib true 2>&1)
  [[ -z $said ]]
}

# Programs and libraries of a second build, in a directory of another name and depth, are the same
# without debugging information, which has the directory's name, and its hash.
check_reproducible() {
  local file one=$builds/gcc two=$builds/again/in-another-directory
  local files=(.libs/lib{ccshim,ccshim_feed}.so tools/ccshim/ccshim tools/ccshimd/ccshimd)
  configured "$two" --enable-werror
  make -s -j"$jobs" libccshim.la libccshim_feed.la tools/ccshim/ccshim tools/ccshimd/ccshimd
  for file in "${files[@]}"; do
    strip -R .note.gnu.build-id -o "$two/one" "$one/$file"
    strip -R .note.gnu.build-id -o "$two/two" "$two/$file"
    cmp "$two/one" "$two/two"
    echo "ok $file is the same"
  done
}

check_abi() {
  have abidiff || skip "no abidiff"
  [[ $(uname -m) == x86_64 ]] || skip "what is kept is x86-64's"
  make -C "$builds/gcc" -s libccshim_feed.la libshim/examples/aimd.la
  top_builddir=$builds/gcc "$top/tests/abi"
}

# Jobs of the Slurm that is installed here, in namespaces of their own.
check_slurm() {
  has_slurm || skip "no slurm/spank.h"
  have bats || skip "no bats"
  export top_builddir=$builds/gcc
  cd "$builds/gcc"
  make -s libfakerdma.la
  "$src/ci/alone" $test_limit "$top/tests/slurm/cluster" bats --timing --tap "$top/tests/slurm/slurm.bats"
}

# -- the lab -------------------------------------------------------------------

check_kernel() {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  kernel
}

# check_suite FILE…: bats files, with the programs of the first build.
check_suite() {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  have bats || skip "no bats"
  [[ -e $top/$1 ]] || skip "not in this tree"
  export top_builddir=$builds/gcc top_srcdir=$top CCS_FULL=$full
  cd "$builds/gcc"
  bats --timing --tap "${@/#/$top/}"
}

# release DIR: the files of the release in DIR.
release() {
  make -C "$builds/gcc" -s dist
  rm -rf "$1"
  mkdir -p "$1"
  tar -xf "$builds"/gcc/ccshim-*.tar.xz --strip-components=1 -C "$1"
}

# The commands that the documents print, where they take no minutes; check_fresh runs all.
check_documents() {
  local work=$builds/documents
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  unshare --mount --pid --net --fork true || skip "namespaces are not permitted here"
  release "$work/tree"
  make -C "$builds/gcc" -s libfakerdma.la
  make -C "$builds/gcc" -s DESTDIR="$work/root" install >/dev/null
  "$work/tree/tests/docs/commands" --bind "$builds/gcc:$work/tree/out/mine" \
    --bind "$work/root/usr/local:/usr/local"
  rm -rf "$work"
}

# The verbs suite, also with the rdma-core of Debian 13 if that can be had, and the verdicts on failures.
check_verbs() {
  if have mmdebstrap && CCS_RDMA_CORE=$(base trixie "${trixie[@]}"); then
    export CCS_RDMA_CORE
  else
    unset CCS_RDMA_CORE
  fi
  check_suite tests/lab/suite.bats tests/lab/failing.bats
}

# Applications that work without the shim work with it; without a lab, on the fake device.
check_conformance() {
  local engine=uml
  [[ $EUID -eq 0 ]] || engine=fake
  export top_builddir=$builds/gcc
  make -C "$builds/gcc" -s libfakerdma.la
  "$top/tests/conformance" --engine "$engine"
}
