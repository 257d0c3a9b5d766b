#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Programs and libraries that share a process with the shim: each runs as without it, with the shim
# before and after it, by `ccshim run`, LD_PRELOAD and /etc/ld.so.preload.
# libibverbs.so.1 is the fake provider, found by LD_LIBRARY_PATH.

shim=$(realpath "$top_builddir/.libs/libccshim.so")
ccshim=$top_builddir/tools/ccshim/ccshim

# build NAME COMPILER OPTION...: the program of verbs, or none if that compiler cannot.
build() {
	command -v "$2" > /dev/null || return 0
	"${@:2}" -D_GNU_SOURCE -w -I "$top_srcdir/tests/verbs" "$top_srcdir/tests/verbs/reach_main.c" \
		-o "$dir/$1" -libverbs 2> "$dir/$1.log" || rm -f "$dir/$1"
}

setup_file() {
	local way
	export dir=$BATS_FILE_TMPDIR
	build plain gcc
	build asan gcc -fsanitize=address
	build asan-own gcc -fsanitize=address -DASAN_DEFAULTS
	build asan-static gcc -fsanitize=address -static-libasan
	build lsan gcc -fsanitize=leak
	build tsan gcc -fsanitize=thread
	build ubsan gcc -fsanitize=undefined
	build msan clang -fsanitize=memory
	build clang-asan clang -fsanitize=address
	build clang-asan-shared clang -fsanitize=address -shared-libasan \
		-Wl,-rpath,"$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")"
	for way in DLSYM LOADER CLOCK ENDING VERBS AUDIT; do
		gcc -w -shared -fPIC "-D$way" "$top_srcdir/tests/verbs/foreign.c" -o "$dir/$way.so"
	done
	printf '#include <stdio.h>\nint main(void) { puts("done"); return 3; }\n' > "$dir/musl.c"
	! command -v musl-gcc > /dev/null || musl-gcc "$dir/musl.c" -o "$dir/musl"
	cp -a /etc "$dir/etc" 2> "$dir/etc.log" || true
	ln -s "$(realpath "$top_builddir/.libs/libfakerdma.so")" "$dir/libibverbs.so.1"
}

setup() {
	for name in ${!CCSHIM_@}; do unset "$name"; done
	unset LD_PRELOAD
	! ldd "$shim" | grep -q 'lib[at]san' || skip "the shim has a sanitizer's runtime itself"
	export CCSHIM_CONFIG='' CCSHIM_CC=timely CCSHIM_SEGMENT=4k CCSHIM_LIB=$shim ASAN_OPTIONS=detect_leaks=0
	export TSAN_OPTIONS=report_bugs=1
	cd "$BATS_TEST_TMPDIR"
}

# preloaded WAY LIST COMMAND...
preloaded() {
	case $1 in
	run) LD_PRELOAD=$2 "$ccshim" run -- "${@:3}" ;;
	LD_PRELOAD) LD_PRELOAD=$2 "${@:3}" ;;
	ld.so.preload)
		echo "$2" > "$dir/etc/ld.so.preload"
		# shellcheck disable=SC2016 # the inner shell expands them
		unshare --mount --map-root-user sh -c 'mount --bind "$0" /etc && exec "$@"' "$dir/etc" "${@:3}" ;;
	esac
}

outcome() {
	"$@" < /dev/null 2>&1 || echo "status $?"
}

# has_namespaces: a file can be mounted over /etc.
has_namespaces() {
	unshare --mount --map-root-user mount --bind "$dir/etc" /etc 2> /dev/null
}

# same LIBRARY COMMAND...: LIBRARY may be ''. Every way and order gives the bare outcome, and the
# traffic is controlled; or it is not, and $refusal is said, by `ccshim run` or $by_library.
same() {
	local other=$1 way list bare shimmed lists
	shift
	bare=$(outcome env LD_PRELOAD="$other" "$@")
	lists=("$shim${other:+:$other}" "${other:+$other:}$shim")
	for way in run LD_PRELOAD ld.so.preload; do
		[ "$way" != ld.so.preload ] || has_namespaces || continue
		for list in "${lists[@]}"; do
			rm -f report
			shimmed=$(CCSHIM_REPORT=$PWD/report outcome preloaded "$way" "$list" "$@")
			if [ -n "$refusal" ]; then
				[[ $way != run && -z $by_library ]] || grep -qE "$refusal" <<< "$shimmed"
				shimmed=$(sed -E "/$refusal/d" <<< "$shimmed")
			fi
			[ "$shimmed" = "$bare" ] || {
				printf '%s %s\nbare: %s\nwith the shim: %s\n' "$way" "$list" "$bare" "$shimmed"
				return 1
			}
			[ -n "$refusal" ] || "$expected" || { echo "$way $list: not controlled"; return 1; }
		done
	done
}

controlled() {
	jq -e '[.qps[].bytes] | sort == [0, 98304]' report > /dev/null
}

# program NAME [LIBRARY]
program() {
	[ -x "$dir/$1" ] || skip "no compiler for $1"
	same "${2-}" env "${settings[@]}" LD_LIBRARY_PATH="$dir" "$dir/$1"
}

