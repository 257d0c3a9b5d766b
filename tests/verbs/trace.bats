#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Events of a running flow, recorded and replayed: the decisions are the same.

setup() {
	ccshim=$top_builddir/tools/ccshim/ccshim
	for name in ${!CCSHIM_@}; do unset "$name"; done
	export RIG_KEEP=1 CCSHIM_CONFIG= CCSHIM_AGENT=off CCSHIM_SEGMENT=4k
	export ASAN_OPTIONS=detect_leaks=0 # the program leaves on purpose what it made
	export CCSHIM_TRACE=$BATS_TEST_TMPDIR/t.csv
	cd "$BATS_TEST_TMPDIR"
}

# Runs the traffic; $qps are the numbers of its queue pairs.
traffic() {
	qps=$("$top_builddir/tests/verbs/tracing" "$@" 2> err) || { cat err; return 1; }
}

rows() {
	awk -F, -v event="$1" '$2 == event' t.csv | wc -l
}

# Both QPs of the trace, under the algorithm that made it.
loop_is_closed() {
	local qp
	for qp in $qps; do
		"$ccshim" replay --check -a "$CCSHIM_CC" --qp "$qp" t.csv || return 1
		# and not only to 1e-9
		"$ccshim" replay -a "$CCSHIM_CC" --qp "$qp" t.csv | tail -n +2 | cut -d, -f4,5 > got
		awk -F, -v qp="$qp" '!/^#/ && $3 == qp { print $16 "," $17 }' t.csv | diff - got
	done
}

@test "replayed decisions equal recorded ones, for every algorithm" {
	export CCSHIM_AGENT=off # so that nothing stands in
	for CCSHIM_CC in $("$ccshim" info -a | sed -n 's/^\([a-z][a-z0-9_]*\): .*/\1/p'); do
		export CCSHIM_CC
		traffic
		grep -v "nothing here provides" err && return 1
		[ "$(rows start)" -ge 2 ]
		[ "$(rows ack)" -gt 100 ]
		loop_is_closed || { echo "of $CCSHIM_CC"; return 1; }
	done
}

@test "replay is exact with max_rate, variants and set rates" {
	export CCSHIM_MAX_RATE=1g
	for CCSHIM_CC in timely:variant=patched timely:variant=paper,min_rate=1m timely:beta=0.3; do
		export CCSHIM_CC
		traffic
		[ ! -s err ]
		grep -q 'max_rate=1000000000' t.csv
		loop_is_closed
	done
}

# 4096 bytes, with headers of 58 and 78 bytes.
@test "the trace has the share of payload by the path MTU and the kind of address" {
	export CCSHIM_CC=copa
	traffic
	grep -q '^[^#].*,set,.*;payload_share=0\.98603755' t.csv || { grep -m3 line_rate t.csv; return 1; }
	loop_is_closed
	traffic ipv6
	grep -q '^[^#].*,set,.*;payload_share=0\.98131288' t.csv || { grep -m3 line_rate t.csv; return 1; }
}

@test "mode observe records a trace too" {
	export CCSHIM_MODE=observe CCSHIM_CC=timely
	traffic
	[ ! -s err ]
	[ "$(rows ack)" -gt 100 ]
	loop_is_closed
}

