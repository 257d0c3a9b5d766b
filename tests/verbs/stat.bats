#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim stat and the statistics files that it reads, of shown.c, which executes commands.

bats_require_minimum_version 1.5.0

load shown.bash

setup() {
	: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
	export top_builddir
	for name in ${!CCSHIM_@}; do unset "$name"; done
	ccshim=$top_builddir/tools/ccshim/ccshim
	others=()
	cd "$BATS_TEST_TMPDIR"
	export XDG_RUNTIME_DIR=$PWD XDG_STATE_HOME=$PWD/state
	export TERM=xterm RIG_KEEP=1 CCSHIM_SEGMENT=4k CCSHIM_MAX_INFLIGHT=8k CCSHIM_BASE_RTT=20us
	export ASAN_OPTIONS=detect_leaks=0 # shown.c leaves on purpose what it made
}

# Wait until the program has ended.
teardown() {
	[ -z "${app:-}" ] || { exec 8>&-; kill "$app" 2>/dev/null; wait "$app"; } || true
	for pid in ${other:-} ${agent:-} "${others[@]}"; do kill "$pid" 2> /dev/null || true; done
}

finish() {
	exec 8>&-
	wait "$app"
	app=
}

# The process has no statistics file, or none that identifies it.
unseen() {
	run -1 $ccshim stat -p "$1"
}

# The filter of jq holds for the process.
seen() {
	$ccshim stat -p "$app" --json > now # others may run beside it
	jq -e ".processes[0] | $1" now > /dev/null || { echo "not so: $1"; cat now; return 1; }
}

quiet() {
	[ ! -s stderr ] || { cat stderr; return 1; }
}

@test "statistics of a process and its queue pairs are exact while it runs" {
	CCSHIM_CC=timely:variant=patched begin
	tell 'write 100'
	$ccshim stat --json | jq -e "[.processes[].pid] | index($app)"
	seen ".pid == $app and .program == \"shown\" and .mode == \"enforce\" and .uid == $(id -u)"
	seen '.cc == "timely:variant=patched" and .qps_controlled == 2 and .qps_unshown == 0'
	seen '.totals | .qps == 2 and .bytes == 100 * 12288 and .wrs == 100 and .segments == 300'
	seen '[.qps[] | select(.bytes == 1228800 and .wrs == 100 and .wrs_posted == 100)] | length == 1'
	seen '.qps | all(.ifname == "fake0" and .port == 1 and .cc == "timely" and .enforced and
		.variant == "patched" and .feedback == "none" and .line_rate_bps == 1e10 and
		.segment_bytes == 4096 and .max_inflight_bytes == 8192 and .base_rtt_us == 20 and
		.inflight_bytes == 0 and .wrs_queued == 0)'
	seen '.qps | map(.lqpn) == (map(.rqpn) | reverse)'
	seen '.qps[] | select(.bytes > 0) | .rtt_us | .count > 0 and .min <= .p50 and .p50 <= .p99 and
		.p99 <= .max'
	[ "$(stat -c %a:%a:%u ccshim | sed 's/:.*:/:/')" = "700:$(id -u)" ]
	[ "$(stat -c %a "ccshim/$app")" = 600 ]
	was=$app
	finish
	[ -z "$(ls ccshim)" ]
	quiet
	unseen "$was"
}

@test "sums include destroyed queue pairs" {
	begin
	tell 'create 300'
	seen '.qps_controlled == 302 and (.qps | length) == 302'
	tell 'write 10'
	tell 'destroy 300'
	seen '.qps_controlled == 2 and (.qps | length) == 2 and .totals.qps == 302'
	tell 'create 100'
	seen '(.qps | length) == 102 and .totals.qps == 402 and .totals.bytes == 122880'
	seen '[.qps[].rtt_us.count] | map(select(. > 0)) | length == 1' # no other's are in a used slot
}

@test "a queue pair is counted and has statistics once it is connected" {
	begin
	tell 'prepare 3'
	seen '.qps_controlled == 2 and (.qps | length) == 2'
	tell 'destroy 3'
	seen '.totals.qps == 2'
	tell 'create 1'
	seen '.qps_controlled == 3 and (.qps | length) == 3'
}

@test "a child keeps its parent's file, and exec() removes it" {
	begin
	tell 'write 5'
	tell fork
	seen '.totals.wrs == 5 and .uncontrolled["not-rc"] == 0'
	[ "$(ls ccshim)" = "$app" ]
	echo exec >&8
	while [ "$(cat "/proc/$app/comm")" != cat ]; do sleep 0.05; done
	[ "$(ls ccshim)" = "$app" ]
	unseen "$app"
	[ -z "$(ls ccshim)" ]
}

