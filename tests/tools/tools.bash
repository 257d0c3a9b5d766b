# SPDX-License-Identifier: BSD-2-Clause
# Loaded by the tools' bats files. make says where the trees are; by hand, run them in the build tree.
: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
ccshim=$top_builddir/tools/ccshim/ccshim
# `ccshim run` and `info` resolve links in the library's path, as where the build tree is one.
standin=$(realpath -m "$top_builddir")/tests/tools/.libs/fakeverbs.so

# No configuration but the test's own.
setup() {
	for name in ${!CCSHIM_@}; do unset "$name"; done
	unset LD_PRELOAD
	export CCSHIM_CONFIG= CCSHIM_LIB=$standin
	# The stand-in is preloaded before a sanitizer's runtime: that is meant.
	export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
	cd "$BATS_TEST_TMPDIR"
}

# run, with stdout in $output and stderr in $errors.
run2() {
	status=0
	output=$("$@" 2>"$BATS_TEST_TMPDIR/stderr") || status=$?
	errors=$(cat "$BATS_TEST_TMPDIR/stderr")
}

# Status 2, nothing on stdout, one line on stderr (and perhaps where help is) with all words.
refused() {
	run2 "$@"
	[ "$status" -eq 2 ] && [ -z "$output" ]
}

said() {
	[[ $errors == *"$1"* ]] || { echo "expected '$1' in: $errors"; return 1; }
}

printed() {
	[[ $output == *"$1"* ]] || { echo "expected '$1' in: $output"; return 1; }
}
