// SPDX-License-Identifier: BSD-2-Clause
// The flows of snapshots of 'ccshim stat --json --display deltas', one after the other.
import { Series } from "./chart.js";

const CURVES = ["goodput", "rate", "rtt50", "rtt99", "queue"];

// Empty texts and missing numbers stay so: a process of another version may lack some.
function readFlow(flow, process, qp, interval) {
	const rtt = qp.rtt_us || {};

	return Object.assign(flow, {
		pid: process.pid,
		program: String(process.program ?? ""),
		qp: qp.lqpn,
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
	});
}

export class History {
	// keep: seconds; flows that ended longer ago are forgotten.
	constructor(keep = Infinity) {
		this.keep = keep;
		this.flows = new Map();
		this.colors = 0;
		this.first = NaN;
		this.last = NaN;
	}

	add(snapshot) {
		const now = snapshot.time;

		if (!Number.isFinite(now) || !Array.isArray(snapshot.processes))
			throw new Error("it is not what 'ccshim stat --json' prints");
		this.first = Number.isFinite(this.first) ? this.first : now;
		this.last = now;
		for (const process of snapshot.processes)
			for (const qp of process.qps ?? [])
				this.addFlow(now, process, qp, snapshot.interval_s);
		this.forget();
	}

	addFlow(now, process, qp, interval) {
		const key = `${process.pid}/${process.program}/${qp.ifname}/${qp.lqpn}`;
		let flow = this.flows.get(key);

		if (!flow) {
			flow = { key, color: this.colors++, curves: {} };
			for (const name of CURVES)
				flow.curves[name] = new Series();
			this.flows.set(key, flow);
		}
		readFlow(flow, process, qp, interval);
		flow.seen = now;
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

	// Queue pairs of the last snapshot, busy ones first.
	current() {
		return [...this.flows.values()].filter((f) => f.seen === this.last)
			.sort((a, b) => (a.limit === "idle") - (b.limit === "idle") ||
				(b.gated || 0) - (a.gated || 0) || (b.goodput || 0) - (a.goodput || 0) || a.color - b.color);
	}
}