@test "files of crashed processes are removed by readers and by the next process" {
	begin
	kill -9 "$app"
	wait "$app" || true
	[ "$(ls ccshim)" = "$app" ]
	cp "ccshim/$app" old
	unseen "$app"
	[ -z "$(ls ccshim)" ]
	cp old "ccshim/$app"
	echo nothing > ccshim/99999999 # is not known to be anybody's: too young to be given up
	rm in said
	begin
	[ "$(ls ccshim | sort -n | tr '\n' ' ')" = "$app 99999999 " ]
}

@test "deltas, baselines and sorting" {
	begin
	tell 'write 10'
	$ccshim stat --reset base
	tell 'write 7'
	$ccshim stat -p "$app" --baseline base --json | jq -e '.interval_s > 0 and (.processes[0].totals |
		.wrs == 7 and .bytes == 7 * 12288) and ([.processes[0].qps[].wrs] | add) == 7'
	seen '.totals.wrs == 17' # to read is to change nothing
	$ccshim stat --reset mine
	tell 'create 1'
	tell 'destroy 1'
	$ccshim stat -p "$app" --baseline mine --json | jq -e '.processes[0].totals | .wrs == 0 and .qps == 3'
	$ccshim stat -p "$app" --display deltas -i 0.01 -n 3 --json > lines
	[ "$(wc -l < lines)" -eq 3 ]
	jq -se 'length == 3 and all(.interval_s >= 0.01 and .processes[0].totals.wrs == 0)' lines
	$ccshim stat -p "$app" --display totals -i 0.01 -n 2 --json | jq -se 'all(.processes[0].totals.wrs == 17)'
	$ccshim stat -p "$app" --sort bytes --json | jq -e '.processes[0].qps[0].bytes > 0'
	echo rubbish > mine
	run -1 $ccshim stat --baseline mine
	[[ $output == *"mine: not a baseline"* ]]
	run -1 $ccshim stat --baseline none
	[[ $output == *"No such file"*"--reset"* ]]
}

@test "a baseline is not written through links" {
	echo untouched > victim
	bash -c 'for name in new tmp $$; do ln -s "$PWD/victim" "base.$name"; done; exec "$0" stat --reset base' $ccshim
	[ -s base ]
	[ "$(cat victim)" = untouched ]
}

@test "a baseline that cannot be written is refused with the cause and the remedy" {
	touch file
	run -1 $ccshim stat --reset file/base
	[ "$output" = "ccshim stat: file/base: Not a directory; name another file with --reset" ]
	run -1 $ccshim stat --reset none/base
	[ "$output" = "ccshim stat: none/base: No such file or directory; name another file with --reset" ]
}

@test "a baseline does not replace a device or a pipe" {
	mkfifo special
	run -1 $ccshim stat --reset special
	[[ $output == *"special: not a regular file, which a baseline would replace: give the name of one" ]]
	[ -p special ]
}

@test "titles have attributes on a terminal only, and none with NO_COLOR" {
	command -v script > /dev/null || skip "script(1) is not installed"
	begin
	script -qec "$ccshim stat -p $app" typescript > /dev/null < /dev/null
	grep -q $'\x1b\\[7m .*LQPN.*\x1b\\[0m' typescript
	NO_COLOR=1 script -qec "$ccshim stat -p $app" typescript > /dev/null < /dev/null
	grep -q LQPN typescript
	run -1 grep $'\x1b' typescript
	$ccshim stat -p "$app" > said.txt
	grep -q LQPN said.txt
	run -1 grep $'\x1b' said.txt
	finish
}

# The lines of the example, or of what was printed, without what differs from run to run: process, and
# of a queue pair what follows the rate.
steady() {
	sed -E 's/\x1b\[[0-9]*[A-Za-z]//g; s/^[0-9]+ shown/PID shown/; s/^(  fake0.* 200 Mb\/s).*/\1/'
}

@test "the output is as in the manual's example" {
	command -v script > /dev/null || skip "script(1) is not installed"
	CCSHIM_CC=fixed:rate=200m begin
	tell 'write 10'
	script -qec "stty cols 90; $ccshim stat -p $app -i 0.1 -n 1; $ccshim stat -p $app" /dev/null \
		< /dev/null | tr -d '\r' | steady > printed
	sed -n '/^\$ ccshim stat -i 1 -n 1/,/^\.Ed/p' "$top_srcdir/docs/man/ccshim-stat.1" | grep -v '^[$.]' |
		steady > example
	[ "$(wc -l < example)" -eq 8 ]
	diff example printed
	finish
}

@test "-p selects a process, or explains why it has no statistics" {
	begin
	$ccshim stat -p "$app" | grep "^$app shown: enforce, cc=auto, 2 queue pairs"
	run -1 $ccshim stat -p $$
	[[ $output == "ccshim stat: process $$ has no statistics: "* ]]
	run -1 $ccshim stat -p 99999999
	[[ $output == "ccshim stat: there is no process 99999999" ]]
	$ccshim stat -p "$app" -i 0.05 > lines 7<&- 8>&- & # ends when the process does
	while [ ! -s lines ]; do sleep 0.05; done
	finish
	wait $!
}

