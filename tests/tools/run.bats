#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

@test "help goes to stdout, with status 0" {
	for words in "-h" "--help" "run -h" "run --help"; do
		run2 $ccshim $words
		[ "$status" -eq 0 ]
		[ -z "$errors" ]
		printed "usage: ccshim"
	done
}

@test "--version" {
	run2 $ccshim --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^ccshim\ [0-9] ]]
}

@test "usage errors go to stderr, with status 2" {
	refused $ccshim
	said "a subcommand is missing"
	refused $ccshim rnu
	said "no subcommand 'rnu'; did you mean 'run'?"
	refused $ccshim --verson
	said "no option '--verson'"
	refused $ccshim run
	said "a command is missing"
	refused $ccshim run -x true
	said "ccshim run: invalid option -- 'x'"
	refused $ccshim run -o mode true
	said "-o mode: expected NAME=VALUE"
}

@test "a wrong value is refused with the option's name, and nothing runs" {
	refused $ccshim run -a timly touch ran
	said "cc: there is no algorithm 'timly'; did you mean 'timely'?"
	refused $ccshim run -a timely:bta=0.5 touch ran
	said "no parameter 'bta'; did you mean 'beta'?"
	refused $ccshim run -a timely:t_low=10g touch ran
	said "t_low"
	refused $ccshim run -r 10GBps touch ran
	said "max_rate: '10GBps' is not a rate such as 10g"
	refused $ccshim run -m obsrve touch ran
	said "mode: 'obsrve' is not one of off|observe|enforce; did you mean 'observe'?"
	refused $ccshim run -o segmnt=64k touch ran
	said "no option 'segmnt'; did you mean 'segment'?"
	refused $ccshim run -o split=n -o split_imm=y touch ran
	said "split_imm"
	refused $ccshim run -o report=%x.json touch ran
	said "report: there is no escape '%x'; allowed: %h (host), %j (job), %t (task), %r (rank)"
	refused $ccshim run -t 100% touch ran
	said "trace: nothing follows a %; allowed:"
	refused $ccshim run -c nowhere.conf touch ran
	said "-c nowhere.conf: No such file"
	[ ! -e ran ]
}

@test "a mistake in the environment or in a file prevents the run too" {
	CCSHIM_MAX_RAT=10g refused $ccshim run touch ran
	said "no option CCSHIM_MAX_RAT; did you mean CCSHIM_MAX_RATE?"
	echo "mode = of" > x.conf
	refused $ccshim run -c x.conf touch ran
	said "x.conf:1: mode: 'of'"
	printf '[app "to*"]\nsplit_imm = y\n' > x.conf
	refused $ccshim run -c x.conf -o split=n touch ran
	said "split_imm"
	run2 $ccshim run -c x.conf -o split=n true
	[ "$status" -eq 0 ]
	[ ! -e ran ]
}

@test "the options reach the command" {
	echo "mode = observe" > x.conf
	run2 $ccshim run -a timely:beta=0.5 -r 10g -m off -o segment=64k -o report="a b" -c x.conf -v \
		-- env
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	for line in CCSHIM_CC=timely:beta=0.5 CCSHIM_MAX_RATE=10g CCSHIM_MODE=off CCSHIM_SEGMENT=64k \
		"CCSHIM_REPORT=a b" CCSHIM_CONFIG="$PWD/x.conf" CCSHIM_LOG_LEVEL=info \
		LD_PRELOAD="$standin"; do
		grep -Fx "$line" <<< "$output"
	done
}

@test "a percent sign in the directory of -t is no escape" {
	mkdir "50%p"
	cd "50%p"
	run2 $ccshim run --dry-run -t %j.csv
	printed "CCSHIM_TRACE='${PWD%p}%p/%j.csv'"
}

@test "-q, -v and -vv set the log level" {
	run2 $ccshim run -q --dry-run
	printed "CCSHIM_LOG_LEVEL='error'"
	run2 $ccshim run -vv --dry-run
	printed "CCSHIM_LOG_LEVEL='debug'"
}

@test "options after the command belong to it" {
	run2 $ccshim run echo -a -h -x
	[ "$status" -eq 0 ]
	[ "$output" = "-a -h -x" ]
}

@test "the library precedes others in LD_PRELOAD, is there once, and keeps a place that it has" {
	LD_PRELOAD=libm.so.6 run2 $ccshim run --dry-run
	printed "export LD_PRELOAD='$standin:libm.so.6'"
	LD_PRELOAD="libm.so.6 $standin" run2 $ccshim run --dry-run
	printed "export LD_PRELOAD='libm.so.6 $standin'"
}

@test "a preload with functions of libibverbs does not replace the library's" {
	local lib=$top_builddir/.libs
	[ -e "$lib/libfakerdma.so" ] || skip "no fake device"
	! grep -q fsanitize "$top_builddir/Makefile" || skip "a sanitizer's runtime has to come first"
	export CCSHIM_LIB=$lib/libccshim.so CCSHIM_AGENT=off LD_PRELOAD=$lib/libfakerdma.so
	$ccshim run -o report="$PWD/report.json" -- "$top_builddir/tests/verbs/traffic" live
	[ "$(jq '.qps | length' report.json)" -gt 0 ]
}

