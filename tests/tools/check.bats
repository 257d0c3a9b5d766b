#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

# A host with two devices, in $root.
make_root() {
	local ib=sys/class/infiniband verbs=sys/class/infiniband_verbs
	root=$BATS_TEST_TMPDIR/root
	export CCSHIM_LIB=$top_builddir/.libs/libccshim.so
	rm -rf "$root"
	mkdir -p "$root"/$ib/{mlx5_0,rxe0}/ports/1 "$root/$ib/mlx5_0/ports/2" \
		"$root"/$verbs/uverbs{0,1} "$root/dev/infiniband" "$root/$ib/mlx5_0/device"
	cd "$root"
	ln -s ../../../bus/pci/drivers/mlx5_core $ib/mlx5_0/device/driver
	echo "1: CA" | tee $ib/{mlx5_0,rxe0}/node_type > node
	echo "1: DOWN" > $ib/mlx5_0/ports/1/state
	echo "4: ACTIVE" | tee $ib/{mlx5_0/ports/2,rxe0/ports/1}/state > node
	echo "100 Gb/sec (4X EDR)" > $ib/mlx5_0/ports/2/rate
	echo "10 Gb/sec (4X)" > $ib/rxe0/ports/1/rate
	echo InfiniBand > $ib/mlx5_0/ports/2/link_layer
	echo Ethernet > $ib/rxe0/ports/1/link_layer
	echo eth0 > $ib/rxe0/parent
	touch dev/infiniband/uverbs{0,1}
	cd "$BATS_TEST_TMPDIR"
}

# The exit status must be as expected.
checks() {
	local want=$1
	shift
	run2 $ccshim check --root "$root" "$@"
	[ "$status" -eq "$want" ] || { echo "status $status: $output"; return 1; }
	[ -z "$errors" ]
}

# ok, warn or fail; the check; and words of the line.
line() {
	grep -E "^$1 +$2 " <<< "$output" | grep -F -e "$3" || { echo "$output"; return 1; }
}

no_line() {
	! grep -E "^$1 +$2 " <<< "$output"
}

@test "a host without faults passes all checks" {
	make_root
	checks 0
	line ok library "$(realpath "$CCSHIM_LIB"), before "
	line ok device "mlx5_0, InfiniBand, driver mlx5_core, port 2 active, 100 Gb/sec (4X EDR)"
	line ok device "rxe0, RoCE, software, on eth0, port 1 active, 10 Gb/sec (4X)"
	line ok access "2 device files in $root/dev/infiniband"
	line ok config "mode=enforce, cc=auto"
	line ok agent "auto uses an agent if one runs"
	no_line '(warn|fail)' device
	no_line ok command
}

@test "usage" {
	refused $ccshim check --jsn
	said "unrecognized option"
	refused $ccshim check --root
	run2 $ccshim check -h
	[ "$status" -eq 0 ]
	printed "usage: ccshim check"
}

@test "the command is not run, and its options are not parsed" {
	make_root
	printf '#!/bin/sh\ntouch ran\n' > script
	chmod +x script
	checks 0 ./script --json
	checks 0 -- ./script -x
	[ ! -e ran ]
	line ok command "a script, run by /bin/sh"
}

# judged WORD PATTERN COMMAND...: check reports PATTERN with the result WORD, and run warns of it, unless it
# is ok.
judged() {
	local word=$1 pattern=$2
	shift 2
	run2 $ccshim check --root "$root" "$@"
	line "$word" command "$pattern"
	run2 $ccshim run --dry-run "$@"
	if [ "$word" = ok ]; then
		[ -z "$errors" ] || { echo "$*: $errors"; return 1; }
	else
		said "${pattern#*: }"
	fi
}

@test "programs that start others are followed, and run agrees with check" {
	make_root
	mkdir -p bin
	for name in chrt faketime flock gdb ip perf prlimit rr setarch taskset valgrind; do
		ln -sf /bin/true "bin/$name"
	done
	PATH=$PWD/bin:$PATH
	while read -r command; do
		# shellcheck disable=SC2086 # words
		judged ok "/bin/ls, dynamically linked, started by" $command
	done <<-END
		prlimit --memlock=unlimited /bin/ls
		ip netns exec true /bin/ls
		ip vrf exec true /bin/ls
		perf stat -e true /bin/ls
		gdb -q --args /bin/ls
		faketime -f true /bin/ls
		taskset -c true /bin/ls
		chrt -f true /bin/ls
		flock true /bin/ls
		valgrind --tool=none /bin/ls
		rr record /bin/ls
		setarch -R /bin/ls
		env -u HOME A=1 /bin/ls
		env LD_PRELOAD=/x/libccshim.so /bin/ls
		$(readelf -l /bin/ls | sed -n 's/.*interpreter: \(.*\)]/\1/p') --preload /bin/true /bin/ls
	END
	judged ok "bin/ip, dynamically linked" ip link
}

