#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The report at exit: valid JSON with the statistics of traffic.c.

setup() {
	report=$BATS_TEST_TMPDIR/report.json
	export RIG_KEEP=1 CCSHIM_CC=none CCSHIM_SEGMENT=4k CCSHIM_MAX_INFLIGHT=8k CCSHIM_BASE_RTT=20us
	export CCSHIM_REPORT=$report CCSHIM_LOG_LEVEL=error
	export ASAN_OPTIONS=detect_leaks=0 # traffic.c leaves on purpose what it made
}

traffic() {
	"$top_builddir/tests/verbs/traffic" "$1"
}

check() {
	jq -e "$1" "$report" >/dev/null || { echo "not so: $1"; jq . "$report"; return 1; }
}

check_traffic() {
	check '.program == "traffic" and .mode == "enforce" and (.pid | type) == "number"'
	check '.qps | length == 2'
	check '[.qps[] | select(.bytes == 8 * 3 * 4096)] | length == 1'
	check '[.qps[] | select(.bytes == 0 and .segments == 0)] | length == 1'
	check '[.qps[] | select(.wrs == 8 and .segments == 24 and .wrs_deferred > 0)] | length == 1'
	check '.qps[] | .ifname == "fake0" and .port == 1 and .cc == "none"'
	check '.qps[] | .segment_bytes == 4096 and .max_inflight_bytes == 8192'
	check '.qps[] | .line_rate_bps == 10000000000 and .base_rtt_us == 20'
	check '[.qps[].lqpn] | unique | length == 2'
	check '.qps[] | select(.wrs == 8) | .completions_internal >= 8 and .rtt_samples > 0'
	check '.qps[] | select(.wrs == 8) | .rtt_us | .min <= .p50 and .p50 <= .p90 and .p99 <= .max'
	check '.qps[] | .rate_bps == .line_rate_bps' # by none
	check '.qps_omitted == 0'
	check '.qps[] | .asked == {"mode": "enforce", "cc": "none"} and .fallback == null'
}

@test "QPs that exist at exit are in the report" {
	traffic live
	check_traffic
}

@test "destroyed QPs are in the report" {
	traffic destroy
	check_traffic
}

@test "uncontrolled QPs are counted by reason" {
	traffic live
	check '.uncontrolled["not-rc"] == 2'
	check '.uncontrolled["no-send-queue"] == 1'
	check '.uncontrolled["cq-features"] == 1 and .uncontrolled["unknown-cq"] == 0'
	check '.uncontrolled["parent-domain"] == 1'
	check '.uncontrolled["create-qp-ex"] == 1'
	check '.uncontrolled["no-shadow-cq"] == 1'
	check '.uncontrolled["iwarp"] == 0 and .uncontrolled["device-refused"] == 0'
}

