// SPDX-License-Identifier: BSD-2-Clause
// The flows of snapshots of 'ccshim stat --json --display deltas', one after the other: by queue pair, or
// summed by process, peer or tenant.
import { Series } from "./series.js";

const CURVES = ["goodput", "rate", "rtt50", "rtt99", "queue"];

// Empty texts and missing numbers stay so: a process of another version may lack some.
function readFlow(process, qp, interval) {
	const rtt = qp.rtt_us || {};

	return {
		key: `${process.pid}/${process.program}/${qp.ifname}/${qp.lqpn}`,
		pid: process.pid,
		program: String(process.program ?? ""),
		tenant: String(process.tenant ?? "-"),
		terms: process, line: qp.line_rate_bps,
		qp: qp.lqpn,
		qps: 1,
		peer: String(qp.peer ?? "-"),
		device: `${qp.ifname ?? "?"}/${qp.port ?? "?"}`,
		algorithm: qp.variant ? `${qp.cc}:${qp.variant}` : String(qp.cc ?? ""),
		limit: String(qp.limit ?? "-"),
		rate: qp.rate_bps,
		goodput: interval > 0 ? qp.bytes * 8 / interval : NaN,
		gated: interval > 0 ? Math.min(qp.gated_us / 1e6 / interval, 1) : NaN,
		rtt50: rtt.p50,
		rtt99: rtt.p99,
		inflight: qp.inflight_bytes,
		queued: qp.queued_bytes,
		queue: qp.inflight_bytes + qp.queued_bytes,
		window: qp.window_bytes,
		cnps: qp.rp_cnp_handled,
		losses: qp.losses,
		curves: null, mean: 0, weight: 0, seen: 0, // set by the history that it is added to
	};
}

// The last that occurs is the group's.
const LIMITS = ["idle", "none", "uncontrolled", "app", "window", "rate", "tenant cap"];

export const GROUPS = {
	qp: (flow) => flow.key,
	process: (flow) => `${flow.pid}/${flow.program}`,
	peer: (flow) => flow.peer,
	tenant: (flow) => flow.tenant,
};

// The flows of a snapshot, each an object of its own. Histories share them.
export function readSnapshot(snapshot) {
	if (!Number.isFinite(snapshot.time) || !Array.isArray(snapshot.processes))
		throw new Error("it is not a document of 'ccshim stat --json'");
	return snapshot.processes.flatMap((process) =>
		(process.qps ?? []).map((qp) => readFlow(process, qp, snapshot.interval_s)));
}

const larger = (a, b) => Math.max(a ?? b, b ?? a);
const shared = (a, b) => (a === b ? a : "several");

// What a group shows: sums, the largest of the RTTs and waiting, and a text that all share. Loops over names
// of members took an eighth of the time of a reading.
function join(group, flow) {
	group.qps += flow.qps;
	group.rate += flow.rate;
	group.goodput += flow.goodput;
	group.inflight += flow.inflight;
	group.queued += flow.queued;
	group.queue += flow.queue;
	group.window += flow.window;
	group.cnps += flow.cnps;
	group.losses += flow.losses;
	group.gated = larger(group.gated, flow.gated);
	group.rtt50 = larger(group.rtt50, flow.rtt50);
	group.rtt99 = larger(group.rtt99, flow.rtt99);
	group.pid = shared(group.pid, flow.pid);
	group.program = shared(group.program, flow.program);
	group.peer = shared(group.peer, flow.peer);
	group.lines[flow.device] = flow.line;
	group.device = shared(group.device, flow.device);
	group.algorithm = shared(group.algorithm, flow.algorithm);
	if (LIMITS.indexOf(flow.limit) > LIMITS.indexOf(group.limit))
		group.limit = flow.limit;
}

export class History {
	// keep: seconds; flows that ended longer ago are forgotten. by: a name of GROUPS.
	constructor(keep = Infinity, by = "qp") {
		this.keep = keep;
		this.groupOf = GROUPS[by];
		this.flows = new Map();
		this.first = NaN;
		this.last = NaN;
	}

	// flows: of readSnapshot().
	add(now, flows) {
		const groups = new Map();

		this.first = Number.isFinite(this.first) ? this.first : now;
		this.last = now;
		for (const flow of flows) {
			const key = this.groupOf(flow), group = groups.get(key);

			if (group)
				join(group, flow);
			else
				groups.set(key, key === flow.key ? flow : { ...flow, key, lines: { [flow.device]: flow.line } });
		}
		for (const values of groups.values())
			this.addFlow(now, values);
		this.forget();
	}

	// weight: the goodput of the last ten readings or so. Flows are ranked by it, so it follows only
	// where it has changed by a third: small changes do not exchange rows and colours.
	addFlow(now, flow) {
		const goodput = flow.goodput || 0, before = this.flows.get(flow.key);

		flow.curves = before?.curves ?? Object.fromEntries(CURVES.map((name) => [name, new Series()]));
		flow.mean = before?.mean ?? goodput;
		flow.weight = before?.weight ?? goodput;
		flow.seen = now;
		this.flows.set(flow.key, flow);
		flow.mean += (goodput - flow.mean) / 10;
		if (Math.abs(flow.mean - flow.weight) > flow.weight / 3)
			flow.weight = flow.mean;
		for (const name of CURVES)
			flow.curves[name].add(now, flow[name]);
	}

	forget() {
		for (const [key, flow] of this.flows) {
			if (flow.seen < this.last - this.keep)
				this.flows.delete(key);
			else if (this.keep < Infinity)
				for (const name of CURVES)
					flow.curves[name].forgetBefore(this.last - this.keep);
		}
	}

	current() {
		return [...this.flows.values()].filter((f) => f.seen === this.last);
	}
}
