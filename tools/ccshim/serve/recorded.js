// SPDX-License-Identifier: BSD-2-Clause
// Reads files that were recorded: traces, recordings of 'ccshim stat --json', reports, and results of
// ccbench. The result is { kind: "trace", "recording", "report" or "bench", name, origin: of its times,
// flows, notes }. A flow has a weight, by which flows are ranked.
import { History, readSnapshot } from "./live.js";
import { Series } from "./series.js";

const TRACE_CURVES = ["rate", "rtt", "inflight", "window", "queue"];
const FLOWS_MAX = 4096;

// -- traces -------------------------------------------------------------------------------------

async function* linesOf(file) {
	const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";

	for (;;) {
		const { value, done } = await reader.read();

		if (done)
			break;
		const lines = (rest + value).split("\n");

		rest = lines.pop();
		yield* lines;
	}
	if (rest)
		yield rest;
}

function number(text) {
	return text === undefined || text === "" ? NaN : Number(text);
}

// hops: TIME:BYTES:QUEUE:CAPACITY, several separated by semicolons
function longestQueue(hops) {
	return Math.max(...(hops || "").split(";").map((hop) => number(hop.split(":")[2]))
		.map((v) => (Number.isFinite(v) ? v : -Infinity)));
}

class Trace {
	constructor(name) {
		this.name = name;
		this.flows = new Map();
		this.algorithmOf = new Map(); // by key of the flow, as peerOf
		this.peerOf = new Map();
		this.programOf = new Map(); // by process ID
		this.pid = "";         // of the process that was described last
		this.notes = [];
		this.column = null;
		this.origin = NaN;
		this.bad = 0;
		this.omitted = 0;
	}

	line(text) {
		if (text.startsWith("#")) {
			this.comment(text.trim());
		} else if (!this.column || /^t_[un]s,event,/.test(text)) { // another version writes another header
			this.column = Object.fromEntries(text.trim().split(",").map((name, i) => [name, i]));
			if (this.column.t_us === undefined || this.column.event === undefined)
				throw new Error("it is not a trace: its first line does not name the columns t_us and event");
		} else if (text) {
			this.row(text.split(","));
		}
	}

	comment(text) {
		const [, qp, verb, what, of] = /^# QP (\d+) (runs|sends to) (.*?)(?: \(process (\d+)\))?$/.exec(text) ?? [];
		const [, program, pid] = /^# ccshim .*?: (.*?), process (\d+)/.exec(text) ?? [];

		if (qp)
			this[verb === "runs" ? "algorithmOf" : "peerOf"].set(`${of ?? this.pid}//${qp}`, what);
		if (pid) {
			this.pid = pid;
			this.programOf.set(pid, program);
		}
	}

	flow(get) {
		const pid = get("pid") || this.pid, qp = get("qp") ?? "0", key = `${pid}/${get("host") ?? ""}/${qp}`;
		let flow = this.flows.get(key);

		if (!flow && this.flows.size >= FLOWS_MAX)
			return null;
		if (!flow) {
			flow = { key, pid, qp, program: get("program") ?? this.programOf.get(pid), curves: {},
				 events: 0, cnps: 0, losses: 0, bytes: 0, rtts: 0, rttSum: 0, limit: "" };
			for (const name of TRACE_CURVES)
				flow.curves[name] = new Series();
			this.flows.set(key, flow);
		}
		return flow;
	}

	row(cell) {
		const get = (name) => cell[this.column[name]];
		const clock = number(get("clock_us"));
		const t = (Number.isFinite(clock) ? clock : number(get("t_us"))) / 1e6;
		const flow = Number.isFinite(t) ? this.flow(get) : undefined;

		if (!flow) {
			this[flow === null ? "omitted" : "bad"]++;
			return;
		}
		this.origin = Number.isFinite(this.origin) ? Math.min(this.origin, t) : t;
		flow.events++;
		flow.rate = number(get("rate_bps"));
		flow.window = number(get("window_bytes")) || NaN; // 0: no window
		flow.curves.rate.add(t, flow.rate);
		flow.curves.window.add(t, flow.window);
		this.event(flow, t, get);
	}

	event(flow, t, get) {
		const rtt = number(get("rtt_us"));

		switch (get("event")) {
		case "ack":
			flow.bytes += number(get("bytes")) || 0;
			if (rtt > 0) {
				flow.rtts++;
				flow.rttSum += rtt;
				flow.curves.rtt.add(t, rtt);
			}
			flow.curves.inflight.add(t, number(get("inflight")));
			flow.curves.queue.add(t, longestQueue(get("hops")));
			break;
		case "cnp":
			flow.cnps++;
			break;
		case "loss":
			flow.losses++;
			break;
		}
	}

