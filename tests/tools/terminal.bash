# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# Programs that draw their progress on a terminal.

# interrupted TEXT PROGRAM [ARG...]: Ctrl-C on a terminal once TEXT is shown; what was drawn is in the
# file screen, in the current directory.
interrupted() {
	local text=$1
	shift
	command -v script > /dev/null || skip "no script"
	printf 'stty cols 80; TERM=xterm exec ' > on_terminal
	printf '%q ' "$@" >> on_terminal
	rm -f keys screen
	mkfifo keys
	# A background job ignores SIGINT unless its disposition is reset.
	env --default-signal=INT script -qefc 'sh on_terminal' /dev/null < keys > screen 2>&1 3>&- &
	exec 9> keys
	until grep -qF "$text" screen || ! kill -0 $!; do
		sleep 0.1
	done
	! kill -0 $! || printf '\003' >&9
	status=0
	# shellcheck disable=SC2034 # for the caller
	wait $! || status=$?
	exec 9>&-
}