# library PATTERN: the plain program with a library of this system.
library() {
	local found
	found=$(compgen -G "$1" | head -n 1) || skip "no ${1##*/}"
	program plain "$found"
}

settings=() refusal='' by_library='' expected=controlled

@test "a program without any" { program plain; }
@test "gcc's AddressSanitizer" { program asan; }
# The program's own function precedes that of the library, so only ccshim run can start it.
@test "gcc's AddressSanitizer in a program that defines its default options" {
	local options
	[ -x "$dir/asan-own" ] || skip "no compiler"
	export LD_LIBRARY_PATH=$dir CCSHIM_REPORT=$PWD/report
	for options in '' detect_leaks=0 verify_asan_link_order=1; do
		rm -f report
		[ "$(ASAN_OPTIONS=$options outcome preloaded run '' "$dir/asan-own")" = done ]
		controlled
	done
	"$ccshim" run --dry-run "$dir/asan-own" | grep -x "export ASAN_OPTIONS='detect_leaks=0:verify_asan_link_order=0'"
}

@test "gcc's AddressSanitizer, linked statically" { program asan-static; }
@test "LeakSanitizer" { program lsan; }
@test "clang's AddressSanitizer" { program clang-asan; }
@test "clang's AddressSanitizer in a shared library" { program clang-asan-shared; }
@test "ThreadSanitizer" { program tsan; }
@test "UndefinedBehaviorSanitizer" { program ubsan; }

@test "MemorySanitizer is refused" {
	refusal='(will not be controlled:|uncontrolled, because) it has MemorySanitizer' by_library=y
	program msan
}

@test "jemalloc" { library '/usr/lib/*/libjemalloc.so.2'; }
@test "tcmalloc" { library '/usr/lib/*/libtcmalloc_minimal.so.4'; }
@test "mimalloc" { library '/usr/lib/*/libmimalloc.so.2*'; }

@test "libfaketime with a clock that stands still" {
	settings=(FAKETIME='2020-01-01 00:00:00')
	library '/usr/lib/*/faketime/libfaketime.so.1'
}

@test "libfaketime with a clock that runs faster" {
	settings=(FAKETIME='+10d x100')
	library '/usr/lib/*/faketime/libfaketime.so.1'
}

@test "a library whose clock stops, jumps or runs backwards" {
	for way in stops jumps backwards; do
		settings=(FOREIGN_CLOCK=$way)
		program plain "$dir/CLOCK.so"
	done
}

@test "a library that defines dlsym()" { program plain "$dir/DLSYM.so"; }

@test "a library that defines dlopen() and dl_iterate_phdr()" {
	program plain "$dir/LOADER.so"
	settings=(FOREIGN_VERBS=libibverbs.so.1)
	program plain "$dir/LOADER.so:$dir/VERBS.so"
}

@test "a library that fails before its constructor and after its destructor" {
	settings=(CCSHIM_LINGER=10s) # for the pacer thread's turn, on a busy machine
	program plain "$dir/ENDING.so"
}

@test "another shim of verbs, which finds libibverbs by RTLD_NEXT" {
	program plain "$dir/VERBS.so"
}

@test "another shim of verbs, which opens libibverbs" {
	for name in libibverbs.so.1 "$dir/libibverbs.so.1"; do
		settings=(FOREIGN_VERBS="$name")
		program plain "$dir/VERBS.so"
	done
}

# Its threads begin with the policy idle, and may have no other.
@test "the scheduling policy idle, without privileges" {
	local privileges=()
	[ "$(id -u)" != 0 ] || privileges=(setpriv --bounding-set=-sys_nice)
	same '' "${privileges[@]}" chrt --idle 0 env LD_LIBRARY_PATH="$dir" "$dir/plain"
}

@test "LD_AUDIT" {
	settings=(LD_AUDIT="$dir/AUDIT.so")
	program plain
}

@test "gdb" {
	command -v gdb > /dev/null || skip "no gdb"
	cat > commands <<-END
		set debuginfod enabled off
		set environment LD_LIBRARY_PATH $dir
		set print thread-events off
		set print inferior-events off
		run > out
		printf "%d\n", \$_exitcode
	END
	same '' sh -c "gdb -q -batch -nx -x commands '$dir/plain' 2>&1 | tail -n 1; cat out"
}

@test "valgrind" {
	command -v valgrind > /dev/null || skip "no valgrind"
	same '' env LD_LIBRARY_PATH="$dir" valgrind --tool=none -q "$dir/plain"
}

@test "rr" {
	command -v rr > /dev/null && rr record -n true 2> /dev/null || skip "no rr, or no counters for it"
	same '' env LD_LIBRARY_PATH="$dir" _RR_TRACE_DIR="$PWD" rr record -n "$dir/plain"
}

@test "a program of musl is refused, and runs" {
	refusal='will not be controlled: it is built for another C library'
	program musl
}

@test "a process of musl that another program starts" {
	refusal='will not be controlled: it is built for another C library'
	same '' sh -c ":; '$dir/musl'"
}
