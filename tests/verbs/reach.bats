#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Traffic is controlled, or counted as uncontrolled, for every way to use libibverbs.
# libibverbs.so.1 is the fake provider here, found by LD_LIBRARY_PATH.

setup() {
	for name in ${!CCSHIM_@}; do unset "$name"; done
	report=$BATS_TEST_TMPDIR/report.json
	here=$BATS_TEST_TMPDIR
	built=$top_builddir/tests/verbs/.libs
	shim=$top_builddir/.libs/libccshim.so
	ln -s "$top_builddir/.libs/libfakerdma.so" "$here/libibverbs.so.1"
	ln -s libibverbs.so.1 "$here/libibverbs.so"
	ln -s "$top_builddir/tests/verbs/.libs/fakemlx5.so" "$here/libmlx5.so.1"
	export CCSHIM_CONFIG='' CCSHIM_CC=none CCSHIM_SEGMENT=4k CCSHIM_REPORT=$report
	export ASAN_OPTIONS=detect_leaks=0
	# A sanitizer's runtime has to come first.
	sanitizer=$(ldd "$top_builddir/tests/verbs/reach" | awk '/lib[at]san/ { print $3 " " }')
}

# With the shim preloaded, unless $preload says otherwise.
reach() {
	LD_LIBRARY_PATH=$here LD_PRELOAD="$sanitizer${preload-$shim}" \
		"$top_builddir/tests/verbs/reach" "$@" 2> "$here/errors"
}

deepbind_works() {
	[ -z "$sanitizer" ] || skip "sanitizers refuse RTLD_DEEPBIND"
}

check() {
	jq -e "$1" "$report" > /dev/null || { echo "not so: $1"; jq . "$report"; return 1; }
}

controlled() {
	cat "$here/errors"
	[ ! -s "$here/errors" ]
	check '[.qps[].bytes] | sort == [0, 8 * 3 * 4096]'
	check '[.qps[].segments] | sort == [0, 24]'
	check '.uncontrolled | add == 0'
}

@test "a program that looks up libibverbs with dlvsym, as NCCL does, is controlled" {
	reach nccl
	controlled
}

@test "every name of libibverbs is intercepted" {
	cp "$here/libibverbs.so.1" "$here/libibverbs.so.1.14.44.0"
	for name in libibverbs.so.1 libibverbs.so.1.14.44.0 "$here/libibverbs.so.1" "$here/libibverbs.so.1.14.44.0"; do
		rm -f "$report"
		reach nccl "$name"
		controlled
	done
}

@test "a module with a copy of libibverbs for itself is not used for others" {
	echo 'void *ibv_open_device(void *device) { return 0; }' > "$here/copy.c"
	gcc -w -shared -fPIC "$here/copy.c" -o "$here/copy.so"
	preload='' reach beside "$here/copy.so" libibverbs.so.1 stay
	reach beside "$here/copy.so" libibverbs.so.1 stay
	controlled
}

@test "unknown names are not found, and dlerror explains" {
	for name in libibverbs.so.9 /nowhere/libibverbs.so.1 libibverbs.so.1x; do
		! reach module local "$name"
		[[ $(< "$here/errors") == "$name: cannot open shared object file"* ]]
	done
	! reach module noload libnever.so
	said=$(< "$here/errors")
	! preload='' reach module noload libnever.so
	[ "$(< "$here/errors")" = "$said" ]
}

@test "a program that does not use verbs does not load libibverbs" {
	! reach module noload libibverbs.so.1
	! preload='' reach module noload libibverbs.so.1
	preload="$shim $top_builddir/.libs/libfakerdma.so" reach nccl
	controlled
}

@test "RTLD_NOLOAD returns a handle if libibverbs is loaded" {
	preload="$shim $here/libibverbs.so.1" reach module noload libibverbs.so.1
}

@test "a look-up in a handle of another library finds libibverbs's functions, counted and reported once" {
	reach nccl "$built/reach_linked.so" stay
	check '.qps == [] and .uncontrolled.bypassed == 1'
	[ "$(grep -c . "$here/errors")" -eq 1 ]
	grep -F "warn: fake0 was opened past the shim" "$here/errors"
	CCSHIM_MODE=off reach nccl "$built/reach_linked.so" stay
	[ ! -s "$here/errors" ]
}

