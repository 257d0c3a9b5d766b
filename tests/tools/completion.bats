#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

load tools.bash

# The completions for these words, of which the last is incomplete.
offered() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_ccshim 2> /dev/null || true # compopt complains outside of a completion
	echo "${COMPREPLY[*]}"
}

@test "completion knows subcommands, algorithms, options and devices" {
	source "$top_srcdir/completion/ccshim.bash"
	[ "$(offered ccshim ru)" = run ]
	[ "$(offered ccshim check --j)" = --json ]
	[ "$(offered "$ccshim" run -a tim)" = timely ]
	touch libmy.so
	[ "$(offered "$ccshim" run -a ./lib)" = ./libmy.so ]
	[ "$(offered "$ccshim" info -a ./lib)" = ./libmy.so ]
	[ "$(offered "$ccshim" run -m o)" = "off observe" ]
	[ "$(offered "$ccshim" run -o max_r)" = "max_rate=" ]
	[ "$(offered "$ccshim" info -a fix)" = fixed ]
	[ "$(offered "$ccshim" set --pe)" = --peer ]
	[ "$(offered "$ccshim" set -p 1 max_r)" = max_rate= ]
	[ "$(offered "$ccshim" replay -a tim)" = timely ]
	[ "$(offered "$ccshim" replay --ch)" = --check ]
	[ "$(offered "$ccshim" de)" = debug ]
	[ "$(offered "$ccshim" debug -)" = "-h --output --timeout --help" ]
	[ "$(offered "$ccshim" stat --o)" = --openmetrics ]
	[ "$(offered "$ccshim" stat --display t)" = totals ]
	[ "$(offered "$ccshim" top --sort good)" = goodput ]
	[ "$(offered "$ccshim" serve --co)" = --control ]
	[ "$(offered "$ccshim" doctor --pr)" = --priority ]
	[ "$(offered "$ccshim" plot --c)" = --cdf ]
	[ "$(offered "$ccshim" plot --cdf rt)" = rtt ]
	[ "$(offered "$ccshim" plan head)" = headroom ]
	[ "$(offered "$ccshim" plan headroom --ca)" = --cable ]
	export LD_PRELOAD=$standin
	[ "$(offered "$ccshim" info -d rxe)" = "rxe0 rxe1" ]
}

@test "files are completed after the command's name" {
	source "$top_srcdir/completion/ccshim.bash"
	touch some-file
	[ "$(offered ccshim run -a timely some-command so)" = some-file ]
	[ "$(offered ccshim check --json some-command so)" = some-file ]
}
