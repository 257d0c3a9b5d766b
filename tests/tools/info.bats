#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

@test "help and usage" {
	run2 $ccshim info -h
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	printed "usage: ccshim info"
	refused $ccshim info
	said "nothing selected: give -a"
	refused $ccshim info -z
	refused $ccshim info -a timly
	said "did you mean 'timely'?"
	refused $ccshim info -c timely
	said "needs -a"
	refused $ccshim info -a timely none
	said "unexpected argument 'none'"
	refused $ccshim info -a --line-rate fast
	said "line_rate: 'fast' is not a rate"
	refused $ccshim info -a --flows 0.5
	said "--flows: '0.5'"
}

@test "-v prints both versions" {
	run2 $ccshim info --versions
	[ "$status" -eq 0 ]
	[[ $output =~ ccshim\ [0-9] ]]
	[[ $output =~ libibverbs\ [0-9.]+\  ]]
	printed "preload $standin"
}

@test "-c prints the origin of each option" {
	printf 'mode = observe\n[app "nccl*"]\ncc = none\n' > x.conf
	export CCSHIM_CONFIG=x.conf CCSHIM_MAX_RATE=2500m
	run2 $ccshim info -c
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[[ $output =~ mode\ *=\ observe\ *#\ user\ file ]]
	[[ $output =~ max_rate\ *=\ 2.5g\ *#\ environment ]]
	[[ $output =~ cc\ *=\ auto\ *#\ default ]]
	run2 $ccshim info -c --app nccl-tests
	[[ $output =~ cc\ *=\ none\ *#\ user\ file ]]
}

@test "the example of a configuration file is valid, and its sections apply" {
	export CCSHIM_CONFIG=$top_srcdir/docs/ccshim.conf.example
	run2 $ccshim info -c --app nvmf_tgt --peer 10.9.0.5
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[[ $output =~ mode\ *=\ enforce && $output =~ max_rate\ *=\ 2g && $output =~ cc\ *=\ auto ]]
	run2 $ccshim info -c
	[[ $output =~ mode\ *=\ observe ]]
}

@test "-c prints line and section, also for a queue pair" {
	cat > x.conf <<-'END'
		max_rate = 5g
		[app "nvmf*" peer 10.1.0.0/16]
		max_rate = 1g
		[peer 10.0.0.0/8]
		max_rate = 2g
		cc = none
		[device rxe* port 2]
		[dscp 26 sl 3]
		cc = dcqcn
	END
	export CCSHIM_CONFIG=x.conf
	value() { sed -n "s/^$1 *= *\([^ ]*\) *# /\1 /p" <<< "$output"; }
	run2 $ccshim info -c
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[ "$(value max_rate)" = "5g user file x.conf:1" ]
	printed "# max_rate = 2g in [peer 10.0.0.0/8] at x.conf:5"
	printed "# cc = dcqcn in [dscp 26 sl 3] at x.conf:9"
	[ "$(grep -c nvmf <<< "$output")" = 0 ]
	run2 $ccshim info -c --app nvmf_tgt --peer 10.1.2.3
	[ "$(value max_rate)" = '1g user file x.conf:3 [app "nvmf*" peer 10.1.0.0/16]' ]
	[ "$(value cc)" = "none user file x.conf:6 [peer 10.0.0.0/8]" ]
	run2 $ccshim info -c --dscp 26 --sl 3 --peer fe80::1 --json
	[ "$(jq -r '.options[] | select(.name == "cc") | .where + .section' <<< "$output")" = \
		"x.conf:9[dscp 26 sl 3]" ]
	[ "$(jq -r '.others[] | .name' <<< "$output")" = $'max_rate\ncc' ]
	CCSHIM_MAX_RATE=7g run2 $ccshim info -c --peer 10.1.2.3
	[ "$(value max_rate)" = "7g environment" ]
	[ "$(grep -c "max_rate = 1g" <<< "$output")" = 0 ]
	refused $ccshim info -c --peer 10.0.0.0/8
	said "--peer needs the address of one peer"
	refused $ccshim info -c --dscp 64
	said "dscp: '64' is not a DSCP, 0 to 63"
}

@test "a share of the processes has the settings of its section" {
	cat > x.conf <<-'END'
		mode = observe
		[app nvmf* share 20%]
		stats = n
		[share 10%]
		mode = enforce
	END
	export CCSHIM_CONFIG=x.conf
	value() { sed -n "s/^$1 *= *\([^ ]*\) *# /\1 /p" <<< "$output"; }
	run2 $ccshim info -c
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[ "$(value mode)" = "observe user file x.conf:1" ]
	printed "# mode = enforce in [share 10%] at x.conf:5"
	for share in 0.1% 10%; do
		run2 $ccshim info -c --share "$share"
		[ "$(value mode)" = "enforce user file x.conf:5 [share 10%]" ]
	done
	run2 $ccshim info -c --app nvmf_tgt --share 11%
	[ "$(value mode)" = "observe user file x.conf:1" ]
	[ "$(value stats)" = "n user file x.conf:3 [app nvmf* share 20%]" ]
	refused $ccshim info -c --share 10
	said "share: '10' is not a percentage such as 10% or 0.5%, above 0% and up to 100%"
}

@test "processes of one job are in a share or none, and reports say which" {
	[ -e "$top_builddir/.libs/libfakerdma.so" ] || skip "no fake device"
	! grep -q fsanitize "$top_builddir/Makefile" || skip "a sanitizer's runtime has to come first"
	export CCSHIM_CONFIG=$PWD/x.conf CCSHIM_AGENT=off CCSHIM_REPORT=$PWD/%j.%p CCSHIM_LOG_LEVEL=error
	printf '%s\n' 'mode = observe' '[share 50%]' 'mode = enforce' > x.conf
	for job in 1 1 2 2 3 4 5 6 7 8; do
		LD_PRELOAD="$top_builddir/.libs/libccshim.so $top_builddir/.libs/libfakerdma.so" \
			SLURM_JOB_ID=$job "$top_builddir/tests/verbs/traffic" live
	done
	[ "$(cat -- [1-8].* | jq -s 'length')" -eq 10 ]
	cat -- [1-8].* | jq -s -e 'map({ job, mode }) | unique |
		length == 8 and ([.[].mode] | unique) == ["enforce", "observe"]'
}

@test "the manual pages list the options per queue pair" {
	$ccshim info -c --json | jq -r '.options[] | select(.per_qp) | .name' | sort > table
	[ "$(wc -l < table)" -gt 8 ]
	sed -n '/" per queue pair/,+1p' "$top_srcdir/docs/man/ccshim.conf.5" |
		sed -n 's/^\.Ic \(.*\) \.$/\1/p' | tr -s ' ,' '\n' | sort | diff table -
	sed -n 's/^\.Ic \(mode , cc , .*\) ,$/\1/p' "$top_srcdir/docs/man/ccshim-set.1" |
		tr -s ' ,' '\n' | sort | diff table -
}

@test "-c reports a mistake and fails" {
	CCSHIM_MODE=of run2 $ccshim info -c
	[ "$status" -eq 1 ]
	said "CCSHIM_MODE: 'of'"
	[[ $output =~ mode\ *=\ enforce ]]
}

@test "a configuration file without an end is refused" {
	CCSHIM_CONFIG=/dev/zero run2 $ccshim info -c
	[ "$status" -eq 1 ]
	said "/dev/zero:1: the line is longer than 1 MB, and the rest of the file is not read"
}

@test "-f is a configuration file of the defaults" {
	run2 $ccshim info -c
	defaults=$(sed 's/ *#.*//' <<< "$output")
	CCSHIM_MODE=off $ccshim info -f > all.conf
	CCSHIM_CONFIG=all.conf run2 $ccshim info -c
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[ "$(sed 's/ *#.*//' <<< "$output")" = "$defaults" ]
	[ "$(grep -vc "# user file" <<< "$output")" = 0 ]
	[ "$(awk 'length > 90' all.conf)" = "" ]
}

@test "-cf and -c are configuration files of the current values" {
	export CCSHIM_CC=timely:beta=0.5,t_low=12.5us CCSHIM_SEGMENT=3000 CCSHIM_REPORT=' a "b" # c ' \
		CCSHIM_LOG_FILE='#x' CCSHIM_SPLIT=no
	$ccshim info -cf > full.conf
	$ccshim info -c > short.conf
	$ccshim info -c --json | jq '[.options[].value]' > want
	unset CCSHIM_CC CCSHIM_SEGMENT CCSHIM_REPORT CCSHIM_LOG_FILE CCSHIM_SPLIT
	for file in full.conf short.conf; do
		CCSHIM_CONFIG=$file run2 $ccshim info -c --json
		[ "$status" -eq 0 ]
		[ -z "$errors" ]
		jq '[.options[].value]' <<< "$output" | diff want -
		[ "$(jq -r '[.options[].origin] | unique[]' <<< "$output")" = "user file" ]
	done
}

# The text of the options as "name: values (default x) sentences", one line each.
options_of_table() {
	$ccshim info -f | sed -n '/^$/,$p' | sed 's/^# //; /^[a-z_]* =/d' | paste_paragraphs
}

options_of_page() {
	sed -n '/^\.\\" BEGIN/,/^\.\\" END/p' "$1" | sed '/^\.\\"/d; /^\.[BE]l/d; s/\\&//g' |
		sed 's/^\.It Ic \([a-z_]*\) : No /\n\1: /' | paste_paragraphs
}

paste_paragraphs() {
	awk -v RS= '{ gsub(/[ \n]+/, " "); print }'
}

@test "ccshim.conf(5) has the options of the table" {
	page=$top_srcdir/docs/man/ccshim.conf.5
	[ "$(options_of_table | wc -l)" -gt 10 ]
	diff <(options_of_table) <(options_of_page "$page")
}

# A line for each algorithm, and for each parameter: "timely beta: 0 to 1, default 0.8 text".
algorithms_of_program() {
	$ccshim info -a | awk '
		/^[a-z0-9_]+: / { algorithm = substr($1, 1, length($1) - 1); print algorithm }
		/^  [a-z]/ && $1 != "needs" {
			head = algorithm " " $1 ":"
			origin = $3 == "derived" ? $3 : $3 " " $2
			$1 = $2 = $3 = ""
			range = $0
			getline
			$0 = head " " range ", " origin " " $0
			gsub(/ +/, " "); gsub(/ ,/, ","); print
		}'
}

algorithms_of_page() {
	sed -n '/^\.Sh ALGORITHMS/,/^\.Ss Plug-ins/p' "$1" | awk '
		function flush() { if (line) print line; line = "" }
		/^\.Ss [a-z]/ { flush(); algorithm = $2; line = $2 }
		/^\.It Ic/ { flush(); line = algorithm " " $3 ":"; sub(/.* : No/, ""); inside = 1 }
		/^\.El/ { inside = 0 }
		inside { sub(/^\\&/, ""); line = line " " $0; gsub(/ +/, " ", line) }
		END { flush() }'
}

@test "ccshim-cc(7) has every algorithm and parameter" {
	page=$top_srcdir/docs/man/ccshim-cc.7
	[ "$(algorithms_of_program | grep -c :)" -gt 10 ]
	parameters_of() { algorithms_of_program | sed -n "s/^$1 \(.*:\)/\1/p"; }
	diff <(algorithms_of_program | sed '/^rcp .*:/d') <(algorithms_of_page "$page")
	# As the page says.
	[ "$(parameters_of rcp | wc -l)" -gt 3 ]
	diff <(parameters_of rcp) <(parameters_of copa)
}

@test "the manual pages have no mistakes and name every letter" {
	cd "$top_srcdir/docs/man"
	for letter in a r m t o c q v h; do
		grep -q "^\.It Fl $letter" ccshim-run.1
	done
	for letter in c f a d; do
		grep -q "^\.It Fl $letter" ccshim-info.1
	done
	for option in line-rate base-rtt rtt-jitter segment flows qp timers check; do
		grep -q "^\.It Fl .*-$option" ccshim-replay.1
	done
	command -v mandoc > /dev/null || skip "mandoc is not installed"
	run mandoc -Tlint -W warning ./*.[1-8]
	echo "$output"
	[ -z "$output" ]
}

@test "-a shows every algorithm with its parameters" {
	run2 $ccshim info -a
	[ "$status" -eq 0 ]
	printed "timely: "
	printed "fixed: "
	printed "none: "
	printed "derived for line rate 10g, base RTT 10us, RTT jitter 0, segment 64k, 1 flow"
}

@test "-a derives for the given path and takes given values" {
	run2 $ccshim info -a --json timely:beta=0.5 --line-rate 100g --base-rtt 5us --rtt-jitter 3us \
		--segment 32k --flows 4
	[ "$status" -eq 0 ]
	[ "$(jq -r '.algorithms[].name' <<< "$output")" = timely ]
	value() { jq -r ".algorithms[0].params[] | select(.name == \"$1\") | .$2" <<< "$output"; }
	[ "$(jq -c .path <<< "$output")" = '{"line_rate_bps":100000000000,"base_rtt_us":5,"rtt_jitter_us":3,"segment_bytes":32768,"flows":4}' ]
	[ "$(value t_low value)" = "$(jq -n '5 + 3 + 8e6 * 32768 / 100e9')" ]
	[ "$(value add_rate value)" = 50000000 ]
	[ "$(value min_rtt origin)" = derived ]
	[ "$(value max_rate value)" = 100000000000 ]
	[ "$(value init_rate value)" = 25000000000 ]
	[ "$(value beta value)" = 0.5 ]
	[ "$(value beta origin)" = given ]
	[ "$(value hai_n origin)" = default ]
	[ -n "$(value alpha doc)" ]
	[ -n "$(value alpha source)" ]
}

@test "-d distinguishes kinds of devices" {
	LD_PRELOAD=$standin run2 $ccshim info -d
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	printed "mlx5_0: InfiniBand, firmware 1.2.3"
	printed "active, InfiniBand, 100g"
	printed "hw timestamps  yes"
	printed "rxe0: RoCE"
	printed "active, Ethernet, 10g"
	printed "down, Ethernet, 1g"
	printed "control        no: no port is active"
	printed "control        no: its transport (iWARP)"
	printed "control        no: it cannot be opened: Permission denied"
	LD_PRELOAD=$standin run2 $ccshim info -d --json
	[ "$(jq -c '[.devices[] | .controllable]' <<< "$output")" = "[true,true,false,false,false]" ]
	# The second has a timestamp mask, but no clock.
	[ "$(jq -c '[.devices[0, 1].hw_timestamps]' <<< "$output")" = '["yes","no"]' ]
	[ "$(jq -r '.devices[0].ports[0].rate_bps' <<< "$output")" = 100000000000 ]
}

@test "-d of an existing and of an unknown device" {
	LD_PRELOAD=$standin run2 $ccshim info -d rxe0
	[ "$status" -eq 0 ]
	printed "rxe0: RoCE"
	[[ $output != *mlx5_0* ]]
	export LD_PRELOAD=$standin
	refused $ccshim info -d rxe3
	unset LD_PRELOAD
	said "no device 'rxe3' (there are mlx5_0, rxe0, rxe1, siw0, locked0); did you mean 'rxe0'?"
}

@test "-d without devices" {
	FAKE_NO_DEVICES=1 LD_PRELOAD=$standin run2 $ccshim info -d
	[ "$status" -eq 0 ]
	[ "$output" = "no RDMA devices" ]
}

@test "options combine, also as JSON" {
	run2 $ccshim info --versions -cfa
	[ "$status" -eq 0 ]
	printed "ccshim "
	printed "mode = enforce"
	printed "timely: "
	LD_PRELOAD=$standin run2 $ccshim info --versions -cad --json
	[ "$(jq -c keys <<< "$output")" = \
		'["algorithms","devices","host","libibverbs","options","others","path","preload","schema","time","version"]' ]
}

@test "under AT_SECURE the environment is not read" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	cp $ccshim secure
	cp "$(type -P printenv)" probe
	chgrp nogroup secure probe
	chmod g+s secure probe
	# The dynamic linker drops this one where setgid has an effect.
	[ -z "$(LD_LIBRARY_PATH=/x ./probe LD_LIBRARY_PATH)" ] || skip "setgid has no effect here"
	CCSHIM_MODE=off run2 $ccshim info -c
	[[ $output =~ mode\ *=\ off\ *#\ environment ]]
	CCSHIM_MODE=off run2 ./secure info -c
	[[ $output =~ mode\ *=\ enforce\ *#\ default ]]
	mkdir -p home/.config
	echo 'mode = off' > home/.config/ccshim.conf
	run2 env -u CCSHIM_CONFIG -u XDG_CONFIG_HOME HOME="$PWD/home" $ccshim info -c
	[[ $output =~ mode\ *=\ off ]]
	run2 env -u CCSHIM_CONFIG -u XDG_CONFIG_HOME HOME="$PWD/home" ./secure info -c
	[[ $output =~ mode\ *=\ enforce\ *#\ default ]]
}