@test "uncontrolled queue pairs are shown by reason, and none with stats=n or mode off" {
	"$top_builddir/tests/verbs/traffic" live
	CCSHIM_CC=none CCSHIM_LOG_LEVEL=error CCSHIM_MODE=observe begin
	seen '.mode == "observe" and (.qps | all(.enforced | not))'
	finish
	rm in said
	CCSHIM_STATS=n begin
	tell 'write 1'
	[ -z "$(ls ccshim)" ]
	finish
	rm in said
	CCSHIM_MODE=off begin
	[ -z "$(ls ccshim)" ]
	finish
	quiet
}

# The traffic is not affected, and one line explains why the statistics are missing.
@test "full, read-only or unsafe directories cost the statistics only, with one warning" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "requires root"
	cat > confined <<-'END'
		set -e
		mount -t tmpfs -o size=64k none "$XDG_RUNTIME_DIR"
		mount -t tmpfs none /run
		[ -z "$FILL" ] || head -c "$FILL" /dev/zero > "$XDG_RUNTIME_DIR/fill"
		[ -z "$RO" ] || mount -o remount,ro "$XDG_RUNTIME_DIR"
		umask 077
		exec "$@"
	END
	mkdir room
	export XDG_RUNTIME_DIR=$PWD/room FILL RO
	for FILL in 65536 61440 57344 ""; do
		begin unshare -m bash confined
		tell 'create 200'
		tell 'write 20'
		tell 'destroy 200'
		finish
		[ "$(grep -c 'warn: statistics file' stderr)" -eq 1 ] || { echo "$FILL"; cat stderr; false; }
		[ "$(wc -l < stderr)" -eq 1 ]
		! grep -q 'cannot access' stderr || grep -q 'Name another directory with stats_dir, or set stats=n' stderr
		rm in said
	done
	FILL= RO=y begin unshare -m bash confined # there is another place
	tell 'write 20'
	nsenter -t "$app" -m ls /run/ccshim-stats | grep -x "$app"
	[ "$(nsenter -t "$app" -m stat -c %a /run/ccshim-stats)" = 700 ]
	finish
	quiet
}

@test "queue pairs without a slot are counted" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null || skip "requires root"
	mkdir room
	XDG_RUNTIME_DIR=$PWD/room begin unshare -m bash -c 'mount -t tmpfs -o size=64k none room; exec "$@"' -
	tell 'create 200'
	tell 'write 3'
	XDG_RUNTIME_DIR=$PWD/room run nsenter -t "$app" -m "$ccshim" stat -p "$app" --json
	jq -e '.processes[0] | .qps_controlled == 202 and .qps_unshown + (.qps | length) == 202 and
		.qps_unshown > 0 and .totals.wrs == 3' <<< "$output"
	tell 'destroy 200'
	finish
}

@test "symbolic links and directories of other users are not used" {
	mkdir elsewhere
	ln -s elsewhere ccshim
	begin
	[ -z "$(ls elsewhere)" ]
	finish
	rm ccshim in said
	mkdir -m 755 ccshim
	begin
	[ -z "$(ls ccshim)" ]
	finish
	rmdir ccshim
	rm in said
	[ "$(id -u)" -eq 0 ] || skip "the rest requires root"
	mkdir -m 700 ccshim
	chown 65534 ccshim
	begin
	[ -z "$(ls ccshim)" ]
	finish
	rm -r ccshim in said
	chown 65534 .
	begin # in somebody's home, whose name was only inherited
	[ ! -e ccshim ]
}

@test "only root reads statistics of other users" {
	[ "$(id -u)" -eq 0 ] || skip "requires root"
	begin
	chmod 755 .
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$ccshim" stat
	[[ $output != *"shown: enforce"* ]]
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$ccshim" stat -p "$app"
	[[ $output == *"process $app belongs to another user; reading its statistics requires root"* ]]
	cp "ccshim/$app" forged
	cp forged ccshim/1 # says that it is another process's
	ln -s "$PWD/forged" ccshim/2
	head -c 100 forged > ccshim/3
	tr '\0' '\377' < forged > ccshim/4
	run $ccshim stat
	[ "$status" -eq 0 ]
	# Those of other programs are read, too: they may be skipped while they are made.
	skipped=$(sed -nE 's/.*\b([0-9]+) statistics files are skipped.*/\1/p' <<< "$output")
	[ "$skipped" -ge 2 ]
	[ "$(grep -c "^$app shown: enforce" <<< "$output")" -eq 1 ]
	[[ $output != *"no process"* ]]
}