@test "env that removes LD_PRELOAD fails, and run agrees" {
	make_root
	for options in -i - --ignore-environment '-u LD_PRELOAD' --unset=LD_PRELOAD -uLD_PRELOAD -vi LD_PRELOAD=x; do
		# shellcheck disable=SC2086 # words
		judged fail "/bin/ls: env removes LD_PRELOAD" env $options /bin/ls
	done
	judged fail "/bin/ls: env removes LD_PRELOAD" nice -n 5 env -i timeout 5 /bin/ls
}

@test "programs that start others elsewhere are not judged, and run agrees" {
	make_root
	mkdir -p bin
	for name in ssh podman docker nsenter chroot sudo apptainer; do ln -sf /bin/true "bin/$name"; done
	PATH=$PWD/bin:$PATH
	for name in ssh podman docker nsenter chroot sudo apptainer; do
		judged warn "cannot tell: $name starts programs " $name x /bin/ls
	done
	no_line warn verbs
}

# A program that uses verbs, and writes whether the library is loaded to the file `loaded`.
make_app() {
	command -v cc > /dev/null || skip "no compiler"
	cat > app.c <<-END
		#include <stdio.h>
		#include <string.h>
		int ibv_fork_init(void);
		int main(int argc, char **argv)
		{
			char line[4096];
			const char *loaded = "no";
			FILE *maps = fopen("/proc/self/maps", "r"), *file = fopen("$PWD/loaded", "w");

			while (fgets(line, sizeof(line), maps))
				if (strstr(line, "$(basename "$CCSHIM_LIB")"))
					loaded = "yes";
			fputs(loaded, file);
			return argc > 100 ? ibv_fork_init() : 0;
		}
	END
	cc app.c -o app -libverbs
	printf '#!/bin/sh\nexec "$@"\n' > through
	printf '#!/usr/bin/env -S nice -n 1 %s\n' "$PWD/app" > splits
	printf '#!/usr/bin/env -S -i %s\n' "$PWD/app" > clears
	chmod +x through splits clears
}

# truthful WORD COMMAND: check has that result, run warns of all but ok, and the program that starts in the
# end has the library if the result is ok, and not if it is fail. What does not start without ccshim is not
# started with it.
truthful() {
	local word=$1 loaded=none
	run2 eval "$ccshim check --root '$root' $2"
	grep -E "^$word +command +(a script, run by )?(\./app|$PWD/app)" <<< "$output" || { echo "$2: $output"; return 1; }
	run2 eval "$ccshim run --dry-run $2"
	if [ "$word" = ok ]; then
		[ -z "$errors" ] || { echo "$2: $errors"; return 1; }
	else
		[[ $errors == *warning* ]] || { echo "$2: no warning"; return 1; }
	fi
	! ldd "$CCSHIM_LIB" | grep -q 'lib[at]san' || return 0 # gdb and others do not start with it
	rm -f loaded
	run2 eval "$2" < /dev/null
	[ -e loaded ] || { echo "# not started here: $2: $errors"; return 0; }
	rm loaded
	run2 eval "$ccshim run -q $2" < /dev/null
	[ ! -e loaded ] || loaded=$(cat loaded)
	[[ $word:$loaded =~ ^(ok:yes|fail:no|warn:.*)$ ]] || { echo "$2: $word, $loaded: $errors"; return 1; }
}