@test "%p is replaced by the process ID" {
	CCSHIM_REPORT=$BATS_TEST_TMPDIR/r-%p.json traffic live
	set -- "$BATS_TEST_TMPDIR"/r-*.json
	[ $# -eq 1 ]
	[ "$1" = "$BATS_TEST_TMPDIR/r-$(jq .pid "$1").json" ]
}

@test "%h, %j, %t and %r are replaced by host, job, task and rank" {
	SLURM_JOB_ID=4711 SLURM_PROCID=3 PMI_RANK=5 \
		CCSHIM_REPORT=$BATS_TEST_TMPDIR/%h.%j.%t.%r.json CCSHIM_TRACE=$BATS_TEST_TMPDIR/%j.%%.csv \
		CCSHIM_LOG_FILE=$BATS_TEST_TMPDIR/%j-%r.log CCSHIM_LOG_LEVEL=info traffic live
	[ -s "$BATS_TEST_TMPDIR/$(hostname -s).4711.3.5.json" ]
	jq -e --arg host "$(hostname -s)" '[.host, .job, .task, .rank] == [$host, "4711", 3, 5]' \
		"$BATS_TEST_TMPDIR"/*.json
	[[ $(head -1 "$BATS_TEST_TMPDIR/4711.%.csv") == *", process "*", job 4711, task 3, rank 5"*", cc=none" ]]
	[ -s "$BATS_TEST_TMPDIR/4711-5.log" ]
	[ "$(ls "$BATS_TEST_TMPDIR" | wc -l)" -eq 3 ]
}

@test "an unknown escape is refused, and the option keeps its default" {
	CCSHIM_REPORT=$BATS_TEST_TMPDIR/%x.json CCSHIM_LOG_LEVEL=warn run traffic live
	[ "$status" -eq 0 ]
	[[ $output == *"warn: CCSHIM_REPORT: there is no escape '%x'; allowed: %h (host), %j (job), "* ]]
	[ -z "$(ls "$BATS_TEST_TMPDIR")" ]
}

@test "parameters and state of TIMELY are in the report" {
	CCSHIM_CC=timely:beta=0.7 traffic live
	check '.qps[0].cc == "timely" and .qps[0].parameters.beta == 0.7'
	check '.qps[0].parameters.variant == "scaled"'
	check '.qps[] | .rate_min_bps <= .rate_bps and .rate_bps <= .rate_max_bps'
	check '.qps[0].state | has("avg_rtt_diff_us")'
}

@test "bytes sent under the fallback are counted" {
	CCSHIM_CC=hpcc CCSHIM_AGENT=$BATS_TEST_TMPDIR/none.sock traffic live
	check '.qps | all(.asked.cc == "hpcc" and .cc == .fallback.cc)'
	check '[.qps[] | select(.sent_bytes > 0)] | length > 0 and
		all(.fallback.sent_bytes == .sent_bytes)'
	CCSHIM_CC=hpcc CCSHIM_AGENT=off traffic live
	check '.qps | all(.cc == "hpcc" and .fallback == null)'
}

@test "mode off writes no report" {
	CCSHIM_MODE=off traffic live
	[ ! -s "$report" ] || check '.qps == []'
}

# refused REPORT WORD [LIMIT]: the program succeeds, and one line explains the missing report.
refused() {
	CCSHIM_REPORT=$1 CCSHIM_LOG_LEVEL=warn run bash -c 'ulimit -f "$1"; "$2" live' - \
		"${3:-unlimited}" "$top_builddir/tests/verbs/traffic"
	[ "$status" -eq 0 ]
	[ "$(grep -c "warn: cannot write report $1: .*$2" <<< "$output")" -eq 1 ] || { echo "$output"; return 1; }
}

@test "a report that cannot be written does not fail the program" {
	refused "$BATS_TEST_TMPDIR/no/such/dir.json" 'No such file'
	refused "$BATS_TEST_TMPDIR" 'directory'
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	refused "$BATS_TEST_TMPDIR/fifo" 'No such device' # nobody reads
	refused "$report" 'too large' 1 # KB
	[ ! -e "$report" ]
}

# A device node of the test, because root could replace the one of the machine.
@test "a full disk is reported, and a device node is not replaced" {
	full=$BATS_TEST_TMPDIR/full
	mknod "$full" c 1 7 2>/dev/null && : <"$full" || skip "no device nodes here"
	refused "$full" 'No space'
	[ -c "$full" ]
}

@test "a symbolic link or a FIFO gets the report and is not replaced" {
	ln -s target.json "$report"
	traffic live
	[ -L "$report" ]
	check_traffic
}

# As another user could lay one in /tmp.
@test "a symbolic link of another user is not followed" {
	[ "$EUID" -eq 0 ] || skip "not root"
	ln -s "$BATS_TEST_TMPDIR/victim" "$report"
	chown -h nobody "$report"
	refused "$report" 'not permitted'
	CCSHIM_TRACE=$report CCSHIM_LOG_FILE=$report CCSHIM_LOG_LEVEL=info traffic live
	[ ! -e "$BATS_TEST_TMPDIR/victim" ]
	mkdir "$BATS_TEST_TMPDIR/dir"
	ln -s "$BATS_TEST_TMPDIR/dir" "$BATS_TEST_TMPDIR/way"
	chown -h nobody "$BATS_TEST_TMPDIR/way"
	CCSHIM_TRACE=$BATS_TEST_TMPDIR/way/t CCSHIM_LOG_FILE=$BATS_TEST_TMPDIR/way/l CCSHIM_LOG_LEVEL=info \
		CCSHIM_REPORT=$BATS_TEST_TMPDIR/way/r traffic live
	[ -z "$(ls "$BATS_TEST_TMPDIR/dir")" ]
	chown -h "$EUID" "$report"
	CCSHIM_LOG_FILE=$report CCSHIM_LOG_LEVEL=info traffic live
	[ -s "$BATS_TEST_TMPDIR/victim" ]
}

# An attacker lays links at the names that can be guessed: the process ID, with what precedes it.
@test "the name under which a report is written cannot be guessed" {
	bash -c 'ln -s "$0" "$1.$$"; ln -s "$0" "$1.tmp"; exec "$2" live' "$BATS_TEST_TMPDIR/victim" \
		"$report" "$top_builddir/tests/verbs/traffic"
	[ ! -e "$BATS_TEST_TMPDIR/victim" ]
	check_traffic
}

@test "a process that replaces the report of another one that ran beside it says so" {
	cd "$BATS_TEST_TMPDIR"
	load shown.bash
	export CCSHIM_LOG_LEVEL=warn CCSHIM_AGENT=off
	traffic live
	traffic live 2> alone # of an earlier process
	[ "$(grep -c another alone)" -eq 0 ]
	begin
	traffic live
	exec 8>&-
	wait "$app"
	check '.program == "shown"'
	[ "$(grep -c "warn: report $report: another process wrote it" stderr)" -eq 1 ]
}

@test "only its user can read the report" {
	traffic live
	[ "$(stat -c %a "$report")" = 600 ]
}

@test "every reason for uncontrolled traffic is in the manual page" {
	grep -oP '^\tX\([A-Z_]+, "\K[a-z-]+' "$top_srcdir/libshim/preload/object/shim.h" |
		grep -vw "$(sed -n 's/^\.It Li //p' "$top_srcdir/docs/man/libccshim.7" |
			sed 's/ , /\n/g')" > "$BATS_TEST_TMPDIR/missing" || true
	[ ! -s "$BATS_TEST_TMPDIR/missing" ] || { cat "$BATS_TEST_TMPDIR/missing"; return 1; }
	[ "$(grep -cP '^\tX\(' "$top_srcdir/libshim/preload/object/shim.h")" -gt 10 ]
}
