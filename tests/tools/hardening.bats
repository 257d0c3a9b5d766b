#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What configure sets for all builds, as the programs and libraries have it.

load tools.bash

# The programs and libraries that are installed, as far as they are built.
objects() {
	find "$top_builddir"/.libs/lib{ccshim,ccshim_feed}.so "$top_builddir"/tools/ccshim/{,.libs/}ccshim{,-serve} \
		"$top_builddir"/tools/ccshimd/{,.libs/}ccshimd "$top_builddir"/bench/{ccbench,ccfabric}/{,.libs/}cc{bench,fabric} \
		-type f 2> /dev/null | while read -r file; do
		[ "$(head -c 4 "$file")" != $'\177ELF' ] || realpath "$file"
	done
}

@test "objects have immediate binding, read-only relocations and random addresses" {
	command -v readelf > /dev/null || skip "no readelf"
	[ "$(objects | wc -l)" -ge 4 ]
	for file in $(objects); do
		readelf -Wd "$file" | grep -qE 'BIND_NOW|FLAGS_1.* NOW' || { echo "$file: no BIND_NOW"; false; }
		readelf -Wl "$file" | grep -q GNU_RELRO || { echo "$file: no RELRO"; false; }
		readelf -Wl "$file" | grep -qE 'GNU_STACK.* RW ' || { echo "$file: its stack is executable"; false; }
		readelf -Wh "$file" | grep -qE 'Type: +DYN' || { echo "$file: no PIE"; false; }
	done
}

@test "objects check their stack, and with optimisation the bounds of C's functions" {
	command -v readelf > /dev/null || skip "no readelf"
	flags=$(sed -n 's/^CC\(S_CF\|_F\|F\)LAGS = //p' "$top_builddir/Makefile")
	[[ $flags != *-fsanitize* ]] || skip "a sanitizer checks these"
	for file in $(objects); do
		[[ $file != */libccshim_feed.so ]] || continue # it has no array
		# The preload has neither, for threads with little stack and programs of musl: see libshim/local.mk.
		[[ $file != */libccshim.so ]] || continue
		readelf -W --dyn-syms "$file" | grep -q __stack_chk_fail || { echo "$file: no stack protector"; false; }
		[[ $flags != *_FORTIFY_SOURCE* ]] || readelf -W --dyn-syms "$file" | grep -qE '__[a-z]+_chk@' ||
			{ echo "$file: no FORTIFY"; false; }
	done
	[[ " $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile") " != *" -O2 "* || $flags == *_FORTIFY_SOURCE* ||
		" $(sed -n 's/^CPPFLAGS = //p' "$top_builddir/Makefile") $(sed -n 's/^CFLAGS = //p' "$top_builddir/Makefile")" == *_FORTIFY_SOURCE* ]]
}
