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
	[ "$(offered "$ccshim" serve --me)" = --metrics ]
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
	touch some-file 'name of words'
	offered ccshim plot na
	[ "${#COMPREPLY[@]}" -eq 1 ] && [ "$COMPREPLY" = 'name of words' ]
	[ "$(offered ccshim run -a timely some-command so)" = some-file ]
	[ "$(offered ccshim check --json some-command so)" = some-file ]
}

# The files of the three shells as they are installed.
install_completions() {
	local share=$PWD/share
	mkdir -p "$share"/{bash-completion/completions,fish/vendor_completions.d,zsh/site-functions}
	cp "$top_srcdir"/completion/cc* "$share/bash-completion/completions"
	sed 's/@NAME@/ccshim/g' "$top_srcdir/completion/fish.in" > "$share/fish/vendor_completions.d/ccshim.fish"
	cp "$top_srcdir/completion/_ccshim" "$share/zsh/site-functions"
	PATH=$(dirname "$ccshim"):$PATH
	export HOME=$PWD
}

@test "fish offers the words of bash" {
	command -v fish > /dev/null || skip "no fish"
	install_completions
	export XDG_DATA_DIRS=$PWD/share
	[ "$(fish -c 'complete -C "ccshim sta"')" = stat ]
	[ "$(fish -c 'complete -C "ccshim stat --bu"')" = --busy ]
	[ "$(fish -c 'complete -C "ccshim run -o max_r"')" = max_rate= ]
}

@test "zsh offers the words of bash" {
	command -v zsh > /dev/null || skip "no zsh"
	install_completions
	cat > typed <<-'END'
		zmodload zsh/zpty
		zpty z zsh -f -i
		zpty -w z "fpath=($PWD/share/zsh/site-functions \$fpath); autoload -U compinit; compinit -u -D; print RE''ADY"
		zpty -r z out '*READY*'
		zpty -w -n z $'ccshim stat --bu\t'
		zpty -r z out '*--busy*'
		print -r -- "$out"
	END
	zsh typed | grep -- --busy
}
