#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Output of ccshim on a terminal: no line is wider than it.

load tools.bash

# on_terminal COLUMNS COMMAND...: run, with stdout and stderr on a terminal of that width.
on_terminal() {
	local columns=$1
	shift
	printf 'stty cols %s rows 24\n%s\n' "$columns" "$(printf '%q ' "$@")" > command
	output=$(script -qec 'sh command' /dev/null < /dev/null | tr -d '\r')
}

# No line with more than one word is wider than that.
fits() {
	! awk -v most="$1" 'length > most && NF > 1 { print length ": " $0; bad = 1 } END { exit !bad }' \
		<<< "$output"
}

@test "no line is wider than a terminal of 80 columns" {
	command -v script > /dev/null || skip "script(1) is not installed"
	local command
	while read -r command; do
		# shellcheck disable=SC2086 # words
		on_terminal 80 "$ccshim" $command
		[ -n "$output" ]
		fits 80 || { echo "ccshim $command"; return 1; }
	done <<-'END'
		-h
		run -h
		check -h
		doctor -h
		doctor -i 0.1
		info -h
		stat -h
		top -h
		serve -h
		set -h
		replay -h
		plot -h
		debug -h
		plan -h
		plan headroom -h
		plan headroom --explain
		plan buffer -h
		plan buffer --explain
		plan thresholds -h
		plan thresholds --explain --check 5k:20k
		plan ecn -h
		plan ecn --explain --pps 2227007 --check 1:1400 --poll 50us
		plan deadlock -h
		plan deadlock --explain --clos 4x2 --failures 2
		plan deadlock --transient
		plan qos -h
		plan qos --explain --mtu 9216
		info -a
		info -c
		info -f
		info -d
		check
		check ls
		check no-such-command
		run -a timely -o segment=64k -o max_inflight=4k ls
		run -o max_rate=fast ls
		stat --display sometimes
		stat -p 1
		set -p 1 mode=off
	END
}

@test "long lines are broken at words and indented" {
	command -v script > /dev/null || skip "script(1) is not installed"
	on_terminal 60 "$ccshim" check --root /nowhere
	printed $'fail  device    there is no RDMA device; load the card\'s\n                driver, or create'
	on_terminal 10 "$ccshim" check --root /nowhere # broken for 20, as words have a place then
	printed $'there\n                is'
	COLUMNS=200 on_terminal 60 "$ccshim" check --root /nowhere
	printed "load the card's driver, or create a software device: rdma link add"
}

@test "the configuration of info -c is valid on a narrow terminal too" {
	command -v script > /dev/null || skip "script(1) is not installed"
	export CCSHIM_LOG_FILE=/a/file/name/with/forty/characters
	on_terminal 60 "$ccshim" info -c
	fits 60
	printf '%s\n' "$output" > narrow.conf
	unset CCSHIM_LOG_FILE
	CCSHIM_CONFIG=narrow.conf run2 "$ccshim" info -c
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[[ $output =~ log_file\ *=\ /a/file/name ]]
}

@test "the options of info -c are aligned" {
	run2 "$ccshim" info -c
	[ "$(awk '{ print index($0, " = ") }' <<< "$output" | sort -u | wc -l)" = 1 ]
}

@test "output that is no terminal has its full width" {
	COLUMNS=80 run2 "$ccshim" info -a
	[ -n "$(awk 'length > 100' <<< "$output")" ]
}