	end() {
		if (!this.flows.size)
			throw new Error("it has no events");
		for (const flow of this.flows.values()) {
			flow.algorithm = this.algorithmOf.get(flow.key) ?? "";
			flow.peer = this.peerOf.get(flow.key);
			flow.rttMean = flow.rttSum / flow.rtts;
			flow.weight = flow.bytes + flow.events / 1e6;
		}
		if (this.bad)
			this.notes.push(`${this.bad} lines without a time were ignored`);
		if (this.omitted)
			this.notes.push(`${this.omitted} events of flows beyond the first ${FLOWS_MAX} were ignored`);
		return { kind: "trace", name: this.name, origin: this.origin, flows: [...this.flows.values()],
			 notes: this.notes };
	}
}

async function readTrace(file) {
	const trace = new Trace(file.name);

	for await (const line of linesOf(file))
		trace.line(line);
	return trace.end();
}

// -- JSON ---------------------------------------------------------------------------------------

// All are 0 for a queue pair without RTTs.
function readRtt(rtt) {
	return rtt?.max > 0 ? rtt : {};
}

function readReport(name, report) {
	const reasons = Object.entries(report.uncontrolled ?? {}).filter(([, n]) => n > 0);
	const notes = reasons.map(([why, n]) => `${n} not controlled: ${why}`);
	const flows = report.qps.map((qp, i) => ({
		key: String(i), qp: qp.lqpn, weight: qp.bytes, program: String(report.program ?? ""), pid: report.pid,
		peer: String(qp.peer ?? "-"), device: `${qp.ifname ?? "?"}/${qp.port ?? "?"}`,
		algorithm: qp.variant ? `${qp.cc}:${qp.variant}` : String(qp.cc ?? ""),
		rate: qp.rate_bps, rateMin: qp.rate_min_bps, rateMax: qp.rate_max_bps, bytes: qp.bytes,
		wrs: qp.wrs, gatedUs: qp.gated_us, rtt: readRtt(qp.rtt_us), cnps: qp.rp_cnp_handled,
		losses: qp.losses, limit: "",
	}));

	if (report.missing_feedback?.length)
		notes.push(`missing feedback: ${report.missing_feedback.join(", ")}`);
	if (report.qps_omitted)
		notes.push(`${report.qps_omitted} queue pairs were omitted`);
	return { kind: "report", name, origin: 0, flows, notes };
}

function readRecording(name, snapshots) {
	const history = new History();

	for (const snapshot of snapshots)
		history.add(snapshot.time, readSnapshot(snapshot));
	return { kind: "recording", name, origin: history.first, flows: [...history.flows.values()], notes: [] };
}

// The curve of values of intervals of bin seconds, which end at their times.
function curveOf(values, bin) {
	const series = new Series();

	(values ?? []).forEach((v, i) => series.add((i + 1) * bin, v ?? NaN));
	return series;
}

// The sum of the flows' rates in each interval.
function sumRates(flows) {
	const most = Math.max(0, ...flows.map((flow) => flow.rate_bps?.length ?? 0));

	return Array.from({ length: most }, (_, i) => flows.reduce((sum, flow) => sum + (flow.rate_bps?.[i] ?? 0), 0));
}

function readBench(name, { runs, scenario }) {
	const flows = runs.map((run, i) => ({
		key: String(i), label: String(run.cc), weight: runs.length - i, count: run.flows?.length,
		goodput: run.goodput_bps ?? NaN, utilisation: run.utilisation ?? NaN, jain: run.jain ?? NaN,
		queueBytes: run.queue_bytes ?? {}, victim: run.victim_latency_us ?? {}, drops: run.drops ?? NaN,
		errors: run.errors, seed: run.seed,
		curves: { goodput: curveOf(sumRates(run.flows ?? []), run.bin_s),
			  queue: curveOf(run.queue_series_bytes, run.bin_s) },
	}));

	return { kind: "bench", name, origin: 0, flows, notes: scenario ? [String(scenario)] : [] };
}

function parseLines(text) {
	const lines = text.split("\n").filter((line) => line.trim());

	return lines.flatMap((line, i) => {
		try {
			return [JSON.parse(line)];
		} catch (e) {
			if (i === lines.length - 1 && i > 0)
				return []; // its writer was ended in the middle of it
			throw new Error("it is not JSON");
		}
	});
}

async function readJson(file) {
	const text = await file.text();
	let documents;

	try {
		documents = [JSON.parse(text)];
	} catch (e) {
		documents = parseLines(text);
	}
	if (Array.isArray(documents[0]?.qps))
		return readReport(file.name, documents[0]);
	if (Array.isArray(documents[0]?.processes))
		return readRecording(file.name, documents);
	if (Array.isArray(documents[0]?.runs))
		return readBench(file.name, documents[0]);
	throw new Error("it is neither a report, a recording of 'ccshim stat --json', nor a result of ccbench");
}

export async function readFile(file) {
	const start = (await file.slice(0, 256).text()).trimStart();

	return start.startsWith("{") ? readJson(file) : readTrace(file);
}
