#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The help of each command agrees with its manual page and its completion.

load tools.bash

subcommands() { "$ccshim" -h | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'; }

# The options that a help text lists: the left column of lines that begin with one.
options() {
	sed -nE 's/^ +(-.*)/\1/p' | sed 's/   *.*//' | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-z0-9_-]*' |
		tr -d ' ,' | grep -vE '^-[a-z]{2}' | sort -u
}

# has_options PAGE: it describes the options on stdin, each -x as "Fl x", --xy as "Fl -xy".
has_options() {
	local missing
	missing=$(sort -u | comm -23 - <(awk '/^\.It / {
			for (i = 2; i < NF; i++) if ($i == "Fl" || $i == ",") print "-" $(i + 1)
		}' "$1" | sort -u))
	[[ -z $missing ]] || { echo "$1 has no $missing"; return 1; }
}

has_example() { awk '/^\.Sh EXAMPLES/ { on = 1 } on && /^\.(Bd|Dl)/ { found = 1 } END { exit !found }' "$1"; }

offered() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_ccshim 2>/dev/null || true # compopt complains outside of a completion
	printf '%s\n' "${COMPREPLY[@]}"
}

@test "every subcommand has a manual page with its options, in the overview, too" {
	[ "$(subcommands | wc -l)" -ge 4 ]
	for sub in $(subcommands); do
		page=$top_srcdir/docs/man/ccshim-$sub.1
		[ -e "$page" ] || { echo "no $page"; false; }
		[ "$("$ccshim" "$sub" -h | options | wc -l)" -ge 2 ]
		"$ccshim" "$sub" -h | options | has_options "$page"
		grep -qx ".It Ic $sub" "$top_srcdir/docs/man/ccshim.1" || { echo "ccshim.1: no $sub"; false; }
		grep -qF "ccshim-$sub(1)" "$top_srcdir/README.md" || { echo "README: no $sub"; false; }
	done
}

@test "every letter of an option has a long form" {
	for sub in $(subcommands); do
		"$ccshim" "$sub" -h | grep -E '^  -[a-zA-Z]' > letters
		if grep -vE -- ', --[a-z]' letters; then echo "in ccshim $sub -h"; false; fi
		# Each is an option: what is missing is its value, or nothing.
		for option in $(grep -oE -- '--[a-z][a-z-]+' letters); do
			run "$ccshim" "$sub" "$option"
			[[ $output != *"unrecognized option"* && $output != *"there is no option"* ]] ||
				{ echo "$output"; false; }
		done
	done
}

@test "a letter means one thing in all programs but ccbench" {
	export LC_ALL=C
	{
		for sub in $(subcommands); do "$ccshim" "$sub" -h; done
		"$ccshim" -h
		"$top_builddir/tools/ccshimd/ccshimd" --help
		for command in run matrix; do "$top_builddir/bench/ccfabric/ccfabric" "$command" --help; done
	} | grep -E '^ +-' | grep -oE -- '-[a-zA-Z], (-[a-z]+, )?--[a-z-]+' |
		sed -E 's/^-(.), .*--/\1 /' | sort -u > meanings
	# Those with two names are the same subject: one algorithm, or all.
	diff <(cut -d ' ' -f 1 meanings | uniq -d) <(echo a)
	grep -qx 'a algorithms' meanings
	grep -qx 'a cc' meanings
	for letter in $(cut -d ' ' -f 1 meanings | uniq); do
		grep -qx ".Fl $letter" "$top_srcdir/docs/man/ccshim.1" || { echo "ccshim(1): no -$letter"; false; }
	done
	diff <(cut -d ' ' -f 1 meanings | uniq) <(sed -n '/^A letter/,/^has the letters/s/^\.Fl //p' \
		"$top_srcdir/docs/man/ccshim.1" | sort)
	# Letters that had another meaning are refused.
	for old in "run -n true" "plot -n t.csv" "plot -o x.png t.csv" "debug -o x.tgz" "info -v" "stat -d deltas"; do
		refused "$ccshim" $old
	done
}