@test "check tells the truth about what starts a program, and run says the same" {
	make_root
	make_app
	while read -r word program command; do
		[ -z "$word" ] || ! command -v "$program" > /dev/null || truthful "$word" "$program $command"
	done <<-'END'
		ok env -S "A=1 ./app"
		ok env -vS "nice -n 1" ./app
		ok env --split-string="nice -n 1 ./app"
		ok env --unset HOME ./app
		ok env -i LD_PRELOAD="$CCSHIM_LIB" LD_LIBRARY_PATH=/ccshim ./app
		fail env -S "-i ./app"
		fail env -S "-u LD_PRELOAD" ./app
		fail env --unset LD_PRELOAD ./app
		fail env --unse=LD_PRELOAD ./app
		fail env --ignore-env ./app
		fail env LD_PRELOAD= ./app
		ok env LD_PRELOAD+=x ./app
		fail setpriv --reset-env ./app
		fail setpriv --reset-e ./app
		warn unshare -R / $PWD/app
		warn unshare --root=/ $PWD/app
		ok unshare --mount ./app
		ok setpriv --no-new-privs ./app
		ok sh -c "exec ./app"
		ok sh -eu -c "echo; nice ./app x"
		ok sh -c 'ulimit -c 0; exec "$@"' sh ./app
		ok bash -eo pipefail -c ./app
		ok bash --rcfile /dev/null -c ./app
		ok bash ./through ./app
		fail sh -c "if true; then env -u LD_PRELOAD ./app; fi"
		warn sh -c "unset LD_PRELOAD; ./app"
		warn sh -c "LD_PRELOAD= ./app"
		warn bash -c "exec -c ./app"
		ok ./through ./app
		ok ./through nice ./app
		fail ./through env -i ./app
		ok ./splits x
		fail ./clears x
		ok xargs -n 1 ./app
		fail find . -name app.c -exec env -i ./app ";"
		ok find . -name app.c -exec ./app ";"
		ok script -qc "./app x" /dev/null
		fail script -qc "env -i ./app" /dev/null
		ok flock locked -c "./app; true"
		ok choom -n 0 ./app
		ok linux64 ./app
		ok stdbuf --output=L ./app
		ok timeout -k 1 -s TERM 100 ./app
		ok setsid --wait ./app
		ok start-stop-daemon --start --exec $PWD/app
		ok dbus-run-session -- ./app
		ok capsh -- -c ./app
		ok gdb -batch -ex run ./app
		warn gdb -batch -ex "set exec-wrapper env -u LD_PRELOAD" -ex run --args ./app
		warn strace -E LD_PRELOAD -o /dev/null ./app
		ok strace -f -o /dev/null ./app
		ok perf stat --event task-clock -o /dev/null ./app
		warn memusage ./app
		warn chroot / $PWD/app
		ok mpirun --allow-run-as-root --oversubscribe -np 1 -x LD_PRELOAD ./app
		warn mpirun --allow-run-as-root --oversubscribe -np 1 -x LD_PRELOAD= ./app
	END
	truthful "$([ "$(id -u)" = 0 ] && echo warn || echo fail)" "su -c ./app" # it is setuid
	for name in srun bwrap gosu sbatch; do ln -sf "$(type -P true)" "$name"; done
	PATH=$PWD:$PATH
	judged fail "./app: srun removes LD_PRELOAD" srun -n 1 --export=NONE ./app
	judged ok "./app, dynamically linked, started by srun" srun --export=ALL,A=1 ./app
	for name in bwrap gosu sbatch; do
		judged warn "cannot tell: $name starts programs " $name x ./app
	done
}

@test "ccshim run after a program that removes LD_PRELOAD controls the program" {
	make_root
	make_app
	truthful ok "env -i CCSHIM_LIB=$CCSHIM_LIB $ccshim run ./app"
	truthful ok "sh -c 'unset LD_PRELOAD; exec $ccshim run -- ./app'"
	truthful warn "sh -c 'unset LD_PRELOAD; $ccshim stat; ./app'"
}

@test "a program that gains privileges and starts another removes LD_PRELOAD" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	make_root
	make_app
	cp "$(type -P nice)" nice
	chown nobody nice
	chmod u+s nice
	judged fail "./app: nice gains privileges, which removes LD_PRELOAD" ./nice ./app
}

@test "programs that do not start others are judged themselves" {
	make_root
	make_app
	judged ok "./app, dynamically linked" ./app ./through env -i ./app
	no_line '.*started by'
	judged ok "/true, dynamically linked" true
	judged ok "a script, run by " ./through -x
	yes ./app | head -n 3000 > many
	mapfile -t many < many
	judged ok "./app, dynamically linked, started by through" ./through "${many[@]}"
}

