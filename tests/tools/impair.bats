#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim impair: its options become the option impair, and mistakes are refused before the command.

load tools.bash

@test "options become the option impair, for the peer and connection that are given" {
	run2 $ccshim impair --rate 25g --delay 80us --jitter 20us --fail retry:1e-5 --rnr 1e-4 \
		--peer 10.0.0.0/24 --fail fatal --qp 2 -q --dry-run -- app --delay 5
	printed "CCSHIM_IMPAIR='peer=10.0.0.0/24,qp=2,delay=80us,jitter=20us,retry:1e-5,rnr:1e-4,fatal'"
	printed "CCSHIM_MAX_RATE='25g'"
	printed "CCSHIM_CC='none'"
	printed "CCSHIM_LOG_LEVEL='error'"
}

@test "mistakes are named, and the command does not run" {
	while IFS='|' read -r options message; do
		refused $ccshim impair $options touch ran
		said "$message"
		[ ! -e ran ]
	done <<-'E'
		|no condition and no failure
		--peer 10.0.0.1|no condition and no failure
		--seed 2|no condition and no failure
		--seed 2 --seed 2 --rnr 1|was given before
		--fail delay:1|the value of delay follows '='
		--fail delay|the value of delay follows '='
		--fail retry=1|the value of retry follows ':'
		--retry x|'x' is not a number of requests
		--retry 1.5|'1.5' is not a number of requests
		--retry 0.0|'0.0' is not a number of requests
		--retry -1|'-1' is not a number of requests
		--retry 5000000000|'5000000000' is not a number of requests
		--retry 1h|'1h' is not a number of requests
		--fail rtry|did you mean 'retry'?
		--fail retry:5:2s|'5:2s' is not a number of requests
		--fail delay=5us,retry|a list
		--delay 20000s|'20000s' is not a time
		--seed 1.5 --rnr 1|'1.5' is not a whole number
		--peer 10.0.0 --rnr 1|'10.0.0' is not any
		--peer 10.0.0.1 --peer 10.0.0.2 --rnr 1|was given before
		--qp 0 --rnr 1|qp: '0' is not
		--rnr 1 -m observe|requires mode=enforce
		--rnr 1 -m off|requires mode=enforce
		--rnr 1 -o impair=retry:3|-o impair=retry:3: this command sets the option impair
		--option=impair= --delay 5us|-o impair=: this command sets the option impair
		--rate 1q|ccshim impair: max_rate: '1q' is not a rate
	E
}

@test "items that are too long are refused, not shortened" {
	local long=()
	for _ in {1..14}; do long+=(--operation 1e-10); done
	refused $ccshim impair "${long[@]}" --access 1e-10 --invalid 1.0000e-100 touch ran
	said "longer than 255 bytes"
}
