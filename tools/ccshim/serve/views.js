// SPDX-License-Identifier: BSD-2-Clause
// The charts and the columns of each kind of source: live flows, traces, recordings, reports and results
// of ccbench.
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
		{ title: "RTT (logarithmic)", format: format.micros, empty: "no RTT was measured",
		  log: true, names: ["min", "p50", "p99", "max"], values: ({ rtt }) => [rtt.min, rtt.p50, rtt.p99, rtt.max] },
		{ title: "Rate of the algorithm (logarithmic)", format: format.rate,
		  log: true, names: ["lowest", "last", "highest"], values: (f) => [f.rateMin, f.rate, f.rateMax] },
	],
	bench: [
		{ title: "Goodput of all flows", curves: ["goodput"], format: format.rate },
		{ title: "Queue of the bottleneck", curves: ["queue"], format: format.bytes, base: 2 },
		{ title: "Latency of the victim (logarithmic)", format: format.micros, empty: "the scenario has no victim",
		  log: true, names: ["p50", "p99", "max"], values: ({ victim }) => [victim.p50, victim.p99, victim.max] },
	],
};
CHARTS.recording = CHARTS.live.map((chart) => ({ ...chart }));
for (const [kind, charts] of Object.entries(CHARTS))
	for (const chart of charts)
		chart.time = kind === "live" ? ago : format.seconds;

// format: of a number; without it the value is a text. sum: the column has a total.
function column(title, value, numeric, sum = false) {
	return { title, value, format: numeric, sum, number: Boolean(numeric),
		 text: (f) => String((numeric ? numeric(value(f)) : value(f)) ?? "-") };
}

const PROGRAM = column("PROGRAM", (f) => f.program);
const PID = column("PID", (f) => f.pid, format.name);
const QP = column("QP", (f) => f.qp, format.name);
const QPS = column("QPS", (f) => f.qps, format.count, true);
const PEER = column("PEER", (f) => f.peer ?? "-");
const ALGORITHM = column("ALGORITHM", (f) => f.algorithm);
const CNPS = column("CNPS", (f) => f.cnps, format.count, true);
const LOSSES = column("LOSSES", (f) => f.losses, format.count, true);
// Of all ports that the flows use.
const SHARE = column("SHARE", (f) => f.goodput / Object.values(f.lines).reduce((sum, line) => sum + line, 0),
		     format.percent);
const LIMITS = { rate: "rate", window: "window", app: "application", none: "nothing: observed", idle: "idle",
		 uncontrolled: "uncontrolled", "tenant cap": "cap of the tenant" };

export const COLUMNS = {
	live: [PROGRAM, PID, QP, PEER,
	       { ...column("LIMITED BY", (f) => LIMITS[f.limit] ?? f.limit), style: (f) => (f.limit === "tenant cap" ? "rate" : f.limit) },
	       column("GOODPUT", (f) => f.goodput, format.rate, true), column("RATE", (f) => f.rate, format.rate),
	       column("RTT P50", (f) => f.rtt50, format.micros), column("RTT P99", (f) => f.rtt99, format.micros),
	       column("IN FLIGHT", (f) => f.inflight, format.bytes, true), column("WINDOW", (f) => f.window, format.bytes),
	       column("WAITING", (f) => f.queued, format.bytes, true), column("GATED", (f) => f.gated, format.percent),
	       CNPS, LOSSES, ALGORITHM, column("DEVICE", (f) => f.device)],
	trace: [PROGRAM, PID, QP, PEER, ALGORITHM, column("EVENTS", (f) => f.events, format.count, true),
		column("ACKNOWLEDGED", (f) => f.bytes, format.bytes, true), column("MEAN RTT", (f) => f.rttMean, format.micros),
		column("LAST RATE", (f) => f.rate, format.rate), column("LAST WINDOW", (f) => f.window, format.bytes),
		CNPS, LOSSES],
	report: [PROGRAM, PID, QP, PEER, column("DEVICE", (f) => f.device), ALGORITHM,
		 column("COMPLETED", (f) => f.bytes, format.bytes, true), column("REQUESTS", (f) => f.wrs, format.count, true),
		 column("RATE", (f) => f.rate, format.rate), column("RTT P50", (f) => f.rtt.p50, format.micros),
		 column("RTT P99", (f) => f.rtt.p99, format.micros), column("RTT MAX", (f) => f.rtt.max, format.micros),
		 column("GATED", (f) => f.gatedUs, format.micros), CNPS, LOSSES],
	bench: [column("SETTING", (f) => f.label), column("FLOWS", (f) => f.count, format.count),
		column("GOODPUT", (f) => f.goodput, format.rate), column("UTILISATION", (f) => f.utilisation, format.percent),
		column("JAIN", (f) => f.jain, format.index), column("QUEUE P50", (f) => f.queueBytes.p50, format.bytes),
		column("QUEUE P99", (f) => f.queueBytes.p99, format.bytes),
		column("VICTIM P50", (f) => f.victim.p50, format.micros),
		column("VICTIM P99", (f) => f.victim.p99, format.micros), column("DROPS", (f) => f.drops, format.count),
		column("ERRORS", (f) => f.errors, format.count), column("SEED", (f) => f.seed, format.name)],
};
COLUMNS.recording = [...COLUMNS.live]; // another array: the table is made again
COLUMNS.process = [PROGRAM, PID, QPS, SHARE, ...COLUMNS.live.slice(4)];
COLUMNS.tenant = [column("TENANT", (f) => f.tenant), QPS, SHARE,
		  column("WEIGHT", (f) => f.terms.weight, format.name),
		  column("CAP", (f) => f.terms.cap_bps || NaN, format.rate),
		  column("GUARANTEE", (f) => f.terms.guarantee_bps || NaN, format.rate),
		  column("CLASS", (f) => f.terms.class ?? "-"), ...COLUMNS.live.slice(4)];
COLUMNS.peer = [QPS, PEER, SHARE, ...COLUMNS.live.slice(4)];

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
