# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of ccfabric share.

setup() {
	ccfabric=$(realpath "${top_builddir:-.}")/bench/fabric/ccfabric
	[ -x "$ccfabric" ] || skip "ccfabric is not built"
	cd "$BATS_TEST_TMPDIR" || return
}

# fabric OPTION...: run it, its JSON in out.json
fabric() {
	"$ccfabric" run --quiet --out_json out.json "$@" > out.txt || { cat out.txt; return 1; }
}

# value FILTER: of that JSON
value() {
	jq -r "$1" out.json
}
