#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim top on a terminal and without one, of shown.c, which executes commands.

bats_require_minimum_version 1.5.0
load shown.bash

setup() {
	: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
	export top_builddir
	for name in ${!CCSHIM_@}; do unset "$name"; done
	unset NO_COLOR COLUMNS LINES
	export TERM=xterm
	ccshim=$(realpath "$top_builddir")/tools/ccshim/ccshim
	cd "$BATS_TEST_TMPDIR"
	see_own_only
	export XDG_RUNTIME_DIR=$PWD
	export RIG_KEEP=1 CCSHIM_SEGMENT=4k CCSHIM_MAX_INFLIGHT=8k CCSHIM_BASE_RTT=20us CCSHIM_CC=timely
	export ASAN_OPTIONS=detect_leaks=0 # shown.c leaves on purpose what it made
}

teardown() {
	[ -z "${screen:-}" ] || { exec 9>&-; kill "$screen" 2>/dev/null; wait "$screen"; } || true
	[ -z "${app:-}" ] || { exec 8>&-; kill "$app" 2>/dev/null; wait "$app"; } || true
}

# open_screen ROWS COLUMNS OPTION...: top on a terminal of that size; what it writes is in typescript,
# its process is in pid.
open_screen() {
	command -v script > /dev/null || skip "script(1) is not installed"
	printf 'stty rows %s cols %s\nstty -a > before\n' "$1" "$2" > command
	shift 2
	{
		printf "sh -c 'echo \$\$ > pid; exec \"\$@\"' sh "
		printf '%q ' "$ccshim" top "$@"
		printf '\necho $? > status\nstty -a > after\n'
	} >> command
	rm -f keys typescript status pid # of the screen before
	mkfifo keys
	script -qefc 'sh command' typescript < keys > /dev/null 2>&1 7>&- 8>&- &
	screen=$!
	exec 9> keys
}

# The pages so far, one after the other, as lines without control sequences.
pages() {
	tr -d '\r' < typescript | sed '/^Script /d; s/\x1b\[H/\n/g; s/\x1b\[[?0-9;]*[A-Za-z]//g'
}

# Wait until the pages have a line that matches. After minutes the missing line is printed, and the
# wait goes on until the harness ends the test.
appears() {
	local tries=0 alive=yes
	until pages | grep -qE -- "$1"; do
		if [ ! "$alive" ] || [ $((++tries)) -eq 3000 ]; then
			{ echo "no line with $1 in:" && pages | tail -30; } | sed 's/^/# /' >&3
		fi
		[ "$alive" ]
		kill -0 "$screen" 2> /dev/null || alive=
		sleep 0.1
	done
}

press() {
	printf '%b' "$1" >&9
}

# The program has ended, with this status, and the terminal is as before.
ended() {
	wait "$screen"
	screen=
	exec 9>&-
	[ "$(cat status)" -eq "$1" ]
	diff before after
	[ "$(grep -ac $'\x1b\\[?1049h' typescript)" -eq "$(grep -ac $'\x1b\\[?1049l' typescript)" ]
}

@test "without a terminal one page is printed, with busy flows first" {
	begin
	$ccshim top -i 5 > page 7<&- 8>&- &
	reader=$!
	tell 'write 100'
	wait "$reader"
	[ "$(grep -c '^ccshim top ' page)" -eq 1 ]
	[ "$(sed -n 3p page | tr -s ' ')" = " PID PROGRAM PEER RATE GOODPUT RTT P99 GATED LIMIT" ]
	[ "$(grep -cE "^ *$app shown " page)" -eq 2 ]
	grep -E "^ *$app shown +10\.250\.0\.1 " page
	tail -1 page | grep -E ' idle$'
	[ -z "$(tr -d '\n -~' < page)" ]
	[ "$(awk '{ print length }' page | sort -n | tail -1)" -le 80 ]
}

@test "-n, --sort and --filter apply without a terminal, too" {
	begin
	$ccshim top -i 0.05 -n 3 --sort program --filter shown > pages
	[ "$(grep -c '^ccshim top ' pages)" -eq 3 ]
	[ "$(grep -c ', by program, filter shown$' pages)" -eq 3 ]
	$ccshim top -i 0.05 --filter no-such-program > page
	[ "$(tail -1 page)" = "no flow matches the filter" ]
	$ccshim top -i 0.05 --filter "$app" | grep -E "^ *$app shown "
}

@test "a full standard output ends it, not only after the last page" {
	for json in "" --json; do
		run -1 sh -c '"$@" > /dev/full' - $ccshim top $json -i 0.01 -n 1000000000
		[ "$output" = "ccshim: standard output: No space left on device" ]
	done
}

@test "a terminal of 24 by 80 is filled exactly, also with more flows than lines" {
	begin
	open_screen 24 80 -i 0.2
	appears "^ *$app shown "
	appears 'q quit  s sort  t sums  f filter  space pause  [?] help$'
	tell 'create 40'
	appears '[?] help  lines 1-20 of 42$'
	press q
	ended 0
	[ "$(pages | awk 'length > 80' | wc -l)" -eq 0 ]
	# A page is what follows the return of the cursor; it has 23 newlines, so that nothing scrolls.
	perl -0777 -ne '@p = split /\e\[H/; shift @p; $p[-1] =~ s/\e\[\?25h.*//s; print map { tr/\n// . "\n" } @p' \
		typescript | sort -u > newlines
	[ "$(cat newlines)" = 23 ]
}

