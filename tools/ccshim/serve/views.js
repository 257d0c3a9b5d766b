// SPDX-License-Identifier: BSD-2-Clause
// The charts and the columns of each kind of source: live flows, traces, recordings and reports.
import * as format from "./format.js";

const ago = (t) => (t > -0.5 ? "now" : `${Math.round(t)} s`);

export const CHARTS = {
	live: [
		{ title: "Goodput", curves: ["goodput"], format: format.rate },
		{ title: "Rate of the algorithm", curves: ["rate"], format: format.rate, hold: true },
		{ title: "RTT: p99, and p50 dashed (logarithmic)", curves: ["rtt99", "rtt50"], format: format.micros,
		  log: true },
		{ title: "In flight and waiting", curves: ["queue"], format: format.bytes, base: 2 },
	],
	trace: [
		{ title: "Rate of the algorithm", curves: ["rate"], format: format.rate, hold: true },
		{ title: "RTT: mean and range (logarithmic)", curves: ["rtt"], format: format.micros, log: true },
		{ title: "In flight, and window dashed", curves: ["inflight", "window"], format: format.bytes, base: 2 },
		{ title: "Longest queue on the path", curves: ["queue"], format: format.bytes, base: 2,
		  empty: "the trace has no telemetry" },
	],
	report: [
		{ title: "RTT: min to max, and p50 to p99 (logarithmic)", format: format.micros,
		  range: (f) => ({ low: f.rtt.min, from: f.rtt.p50, to: f.rtt.p99, high: f.rtt.max }) },
		{ title: "Rate: lowest to highest, and last (logarithmic)", format: format.rate,
		  range: (f) => ({ low: f.rateMin, from: f.rate, to: f.rate, high: f.rateMax }) },
	],
};
CHARTS.recording = CHARTS.live.map((chart) => ({ ...chart }));
for (const [kind, charts] of Object.entries(CHARTS))
	for (const chart of charts)
		chart.time = kind === "live" ? ago : format.seconds;

// unit: the function that formats a number; without one it is text.
function column(title, get, unit) {
	return { title, get: (f) => (unit ? unit(get(f)) : get(f)), number: Boolean(unit) };
}

const PROGRAM = column("PROGRAM", (f) => f.program);
const PID = column("PID", (f) => f.pid, String);
const QP = column("QP", (f) => f.qp, String);
const PEER = column("PEER", (f) => f.peer ?? "-");
const ALGORITHM = column("ALGORITHM", (f) => f.algorithm);
const CNPS = column("CNPS", (f) => f.cnps, format.count);
const LOSSES = column("LOSSES", (f) => f.losses, format.count);
const LIMITS = { rate: "rate", window: "window", app: "application", none: "nothing: observed", idle: "idle",
		 uncontrolled: "uncontrolled" };

export const COLUMNS = {
	live: [PROGRAM, PID, QP, PEER,
	       { ...column("LIMITED BY", (f) => LIMITS[f.limit] ?? f.limit), style: (f) => f.limit },
	       column("GOODPUT", (f) => f.goodput, format.rate), column("RATE", (f) => f.rate, format.rate),
	       column("RTT P50", (f) => f.rtt50, format.micros), column("RTT P99", (f) => f.rtt99, format.micros),
	       column("IN FLIGHT", (f) => f.inflight, format.bytes), column("WINDOW", (f) => f.window, format.bytes),
	       column("WAITING", (f) => f.queued, format.bytes), column("GATED", (f) => f.gated, format.percent),
	       CNPS, LOSSES, ALGORITHM, column("DEVICE", (f) => f.device)],
	trace: [QP, PEER, ALGORITHM, column("EVENTS", (f) => f.events, format.count),
		column("ACKNOWLEDGED", (f) => f.bytes, format.bytes), column("MEAN RTT", (f) => f.rttMean, format.micros),
		column("LAST RATE", (f) => f.rate, format.rate), column("LAST WINDOW", (f) => f.window, format.bytes),
		CNPS, LOSSES],
	report: [PROGRAM, PID, QP, PEER, column("DEVICE", (f) => f.device), ALGORITHM,
		 column("COMPLETED", (f) => f.bytes, format.bytes), column("REQUESTS", (f) => f.wrs, format.count),
		 column("RATE", (f) => f.rate, format.rate), column("RTT P50", (f) => f.rtt.p50, format.micros),
		 column("RTT P99", (f) => f.rtt.p99, format.micros), column("RTT MAX", (f) => f.rtt.max, format.micros),
		 column("GATED", (f) => f.gatedUs, format.micros), CNPS, LOSSES],
};
COLUMNS.recording = COLUMNS.live;

export const LINKS = [
	column("INTERFACE", (l) => String(l.interface)),
	column("DIRECTION", (l) => (l.ingress ? "in" : "out")),
	column("CAPACITY", (l) => l.capacity, format.rate),
	column("RATE", (l) => l.rate, format.rate),
	column("USED", (l) => l.rate / l.capacity, format.percent),
	column("QUEUE", (l) => l.queue_bytes, format.bytes),
	column("FLOWS", (l) => l.flows, format.count),
	column("PEERS", (l) => l.peers, format.count),
	column("ADVISED RATE", (l) => l.advised_bps || NaN, format.rate),
];