@test "-n runs nothing and prints equivalent exports" {
	run2 $ccshim run --dry-run -o report="it's; \$x" -a none touch ran
	[ "$status" -eq 0 ]
	[ ! -e ran ]
	eval "$output"
	[ "$CCSHIM_REPORT" = "it's; \$x" ]
	[ "$CCSHIM_CC" = none ]
	[ "$LD_PRELOAD" = "$standin" ]
}

@test "the status is the command's, or 126 and 127 as env" {
	run2 $ccshim run sh -c 'exit 7'
	[ "$status" -eq 7 ]
	run2 $ccshim run no-such-command
	[ "$status" -eq 127 ]
	said "no-such-command: No such file"
	touch plain
	run2 $ccshim run ./plain
	[ "$status" -eq 126 ]
}

@test "a command that cannot be executed is explained" {
	run2 $ccshim run no-such-command
	said "No such file or directory in any directory of PATH"
	run2 $ccshim run "$PWD"
	[ "$status" -eq 126 ]
	said "it is a directory; give the path of a program"
	touch plain
	run2 $ccshim run ./plain
	said "./plain: Permission denied; make it executable with chmod +x"
	printf '#!/no/such/shell\n' > script
	chmod +x script
	run2 $ccshim run ./script
	[ "$status" -eq 127 ]
	said "./script: its interpreter does not exist: /no/such/shell; correct its first line"
	printf '#!/bin/sh\r\n' > script
	run2 $ccshim run ./script
	said "./script: its first line ends with a carriage return"
}

@test "a program without its dynamic linker is explained" {
	[ "$(getconf LONG_BIT)" = 64 ] || skip
	# An ELF header with one segment, of type PT_INTERP: its text follows the program header.
	{
		head -c 16 /proc/self/exe
		printf '\2\0'; head -c 20 /proc/self/exe | tail -c 2; printf '\1\0\0\0'
		head -c 8 /dev/zero; printf '\100'; head -c 15 /dev/zero
		printf '\0\0\0\0\100\0\70\0\1\0\100\0\0\0\0\0'
		printf '\3\0\0\0\4\0\0\0\170'; head -c 23 /dev/zero
		printf '\21'; head -c 7 /dev/zero; printf '\21'; head -c 7 /dev/zero
		printf '\1\0\0\0\0\0\0\0/no/such/ld.so.1\0'
	} > other
	chmod +x other
	run2 $ccshim run ./other
	[ "$status" -eq 127 ]
	said "./other: its dynamic linker /no/such/ld.so.1 does not exist"
	run2 $ccshim check nice ./other
	printed "./other: its dynamic linker /no/such/ld.so.1 does not exist"
}

@test "a missing library is reported with status 125" {
	CCSHIM_LIB=/nowhere/x.so run2 $ccshim run touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	said "/nowhere/x.so cannot be read"
	mkdir "a b"
	cp "$standin" "a b/x.so"
	CCSHIM_LIB="a b/x.so" run2 $ccshim run touch ran
	[ "$status" -eq 125 ]
	[ ! -e ran ]
	said "spaces and colons separate"
}

@test "in the build tree it uses the library built there" {
	[ -e "$top_builddir/.libs/libccshim.so" ] || skip "the library is not built"
	unset CCSHIM_LIB
	run2 $ccshim run --dry-run
	printed "LD_PRELOAD='$(realpath "$top_builddir")/.libs/libccshim.so'"
}

@test "a static program is warned about" {
	[ "$(getconf LONG_BIT)" = 64 ] || skip
	# An ELF header with one segment, of type PT_LOAD.
	{ head -c 56 /proc/self/exe; printf '\1\0\0\0\0\0\0\0\1'; head -c 55 /dev/zero; } > static
	chmod +x static
	run2 $ccshim run --dry-run ./static
	[ "$status" -eq 0 ]
	said "warning: ./static will not be controlled: it is statically linked; link it dynamically"
	run2 $ccshim run --dry-run nice -n 5 ./static
	said "warning: ./static will not be controlled: it is statically linked"
	run2 $ccshim run --dry-run true
	[ -z "$errors" ]
	printf '#!/bin/sh\nexit 0\n' > script
	chmod +x script
	run2 $ccshim run ./script
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
}

@test "a setuid program is warned about" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	cp "$(type -P true)" other
	chown nobody other
	chmod u+s other
	run2 $ccshim run --dry-run ./other
	said "warning: ./other will not be controlled: it is setuid"
	chown root other
	chmod u+s other
	run2 $ccshim run --dry-run ./other
	[ -z "$errors" ]
}

@test "a file that cannot be created is named before the run" {
	mkdir "a directory"
	for option in report trace log_file; do
		run2 $ccshim run -o "$option=/no/such/x" -- echo started
		[ "$status" -eq 0 ]
		printed started
		said "warning: $option=/no/such/x cannot be written: /no/such: No such file or directory; create that directory, or name another file"
		for file in "a directory/x" x /dev/null "/no/such/%p/x"; do
			run2 $ccshim run -o "$option=$file" -- true
			[ -z "$errors" ]
		done
		run2 $ccshim run -q -o "$option=/no/such/x" -- true
		[ -z "$errors" ]
	done
}

@test "a full stdout is reported" {
	# Also by commands that fail at the same time for another reason.
	for command in "run --dry-run" "stat --json" "doctor -i 0.1" "check --json -- none"; do
		run2 bash -c "$ccshim $command > /dev/full"
		[ "$status" -eq 1 ]
		said "ccshim: standard output: No space left on device"
	done
}