@test "every calculation of plan has its options in the manual page and in completion" {
	source "$top_srcdir/completion/ccshim.bash"
	for calc in $("$ccshim" plan -h | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'); do
		"$ccshim" plan "$calc" -h | options | has_options "$top_srcdir/docs/man/ccshim-plan.1"
		grep -qE "^\.Ss $calc( |$)" "$top_srcdir/docs/man/ccshim-plan.1" || { echo "no $calc"; false; }
		diff <("$ccshim" plan "$calc" -h | options) <(offered "$ccshim" plan "$calc" - | sort -u)
	done
}

@test "the other programs have manual pages with their options" {
	"$top_builddir/tools/ccshimd/ccshimd" --help | options | has_options "$top_srcdir/docs/man/ccshimd.8"
	for scenario in $("$top_builddir/bench/ccbench/ccbench" --help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'); do
		"$top_builddir/bench/ccbench/ccbench" "$scenario" --help
	done | options | has_options "$top_srcdir/docs/man/ccbench.1"
	for command in run matrix; do
		"$top_builddir/bench/ccfabric/ccfabric" "$command" --help | options |
			has_options "$top_srcdir/docs/man/ccfabric.1"
	done
}

@test "completion of ccshimd offers its options" {
	source "$top_srcdir/completion/ccshimd"
	COMP_WORDS=("$top_builddir/tools/ccshimd/ccshimd" --) COMP_CWORD=1
	_ccshimd
	diff <("$top_builddir/tools/ccshimd/ccshimd" --help | options | grep ^--) \
		<(printf '%s\n' "${COMPREPLY[@]}" | sort)
}

@test "completion of ccfabric offers its options" {
	source "$top_srcdir/completion/ccfabric"
	for command in run matrix; do
		COMP_WORDS=("$top_builddir/bench/ccfabric/ccfabric" "$command" --) COMP_CWORD=2
		_ccfabric
		diff <("$top_builddir/bench/ccfabric/ccfabric" "$command" --help | options | grep ^-- | sort -u) \
			<(printf '%s\n' "${COMPREPLY[@]}" | sort)
	done
}

@test "every manual page has an example" {
	for page in "$top_srcdir"/docs/man/*.[1-8]; do
		has_example "$page" || { echo "no example in $page"; false; }
	done
}

@test "each block of commands in the documents is run as printed, or says why not" {
	"$top_srcdir/tests/docs/commands" --list > list || { grep -A1 '^not ok' list; false; }
	[ "$(grep -c ': run in ' list)" -ge 40 ]
	mkdir -p tree/tests
	cp -r "$top_srcdir/tests/docs" tree/tests
	# refused DOCUMENT MESSAGE
	refused() {
		printf '%s\n' "$1" > tree/new.md
		run tree/tests/docs/commands --list
		[ "$status" -eq 1 ] && [[ $output == *"$2"* ]] || { echo "$1: $output"; return 1; }
	}
	refused $'A text:\n\n    ccshim new' 'no comment says where it is run, or why not'
	refused $'<!-- run in anywhere -->\n\nA text:\n\n    ccshim new' 'no comment says'
	refused $'<!-- run in nowhere -->\n\n    ccshim new' "'nowhere' is not understood"
	refused $'<!-- not run: no -->\n\n    ccshim new' 'is not understood'
	refused $'<!-- run by tests/docs/app -->\n\n    ccshim new' "has neither 'new.md'"
	refused $'<!-- run in anywhere; until Ctrl-C: ccshim top -->\n\n    ccshim new' "no command begins with 'ccshim top'"
	refused $'```\n$ ccshim new\n```' 'commands in a fenced block are not run'
	printf '<!-- run in anywhere -->\n\n    ccshim new\n\n```\noutput\n```\n' > tree/new.md
	tree/tests/docs/commands --list
}

# One word on a line, without Markdown's marks.
words() { tr -d '*`' | sed 's/^ *- //' | tr -s ' \n' '\n\n' | sed '/^$/d'; }

# promises SECTION: its sentences in tests/security.md.
promises() { sed -n "/^## $1/,/^## /p" "$top_srcdir/tests/security.md" | grep '^- ' | words; }

@test "links of installed documents lead to installed documents" {
	installed=$(sed -n '/^dist_doc_DATA/,/[^\\]$/p' "$top_srcdir/docs/local.mk" | grep -o 'docs/[^ ]*')
	for file in $(grep '\.md$' <<< "$installed"); do
		for link in $(grep -oE '\]\([^)]+' "$top_srcdir/$file" | sed 's/..//; s/#.*//' | grep -v '^https\?:'); do
			grep -qx "docs/guide/$link" <<< "$installed" || { echo "$file: $link"; return 1; }
		done
	done
}

@test "each sentence on security is listed with its tests, and these exist" {
	diff <(sed -n '/^## How/,/^## /p' "$top_srcdir/SECURITY.md" | grep -v '^##' | words) \
		<(promises SECURITY.md)
	while IFS=: read -r file test; do
		grep -qF -- "${test# }" "$top_srcdir/$file" || { echo "no '${test# }' in $file"; false; }
	done < <(sed -n 's/^  \(tests.*\)/\1/p' "$top_srcdir/tests/security.md")
	command -v mandoc > /dev/null || skip "mandoc is not installed"
	grep -l '^\.Sh SECURITY' "$top_srcdir"/docs/man/*.[1-8] > pages
	[ "$(wc -l < pages)" -eq "$(grep -c '^## .*([1-8])$' "$top_srcdir/tests/security.md")" ]
	while read -r page; do
		name=${page##*/}
		diff <(mandoc -T ascii -O width=900 "$page" | sed 's/.\x08//g' |
			sed -n '/^SECURITY/,/^[A-Z]/p' | sed '1d;$d' | words) \
			<(promises "${name%.*}(${name##*.})")
	done < pages
}

@test "each attack in SECURITY.md has tests, and a statement of what remains" {
	sed -n '/^## Attacks/,/^## What/p' "$top_srcdir/SECURITY.md" | grep '^| [0-9]' > attacks
	[ "$(wc -l < attacks)" -eq 12 ]
	[ "$(grep -c -E '^\| [0-9]+\. [^|]+ \| [^|]+ \|$' attacks)" -eq 12 ]
	sed -n '/^## Attacks/,$p' "$top_srcdir/tests/security.md" > tested
	diff <(sed 's/^| \(.*\) | .* |$/\1/' attacks) <(sed -n 's/^- //p' tested)
	# That these tests exist is examined above.
	awk '/^- / { if (untested) exit 1; untested = 1 } /^  tests/ { untested = 0 } END { exit untested }' tested
}

@test "the help names the address for vulnerabilities, or that the build has none" {
	contact=$(sed -n 's/^#define CCS_SECURITY_CONTACT "\(.*\)"/\1/p' "$top_builddir/config.h")
	help=$("$ccshim" --help | tr -s ' \n' ' ')
	[[ $help == *"vulnerabilities in private${contact:+ to }${contact:-: this build has no address}"* ]]
}

@test "version, home page and address for bugs are the same everywhere" {
	IFS='|' read -r version bugs url < <(sed -nE \
		's/^AC_INIT\(\[ccshim\], \[(.*)\], \[(.*)\], \[ccshim\], \[(.*)\]\)$/\1|\2|\3/p' "$top_srcdir/configure.ac")
	diff <("$ccshim" --version) <(printf '%s\n' "ccshim $version" "$url" "Report bugs to $bugs")
	cd "$top_srcdir"
	for file in README.md SECURITY.md docs/man/ccshim.1 debian/control debian/changelog; do
		grep -qF "$bugs" "$file" || { echo "$file: no $bugs"; false; }
	done
	grep -qF "$url." README.md
	grep -qxF ".Lk $url ." docs/man/ccshim.1
	grep -qxF "Homepage: $url" debian/control
	[[ $(head -n 1 debian/changelog) == "ccshim ($version-"* ]]
	# A real address leaves no placeholder.
	[[ $bugs == *.invalid ]] || ! grep -rlF .invalid README.md SECURITY.md debian docs/man ccshim.spec.in
}

@test "the parser of messages calls no allocator" {
	find "$top_builddir/libshim/feedback" -name 'libccs_core_la-wire.o' -o -name 'libccs_core_la-record.o' |
		xargs nm -u > undefined
	grep -w ccs_record_code undefined # of the other file
	[ -z "$(grep -Ew 'malloc|calloc|realloc|reallocarray|strdup|strndup|mmap' undefined)" ]
}

@test "completion offers every subcommand, and its options, and no others" {
	source "$top_srcdir/completion/ccshim.bash"
	diff <(subcommands | sort) <(offered ccshim '' | grep -v '^-' | sort)
	for sub in $(subcommands); do
		diff <("$ccshim" "$sub" -h | options) <(offered "$ccshim" "$sub" - | sort -u) ||
			{ echo "in completion of $sub"; false; }
	done
}

# run_of SAMPLES: what ./demo leaves of a run of two seeds; without control the victim has that many latencies.
run_of() {
	local range='{"median": 1000, "min": 900, "max": 2000}'
	echo 'Linux version 6.12.1 (ccshim@lab) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils) 2.40) #1' > kernel
	: > incast.png
	jq -n --argjson n "$1" --argjson r "$range" '{runs: [{cc: "none", victim_latency_us: {samples: 500}},
		{cc: "none", victim_latency_us: {samples: $n}}, {cc: "copa", victim_latency_us: {samples: 100}}],
		spread: [{cc: "none", runs: 2, goodput_bps: $r, drops: $r, queue_p99_bytes: $r, victim_p99_us: $r},
			{cc: "copa", runs: 2, goodput_bps: $r, drops: $r, queue_p99_bytes: $r,
				victim_p99_us: {median: 100, min: 100, max: 100}, victim_p50_us: $r}]
			| map({utilisation: $r, jain: $r, convergence_us: $r, drops_after_warmup: $r, victim_p50_us: $r} + .)}' \
		> incast.json
}

