#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The static probes of the library: the manual page's table, and tracing with bpftrace.

setup() {
	# A copy, because a tracer attaches to all processes that have loaded the file.
	own=$BATS_TEST_TMPDIR/own lib=$BATS_TEST_TMPDIR/own/.libs/libccshim.so
	mkdir -p "$own/.libs"
	cp "$top_builddir/.libs/libccshim.so" "$lib"
	ln -s "$top_builddir/.libs/libfakerdma.so" "$own/.libs"
	scripts=$top_srcdir/tools/bpftrace
	tracer=
	for name in ${!CCSHIM_@}; do unset "$name"; done
	readelf -n "$lib" | grep -q stapsdt || skip "built without probes"
	cd "$BATS_TEST_TMPDIR"
}

teardown() {
	[ -z "$tracer" ] || kill -KILL "$tracer" 2> /dev/null || true
}

# NAME WIDTH…, sorted; a width below 0 is signed. A probe may be at several places.
documented() {
	sed -n 's/^\.It Fn //p' "$top_srcdir/docs/man/ccshim-probes.7" |
		sed 's/"uint32_t [^"]*"/4/g; s/"uint64_t [^"]*"/8/g; s/"int64_t [^"]*"/-8/g
			s/"const char \*[^"]*"/8/g' | sort
}

built() {
	readelf -n "$lib" | awk '/Provider:/ { ours = $2 == "ccshim" } /Name:/ { name = $2 }
		/Arguments:/ && ours {
			line = name
			while (match($0, /-?[0-9]+@/)) {
				line = line " " substr($0, RSTART, RLENGTH - 1)
				$0 = substr($0, RSTART + RLENGTH)
			}
			print line
		}' | sort -u
}

@test "the table of the manual page equals the probes of the library" {
	[ "$(built | wc -l)" -eq 8 ]
	diff <(documented) <(built)
}

@test "arguments are registers, memory or constants, which tracers can read" {
	! readelf -n "$lib" | grep 'Arguments:.*rip' || return 1
}

# SCRIPT: bpftrace with it, up and attached, as $tracer; it writes JSON to out.
trace() {
	[ "$EUID" -eq 0 ] && command -v bpftrace > /dev/null || skip "no bpftrace, or not root"
	bpftrace -f json -o out "$scripts/$1" "$lib" > said 2>&1 3>&- &
	tracer=$!
	while kill -0 "$tracer" 2> /dev/null; do
		! grep -q Tracing out 2> /dev/null || return 0
		sleep 0.1
	done
	cat said
	skip "bpftrace cannot trace here"
}

# Both queue pairs of a program; its own trace goes to t.csv.
traffic() {
	RIG_KEEP=1 CCSHIM_CONFIG= CCSHIM_AGENT=off CCSHIM_SEGMENT=4k CCSHIM_CC=timely \
		ASAN_OPTIONS=detect_leaks=0 CCSHIM_TRACE=$PWD/t.csv top_builddir=$own \
		"$top_builddir/tests/verbs/tracing"
	kill -INT "$tracer"
	# Repeat the signal: the tracer may miss one that comes just before it sleeps.
	(while sleep 1 && kill -INT "$tracer"; do :; done) 2> /dev/null 3>&- &
	wait "$tracer" || true
	tracer=
	! grep "events are lost" t.csv || skip "the trace itself has lost some"
}

# MAP FILTER: the values in a map of bpftrace for each queue pair, as "QP value", sorted.
of_map() {
	jq -r --arg map "$1" 'select(.type == "map" or .type == "hist") | .data[$map] // empty |
		to_entries[] | "\(.key | split(",")[1]) \(.value | '"$2"')"' out | sort -u
}

# Of the program's own record: per QP the number of its rows of that event.
recorded() {
	awk -F, -v event="$1" '$2 == event { n[$3]++ } END { for (qp in n) print qp, n[qp] }' t.csv | sort
}

@test "rtt-hist.bt sees each RTT that is recorded" {
	trace rtt-hist.bt
	traffic
	recorded ack > want
	[ "$(wc -l < want)" -eq 2 ]
	of_map @rtt_us 'map(.count) | add' | diff want -
}

@test "gated.bt sees gates close and open" {
	trace gated.bt
	traffic
	of_map @closed . > closed
	[ "$(wc -l < closed)" -eq 2 ]
	of_map @gated_us 'map(.count) | add' > opened
	# It may be closed at the end.
	join closed opened | awk '$2 != $3 && $2 != $3 + 1 { exit 1 } END { exit NR != 2 }'
	of_map @gated_total_us . | awk '$2 <= 0 { exit 1 } END { exit NR != 2 }'
}

@test "rate.bt prints the last decided rate" {
	trace rate.bt
	traffic
	# What it printed each second, and at its end; the last of them.
	jq -r 'select(.type == "map") | .data["@rate_mbps"] // empty | to_entries[] |
		"\(.key | split(",")[1]) \(.value)"' out | awk '{ v[$1] = $2 }
		END { for (qp in v) print qp, v[qp] }' | sort > got
	awk -F, '!/^#/ && $16 + 0 > 0 { v[$3] = int($16 / 1e6) } END { for (qp in v) print qp, v[qp] }' t.csv |
		sort | diff - got
}
