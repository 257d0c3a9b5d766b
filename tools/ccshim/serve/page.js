// SPDX-License-Identifier: BSD-2-Clause
// The page: polls the server for live flows, shows dropped files, and sends settings. Names of
// programs come from other users' processes: text enters the document by textContent only.
import { drawChart, drawRanges } from "./chart.js";
import * as format from "./format.js";
import { History } from "./live.js";
import { readFile } from "./recorded.js";

const INTERVAL_MS = 1000;
const KEEP_S = 120;
const CURVES_MAX = 16;
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#999933"];
const token = location.hash.slice(1);
const $ = (id) => document.getElementById(id);

const state = {
	history: new History(KEEP_S),
	recorded: null,          // what readFile() returned
	chosen: null,            // key of the flow that is shown alone
	paused: false,
	links: new Map(),        // of the agent: interface to its last reading
};

// -- charts and columns of each kind of source --------------------------------------------------

const ago = (t) => (t > -0.5 ? "now" : `${Math.round(t)} s`);
const HOLDS = new Set(["rate", "window"]);
const recordedCharts = { time: format.seconds };

const CHARTS = {
	live: [
		{ title: "Goodput", curves: ["goodput"], format: format.rate },
		{ title: "Rate of the algorithm", curves: ["rate"], format: format.rate },
		{ title: "RTT: p99, and p50 dashed (logarithmic)", curves: ["rtt99", "rtt50"], format: format.micros, log: true },
		{ title: "In flight and waiting", curves: ["queue"], format: format.bytes, base: 2 },
	],
	trace: [
		{ title: "Rate of the algorithm", curves: ["rate"], format: format.rate, ...recordedCharts },
		{ title: "RTT (logarithmic)", curves: ["rtt"], format: format.micros, log: true, ...recordedCharts },
		{ title: "In flight, and window dashed", curves: ["inflight", "window"], format: format.bytes, base: 2,
		  ...recordedCharts },
		{ title: "Longest queue on the path", curves: ["queue"], format: format.bytes, base: 2,
		  empty: "the trace has no telemetry", ...recordedCharts },
	],
	report: [
		{ title: "RTT: min to max, and p50 to p99 (logarithmic)", format: format.micros,
		  range: (f) => ({ low: f.rtt.min, from: f.rtt.p50, to: f.rtt.p99, high: f.rtt.max }) },
		{ title: "Rate: lowest to highest, and last (logarithmic)", format: format.rate,
		  range: (f) => ({ low: f.rateMin, from: f.rate, to: f.rate, high: f.rateMax }) },
	],
};
CHARTS.recording = CHARTS.live.map((chart) => ({ ...chart, ...recordedCharts }));

const column = (title, get, unit) => ({ title, get: (f) => (unit ? unit(get(f)) : get(f)), number: Boolean(unit) });
const PROGRAM = column("PROGRAM", (f) => f.program);
const PID = column("PID", (f) => f.pid, String);
const QP = column("QP", (f) => f.qp, String);
const ALGORITHM = column("ALGORITHM", (f) => f.algorithm);
const CNPS = column("CNPS", (f) => f.cnps, format.count);
const LOSSES = column("LOSSES", (f) => f.losses, format.count);
const LIMITS = { rate: "rate", window: "window", app: "application", none: "nothing: observed", idle: "idle",
		 uncontrolled: "uncontrolled" };

const COLUMNS = {
	live: [PROGRAM, PID, QP, column("PEER", (f) => f.peer),
	       { ...column("LIMITED BY", (f) => LIMITS[f.limit] ?? f.limit), style: (f) => f.limit },
	       column("GOODPUT", (f) => f.goodput, format.rate), column("RATE", (f) => f.rate, format.rate),
	       column("RTT P50", (f) => f.rtt50, format.micros), column("RTT P99", (f) => f.rtt99, format.micros),
	       column("IN FLIGHT", (f) => f.inflight, format.bytes), column("WINDOW", (f) => f.window, format.bytes),
	       column("WAITING", (f) => f.queued, format.bytes), column("GATED", (f) => f.gated, format.percent),
	       CNPS, LOSSES, ALGORITHM, column("DEVICE", (f) => f.device)],
	trace: [QP, ALGORITHM, column("EVENTS", (f) => f.events, format.count),
		column("ACKNOWLEDGED", (f) => f.bytes, format.bytes), column("MEAN RTT", (f) => f.rttMean, format.micros),
		column("LAST RATE", (f) => f.rate, format.rate), column("LAST WINDOW", (f) => f.window, format.bytes),
		CNPS, LOSSES],
	report: [PROGRAM, PID, QP, column("DEVICE", (f) => f.device), ALGORITHM,
		 column("COMPLETED", (f) => f.bytes, format.bytes), column("REQUESTS", (f) => f.wrs, format.count),
		 column("RATE", (f) => f.rate, format.rate), column("RTT P50", (f) => f.rtt.p50, format.micros),
		 column("RTT P99", (f) => f.rtt.p99, format.micros), column("RTT MAX", (f) => f.rtt.max, format.micros),
		 column("GATED", (f) => f.gatedUs, format.micros), CNPS, LOSSES],
};
COLUMNS.recording = COLUMNS.live;

