# SPDX-License-Identifier: BSD-2-Clause
# Loaded by tests of shown.c, which executes commands: descriptor 8 has them, 7 its answers.

# Start it, and wait until it is ready.
begin() {
	mkfifo in said
	"$top_builddir/tests/verbs/shown" < in > said 2> stderr &
	app=$!
	exec 8> in 7< said
	answer ready
}

answer() {
	local line
	read -r -t 300 line <&7 && [ "$line" = "$1" ] || { echo "$line"; cat stderr; return 1; }
}

tell() {
	echo "$1" >&8
	answer 'done'
}
