#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The flight recorder: one line and a file when a queue pair fails, and the account of both ends.

bats_require_minimum_version 1.5.0
ccshim=$top_builddir/tools/ccshim/ccshim

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export RIG_KEEP=1 CCSHIM_CC=none CCSHIM_FAILURES=$PWD/f.json CCSHIM_AGENT=$PWD/none.sock
	export ASAN_OPTIONS=detect_leaks=0 # traffic.c leaves on purpose what it made
}

# fail WITH: run traffic whose 4th WR fails so.
fail() { CCSHIM_IMPAIR=$1 "$top_builddir/tests/verbs/traffic" "${2:-live}" > out 2> err || true; }

said() { grep -c '^ccshim: warn: QP .* failed: ' err; }

@test "each failure gives one line and a file with its verdict" {
	while read -r kind cause; do
		rm -f f.json
		fail "$kind:3"
		[ "$(said)" -eq 1 ] || { cat err; false; }
		jq -e --arg cause "$cause" '.failures | length == 1 and .[0].cause == $cause and
			.[0].qps[0].condition == "failed" and .[0].more == 0' f.json || { jq . f.json; false; }
		[ "$(stat -c %a f.json)" = 600 ]
	done <<- END
		rnr no-receives
		access refused
		invalid refused
		operation peer-qp
		port port
		fatal device
		flush unknown
		retry unknown
	END
}

@test "a failure of the first WR is that no request was answered" {
	fail retry:0
	jq -e '.failures[0] | .cause == "no-answer" and .facts.answered == 0 and (.local | length) > 0' f.json
}

@test "without the option there is the line alone" {
	unset CCSHIM_FAILURES
	fail rnr:3
	[ "$(said)" -eq 1 ]
	[ ! -e f.json ]
	[ "$(grep -c "see " err)" -eq 0 ]
}

@test "a process without failures names the queue pairs that it ended" {
	"$top_builddir/tests/verbs/traffic" destroy 2> err
	[ "$(said)" -eq 0 ]
	jq -e '(.failures | length) == 0 and (.ended | length) > 0 and all(.ended[]; .how == "destroyed")' f.json
	"$top_builddir/tests/verbs/traffic" live 2> err
	jq -e '(.failures | length) == 0 and any(.ended[]; .how == "exit")' f.json
}

@test "a file that cannot be written is reported once, and traffic goes on" {
	for file in /dev/full "$PWD/nowhere/f.json"; do
		CCSHIM_FAILURES=$file fail rnr:3
		[ "$(said)" -eq 1 ]
		[ "$(grep -c 'cannot write failures' err)" -eq 1 ] || { cat err; false; }
	done
}

@test "a failing process without statistics has a verdict, and no history" {
	CCSHIM_STATS=n fail retry:3
	[ "$(said)" -eq 1 ]
	jq -e '.failures[0].qps | length == 1 and .[0].history == []' f.json
}

# end FILE HOST FAILURES ENDED
end() {
	echo '{"schema": 1, "version": "0", "host": "'"$2"'", "time": 9, "program": "p", "failures": ['"$3"'], "ended": ['"$4"']}' > "$1"
}
# failed TIME LQPN RQPN LOCAL PEER FACTS
failed() {
	echo '{"time": '"$1"', "cause": "unknown", "verdict": "v", "lqpn": '"$2"', "rqpn": '"$3"', "local": "'"$4"'", "peer": "'"$5"'", "facts": {'"$6"'}}'
}
# ended TIME LQPN RQPN LOCAL PEER HOW
ended() {
	echo '{"time": '"$1"', "lqpn": '"$2"', "rqpn": '"$3"', "local": "'"$4"'", "peer": "'"$5"'", "how": "'"$6"'"}'
}
silence='"status": 12, "answered": 5, "retry_us": 4000000'

# account CAUSE FILE...
account() {
	run -1 --separate-stderr "$ccshim" doctor --json "${@:2}"
	[ "$(jq -r '.failures[0].cause' <<< "$output")" = "$1" ] || { echo "$output"; false; }
}

