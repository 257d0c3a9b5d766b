# SPDX-License-Identifier: BSD-2-Clause
# Judges what tests/lab/telemetry printed: what counters were read as must lie between what the
# records before and after say, of which the second one after was surely taken later; and so must
# queues, within what comes in and goes out between two records (slack, bytes).
function hop(f, i, part) {
	split(f[i], part, ":")
	tx = part[3]
	q = part[4]
}

function between(what, bytes, a, b) {
	if (bytes < a || bytes > b) {
		print what, bytes, "is not between", a, "and", b, "at", NR
		bad++
	}
	compared++
}

# A comparison waits for the second record after it.
function settle(i, j) {
	for (i = first; i < n; i++) {
		if (++later[i] < 2)
			continue
		if (kind[i] == "x") {
			hop(record, nf)
			between("x", bytes[i], ingress[i], tx)
		} else {
			hop(record, 6)
			between("t", bytes[i], port[i], tx)
			lowest = queue[i] < q ? queue[i] : q
			highest = queue[i] > q ? queue[i] : q
			between("queue", backlog[i], lowest - slack, highest + slack)
			fullest = backlog[i] > fullest ? backlog[i] : fullest
		}
		first = i + 1
	}
}

$1 == "r" && NF == 7 {
	nf = split($0, record)
	records++
	age = $2 - $5
	oldest = age > oldest ? age : oldest
	settle()
	hop(record, 6)
	last_port = tx
	last_queue = q
	hop(record, 7)
	last_ingress = tx
}

($1 == "x" || $1 == "t") && records {
	kind[n] = $1
	bytes[n] = $3
	backlog[n] = $4
	port[n] = last_port
	queue[n] = last_queue
	ingress[n++] = last_ingress
}

END {
	print records, "records,", compared, "comparisons, fullest queue", fullest, \
		"bytes, oldest record", oldest / 1000, "us"
	exit bad || compared < 20 || fullest < 100000 || oldest > limit_us * 1000
}