@test "where libibverbs-ccshim.so is missing or cannot be loaded, libibverbs is opened, and it is reported" {
	cp "$shim" "$here/libccshim.so"
	for beside in none broken; do
		[ $beside = none ] || echo broken > "$here/libibverbs-ccshim.so"
		preload=$here/libccshim.so reach nccl libibverbs.so.1 stay
		grep -F 'traffic of functions from dlopen("libibverbs.so.1") is uncontrolled' "$here/errors"
	done
}

@test "other files with the name of libibverbs are opened unchanged" {
	mkdir "$here/other"
	cp "$built/reach_linked.so" "$here/other/libibverbs.so"
	reach module local "$here/other/libibverbs.so" reach_module
	controlled
}

@test "modules linked to libibverbs are controlled" {
	for flags in local global; do
		rm -f "$report"
		reach module $flags "$built/reach_linked.so" reach_module
		controlled
	done
}

@test "modules opened with RTLD_DEEPBIND are controlled" {
	deepbind_works
	for module in reach_linked reach_opening; do
		rm -f "$report"
		reach module local,deepbind "$built/$module.so" reach_module
		controlled
	done
	# By the name of a library, which the linker searches for.
	ln -s "$built/reach_linked.so" "$here/libreach.so"
	rm "$report"
	reach module local,deepbind libreach.so reach_module
	controlled
}

@test "deepbind=keep leaves such a module uncontrolled, counted and reported once" {
	deepbind_works
	for module in reach_linked reach_opening; do
		rm -f "$report"
		CCSHIM_DEEPBIND=keep reach module local,deepbind "$built/$module.so" reach_module
		check '.qps == [] and .uncontrolled.bypassed == 1'
		[ "$(grep -c . "$here/errors")" -eq 1 ]
		grep -F "warn: fake0 was opened past the shim" "$here/errors"
	done
}

@test "RTLD_DEEPBIND is kept for modules that do not use libibverbs" {
	deepbind_works
	CCSHIM_LOG_LEVEL=info reach module local,deepbind libm.so.6
	[ ! -s "$here/errors" ]
	CCSHIM_LOG_LEVEL=info reach module local,deepbind "$built/reach_linked.so"
	grep -F "reach_linked.so is opened without RTLD_DEEPBIND" "$here/errors"
}

@test "the real dlopen uses the RUNPATH of the calling module" {
	[ -z "$sanitizer" ] || skip "a sanitizer's own dlopen hides who calls"
	mkdir "$here/only-here"
	cp "$built/reach_opening.so" "$here/"
	cp "$built/fakemlx5.so" "$here/only-here/libonlyhere.so"
	preload='' reach module local "$here/reach_opening.so" reach_own
	reach module local "$here/reach_opening.so" reach_own
}

@test "a program that opens the library by its path is controlled" {
	for preload in '' "$top_builddir/.libs/libfakerdma.so" "$shim"; do
		rm -f "$report"
		reach nccl "$top_builddir/.libs/libibverbs-ccshim.so"
		controlled
	done
}

@test "mode off changes nothing" {
	export CCSHIM_MODE=off
	CCSHIM_LOG_LEVEL=info reach nccl libibverbs.so.1 stay
	[ ! -s "$here/errors" ]
	check '.qps == [] and (.uncontrolled | add == 0)'
}

@test "direct verbs are called unchanged, counted, and reported once" {
	reach module local "$built/reach_direct.so" reach_module
	check '.uncontrolled["direct-verbs"] == 5'
	check '.qps == []'
	[ "$(grep -c . "$here/errors")" -eq 1 ]
	grep -F "warn: mlx5dv_create_qp: WRs posted by direct verbs are uncontrolled" "$here/errors"
	preload='' reach module local "$built/reach_direct.so" reach_module
	CCSHIM_MODE=off reach module local "$built/reach_direct.so" reach_module
	[ ! -s "$here/errors" ]
}

@test "looking up direct verbs fails where there is no libmlx5" {
	reach visible mlx5dv_create_qp mlx5dv_init_obj mlx5dv_devx_obj_create ibv_open_device > "$here/out"
	[ "$(grep -c ' no$' "$here/out")" -eq 3 ]
	grep -x "ibv_open_device yes" "$here/out"
}