@test "keys change the order, the filter and pause" {
	begin
	open_screen 24 80 -i 0.2
	appears 'goodput [^,]*, by gated$'
	press s
	appears ', by goodput$'
	press 'fno-such'
	appears '^filter \(program, peer or PID\): no-such_$'
	appears '^0 flows, .*, filter no-such$'
	press '\177\177\177\177\177\177\177shownq\n'
	appears '^0 flows, .*, filter shownq$'
	press 'f\177\n'
	appears '^2 flows, .*, by goodput, filter shown$'
	press 'f\033 ' # also as one part
	appears '^2 flows, .*, by goodput$'
	appears ' PAUSED$'
	appears 'space continue  [?] help$'
	press ' '
	press q
	ended 0
}

@test "arrows scroll, and the line of keys says which flows are shown" {
	begin
	tell 'create 40'
	open_screen 24 80 -i 0.2
	appears 'lines 1-20 of 42$'
	press '\033[B'
	appears 'lines 2-21 of 42$'
	press 'j'
	appears 'lines 3-22 of 42$'
	press '\033[6~'
	appears 'lines 23-42 of 42$'
	press '\033[6~\033[A'
	appears 'lines 22-41 of 42$'
	press '\033[H'
	pages | tail -1 > /dev/null
	press '\033[F'
	press '\033[5~'
	press '\033[A'
	appears 'lines 2-21 of 42$'
	press '?'
	appears '^t  *queue pairs, or sums by process, peer, job, tenant or host$'
	press q
	ended 0
}

@test "the page of a terminal with two lines does not scroll" {
	begin
	open_screen 2 80 -i 0.2
	appears '^2 flows, '
	press q
	ended 0
	perl -0777 -ne '@p = split /\e\[H/; shift @p; $p[-1] =~ s/\e\[\?25h.*//s; print map { tr/\n// . "\n" } @p' \
		typescript | sort -u > newlines
	[ "$(cat newlines)" = 1 ]
}

@test "flows are summed by process, peer, job, tenant and host" {
	begin
	tell 'create 5'
	open_screen 24 80 -i 0.2
	appears '^7 flows, '
	press t
	appears '^1 sum by process, '
	appears "^ *$app shown  *7 "
	press t
	appears '^[12] sums? by peer, '
	press t
	appears '^1 sum by job, '
	appears '^ *SHARE JOB '
	press t
	appears '^1 sum by tenant, '
	press t
	appears '^1 sum by host, '
	press t
	press q
	ended 0
	$ccshim top -i 0.05 --by process --json > json
	jq -e ".by == \"process\" and .processes[0].pid == $app and .processes[0].qps[0].queue_pairs == 7" json
	[ "$(wc -l < json)" -eq 1 ]
	run -2 $ccshim top --by proces
	[[ $output == *"--by: 'proces' is no kind of sum; did you mean 'process'?"* ]]
}

@test "the terminal is restored when top is interrupted or ended by a signal" {
	begin
	open_screen 24 80 -i 0.2
	appears 'by gated$'
	press '\003'
	ended 0
	open_screen 24 80 -i 0.2
	appears 'by gated$'
	kill -TERM "$(cat pid)"
	ended 0
}

@test "NO_COLOR and output without a terminal have no attributes" {
	begin
	open_screen 24 80 -i 0.1 -n 2
	wait "$screen"
	grep -q $'\x1b\\[7m' typescript
	exec 9>&-
	NO_COLOR=1 open_screen 24 80 -i 0.1 -n 2
	wait "$screen"
	screen=
	grep -q $'\x1b\\[H' typescript
	run -1 grep -q $'\x1b\\[[0-9]*m' typescript
}

@test "a terminal that obeys no control sequences gets one page, and no sequences" {
	command -v script > /dev/null || skip "script(1) is not installed"
	begin
	for term in TERM=dumb TERM= --unset=TERM; do
		rm -f typescript
		script -qec "env $term $ccshim top -i 0.05" typescript > /dev/null < /dev/null
		script -aqec "env $term $ccshim stat -i 0.05 -n 2" typescript > /dev/null < /dev/null
		[ "$(grep -ac '^2 flows, ' typescript)" = 1 ]
		[ "$(grep -ac "^$app shown: " typescript)" = 2 ]
		run -1 grep -a $'\x1b' typescript
	done
}

@test "invalid options are refused" {
	for args in "-i 0" "-i soon" "-n 0" "-n x" "--sort size" "more" "--no"; do
		run -2 $ccshim top $args
	done
	run -2 $ccshim top --sort gate
	[[ $output == *"there is no order 'gate'; did you mean 'gated'?"* ]]
	run -2 $ccshim top --sort bandwidth
	[[ $output == *"there is no order 'bandwidth'; give gated, goodput, rate, rtt or program"* ]]
	run -2 $ccshim top --filter "$(printf 'x%.0s' {1..80})"
}