@test "a stats_dir that cannot be used is reported by the process and by the commands" {
	touch file
	mkdir shared
	for dir in missing file shared; do
		why='Make it a directory with mode 1777, or unset stats_dir'
		case $dir in
		missing) why="stats_dir=$PWD/missing: No such file or directory; .*$why";;
		file) why="stats_dir=$PWD/file: Not a directory; .*$why";;
		shared) # the name of its own directory is taken
			touch "shared/ccshim-$(id -u)"
			why="stats_dir=$PWD/shared: its ccshim-UID is not a directory of that user only; .*$why";;
		esac
		export CCSHIM_STATS_DIR=$PWD/$dir
		begin
		tell 'write 1'
		for command in stat "top -n 1 -i 0.1" "set -p $app --show --timeout 1ms"; do
			$ccshim $command > out 2> err || [ $? -eq 3 ] # it is not polling
			[ "$(grep -c "^ccshim ${command%% *}: warning: stats_dir=$PWD/$dir: " err)" -eq 1 ]
		done
		$ccshim stat | grep "^$app shown: "
		finish
		rm in said
		[ "$(grep -c "^ccshim: warn: $why" stderr)" -eq 1 ] || { cat stderr; false; }
	done
	mkdir -m 1777 pages
	export CCSHIM_STATS_DIR=$PWD/pages
	begin
	tell 'write 1'
	[ -e "pages/ccshim-$(id -u)/$app" ]
	$ccshim stat -p "$app" > out 2>&1
	! grep warning out || false
	finish
	quiet
}

# forge NUMBER: that file in the directory of user 65534 has 65536 slots without memory.
forge() {
	perl -e '
		my ($number, $header) = @ARGV;
		open(my $f, ">", "pages/ccshim-65534/$number") or die "$!";
		# magic, version, size of header and slot, slots, process
		print $f pack("Q8", 0x5354415453534343, 1, 2, $header, 2560, 65536, $number, 1);
		truncate($f, $header + 65536 * 2560) or die "$!"' "$1" 8192
	chown 65534 "pages/ccshim-65534/$1"
}