const LINKS = [
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

// -- drawing ------------------------------------------------------------------------------------

function element(name, text, className) {
	const e = document.createElement(name);

	if (text !== undefined)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}

const colorOf = (flow) => COLORS[flow.color % COLORS.length];

function colorKey(flow) {
	const space = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(space, "svg"), square = document.createElementNS(space, "rect");

	svg.setAttribute("class", "key");
	for (const [name, value] of Object.entries({ width: "100%", height: "100%", fill: colorOf(flow) }))
		square.setAttribute(name, value);
	svg.append(square);
	return svg;
}

function kindOf() {
	return state.recorded ? state.recorded.kind : "live";
}

function matches(flow, filter) {
	return !filter || [flow.program, flow.peer].some((text) => text?.toLowerCase().includes(filter)) ||
		[flow.pid, flow.qp].some((n) => String(n) === filter);
}

function visibleFlows() {
	const filter = $("filter").value.trim().toLowerCase();
	const flows = state.recorded ? state.recorded.flows : state.history.current();

	return flows.filter((flow) => matches(flow, filter));
}

function fillTable(table, columns, rows, decorate) {
	const head = element("thead"), body = element("tbody"), titles = head.appendChild(element("tr"));

	for (const c of columns)
		titles.append(element("th", c.title, c.number ? "number" : ""));
	for (const row of rows) {
		const tr = body.appendChild(element("tr"));

		for (const c of columns) {
			const td = element("td", String(c.get(row) ?? "-"), c.number ? "number" : "");

			if (c.style && /^[a-z]+$/.test(c.style(row)))
				td.classList.add(c.style(row));
			tr.append(td);
		}
		decorate?.(tr, row);
	}
	table.replaceChildren(head, body);
}

function choose(key) {
	state.chosen = state.chosen === key ? null : key;
	const flow = visibleFlows().find((f) => f.key === state.chosen);

	if (flow && kindOf() === "live") {
		$("set").elements.pid.value = flow.pid;
		$("set").elements.qp.value = flow.qp;
	}
	draw();
}

function decorateFlow(tr, flow) {
	tr.firstChild.prepend(colorKey(flow), " ");
	tr.tabIndex = 0;
	tr.classList.toggle("chosen", flow.key === state.chosen);
	tr.classList.toggle("idle", flow.limit === "idle");
	tr.addEventListener("click", () => choose(flow.key));
	tr.addEventListener("keydown", (event) => event.key === "Enter" && choose(flow.key));
}

function canvasOf(i, title) {
	const charts = $("charts");

	while (charts.children.length <= i) {
		const figure = charts.appendChild(element("figure"));

		figure.append(element("figcaption"), element("canvas"));
	}
	const [caption, canvas] = charts.children[i].children;

	caption.textContent = title;
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", title);
	return canvas;
}

function curvesOf(chart, flows) {
	return chart.curves.flatMap((name, i) => flows.map((flow) =>
		({ series: flow.curves[name], color: colorOf(flow), thin: i > 0, hold: HOLDS.has(name) })));
}

function drawCharts(flows) {
	const charts = CHARTS[kindOf()], live = kindOf() === "live";
	const last = state.history.last;

	while ($("charts").children.length > charts.length)
		$("charts").lastChild.remove();
	charts.forEach((chart, i) => {
		const canvas = canvasOf(i, chart.title);
		const options = { time: (t) => ago(t - last), empty: "nothing yet", ...chart };

		if (chart.range) {
			drawRanges(canvas, flows.map((f) => ({ name: `QP ${f.qp}`, color: colorOf(f), ...chart.range(f) })), options);
			return;
		}
		if (live)
			Object.assign(options, { origin: last, first: last - KEEP_S, last });
		drawChart(canvas, curvesOf(chart, flows), options);
	});
}

function draw() {
	const flows = visibleFlows();
	const alone = flows.filter((flow) => flow.key === state.chosen);

	drawCharts((alone.length ? alone : flows).slice(0, CURVES_MAX));
	fillTable($("flows"), COLUMNS[kindOf()], flows, decorateFlow);
	$("flows-title").textContent = flows.length > CURVES_MAX
		? `Flows (the charts show the first ${CURVES_MAX})` : "Flows";
}

// -- live flows ---------------------------------------------------------------------------------

function say(text, bad = false) {
	$("status").textContent = text;
	$("status").classList.toggle("bad", bad);
}

async function ask(path, options = {}) {
	const response = await fetch(path, { ...options, headers: { Authorization: `Bearer ${token}` } });

	return { response, text: await response.text() };
}

async function askJson(path) {
	const { response, text } = await ask(path);

	if (!response.ok)
		throw new Error(text.trim());
	$("control").hidden = response.headers.get("Ccshim-Control") !== "yes" || Boolean(state.recorded);
	return JSON.parse(text);
}

function describe() {
	const flows = state.history.current();
	const busy = flows.filter((f) => f.limit !== "idle").length;
	const limited = flows.filter((f) => f.limit === "rate" || f.limit === "window").length;
	const goodput = flows.reduce((sum, f) => sum + (f.goodput || 0), 0);

	return `${flows.length} flow${flows.length === 1 ? "" : "s"}, ${busy} busy, ${limited} limited by ccshim, ` +
		`goodput ${format.rate(goodput)}`;
}

// An agent counts bytes; the rate is their increase.
function showLinks(agent) {
	const now = performance.now() / 1e3;
	const links = (agent?.links ?? []).map((link) => {
		const key = `${link.interface}/${link.ingress}`, before = state.links.get(key);

		state.links.set(key, { bytes: link.bytes, now });
		return { ...link, rate: before ? (link.bytes - before.bytes) * 8 / (now - before.now) : NaN };
	});

	$("agent").hidden = !links.length || Boolean(state.recorded);
	fillTable($("links"), LINKS, links);
}

async function poll() {
	try {
		if (!state.paused && !state.recorded && !document.hidden) {
			state.history.add(await askJson("/flows.json"));
			showLinks(await askJson("/agent.json"));
			if (!state.recorded) {
				say(describe());
				draw();
			}
		}
	} catch (e) {
		if (!state.recorded)
			say(e instanceof TypeError ? "ccshim serve does not answer" : e.message, true);
	}
	setTimeout(poll, INTERVAL_MS);
}

// -- recordings ---------------------------------------------------------------------------------

function show(recorded) {
	const kinds = { trace: "trace", recording: "recording", report: "report" };

	state.recorded = recorded;
	state.chosen = null;
	$("live").hidden = !recorded;
	$("pause").hidden = Boolean(recorded);
	$("control").hidden = $("agent").hidden = true;
	$("notes").hidden = !recorded?.notes.length;
	$("notes").textContent = recorded ? recorded.notes.join("; ") : "";
	if (recorded)
		say(`${kinds[recorded.kind]} ${recorded.name}: ${recorded.flows.length} flow${recorded.flows.length === 1 ? "" : "s"}`);
	draw();
}

// Several files become one picture if they are of one kind.
async function open(files) {
	try {
		const all = [];

		for (const file of files) {
			say(`reading ${file.name}`);
			all.push(await readFile(file).catch((e) => {
				throw new Error(`${file.name}: ${e.message}`);
			}));
		}
		if (all.some((one) => one.kind !== all[0].kind))
			throw new Error("the files are of different kinds: open those of one kind at a time");
		if (all.length)
			show(merge(all));
	} catch (e) {
		say(e.message, true);
	}
}

function merge(all) {
	const flows = all.flatMap((one, i) => one.flows.map((flow) => ({ ...flow, key: `${i}/${flow.key}` })));

	flows.forEach((flow, i) => {
		flow.color = i;
	});
	return { kind: all[0].kind, name: all.map((one) => one.name).join(", "), flows, notes: all.flatMap((one) => one.notes) };
}

function acceptFiles() {
	let inside = 0;
	const mark = (change) => {
		inside = Math.max(0, inside + change);
		$("drop").hidden = !inside;
	};

	addEventListener("dragenter", () => mark(1));
	addEventListener("dragleave", () => mark(-1));
	addEventListener("dragover", (event) => event.preventDefault());
	addEventListener("drop", (event) => {
		event.preventDefault();
		mark(-inside);
		open([...event.dataTransfer.files]);
	});
	$("file").addEventListener("change", () => open([...$("file").files]));
}

// -- settings -----------------------------------------------------------------------------------

async function set(event) {
	const { pid, qp, settings } = $("set").elements;
	const query = new URLSearchParams({ pid: pid.value.trim() });

	event.preventDefault();
	if (qp.value.trim())
		query.set("qp", qp.value.trim());
	$("answer").textContent = "";
	try {
		$("answer").textContent = (await ask(`/set?${query}`, { method: "POST", body: settings.value })).text;
	} catch (e) {
		$("answer").textContent = e.message;
	}
}

// -- start --------------------------------------------------------------------------------------

$("pause").addEventListener("click", () => {
	state.paused = !state.paused;
	$("pause").textContent = state.paused ? "Continue" : "Pause";
});
$("live").addEventListener("click", () => show(null));
$("filter").addEventListener("input", draw);
$("set").addEventListener("submit", set);
addEventListener("resize", draw);
acceptFiles();
say("waiting for the first reading");
draw();
poll();
