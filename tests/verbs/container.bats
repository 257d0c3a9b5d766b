#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Processes in other PID, mount and network namespaces, as those of containers, seen and set from
# outside, with shown.c.

bats_require_minimum_version 1.5.0

load shown.bash

setup() {
	: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
	export top_builddir
	[ "$EUID" -eq 0 ] && unshare -pmn --fork true 2> /dev/null || skip "not root, or no namespaces"
	[ -e /proc/self/ns/pid ] && unshare -pmn --fork --mount-proc sh -c 'test -r /proc/1/ns/mnt' ||
		skip "namespaces may not be inspected"
	for name in ${!CCSHIM_@}; do unset "$name"; done
	unset XDG_RUNTIME_DIR SLURM_JOB_ID
	ccshim=$top_builddir/tools/ccshim/ccshim
	cd "$BATS_TEST_TMPDIR"
	mkfifo in said
	export RIG_KEEP=1 CCSHIM_SEGMENT=4k XDG_STATE_HOME=$PWD/state
	export ASAN_OPTIONS=detect_leaks=0 # shown.c leaves on purpose what it made
	mkdir pages
	chmod 1777 pages
}

teardown() {
	exec 5>&- 8>&-
	[ -z "${first_holder:-}" ] || wait "$first_holder" || true
	[ -z "${holder:-}" ] || wait "$holder" || true
}

# contain [-U] [SETUP]: start shown.c in a container with a /run and /tmp of its own, after the
# commands SETUP in it. app is its process ID here.
contain() {
	local more=()
	[ "$1" != -U ] || { more=(--map-root-user); shift; }
	unshare -pmn "${more[@]}" --fork --mount-proc sh -c "mount -t tmpfs none /run
		mkdir inner; mount -t tmpfs none inner; ${1:-:}
		exec $top_builddir/tests/verbs/shown" < in > said 2> stderr 5>&- 7<&- 8>&- &
	holder=$!
	exec 8> in 7< said
	answer ready
	app=$(pgrep -P "$holder")
}

# The filter of jq holds for the process, as ccshim shows it to the caller.
seen() {
	$ccshim stat -p "$app" --json > now
	jq -e ".processes[0] | $1" now > /dev/null || { echo "not so: $1"; cat now; return 1; }
}

@test "a process in other PID, mount and network namespaces is shown by its ID on the host" {
	contain
	tell 'write 10'
	seen ".pid == $app and .inner_pid == 1 and .program == \"shown\" and .totals.bytes == 122880"
	$ccshim stat --json | jq -e "[.processes[] | select(.pid == $app)] | length == 1"
	$ccshim stat --prometheus | grep -F "ccshim_process_completed_bytes_total{program=\"shown\",pid=\"$app\"} 122880"
	$ccshim stat -p "$app" | grep "^$app shown: enforce"
	[ ! -s stderr ] || { cat stderr; false; }
}