# link_forged PID NUMBER... : a file with 65536 slots of that process under these names, of user 65534.
link_forged() {
	perl -e '
		my ($pid, $ns, @number) = @ARGV;
		open(my $f, ">", "pages/ccshim-65534/$number[0]") or die "$!";
		print $f pack("Q8", 0x5354415453534343, 1, 2, 8192, 2560, 65536, $pid, $ns);
		truncate($f, 8192 + 65536 * 2560) or die "$!";
		for (@number[1 .. $#number]) { link("pages/ccshim-65534/$number[0]", "pages/ccshim-65534/$_") or die "$!" }' \
		"$1" "$(stat -Lc %i /proc/self/ns/pid)" "${@:2}"
	chown -R 65534 pages/ccshim-65534
}

@test "of the other files of a user few are read" {
	[ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null || skip "not root"
	mkdir -m 1777 pages
	mkdir pages/ccshim-65534
	export CCSHIM_STATS_DIR=$PWD/pages
	setpriv --reuid 65534 --clear-groups sleep 1000 3>&- & # so that its files are read
	other=$!
	# Of a process that has ended: each that is read is removed.
	link_forged 999999000 {999990000..999994999}
	$ccshim stat
	left=$(find pages/ccshim-65534 -type f | wc -l)
	[ "$left" -lt 5000 ]
	[ "$left" -ge 904 ] || { echo "$left of 5000 are left"; false; }
}

# A file with 65536 slots is user 65534's, of a process that it has.
own_process() {
	setpriv --reuid 65534 --clear-groups sleep 1000 3>&- 7<&- 8>&- &
	others+=("$!")
	link_forged "$!" "$!"
}

@test "131072 slots of queue pairs are read of a user" {
	[ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null || skip "not root"
	mkdir -m 1777 pages
	mkdir pages/ccshim-65534
	export CCSHIM_STATS_DIR=$PWD/pages
	own_process
	own_process
	$ccshim stat > two 2> skipped
	for pid in "${others[@]}"; do grep "^$pid " two || { cat two; false; }; done
	run ! grep "of a user with too many" skipped
	own_process
	$ccshim stat > three 2> skipped
	for pid in "${others[@]}"; do grep "^$pid " three || { cat three; false; }; done
	grep "of a user with too many" skipped
}

@test "many directories and large files of a user neither delay nor hide the statistics of others" {
	[ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null || skip "not root"
	mkdir -m 1777 pages
	export CCSHIM_STATS_DIR=$PWD/pages
	seq -f 'pages/ccshim-%.0f' 1000000 1004200 | xargs mkdir
	chown 65533 pages/ccshim-*
	mkdir pages/ccshim-65534
	chown 65534 pages/ccshim-65534
	for ((i = 999999000; i < 999999006; i++)); do forge "$i"; done
	chmod 755 .
	begin setpriv --reuid 4243 --clear-groups || skip "that user cannot execute the program"
	tell 'write 10'
	# Without limits this would read 1 GB.
	$ccshim stat --json > now 2> skipped
	jq -e "[.processes[].pid] | index($app) != null" now
	grep "of a user with too many" skipped || { cat skipped; false; }
	[[ $(< skipped) =~ ([0-9]+)\ statistics\ files ]]
	[ "${BASH_REMATCH[1]}" -ge $((4201 - 64)) ]
}

@test "the user IDs that subuid gives to a user are one user" {
	[ "$(id -u)" -eq 0 ] && unshare -m true 2> /dev/null || skip "requires root"
	mkdir -m 1777 pages
	export CCSHIM_STATS_DIR=$PWD/pages
	seq -f 'pages/ccshim-%.0f' 700000 700099 | xargs mkdir
	for ((i = 700000; i < 700100; i++)); do chown "$i" "pages/ccshim-$i"; done
	echo 65533:700000:65536 > subuid
	unshare -m sh -c 'touch /etc/subuid && mount --bind subuid /etc/subuid && exec "$@"' sh "$ccshim" stat 2> why
	grep -E "statistics files are skipped: .*, or of a user with too many" why
	: > subuid
	unshare -m sh -c 'mount --bind subuid /etc/subuid && exec "$@"' sh "$ccshim" stat 2> why
	run ! grep "too many" why
}

# A second application, which creates many queue pairs. [COMMAND...]: by which it is started
begin_other() {
	mkfifo in2 said2
	"$@" "$top_builddir/tests/verbs/shown" < in2 > said2 2> stderr2 3>&- 7<&- 8>&- &
	other=$!
	exec 5> in2 6< said2
	local line
	read -r -t 3600 line <&6 && [ "$line" = ready ] || { cat stderr2; return 1; }
	echo 'create 50' >&5
	read -r -t 3600 line <&6 && [ "$line" = done ]
}

@test "metrics share their queue pairs among users" {
	[ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null || skip "not root"
	mkdir -m 1777 pages
	export CCSHIM_STATS_DIR=$PWD/pages
	chmod 755 .
	begin_other setpriv --reuid 65534 --clear-groups || skip "that user cannot execute the program"
	begin bash -c 'exec "$0" 5>&- 6<&-' # after the other, whose ID is lower
	tell 'create 10'
	$ccshim stat --prometheus --max-qps 30 > metrics 2> why || { cat why; false; }
	exec 5>&- 6<&-
	wait "$other"
	rmdir /tmp/ccshim-65534 2> /dev/null || true # container.bats needs the name
	[ "$(grep -c "^ccshim_qp_info{program=\"shown\",pid=\"$app\"" metrics)" -eq 12 ]
	[ "$(grep -c "^ccshim_qp_info{program=\"shown\",pid=\"$other\"" metrics)" -le 18 ]
}

@test "metrics have the queue pairs that have completed most bytes" {
	begin_other
	begin bash -c 'exec "$0" 5>&- 6<&-' # its ID is higher
	tell 'write 10'
	$ccshim stat --prometheus --max-qps 1 > metrics 2> why || { cat why; false; }
	exec 5>&- 6<&-
	wait "$other"
	grep "^ccshim_qp_info{program=\"shown\",pid=\"$app\"" metrics
	[ "$(grep -c '^ccshim_qp_info{' metrics)" -eq 1 ]
	grep '53 queue pairs are left out' why
}

@test "sums by process, peer, job and host count all queue pairs" {
	SLURM_JOB_ID=4711 begin
	tell 'write 10'
	tell 'create 5'
	for by in process peer job host; do
		$ccshim stat -p "$app" --json --by "$by" > sums
		jq -e '[.processes[].qps[] | .queue_pairs] | add == 7' sums
		jq -e '[.processes[].qps_controlled] | add == 7' sums
		jq -e '[.processes[].totals.qps] | add == 7' sums
		jq -e '[.processes[].qps[] | .bytes] | add == 122880' sums
		jq -e '[.processes[].qps[] | .rtt_us.count] | add > 0' sums
	done
	$ccshim stat -p "$app" --by process > table
	grep -E "^ +PID PROGRAM +JOB +QPS ALGORITHM" table
	grep -E "^ +$app shown +4711 +7 " table
	$ccshim stat -p "$app" --by job | grep -E '^ +shown +4711 +7 '
	[ "$($ccshim stat -p "$app" --summary | wc -l)" -eq 2 ]
	# Only the sender has data.
	$ccshim stat -p "$app" --json --busy | jq -e '[.processes[].qps[] | .bytes] == [122880]'
	$ccshim stat -p "$app" --busy --by process | grep -E "^ +$app shown +4711 +1 "
	tell 'write 0'
	[ "$($ccshim stat -p "$app" -i 0.01 -n 1 --busy --summary)" = "there are no such queue pairs" ]
	run -2 $ccshim stat --by qps
	[[ $output == *"--by: 'qps' is no kind of sum; did you mean 'qp'?"* ]]
}

@test "a table of sums has their names on any terminal" {
	command -v script > /dev/null || skip "script(1) is not installed"
	SLURM_JOB_ID=4711 begin
	tell 'write 10'
	for columns in 40 80 200; do
		for name in peer=10.250.0.1 job=4711 process=$app; do
			script -qec "stty cols $columns; $ccshim stat -p $app --by ${name%=*}" typescript > /dev/null < /dev/null
			grep -a " shown " typescript | grep -qw "${name#*=}" ||
				{ echo "$columns columns, by ${name%=*}:"; cat typescript; return 1; }
		done
	done
	finish
}

@test "sums by tenant have the names and weights of the agent" {
	printf '%s\n' '[tenant a]' 'match = app:shown' 'weight = 2.5' 'cap = 6m' 'guarantee = 5m' > conf
	"$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none --socket "$PWD/agent" --tenants conf \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.80 2> agent.err 3>&- 7<&- 8>&- &
	agent=$!
	until "$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" > status 2> /dev/null; do
		kill -0 "$agent" || { cat agent.err; return 1; }
	done
	export CCSHIM_AGENT=$PWD/agent
	CCSHIM_CC=rcp begin
	tell 'write 10'
	until jq -e ".clients | any(.pid == $app and .tenant == \"a\")" status > /dev/null; do
		"$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" > status
	done
	$ccshim stat -p "$app" --by tenant > table
	grep -E '^ +TENANT +WEIGHT +TERMS +QPS ' table
	grep -E '^ +a +2.5 +cap=6m guarantee=5m +2 ' table
	$ccshim stat -p "$app" --by tenant --json > json
	jq -e '.by == "tenant" and (.processes | map([.tenant, .weight, .qps[0].queue_pairs]) == [["a", 2.5, 2]])' json
	jq -e '.processes[0] | .cap_bps == 6e6 and .guarantee_bps == 5e6 and .class == "foreground"' json
	[ "$($ccshim info --tenant "$app")" = "tenant a, weight 2.5, cap=6m guarantee=5m, in force" ]
	$ccshim info --json --tenant "$app" > json
	jq -e '.tenant | .weight == 2.5 and .cap_bps == 6e6 and .guarantee_bps == 5e6 and .class == "foreground"' json
	if command -v script > /dev/null; then
		script -qefc "stty rows 24 cols 140; $ccshim top -n 1 --by tenant" table < /dev/null > /dev/null
		cat -v table
		grep -F ' weight=2.5 cap=6m guarantee=5m' table
	fi
	# A sum's line rate is its port's, not that of each queue pair.
	$ccshim stat -p "$app" --by tenant --display deltas --json > json
	jq -e '.processes[0].qps[0] | .line_rate_bps == 1e10 and .limit == "idle" and .share == 0' json
	$ccshim stat -p "$app" --by tenant --display deltas > table
	grep -E '^ +TENANT .* GOODPUT +SHARE +LIMIT ' table
	grep -E '^ +a .* 0 b/s +0.0 % +idle ' table
	$ccshim set tenant a cap=none guarantee=none class=background floor=3%
	$ccshim stat -p "$app" --by tenant | grep -E '^ +a +2.5 +background +2 '
	$ccshim top -i 0.05 --by tenant > table
	grep -E '^ +SHARE TENANT ' table
	grep -E '^ +0.0 % a +2 ' table
	kill "$agent"
	wait "$agent"
	agent=
	run -1 $ccshim stat -p "$app" --by tenant
	[[ $output == *"--by tenant: no reply from the agent at $PWD/agent"* ]]
}

# An agent of another user shows no terms, and lists 256 processes.
@test "sums by tenant say which terms and how many processes the agent does not show" {
	begin
	/usr/bin/python3 - "$PWD/agent" "$app" <<- 'END' 3>&- 7<&- 8>&- &
		import socket, struct, sys
		at = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		at.bind(sys.argv[1])
		at.listen()
		while True:
		    c = at.accept()[0]
		    c.recv(99)
		    c.send(struct.pack("IiII", 2, 0, 0, 1))
		    c.recv(99)
		    c.send(b'{"tenants": [], "clients": [{"pid": %s, "tenant": "a"}], "clients_omitted": 7}' % sys.argv[2].encode())
	END
	agent=$!
	until [ -S agent ]; do kill -0 "$agent"; done
	export CCSHIM_AGENT=$PWD/agent
	$ccshim stat -p "$app" --by tenant > table 2> err
	[ "$(cat err)" = "ccshim stat: --by tenant: the agent does not list 7 of its processes, which seem to have no tenant here" ]
	grep -E '^ +a +[?] +[?] +2 ' table
	$ccshim stat -p "$app" --by tenant --json 2> err | jq -e '.processes[0] | .tenant == "a" and
		([has("weight", "cap_bps", "guarantee_bps", "class")] | any | not)'
	kill "$agent"
	wait "$agent" || true
	agent=
}

@test "invalid options are refused" {
	for args in "-p x" "-p 0" "-i 0" "-i soon" "-n 0" "-d more" "--sort byte" "--max-qps -1" "more" \
		"--openmetrics --baseline" "--prometheus --display deltas" "--json --prometheus" "--prometheus --sort bytes" "--prometheus --by process" "--openmetrics --busy" "--prometheus --summary" "--openmetrics --by tenant" "--baseline --display deltas" "--no"; do
		run -2 $ccshim stat $args
	done
	run -2 $ccshim stat --sort byte
	[[ $output == *"there is no field 'byte'; did you mean 'bytes'?"* ]]
	run -2 $ccshim stat --sort speed
	[[ $output == *"there is no field 'speed'; give a number of --json, such as bytes or gated_us"* ]]
}

@test "metrics are valid for Prometheus" {
	begin
	tell 'write 10'
	tell 'create 5'
	$ccshim stat -p "$app" --prometheus > metrics
	[ "$(grep -c '^ccshim_qp_info{' metrics)" -eq 7 ]
	grep -P '^ccshim_process_completed_bytes_total\{program="shown",pid="\d+"\} 122880$' metrics
	grep -P '^ccshim_qp_rtt_seconds_bucket\{.*,le="\+Inf"\} [1-9]' metrics
	# A name has one type and one text, before its first sample.
	[ -z "$(grep '^# TYPE' metrics | sort | uniq -d)" ]
	$ccshim stat -p "$app" --prometheus --max-qps 3 > few 2> said-so
	[ "$(grep -c '^ccshim_qp_info{' few)" -eq 3 ]
	grep -P '^ccshim_process_qps_hidden\{.*\} 4$' few
	grep '4 queue pairs are left out' said-so
	[ "$(grep -c '^ccshim_process_completed_bytes' few)" -eq 1 ]
	command -v promtool || skip "no promtool"
	promtool check metrics < metrics
}

@test "job, task, rank and host of a process are shown, and labels of its metric" {
	SLURM_JOB_ID=$'47\n11' SLURM_PROCID=3 PMI_RANK=5 APPTAINER_NAME='a b' begin
	tell 'write 10'
	seen '.job == "47_11" and .task == 3 and .rank == 5 and .container == "a_b"'
	seen ".host == \"$(hostname -s)\""
	$ccshim stat -p "$app" | grep -E "^$app shown: .*, job 47_11, task 3, rank 5, container a_b"
	$ccshim stat -p "$app" --prometheus > metrics
	grep -E '^ccshim_process_info\{.*,job_id="47_11",task="3",rank="5",container="a_b"\} 1$' metrics
	[ "$(grep -c 'job_id=' metrics)" -eq 1 ]
}

@test "the peer of a queue pair is in the table, JSON, metrics, trace and report" {
	CCSHIM_REPORT=$PWD/report.json CCSHIM_TRACE=$PWD/trace.csv begin
	tell 'write 10'
	seen '.qps | all(.peer == "10.250.0.1")'
	$ccshim stat -p "$app" | awk 'NR == 2 { at = $3 } NR > 2 && $3 != "10.250.0.1" { bad = 1 }
		END { exit at != "PEER" || NR != 4 || bad }'
	[ "$($ccshim stat -p "$app" --prometheus | grep -c '^ccshim_qp_info{.*,peer="10.250.0.1",')" -eq 2 ]
	finish
	jq -e '.qps | length == 2 and all(.peer == "10.250.0.1")' report.json
	grep -Eq "^# QP [0-9]+ sends to 10.250.0.1 \(process $(jq .pid report.json)\)\$" trace.csv
}

@test "of a process in no job, no job is shown" {
	begin env -u SLURM_JOB_ID -u SLURM_PROCID -u PMI_RANK -u PMIX_RANK -u OMPI_COMM_WORLD_RANK \
		-u RANK -u PBS_JOBID -u JOB_ID
	seen '[has("job"), has("task"), has("rank")] == [false, false, false]'
	run ! grep -E 'job_id=|rank=' <($ccshim stat -p "$app" --prometheus)
}

@test "OpenMetrics has the same series and its end marker" {
	begin
	tell 'write 10'
	$ccshim stat -p "$app" --prometheus > metrics
	$ccshim stat -p "$app" --openmetrics > open
	[ "$(tail -n 1 open)" = "# EOF" ]
	diff <(grep -v '^#' metrics) <(grep -v '^#' open)
	[ "$(grep -c '^# TYPE' metrics)" -eq "$(grep -c '^# TYPE' open)" ]
	# The family of a counter has the name of its samples without _total.
	[ -z "$(grep -E '^# (TYPE|HELP) [^ ]*_total ' open)" ]
	for family in $(sed -n 's/^# TYPE \(.*\) counter$/\1/p' open); do
		grep -q "^${family}_total{" open || [ "$family" = ccshim_process_passes ]
	done
	/usr/bin/python3 -c 'import prometheus_client.openmetrics' || skip "no python3-prometheus-client"
	/usr/bin/python3 -c 'from prometheus_client.openmetrics.parser import \
		text_string_to_metric_families as parse; print(len(list(parse(open("open").read()))))'
}

@test "labels are UTF-8 for any program name" {
	begin bash -c 'exec -a "$(printf "caf\303\251\"\\\\\377\303")" "$0"'
	$ccshim stat -p "$app" --prometheus > metrics
	grep -F 'ccshim_process_info{program="café\"\\??"' metrics
	$ccshim stat -p "$app" --json | jq -e '.processes[0].program == "café\"\\\ufffd\ufffd"'
}

@test "a process with two files is shown once" {
	begin
	mkdir -m 700 "/tmp/ccshim-$(id -u)" 2> /dev/null || [ -O "/tmp/ccshim-$(id -u)" ]
	cp "ccshim/$app" "/tmp/ccshim-$(id -u)/$app"
	[ "$($ccshim stat -p "$app" --json 2> why | jq '.processes | length')" -eq 1 ]
	grep "two files claim to be the statistics of process $app: .*/ccshim/$app and /tmp/ccshim-$(id -u)/$app; remove" why
	run -1 "$ccshim" set -p "$app" max_rate=1g
	[[ $output == *"not sent: two files claim to be its statistics"* ]]
	run ! grep -a max_rate=1g "ccshim/$app" "/tmp/ccshim-$(id -u)/$app"
	rm "/tmp/ccshim-$(id -u)/$app"
	rmdir --ignore-fail-on-non-empty "/tmp/ccshim-$(id -u)"
}

@test "a directory that another user has made first denies nothing" {
	[ "$EUID" -eq 0 ] && setpriv --version || skip "not root"
	user=4242
	mkdir "/tmp/ccshim-$user" || skip "it exists"
	rm -rf "/tmp/ccshim-$user".*
	chmod 777 .
	begin setpriv --reuid=$user --clear-groups env -u XDG_RUNTIME_DIR ||
		{ rmdir "/tmp/ccshim-$user"; skip "that user cannot execute the program"; }
	tell 'write 10'
	as=(setpriv --reuid=$user --clear-groups env -u XDG_RUNTIME_DIR)
	all=$($ccshim stat -p "$app" --json || true)
	own=$("${as[@]}" "$ccshim" stat -p "$app" --json 2> /dev/null || true)
	touch "/tmp/ccshim-$user/$app"
	chmod 666 "/tmp/ccshim-$user/$app"
	run "${as[@]}" "$ccshim" set -p "$app" --show
	rm -rf "/tmp/ccshim-$user" "/tmp/ccshim-$user".*
	[[ $output == *"process $app has not answered"* ]] # shown.c does not poll
	jq -e '.processes | length == 1' <<< "$all"
	jq -e '.processes | length == 1' <<< "$own"
}

@test "a file of another user in the place of the caller's or the owner's denies no setting" {
	[ "$EUID" -eq 0 ] && setpriv --version || skip "not root"
	mkdir -m 1777 pages
	export CCSHIM_STATS_DIR=$PWD/pages
	chmod 755 .
	begin setpriv --reuid=4245 --clear-groups env -u CCSHIM_STATS_DIR || skip "that user cannot execute the program"
	tell 'write 10'
	mkdir pages/ccshim-0 pages/ccshim-65534
	file=$(basename /tmp/ccshim-4245/"$app"*)
	cp "/tmp/ccshim-4245/$file" pages/ccshim-65534/
	touch "pages/ccshim-0/$file"
	chown -R 65534 pages/ccshim-0 pages/ccshim-65534
	cp "pages/ccshim-65534/$file" forged
	setpriv --reuid 65534 --clear-groups sleep 1000 3>&- 7<&- 8>&- & # so that its files are read
	other=$!
	for request in max_rate=1g --show; do
		run -3 "$ccshim" set -p "$app" --timeout 1ms "$request"
		[[ $output == *"process $app has not answered"* ]] # it was sent, but shown.c does not poll
	done
	cmp forged "pages/ccshim-65534/$file"
	[ ! -s "pages/ccshim-0/$file" ]
}

@test "the dashboard and the alerts use existing metrics only" {
	begin
	$ccshim stat -p "$app" --prometheus | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' > names
	jq -r '.. | .expr? // empty' "$top_srcdir/tools/grafana/ccshim.json" > queries
	sed -n 's/^ *expr: //p' "$top_srcdir/tools/metrics/ccshim-alerts.yml" >> queries
	[ "$(wc -l < queries)" -ge 15 ]
	grep -oP '\bccshim_[a-z_]+' queries | sed 's/_seconds_\(bucket\|sum\|count\)$/_seconds/' |
		sort -u > asked
	grep -vxFf names asked && return 1
	[ -s asked ]
	# Most have the queue pairs that they will have when they are first read: that is no increase.
	run -1 grep -E '(increase|rate)\(ccshim_process_passes_total' queries
}