@test "the files of both ends give the verdict of the pair" {
	end a h1 "$(failed 100 17 18 10.0.0.1 10.0.0.2 "$silence")"
	end first h2 '' "$(ended 95 18 17 10.0.0.2 10.0.0.1 destroyed)"
	end during h2 '' "$(ended 98 18 17 10.0.0.2 10.0.0.1 destroyed)"
	end late h2 '' "$(ended 96.9 18 17 10.0.0.2 10.0.0.1 destroyed)"
	end after h2 '' "$(ended 101 18 17 10.0.0.2 10.0.0.1 exit)"
	end other_qp h2 '' "$(ended 95 19 17 10.0.0.2 10.0.0.1 destroyed)"
	end other_host h3 '' "$(ended 95 18 17 10.0.0.3 10.0.0.1 destroyed)"
	end silent h2 "$(failed 101 18 17 10.0.0.2 10.0.0.1 "$silence")"
	end broken h2 "$(failed 99 18 17 10.0.0.2 10.0.0.1 '"status": 4')"
	account unknown a
	account destroyed a first
	account destroyed first a
	account destroyed a late
	account unknown a during
	account unknown a after
	account unknown a other_qp
	account unknown a other_host
	account path a silent
	end b h2 "$(failed 99 18 17 10.0.0.2 10.0.0.1 '"status": 4')"
	run -1 "$ccshim" doctor --json a b
	jq -e '[.failures[].cause] == ["local", "peer-qp"]' <<< "$output"
	run -1 "$ccshim" doctor a first
	[[ $output == *"+5.000 s  h1, p: QP 17 to 10.0.0.2, QP 18: transport retry counter exceeded"* ]]
	[[ $output == *"peer: h2, p: destroyed 5.000 s before"* ]]
	[[ $output == *"verdict: the application destroyed the peer's queue pair first"* ]]
	run -0 "$ccshim" doctor first
	[ "$output" = "No queue pair failed." ]
}

@test "a file of another user does not control the terminal" {
	printf '{"host": "h\033]0;x\007", "program": "p\302\233", "failures": [{"time": 1, "lqpn": 1, "rqpn": 2,
		"peer": "\033[2J", "verdict": "v\n  verdict: forged\342\200\256", "facts": {"status": 12}}],
		"live": [{"time": 1, "lqpn": 2, "rqpn": 1, "peer": "\033c", "local": "\033[2J"}]}' > evil
	run -1 "$ccshim" doctor evil
	[[ $output == *"+0.000 s  h?]0;x?, p?: QP 1 to ?[2J, QP 2: "* ]]
	[[ $output == *"here: v?  verdict: forged?"* ]]
	run -1 grep -cP '[^\x20-\x7e]' <<< "$output"
}

@test "other files are refused by name" {
	echo '{"qps": []}' > report
	: > empty
	echo '{"failures": [' > part
	echo '{"failures": [{"facts": 7}]}' > wrong
	for file in report empty part wrong nowhere; do
		run -2 "$ccshim" doctor "$file"
		[[ $output == *"$file"* ]]
	done
	run -2 "$ccshim" doctor --record 1 file
}

@test "ccshim doctor --record has the history of a running process" {
	export XDG_RUNTIME_DIR=$PWD
	mkfifo in said
	"$top_builddir/tests/verbs/shown" < in > said 2> /dev/null &
	app=$!
	exec 8> in 7< said
	read -r -t 3600 <&7
	echo 'write 10' >&8
	read -r -t 3600 <&7
	"$ccshim" doctor --record "$app" > live.json
	exec 8>&-
	wait "$app"
	jq -e '(.failures | length) == 0 and any(.live[]; .history | length > 0)' live.json || { cat live.json; false; }
	run -1 "$ccshim" doctor --record "$app"
	[[ $output == *"no statistics of process $app"* ]]
	run -0 "$ccshim" doctor live.json
}
