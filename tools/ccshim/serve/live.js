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
	};
}

// What a group shows: sums, the largest of the RTTs and waiting, and a text that all share.
const SUMS = ["qps", "rate", "goodput", "inflight", "queued", "queue", "window", "cnps", "losses"];
const LARGEST = ["gated", "rtt50", "rtt99"];
const SHARED = ["pid", "program", "peer", "device", "algorithm"];
const LIMITS = ["idle", "none", "app", "window", "rate"]; // the last that occurs is the group's

export const GROUPS = {
	qp: (flow) => flow.key,
	process: (flow) => `${flow.pid}/${flow.program}`,
	peer: (flow) => flow.peer,
	tenant: (flow) => flow.tenant,
};

function join(group, flow) {
	for (const name of SUMS)
		group[name] += flow[name];
	for (const name of LARGEST)
		group[name] = Math.max(group[name] ?? flow[name], flow[name] ?? group[name]);
	for (const name of SHARED)
		group[name] = group[name] === flow[name] ? flow[name] : "several";
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

	add(snapshot) {
		const now = snapshot.time, groups = new Map();

		if (!Number.isFinite(now) || !Array.isArray(snapshot.processes))
			throw new Error("it is not a document of 'ccshim stat --json'");
		this.first = Number.isFinite(this.first) ? this.first : now;
		this.last = now;
		for (const process of snapshot.processes)
			for (const qp of process.qps ?? []) {
				const flow = readFlow(process, qp, snapshot.interval_s);
				const key = this.groupOf(flow);

				if (groups.has(key))
					join(groups.get(key), flow);
				else
					groups.set(key, { ...flow, key });
			}
		for (const values of groups.values())
			this.addFlow(now, values);
		this.forget();
	}

	// weight: the goodput of the last ten readings or so. Flows are ranked by it, so it follows only
	// where it has changed by a third: small changes do not exchange rows and colours.
	addFlow(now, values) {
		let flow = this.flows.get(values.key);

		if (!flow) {
			flow = { curves: Object.fromEntries(CURVES.map((name) => [name, new Series()])),
				 mean: values.goodput || 0, weight: values.goodput || 0 };
			this.flows.set(values.key, flow);
		}
		Object.assign(flow, values, { seen: now });
		flow.mean += ((flow.goodput || 0) - flow.mean) / 10;
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