@test "a factor of fewer than 100 latencies says of how many" {
	run_of 99
	"$top_srcdir/bench/scripts/readme" --lines . > lines
	cat lines
	grep -qx 'none: victim p99 1 ms (900 us to 2 ms), 99 samples, goodput 0.001 Mb/s (0.0009 Mb/s to 0.002 Mb/s), drops 1000 (900 to 2000)' lines
	grep -q '^copa: victim p99 100 us (10x shorter, 99 samples), ' lines
	grep -qx '2 seeds: medians, least and largest values; Linux 6.12.1, gcc (Debian 12.2.0-14) 12.2.0' lines
	jq -r --arg table incast -f "$top_srcdir/bench/scripts/headlines.jq" incast.json > table
	cat table
	grep '^| copa .* 10× (99 samples) |$' table
	run_of 100
	! grep samples <("$top_srcdir/bench/scripts/readme" --lines .) || return 1
	! grep samples <(jq -r --arg table incast -f "$top_srcdir/bench/scripts/headlines.jq" incast.json) || return 1
}

@test "README has the table of the stored run, and the size of the tree" {
	"$top_srcdir/bench/scripts/readme" --check
	"$top_srcdir/tests/docs/size"
	cp -r "$top_srcdir/tests/docs" "$top_srcdir/README.md" .
	mkdir -p tree/tests tree/libshim tree/tools tree/bench
	mv docs tree/tests
	mv README.md tree
	seq 1000 > tree/libshim/small.c
	run tree/tests/docs/size
	echo "$output"
	[ "$status" -eq 1 ] && [[ $output == *"the tree has 1000"* ]]
}