@test "the first line describes the trace, %p is replaced by the process ID" {
	export CCSHIM_TRACE=t-%p.csv CCSHIM_CC=timely:beta=0.3
	traffic
	set -- t-*.csv
	[ $# -eq 1 ]
	[[ $(head -1 "$1") == "# ccshim "*": tracing, process $(basename "${1#t-}" .csv), host "*", cc=timely:beta=0.3" ]]
	[[ $(sed -n 2p "$1") == t_us,event,qp,* ]]
	[ "$(stat -c %a "$1")" = 600 ]
}

@test "with another algorithm the first difference is reported" {
	export CCSHIM_CC=timely
	traffic
	run "$ccshim" replay --check -a timely:add_rate=1m,min_rate=1m --qp "${qps% *}" t.csv
	[ "$status" -eq 1 ]
	[[ $output == *"t.csv:"*"column rate_bps: replayed "*", recorded "* ]]
}

@test "trace_size limits the file with one warning, and the recorded part is valid" {
	export CCSHIM_CC=timely CCSHIM_TRACE_SIZE=8k
	traffic
	[ "$(stat -c %s t.csv)" -le 8192 ]
	[ "$(stat -c %s t.csv)" -gt 7000 ]
	[ "$(wc -l < err)" -eq 1 ]
	grep -q "trace_size is reached" err
	[ "$(tail -c 1 t.csv | od -An -tx1)" = " 0a" ]
	loop_is_closed
}

@test "a full disk or a missing directory costs the trace only, with one warning" {
	for CCSHIM_TRACE in /dev/full "$PWD/no/such/t.csv" "$PWD"; do
		export CCSHIM_TRACE
		traffic
		[ "$(wc -l < err)" -eq 1 ] || { cat err; return 1; }
		grep -q "warn: trace $CCSHIM_TRACE: .*recorded" err
	done
}

@test "children write nothing" {
	export CCSHIM_CC=timely
	traffic fork
	[ ! -s err ]
	[ "$(grep -c '^# ccshim' t.csv)" -eq 1 ]
	[ "$(awk -F, '!/^#/ && NR > 2 { print $3 }' t.csv | sort -u | wc -l)" -eq 2 ]
	loop_is_closed
}

@test "four processes that write one file make one table with one header" {
	export CCSHIM_CC=timely
	for i in 1 2 3 4; do
		"$top_builddir/tests/verbs/tracing" > "qps$i" 2> "err$i" &
	done
	wait
	[ "$(grep -v '^#' t.csv | grep -n t_us)" = "1:$(grep -m1 t_us t.csv)" ]
	"$ccshim" replay --table t.csv > table.csv
	[ "$(awk -F, '{ print NF }' table.csv | sort -u)" = "$(head -1 table.csv | tr , '\n' | wc -l)" ]
	awk -F, 'NR > 1 && $20 != "tracing"' table.csv | diff - /dev/null
}

@test "a process does not remove the rows of another one that writes to the same file" {
	export CCSHIM_CC=timely
	load shown.bash
	begin
	until [ "$(rows start)" -ge 2 ]; do kill -0 "$app"; sleep 0.1; done
	traffic
	exec 8>&-
	wait "$app"
	[ "$(grep -c '^# ccshim' t.csv)" -eq 2 ]
	[ "$(rows start)" -ge 4 ]
	# One that comes after all of them begins a new file.
	traffic
	[ "$(grep -c '^# ccshim' t.csv)" -eq 1 ]
	loop_is_closed
}

# What the application opens at the beginning, it opens before there are rows to write.
@test "a program that needs all its descriptors gets them beside a trace and a report" {
	! grep -q fsanitize "$top_builddir/Makefile" || skip "a sanitizer's runtime needs some, too"
	export CCSHIM_CC=timely CCSHIM_REPORT=$PWD/r.json
	run bash -c 'for fd in /proc/$$/fd/*; do # those of this test
			[ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
		done
		ulimit -n 5
		exec "$1" live' - "$top_builddir/tests/verbs/traffic"
	[ "$status" -eq 0 ]
	[ "$(grep -c "warn: trace " <<< "$output")" -le 1 ]
	[ "$(grep -c "warn: cannot write report $CCSHIM_REPORT: " <<< "$output")" -eq 1 ]
	[ "$(grep -c '^# ccshim' t.csv)" -eq 1 ]
}

@test "mode off without trace writes no file" {
	CCSHIM_MODE=off traffic
	[ ! -e t.csv ]
	unset CCSHIM_TRACE
	traffic
	[ ! -e t.csv ]
}

@test "ccshim run -t sets an absolute path" {
	run "$ccshim" run --dry-run -t x.csv
	[[ $output == *"export CCSHIM_TRACE='$PWD/x.csv'"* ]]
	run "$ccshim" run --dry-run --trace /tmp/%p.csv
	[[ $output == *"export CCSHIM_TRACE='/tmp/%p.csv'"* ]]
}

@test "a trace beyond the limit of file sizes does not end the program" {
	CCSHIM_STATS=n run prlimit --fsize=100 "$top_builddir/tests/verbs/tracing"
	[ "$status" -eq 0 ]
	[ "$(grep -c "warn: trace $CCSHIM_TRACE: File too large; nothing is recorded" <<< "$output")" -eq 1 ]
}