@test "a program of musl, or with MemorySanitizer, fails, and run agrees" {
	make_root
	echo 'int main(void) { return 0; }' > main.c
	if command -v musl-gcc > /dev/null; then
		musl-gcc main.c -o musl
		judged fail "./musl: it is built for another C library than glibc" ./musl
		no_line warn verbs
	fi
	printf 'void __msan_init(void) {}\n' >> main.c
	gcc main.c -o msan
	judged fail "./msan: it has MemorySanitizer" ./msan
}

@test "run warns of a copy of libibverbs as check does" {
	make_root
	printf 'const char s[] = "libibverbs: Warning"; int main(void) { return s[0] == 0; }\n' > main.c
	gcc main.c -o copy
	checks 1 ./copy
	line fail verbs "copy contains a copy of libibverbs"
	run2 $ccshim run ./copy
	said "warning: ./copy will not be controlled: it contains a copy of libibverbs"
	for options in -q --adapt --dry-run; do
		run2 $ccshim run $options nice ./copy
		said "warning: ./copy will not be controlled: it contains a copy of libibverbs"
	done
	printf 'const char *s = "libibverbs: Warning"; int f(void) { return !s; }\n' > f.c
	gcc -shared -fPIC f.c -o libf.so
	printf 'int f(void); int main(void) { return f(); }\n' > main.c
	gcc main.c -o linked -L. -lf -Wl,-rpath,"$PWD"
	checks 1 ./linked
	line fail verbs "libf.so contains a copy of libibverbs"
	run2 $ccshim run ./linked
	said "warning: ./linked will not be controlled: libf.so contains a copy of libibverbs"
}

@test "devices without queue pairs of type RC are not usable" {
	make_root
	for type in "5: usNIC" "6: usNIC UDP" "7: unspecified"; do
		echo "$type" | tee "$root"/sys/class/infiniband/{mlx5_0,rxe0}/node_type > node
		checks 1
		line warn device "it has no queue pairs of type RC"
		line fail device "no device is usable"
	done
}

@test "options of ccshim run are those of the configuration that is checked" {
	make_root
	checks 0 -a copa -m observe -o segment=64k true
	line ok config "mode=observe, cc=copa"
	refused $ccshim check -a cpoa true
	said "ccshim check: cc: there is no algorithm 'cpoa'; did you mean 'copa'?"
	refused $ccshim check -o segment true
	said "ccshim check: -o segment: expected NAME=VALUE"
}

@test "the last line is the verdict" {
	make_root
	checks 0 $ccshim
	[ "${output##*$'\n'}" = "ok: $ccshim can be controlled here" ]
	checks 0 true
	[ "${output##*$'\n'}" = "warn: true can be controlled here, but for the warnings" ]
	root=$BATS_TEST_TMPDIR/none
	checks 1
	[ "${output##*$'\n'}" = "fail: a command cannot be controlled here: see what failed" ]
}

@test "JSON has the same checks" {
	make_root
	rm "$root/dev/infiniband/uverbs1"
	checks 1 --json true
	jq -e '.status == "fail" and (.command == "true")' <<< "$output"
	jq -e '.checks | map(select(.status == "fail")) | length == 1 and
		.[0].check == "access" and (.[0].remedy | contains("container"))' <<< "$output"
	jq -e 'all(.checks[]; (.status == "ok") == (.remedy == null))' <<< "$output"
}