# programs: each command line that parses long options, and has a help.
programs() {
	for sub in $(subcommands); do echo "$ccshim $sub"; done
	for calc in headroom buffer thresholds ecn deadlock qos; do echo "$ccshim plan $calc"; done
	echo "$top_builddir/tools/ccshimd/ccshimd"
	for program in "bench/ccfabric/ccfabric run" "bench/ccfabric/ccfabric matrix" "bench/ccbench/ccbench incast" \
		bench/grid/grid bench/micro/overhead; do
		[ ! -x "$top_builddir/${program%% *}" ] || echo "$top_builddir/$program"
	done
}

@test "a mistyped long option is refused with the one that was meant, in every program" {
	while read -r program; do
		n=0
		# shellcheck disable=SC2086 # words
		for option in $($program --help | options | grep '^--..'); do
			case "$program $option" in *" plan --json" | *" plan --explain" | *"--qps") continue ;; esac # --qpps is as near to --pps
			mistyped=${option:0:4}${option:3}
			refused $program "$mistyped"
			said "did you mean '$option'?" || { echo "$program $mistyped"; return 1; }
			n=$((n + 1))
		done
		[ $n -ge 1 ] || [[ $program == */engine ]] || { echo "no option of $program"; return 1; }
	done < <(programs)
}

@test "an option that is part of a longer name suggests it" {
	refused "$top_builddir/bench/ccfabric/ccfabric" run --json -
	said "did you mean '--out_json'?"
	refused "$ccshim" stat --out_json
	said "did you mean '--json'?"
	refused "$ccshim" info -a --rate 1g
	said "did you mean '--line-rate'?"
}

@test "an option without effect beside the others is refused" {
	while IFS='|' read -r words says; do
		# shellcheck disable=SC2086 # words
		refused "$ccshim" $words
		said "$says"
	done <<- 'END'
		stat --max-qps 5|--max-qps has no effect without --openmetrics or --prometheus
		stat --reset base --json -p 1|--reset and --pid or --json exclude each other
		stat --json --prometheus|--json and --prometheus exclude each other
		stat --prometheus -i 1|--interval and --prometheus exclude each other
		stat --openmetrics --by tenant|--by and --openmetrics exclude each other
		set --all --qp 5 mode=off|--qp and --all exclude each other
		doctor --record 1 -i 5|--interval and --record exclude each other
		info -a --peer 10.0.0.1|--peer has no effect without --config
		info -c --segment 4k|--segment has no effect without --algorithms
		plot --qp 1 --flows 2 trace.csv|--flows and --qp exclude each other
		plan headroom --all links --cable 5m|--cable and --all exclude each other
		plan thresholds --t-pfc 5k|--t-pfc has no effect without --check
	END
}

@test "every program prints its version" {
	while read -r program; do
		# shellcheck disable=SC2086 # words
		run $program --version
		name=${program%% *}
		[ "$status" -eq 0 ] && [[ ${lines[0]} == "${name##*/} "[0-9]* ]] || { echo "$program: $output"; return 1; }
	done < <(programs | sed 's/ccbench incast/ccbench/'; echo "$top_builddir/bench/ccfabric/ccfabric"
		echo "$top_builddir/tools/ccshim/ccshim-firewall"; echo "$ccshim")
	run2 "$ccshim" --verison
	said "did you mean '--version'?"
}