@test "a file of another user does not replace the file of a container's process" {
	[ ! -e /tmp/ccshim-65534 ] || skip "/tmp/ccshim-65534 exists"
	contain
	tell 'write 10'
	mkdir -m 700 /tmp/ccshim-65534
	sed 's/shown/forge/g' "/proc/$app/root/run/ccshim-stats/1" > "/tmp/ccshim-65534/1"
	cp /tmp/ccshim-65534/1 "/tmp/ccshim-65534/$app"
	chmod 600 /tmp/ccshim-65534/*
	chown -R 65534 /tmp/ccshim-65534
	setpriv --reuid 65534 --clear-groups sleep 1000 3>&- 5>&- 7<&- 8>&- & # so that its files are read
	user=$!
	$ccshim stat -p "$app" --json > now 2> why || true
	$ccshim set --all --timeout 1ms max_rate=1g > all 2>> why || true
	cmp /tmp/ccshim-65534/1 "/tmp/ccshim-65534/$app" && untouched=y
	grep -qa max_rate=1g "/proc/$app/root/run/ccshim-stats/1" && sent=y
	kill "$user"
	rm -r /tmp/ccshim-65534
	jq -e '.processes[0].program == "shown"' now || { cat now why; false; }
	[ "${untouched:-}${sent:-}" = yy ]
	grep "$app shown: " all
	run ! grep forge all
}

@test "a file system that hangs in a container does not delay other statistics" {
	[ -w /dev/fuse ] || skip "no /dev/fuse"
	contain
	mkfifo mounted
	unshare -m "$top_builddir/tests/verbs/hanging" /tmp > mounted 3>&- 5>&- 7<&- 8>&- &
	hangs=$!
	read -r line < mounted || { skip "a FUSE file system cannot be mounted"; }
	namespace=$(stat -Lc %i "/proc/$hangs/ns/mnt")
	$ccshim stat --json > now 2> why
	$ccshim stat --json > again 2> why-again
	pgrep -x -r D,R,S "ccsm$namespace" | wc -l > children # not those that have ended and wait for init
	$ccshim set --all --timeout 1ms max_rate=1g > all 2> why-all || status=$?
	kill -9 $hangs
	wait $hangs || true
	for file in why why-again why-all; do
		grep "do not respond, and are left out: container with mount namespace $namespace" $file
	done
	[ "$(cat children)" -le 1 ] # a second one is not started
	for file in now again; do jq -e "[.processes[].pid] | index($app) != null" $file; done
	grep "$app shown: " all
	[ "$status" -eq 1 ]
}

@test "1024 directories are read of a container" {
	contain "seq -f /run/user/%.0f/ccshim 1000 | xargs mkdir -p" # others are in /tmp
	$ccshim stat -p "$app" > out 2> skipped
	grep "^$app shown" out
	run ! grep "of a user with too many" skipped
	seq -f "/proc/$app/root/run/user/%.0f/ccshim" 1001 1024 | xargs mkdir -p
	$ccshim stat -p "$app" > out 2> skipped
	grep "^$app shown" out
	grep "of a user with too many" skipped
}

@test "settings of a process in a container are changed from the host" {
	contain
	tell 'write 1'
	: > all
	polled $ccshim set -p "$app" --timeout 3600s max_rate=1g # it is applied when the process polls
	seen '.qps | any(.rate_bps == 1e9)'
	# Others may never answer, and this one may take any time.
	until grep -E "^ *$app shown: .*changed" all; do
		polled $ccshim set --all --timeout 1s max_rate=2g > all || true
		grep "$app shown: " all
	done
	seen '.qps | any(.rate_bps == 2e9)'
}

@test "a process of a user namespace is shown and set" {
	unshare -U --map-root-user true 2> /dev/null || skip "no user namespaces"
	contain -U
	tell 'write 1'
	seen ".pid == $app and .totals.wrs == 1"
	run -3 $ccshim set -p "$app" --timeout 100ms max_rate=1g # it is not polling
	[[ $output == *"has not answered within 100ms"* ]]
}

@test "containers share a directory of the host: each file is that of its process, whatever its ID" {
	export CCSHIM_STATS_DIR=$PWD/pages
	contain
	first=$app first_holder=$holder
	exec 5>&8 6<&7
	rm in said && rmdir inner && mkfifo in said
	contain
	[ "$first" != "$app" ]
	[ "$(ls "pages/ccshim-0" | wc -l)" -eq 2 ] # of two processes with the number 1
	[ -e pages/ccshim-0/1 ] && ls pages/ccshim-0/1.[0-9]*
	tell 'write 3'
	seen ".pid == $app and .inner_pid == 1 and .totals.wrs == 3"
	app=$first seen ".pid == $first and .inner_pid == 1 and .totals.wrs == 0"
	# Inside, only its own is shown, and it is said why.
	nsenter -t "$app" -p -m $ccshim stat --json > inside 2> why
	jq -e '[.processes[] | [.pid, .totals.wrs]] == [[1, 3]]' inside
	grep "1 statistics file is not shown: of processes in PID namespaces that are not visible here" why
	exec 5>&- 6<&-
	wait "$first_holder"
}

@test "a file that a container left in a shared directory is removed, and is nobody's" {
	export CCSHIM_STATS_DIR=$PWD/pages
	contain
	kill -9 "$app"
	wait "$holder" || true
	holder=
	[ -e pages/ccshim-0/1 ]
	[ "$(stat -Lc %i /proc/self/ns/pid)" = 4026531836 ] || skip "not in the first PID namespace"
	while [ -e pages/ccshim-0/1 ]; do
		run -0 $ccshim stat --json
		sleep 0.1
	done
}

@test "a file of another namespace is never taken for that of the process with its number" {
	export CCSHIM_STATS_DIR=$PWD/pages
	contain
	# The same file under the number of a process of the host.
	sleep 100 3>&- 8>&- &
	other=$!
	cp pages/ccshim-0/1 "pages/ccshim-0/$other"
	run -1 $ccshim stat -p "$other"
	[[ $output == *"process $other has no statistics"* ]]
	run -1 $ccshim set -p "$other" max_rate=1g
	[[ $output == *"cannot find statistics of process $other"* ]]
	kill "$other"
}

@test "a user's mount namespace does not make root remove files of another directory" {
	setpriv --reuid 65534 --clear-groups unshare -Urm true || skip "no user namespaces"
	export CCSHIM_STATS_DIR=$PWD/pages
	"$top_builddir/tests/verbs/shown" < in > said 2> stderr &
	app=$!
	exec 8> in 7< said
	answer ready
	kill -9 "$app"
	wait "$app" || true
	chmod 755 .
	mkdir -m 700 linked bound
	cp "pages/ccshim-0/$app" linked/999999999
	cp "pages/ccshim-0/$app" bound/999999999
	setpriv --reuid 65534 --clear-groups unshare -Urm bash -c "mount -t tmpfs none /run &&
		ln -s $PWD/linked /run/ccshim-stats && mkdir -p /run/user/1/ccshim &&
		mount --bind bound /run/user/1/ccshim && touch /run/ready && exec sleep 1000" 3>&- &
	user=$!
	until [ -e "/proc/$user/root/run/ready" ]; do kill -0 $user; sleep 0.05; done
	run $ccshim stat
	kill $user
	wait $user || true
	[ -e linked/999999999 ]
	[ -e bound/999999999 ]
}

@test "the ID of the container in control groups is shown" {
	id=$(printf '%064d' 7)
	group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$group" ] && mkdir "$group/docker-$id.scope" 2> /dev/null || skip "no control group can be made"
	contain "echo \$\$ > $group/docker-$id.scope/cgroup.procs; umount -R $group || true"
	seen ".container == \"$id\"" || { rmdir "$group/docker-$id.scope"; false; }
	$ccshim stat -p "$app" | grep -F ", container ${id:0:12}"
	exec 8>&-
	wait "$holder"
	holder=
	rmdir "$group/docker-$id.scope"
}

# root_of_host: the directory root becomes one for containers, which have the host's programs.
root_of_host() {
	mkdir -p root/{dev,etc,proc,run,sys,tmp,usr}
	for dir in bin lib lib32 lib64 libx32 sbin; do
		[ ! -e "/usr/$dir" ] || ln -s "usr/$dir" "root/$dir"
	done
	touch root/etc/os-release # systemd-nspawn requires it
}

# Start shown.c by the file start, and see, show and set it from here. app is its ID here.
started_is_seen_and_set() {
	bash start "$top_builddir/tests/verbs/shown" < in > said 2> stderr 5>&- 7<&- 8>&- &
	holder=$!
	exec 8> in 7< said
	answer ready
	app=$(for pid in $(pgrep -x shown); do
		! grep -qzx "CONTAINER_TEST=$PWD" "/proc/$pid/environ" || echo "$pid"
	done)
	tell 'write 10'
	seen ".pid == $app and .inner_pid == $1 and .program == \"shown\" and .totals.bytes == 122880"
	polled $ccshim set -p "$app" --timeout 3600s max_rate=1g
	seen '.qps | any(.rate_bps == 1e9)'
}

# crun refuses a host with control groups of both versions: the containers see version 2 only.
@test "a container of Podman is shown with its ID, and set from the host" {
	command -v podman > /dev/null && command -v crun > /dev/null || skip "no podman with crun"
	root_of_host
	cat > start <<-END
		exec unshare -m sh -ec 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
			exec podman --root "$PWD/store" --runroot "$PWD/runroot" --tmpdir "$PWD/libpod" --cgroup-manager cgroupfs --runtime crun \
				--log-level error run --rm -i --network none --cgroups disabled \
				--ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
				-v /usr:/usr:ro -v "$top_builddir:$top_builddir" -e RIG_KEEP=1 -e "top_builddir=$top_builddir" \
				-e "CONTAINER_TEST=$PWD" --rootfs "$PWD/root" "\$0"' "\$1"
	END
	bash start true < /dev/null > tried 2>&1 || skip "podman cannot run here: $(tail -n 1 tried)"
	started_is_seen_and_set 1
	seen '.container | test("^[0-9a-f]{64}$")'
}

@test "a container of systemd-nspawn is shown and set from the host" {
	command -v systemd-nspawn > /dev/null || skip "no systemd-nspawn"
	root_of_host
	cat > start <<-END
		exec systemd-nspawn -q --register=no --keep-unit --private-network --pipe --as-pid2 -D "$PWD/root" \
			--bind-ro=/usr "--bind=$top_builddir" -E RIG_KEEP=1 -E "top_builddir=$top_builddir" \
			-E "CONTAINER_TEST=$PWD" "\$1"
	END
	bash start true < /dev/null > tried 2>&1 || skip "systemd-nspawn cannot run here: $(tail -n 1 tried)"
	started_is_seen_and_set 2
}
