#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

bats_require_minimum_version 1.5.0
load tools.bash

secret=hunter2-the-secret

debug() {
	run2 "$ccshim" debug "$@"
}

# Unpack the file to ./ccshim-debug.
unpack() {
	[ "$status" -eq 0 ] || { echo "status $status: $errors"; return 1; }
	rm -rf ccshim-debug
	tar -xzf "$1"
}

manifest() {
	grep -qE -- "$1" ccshim-debug/MANIFEST || { echo "no '$1' in:"; cat ccshim-debug/MANIFEST; return 1; }
}

# A command of that name, which does $2.
stand_in() {
	mkdir -p bin
	printf '#!/bin/bash\nexec 3>&-\n%s\n' "$2" > "bin/$1"
	chmod +x "bin/$1"
	PATH=$PWD/bin:$PATH
}

@test "help and usage" {
	debug -h
	[ "$status" -eq 0 ] && [ -z "$errors" ]
	printed "usage: ccshim debug"
	refused "$ccshim" debug
	said "--output is missing"
	refused "$ccshim" debug --output
	refused "$ccshim" debug -x
	said "there is no option -x"
	refused "$ccshim" debug --output x.tgz --timeout soon
	said "'soon' is not a number of seconds"
	[ "$(echo *)" = stderr ]
}

@test "one file, with a manifest of collected and missing items" {
	touch before
	debug --output a.tgz
	unpack a.tgz
	[ "$(echo *)" = "a.tgz before ccshim-debug stderr" ]
	[ "$(stat -c %a a.tgz)" = 600 ]
	printed "a.tgz: "
	manifest '^ok +version '
	manifest '^ok +configuration '
	manifest '^ok +system/uname '
	manifest '^(ok|missing) +rdma/link '
	grep -q 'timely' ccshim-debug/algorithms
	grep -qE '^mode += enforce' ccshim-debug/configuration
	# The script itself leaves no traces in the items.
	manifest '^ok +configuration .*, status 0$'
	[ ! -e ccshim-debug/configuration.stderr ]
	# Each file is in the manifest, and each collected item is a file.
	(cd ccshim-debug && find . -type f ! -name MANIFEST ! -name '*.stderr' -printf '%P\n' | sort) > files
	sed -n 's/^ok  *\([^ ]*\) .*/\1/p' ccshim-debug/MANIFEST | sort | diff files -
	while read -r file; do [ -s "ccshim-debug/$file" ]; done < files
}

@test "an existing file is not overwritten" {
	echo precious > a.tgz
	ln -s nowhere b.tgz
	mkdir c.tgz
	for file in a.tgz b.tgz c.tgz; do
		debug --output $file
		[ "$status" -eq 1 ]
		said "$file exists and is not overwritten"
	done
	[ "$(cat a.tgz)" = precious ]
	[ ! -e nowhere ]
	debug --output no/such/a.tgz
	[ "$status" -eq 1 ]
	said "cannot write to no/such/: there is no such directory; create it, or choose another"
	# A file that is created meanwhile.
	stand_in uname 'echo precious > "$RACE"; echo Linux'
	RACE=$PWD/d.tgz debug --output d.tgz
	[ "$status" -eq 1 ]
	[ "$(cat d.tgz)" = precious ]
	[ -z "$(find . -name '.ccshim-debug*')" ]
}

@test "hanging commands are killed, failing and missing ones are noted" {
	export HOME=$PWD
	stand_in rdma 'trap "" TERM; echo $$ > "$HOME/hung"; sleep 1000; sleep 1000'
	until [ -s hung ]; do # within that second
		rm -f a.tgz
		debug --timeout 1 --output a.tgz
	done
	unpack a.tgz
	manifest "^missing +rdma/link +'rdma .*did not end within 1 s"
	[ ! -e ccshim-debug/rdma/link ]
	# It has ended, or is a zombie.
	while [ -n "$(tr -d '\0' < "/proc/$(cat hung)/cmdline" 2> /dev/null || true)" ]; do sleep 0.05; done
	stand_in rdma 'echo some'
	stand_in tc 'echo "this kernel cannot" >&2; exit 3'
	stand_in lsmod 'sleep 3 & echo some modules'
	debug --timeout 10000 --output c.tgz
	unpack c.tgz
	manifest "^missing +net/qdisc .*status 3: this kernel cannot"
	manifest '^ok +system/modules '
	mkdir few
	for command in bash env cat cp chmod cut date dirname grep head ln ls mkdir mktemp mv rm sed sleep \
		sort tail tar gzip timeout tr uname; do
		ln -s "$(command -v $command)" few/
	done
	sed 's,:/usr/sbin:/sbin:/usr/local/sbin,,' "$top_builddir/tools/ccshim/ccshim-debug" > script
	run2 env PATH="$PWD/few" bash script "$(realpath "$ccshim")" --output b.tgz
	unpack b.tgz
	manifest '^missing +rdma/link +rdma is not installed'
	manifest '^ok +system/uname '
}

