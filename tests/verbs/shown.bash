# SPDX-License-Identifier: BSD-2-Clause
# Loaded by tests of shown.c, which executes commands: descriptor 8 has them, 7 its answers.

# begin [COMMAND...]: start it, and wait until it is ready.
begin() {
	mkfifo in said
	"$@" "$top_builddir/tests/verbs/shown" < in > said 2> stderr &
	app=$!
	exec 8> in 7< said
	answer ready
}

answer() {
	local line
	read -r -t 3600 line <&7 && [ "$line" = "$1" ] || { echo "$line"; cat stderr; return 1; }
}

tell() {
	echo "$1" >&8
	answer 'done'
}

# polled COMMAND...: run it while the process posts and polls.
polled() {
	"$@" &
	while kill -0 $! 2> /dev/null; do tell 'write 1'; done
	wait $!
}

# Make $ccshim one that sees the processes of this test only: others run beside it, and root sees
# the statistics of all users, also of other mount namespaces if it may inspect their processes.
see_own_only() {
	[ "$EUID" -eq 0 ] && unshare -m setpriv --bounding-set -all true 2> /dev/null || return 0
	cat > alone <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount -t tmpfs none /run && exec setpriv --bounding-set -all "\$@"' sh \
			"$ccshim" "\$@"
	END
	chmod +x alone
	ccshim=$PWD/alone
}
