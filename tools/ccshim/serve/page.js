// SPDX-License-Identifier: BSD-2-Clause
// The page: polls the server for live flows, shows dropped files, and sends settings. Names of
// programs come from other users' processes: text enters the document by textContent only.
import { drawChart, drawRanges } from "./chart.js";
import * as format from "./format.js";
import { History } from "./live.js";
import { readFile } from "./recorded.js";
import { CHARTS, COLUMNS, LINKS } from "./views.js";

const INTERVAL_MS = 1000;
const KEEP_S = 120;
const CURVES_MAX = 16;
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#999933"];
const token = location.hash.slice(1);
const $ = (id) => document.getElementById(id);

const state = {
	history: new History(KEEP_S),
	recorded: null,          // the result of readFile()
	chosen: null,            // key of the flow that is shown alone
	paused: false,
	links: new Map(),        // the agent's: interface to its last reading
};

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
		({ series: flow.curves[name], color: colorOf(flow), thin: i > 0, hold: chart.hold })));
}

function rangeOf(chart, flow) {
	return { name: `QP ${flow.qp}`, color: colorOf(flow), ...chart.range(flow) };
}

function drawCharts(flows) {
	const charts = CHARTS[kindOf()], live = kindOf() === "live";
	const { last } = state.history, origin = live ? last : state.recorded.origin;

	while ($("charts").children.length > charts.length)
		$("charts").lastChild.remove();
	charts.forEach((chart, i) => {
		const canvas = canvasOf(i, chart.title);
		const options = { origin, empty: "nothing yet", ...chart };

		if (chart.range) {
			drawRanges(canvas, flows.map((f) => rangeOf(chart, f)), options);
			return;
		}
		if (live)
			Object.assign(options, { first: last - KEEP_S, last });
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

const countFlows = (flows) => `${flows.length} flow${flows.length === 1 ? "" : "s"}`;

function describe() {
	const flows = state.history.current();
	const busy = flows.filter((f) => f.limit !== "idle").length;
	const limited = flows.filter((f) => f.limit === "rate" || f.limit === "window").length;
	const goodput = flows.reduce((sum, f) => sum + (f.goodput || 0), 0);

	return `${countFlows(flows)}, ${busy} busy, ${limited} limited by ccshim, ` +
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

// The next reading replaces the status; a note stays until the next text.
function note(text, bad = false) {
	$("notes").textContent = text;
	$("notes").hidden = !text;
	$("notes").classList.toggle("bad", bad);
}

function show(recorded) {
	state.recorded = recorded;
	state.chosen = null;
	$("live").hidden = !recorded;
	$("pause").hidden = Boolean(recorded);
	$("control").hidden = $("agent").hidden = true;
	note(recorded ? recorded.notes.join("; ") : "");
	if (recorded)
		say(`${recorded.kind} ${recorded.name}: ${countFlows(recorded.flows)}`);
	draw();
}

// Several files become one picture if they are of one kind; files of one host share its clock.
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
		show(state.recorded); // as before
		note(e.message, true);
	}
}

function merge(all) {
	const flows = all.flatMap((one, i) => one.flows.map((flow) => ({ ...flow, key: `${i}/${flow.key}` })));

	flows.forEach((flow, i) => {
		flow.color = i;
	});
	return {
		kind: all[0].kind,
		name: all.map((one) => one.name).join(", "),
		origin: Math.min(...all.map((one) => one.origin)),
		notes: all.flatMap((one) => one.notes),
		flows,
	};
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
