# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of ccfabric share.

setup() {
	ccfabric=$(realpath "${top_builddir:-.}")/bench/ccfabric/ccfabric
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

# documented FILE DOCUMENT: each table's row is in the document, which was made by the same script. On
# other processors sums may be rounded differently.
documented() {
	[ "$(uname -m)" = x86_64 ] || return 0
	grep -q '^|' "$1"
	if grep '^|' "$1" | grep -vxF -f "$BATS_TEST_DIRNAME/../../docs/measured/$2"; then
		echo "docs/measured/$2 has no such rows: make it again"
		return 1
	fi
}