@test "secrets are not collected" {
	export PASSWORD=$secret CCSHIM_TOKEN=$secret CCSHIM_KEY_FILE=$PWD/key
	echo $secret > key
	# A configuration file with unknown words, or a comment.
	printf '# %s\npassword = %s\nmode = observe\n' $secret $secret > conf
	export CCSHIM_CONFIG=$PWD/conf
	# Options that name files of other programs.
	echo "$secret {}" > r-1.json
	echo "$secret" > trace.csv
	printf 'application: %s\nccshim: warn: something\n' $secret > log
	export CCSHIM_REPORT=$PWD/r-%p.json CCSHIM_TRACE=$PWD/trace.csv CCSHIM_LOG_FILE=$PWD/log
	# The kernel's log, with its command line and unrelated lines.
	stand_in dmesg "echo 'Command line: root=/dev/vda rdma.key=$secret'; echo 'usb: $secret'; echo 'rxe0: added'"
	stand_in journalctl "echo 'rdma: from the journal'"
	# A program under the shim has arguments, an environment, and data.
	mkfifo fifo
	LD_PRELOAD=$top_builddir/.libs/libccshim.so bash -c 'read -r line' - --password=$secret <> fifo 3>&- &
	victim=$!
	debug --output a.tgz -- ls --password=$secret
	kill $victim
	unpack a.tgz
	if grep -r "$secret" ccshim-debug; then return 1; fi
	# The items are not empty either.
	grep -q 'CCSHIM_TOKEN is not an option' ccshim-debug/environment
	grep -qx "CCSHIM_TRACE=$PWD/trace.csv" ccshim-debug/environment
	grep -q 'rxe0: added' ccshim-debug/log/kernel
	grep -q 'something' ccshim-debug/log_file/1-log
	grep -q "command" ccshim-debug/check
	manifest "^missing +report +.*r-1.json was not written by ccshim"
	manifest "^missing +trace +.*trace.csv was not written by ccshim"
}

@test "reports, traces and checks of the command are collected" {
	printf '{\n  "program": "p",\n  "qps": []\n}\n' > r-17.json
	{ echo "# ccshim 0.1.0: p, process 17, cc=timely"; echo t_us,event; seq 1000; } > t.csv
	stand_in a-program 'echo it ran > ran'
	export CCSHIM_REPORT=$PWD/r-%p.json CCSHIM_TRACE=$PWD/t.csv
	debug --output a.tgz -- a-program
	unpack a.tgz
	diff r-17.json ccshim-debug/report/1-r-17.json
	[ "$(wc -l < ccshim-debug/trace/1-t.csv)" -eq 501 ]
	grep -q 'a script' ccshim-debug/check
	[ ! -e ran ]
}

# A user's report is a link, or the link is a directory on the way.
@test "no file is read through a symbolic link of another user" {
	[ "$(id -u)" -eq 0 ] || skip "only root can give links away"
	mkdir mine
	printf '{ "program": "%s" }\n' "$secret" | tee mine/r-1.json > victim.json
	ln -s "$PWD/victim.json" r-1.json
	CCSHIM_REPORT=$PWD/r-%p.json debug --output own.tgz
	unpack own.tgz
	grep -q "$secret" ccshim-debug/report/1-r-1.json
	chown -h 65534 r-1.json
	CCSHIM_REPORT=$PWD/r-%p.json debug --output file.tgz
	unpack file.tgz
	run ! grep -r "$secret" ccshim-debug
	manifest "^missing +report +.*r-1.json: not read through a symbolic link of another user"
	ln -s mine theirs
	chown -h 65534 theirs
	CCSHIM_REPORT=$PWD/theirs/r-%p.json debug --output dir.tgz
	unpack dir.tgz
	run ! grep -r "$secret" ccshim-debug
	manifest "^missing +report +.*theirs/r-1.json: not read through a symbolic link of another user"
}

@test "a FIFO in the place of a report is not read" {
	mkfifo r-1.json
	CCSHIM_REPORT=$PWD/r-%p.json debug --output a.tgz
	unpack a.tgz
	manifest "^missing +report +.*r-1.json: not a regular file"
}

@test "on a terminal, what is collected for longer than a second is shown, and erased" {
	command -v script > /dev/null || skip "script(1) is not installed"
	stand_in rdma 'until grep -q "collecting rdma/link" typescript; do sleep 0.1; done; echo some'
	script -qefc "exec '$ccshim' debug --output a.tgz" typescript < /dev/null > /dev/null
	# The line is erased before the result is printed.
	tr -d '\r' < typescript | grep -F $'\e[Kccshim debug: collecting rdma/link'
	tr -d '\r' < typescript | grep -F $'\e[Ka.tgz: '
	debug --output b.tgz
	[ -z "$errors" ]
}

@test "without a directory for temporary files, TMPDIR is named" {
	TMPDIR=/no/such debug --output a.tgz
	[ "$status" -eq 1 ]
	said "cannot create a temporary directory; set TMPDIR to one that may be written"
}

@test "help that cannot be written is an error" {
	run2 bash -c '"$1" debug --help > /dev/full' - "$ccshim"
	[ "$status" -eq 1 ]
	said "ccshim debug: standard output cannot be written"
}

@test "a full disk is reported" {
	# More than that many kilobytes in a file are refused.
	run2 bash -c 'trap "" XFSZ; ulimit -f 2; exec "$@"' - "$ccshim" debug --output a.tgz
	[ "$status" -eq 1 ]
	said "cannot be written"
	[ ! -e a.tgz ]
	[ -z "$(find . -name '.ccshim-debug*')" ]
}