@test "missing, inactive and iWARP devices are reported" {
	make_root
	root=$BATS_TEST_TMPDIR/none
	checks 1
	line fail device "there is no RDMA device; load the card's driver"
	no_line '.*' access
	make_root
	echo "1: DOWN" | tee "$root"/sys/class/infiniband/*/ports/*/state > node
	checks 1
	line warn device "rxe0, RoCE, software, on eth0, port 1 down"
	line fail device "no device is usable"
	make_root
	echo "4: RNIC" > "$root/sys/class/infiniband/rxe0/node_type"
	checks 0
	line warn device "rxe0, iWARP"
	make_root
	mkdir -p "$root/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs" "$root/sys/class/net/eth0"
	echo eth0 > "$root/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0"
	echo 10000 > "$root/sys/class/net/eth0/speed"
	checks 0
	line ok device "rxe0, RoCE"
	echo -1 > "$root/sys/class/net/eth0/speed"
	checks 0
	line warn device "reports no speed, 10 Gb/s is assumed; set line_rate"
	rm -r "$root"/sys/class/infiniband/rxe0/*
	checks 0
	line warn device "rxe0, InfiniBand, software, port 1 unknown, rate unknown"
}

@test "unusable device files are reported" {
	make_root
	rm -r "$root/sys/class/infiniband_verbs"
	checks 1
	line fail access "modprobe ib_uverbs"
	[ "$(id -u)" != 0 ] || skip "root may read all"
	make_root
	chmod 0 "$root/dev/infiniband/uverbs0"
	checks 1
	line fail access "no permission to read and write"
}

@test "a low limit on locked memory is reported" {
	make_root
	local drop=()
	[ "$(id -u)" != 0 ] || drop=(setpriv --bounding-set=-ipc_lock)
	"${drop[@]}" true || skip "capabilities cannot be dropped"
	ulimit -l 64
	run2 "${drop[@]}" $ccshim check --root "$root"
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	line warn memlock "64 KB of memory may be locked; ulimit -l unlimited"
}

@test "a library that cannot be loaded is reported" {
	make_root
	echo garbage > x.so
	CCSHIM_LIB=$PWD/x.so checks 1
	line fail library "x.so cannot be loaded"
	CCSHIM_LIB=/nowhere/x.so checks 1
	line fail library "/nowhere/x.so cannot be read"
}

@test "the configuration that applies to the command is checked" {
	make_root
	CCSHIM_MAX_RAT=1g checks 1
	line fail config "no option CCSHIM_MAX_RAT; did you mean CCSHIM_MAX_RATE?"
	CCSHIM_CC=timly checks 1
	line fail config "no algorithm 'timly'"
	CCSHIM_MODE=off checks 0
	line warn config "mode=off: no traffic is controlled"
	printf '[app "true"]\nmode = of\n' > x.conf
	CCSHIM_CONFIG=$PWD/x.conf checks 1 "$(type -P true)"
	line fail config "mode: 'of'"
	printf '[app "true"]\nmode = observe\n' > x.conf
	CCSHIM_CONFIG=$PWD/x.conf checks 0 true
	line ok config "mode=observe"
}

@test "the sections of the program apply, not those of what starts it" {
	make_root
	printf '[app "true"]\nmode = observe\n[app "nice"]\nmode = of\n' > x.conf
	export CCSHIM_CONFIG=$PWD/x.conf
	checks 1 nice -n 1 true
	sed -i '$d' x.conf
	checks 0 nice -n 1 true
	line ok config "mode=observe"
	printf '[app "true"]\nsplit_imm = y\nsplit = n\n' > x.conf
	refused $ccshim run nice -n 1 true
	said "split_imm"
	run2 $ccshim run nice -n 1 ls
	[ "$status" -eq 0 ]
}

@test "missing feedback is reported" {
	make_root
	for cc in hpcc dcqcn rcp; do
		CCSHIM_CC=$cc checks 0
		line warn agent "no agent runs at $root/run/ccshim/agent.sock; start ccshimd here and on the peers"
	done
	checks 0 -a swift
	line ok agent "not needed for swift"
}

@test "programs that link, open or do not use libibverbs are distinguished" {
	make_root
	checks 0 $ccshim
	line ok command "$ccshim, dynamically linked"
	line ok verbs "ccshim is linked to libibverbs.so.1"
	no_line warn verbs
	if [ -e "$top_builddir/tests/verbs/reach" ]; then
		checks 0 "$top_builddir/tests/verbs/reach"
		line ok verbs "reach names libibverbs.so: if it opens it"
	fi
	checks 0 true
	line warn verbs "neither true nor its libraries refer to libibverbs"
}

@test "indirect and missing libraries are reported" {
	command -v cc > /dev/null || skip "no compiler"
	make_root
	echo 'int ibv_fork_init(void); int f(void) { return ibv_fork_init(); }' > f.c
	echo 'int f(void); int main(void) { return f(); }' > m.c
	mkdir lib
	cc -shared -fPIC f.c -o lib/libf.so -libverbs
	cc m.c -o m -Llib -lf -Wl,-rpath,'$ORIGIN/lib'
	checks 0 ./m
	line ok verbs "m is linked to libibverbs.so.1, by libf.so"
	mv lib elsewhere
	checks 0 ./m
	line warn verbs "a library that it needs is missing: libf.so; set LD_LIBRARY_PATH"
	LD_LIBRARY_PATH=elsewhere checks 0 ./m
	line ok verbs "by libf.so"
}

@test "a copy of libibverbs in the program is reported" {
	command -v cc > /dev/null || skip "no compiler"
	make_root
	echo 'const char *s = "libibverbs: Warning: x"; int main(void) { return !s; }' > m.c
	cc m.c -o m
	checks 1 ./m
	line fail verbs "m contains a copy of libibverbs"
	printf 'int ibv_cmd_create_qp(void) { return 0; } int main(void) { return 0; }' > m.c
	cc m.c -o m
	checks 1 ./m
	line fail verbs "m contains a copy of libibverbs"
}

@test "direct verbs are reported" {
	command -v cc > /dev/null || skip "no compiler"
	make_root
	echo 'int mlx5dv_init_obj(void) { return 0; }' > dv.c
	echo 'int mlx5dv_init_obj(void); int main(void) { return mlx5dv_init_obj(); }' > m.c
	cc -shared -fPIC dv.c -o libdv.so
	cc m.c -o m -L. -ldv
	LD_LIBRARY_PATH=. checks 0 ./m
	line warn direct "m uses mlx5dv_init_obj: requests posted through direct verbs are"
}

@test "programs that ignore LD_PRELOAD are reported" {
	make_root
	{ head -c 56 /proc/self/exe; printf '\1\0\0\0\0\0\0\0\1'; head -c 55 /dev/zero; } > static
	{ printf '\177ELF\1\2\1'; head -c 99 /dev/zero; } > foreign
	chmod +x static foreign
	checks 1 ./static
	line fail command "./static: it is statically linked; link it dynamically"
	checks 1 ./foreign
	line fail command "./foreign: it is built for another architecture"
	checks 1 no-such-command
	line fail command "no-such-command: not found, or not executable"
	touch plain
	checks 1 ./plain
	line fail command "./plain: not found, or not executable"
	checks 1 "$PWD"
}

@test "programs that gain privileges are reported" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	make_root
	cp "$(type -P true)" other
	chown nobody other
	chmod u+s other
	checks 1 ./other
	line fail command "./other: it is setuid; run it as its owner"
	chown root:nogroup other
	chmod u-s,g+s other
	checks 1 ./other
	line fail command "./other: it is setgid"
}

@test "interpreters of scripts are checked" {
	make_root
	printf '#!%s -e\n' "$PWD/one" > two
	printf '#!/usr/bin/env -S A=1 true\n' > one
	printf 'echo hello\n' > none
	printf '#!/nowhere/sh\n' > lost
	printf '#!%s/loop\n' "$PWD" > loop
	chmod +x one two none lost loop
	checks 0 ./two
	line ok command "a script, run by $(type -P true)"
	checks 0 ./none
	line ok command "a script, run by /bin/sh"
	checks 1 ./lost
	line fail command "./lost: its interpreter does not exist: /nowhere/sh"
	printf '#!/usr/bin/env sh\r\n' > ./lost
	checks 1 ./lost
	line fail command "./lost: its first line ends with a carriage return"
	checks 1 ./loop
	line fail command "./loop: "
	checks 1 "$BATS_TEST_TMPDIR/root"
}

@test "scripts with many and long arguments are followed" {
	make_root
	printf '#!%s/two -x\n' "$PWD" > one
	printf '#!/bin/sh\n' > two
	chmod +x one two
	for words in "$(seq 510)" "$(seq 511)" "$(seq 5000)" "$(printf '%05000d ' 1 2 3)"; do
		# shellcheck disable=SC2086 # each word is an argument
		checks 0 ./one $words
		line ok command "a script, run by /bin/sh"
		checks 0 sh -c "./one $words"
	done
}

@test "random and truncated files are handled" {
	make_root
	local seed=${CCS_SEED:-$RANDOM}
	echo "CCS_SEED=$seed"
	for ((i = 0; i < 40; i++)); do
		# Twenty bytes, mostly in the headers.
		perl -0777 -e 'srand shift; $_ = substr <>, 0, rand -s ARGV;
			vec($_, 4 + rand 1200, 8) = rand 256 for 1 .. 20; print' $((seed + i)) "$(type -P true)" > x
		chmod +x x
		run2 $ccshim check --root "$root" ./x
		[ "$status" -le 1 ] || { echo "run $i: $errors"; return 1; }
	done
}
