// SPDX-License-Identifier: BSD-2-Clause
// The page: polls the server for live flows, and shows dropped files. Names of
// programs come from other users' processes: text enters the document by textContent only.
import { Chart } from "./chart.js";
import * as format from "./format.js";
import { GROUPS, History, readSnapshot } from "./live.js";
import { readFile } from "./recorded.js";
import { Table } from "./table.js";
import { CHARTS, COLUMNS, LINKS } from "./views.js";

const INTERVAL_MS = 1000;
const KEEP_S = 120;
const ROWS = 50; // in the table, until all are asked for
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#999933",
		"#e6194b", "#9a6324", "#3cd4a4", "#808890"];
const token = location.hash.slice(1);
const $ = (id) => document.getElementById(id);

const state = {
	histories: Object.fromEntries(Object.keys(GROUPS).map((by) => [by, new History(KEEP_S, by)])),
	recorded: null,          // the result of readFile()
	chosen: null,            // key of the flow that is shown alone
	colors: new Map(),       // of the flows that are drawn, by key
	paused: false,
	all: false,              // rows of the table
	links: new Map(),        // the agent's: interface to its last reading
};

// -- drawing ------------------------------------------------------------------------------------

const zoom = { range: null, changed: setZoom };
const flowTable = new Table($("flows"), choose, draw);
const linkTable = new Table($("links"), null, () => {});
let charts = [];

const history = () => state.histories[$("by").value];

function kindOf() {
	return state.recorded ? state.recorded.kind : "live";
}

function matches(flow, filter) {
	return !filter || [flow.program, flow.peer, flow.label].some((text) => text?.toLowerCase().includes(filter)) ||
		[flow.pid, flow.qp].some((n) => String(n) === filter);
}

// The flows that the filter selects, the busiest first.
function visibleFlows() {
	const filter = $("filter").value.trim().toLowerCase();
	const flows = state.recorded ? state.recorded.flows : history().current();

	return flows.filter((flow) => matches(flow, filter))
		.sort((a, b) => b.weight - a.weight || (a.key > b.key) - (a.key < b.key));
}

// The chosen flow, or the busiest ones of them, one for each colour. Those that stay keep their colours.
function drawnFlows(flows) {
	const { colors } = state, chosen = flows.filter((flow) => flow.key === state.chosen);
	const drawn = chosen.length ? chosen : flows.slice(0, COLORS.length);
	const keys = new Set(drawn.map((flow) => flow.key));

	for (const key of colors.keys())
		if (!keys.has(key))
			colors.delete(key);
	for (const { key } of drawn)
		if (!colors.has(key))
			colors.set(key, COLORS.find((c) => ![...colors.values()].includes(c)));
	return drawn.sort((a, b) => COLORS.indexOf(colors.get(a.key)) - COLORS.indexOf(colors.get(b.key)));
}

function nameOf(flow) {
	if (flow.label)
		return flow.label;
	return [["peer", "tenant"].includes($("by").value) && !state.recorded ? flow[$("by").value] : flow.program,
		flow.qps > 1 ? "" : `QP ${flow.qp}`].filter(Boolean).join(" ");
}

function curvesOf(chart, flows) {
	return chart.curves.flatMap((name, i) => flows.map((flow) =>
		({ label: nameOf(flow) + (i ? " (dashed)" : ""), series: flow.curves[name],
		   color: state.colors.get(flow.key), dash: i ? [3, 3] : undefined, hold: chart.hold,
		   unnamed: i && flows.length > 1 })));
}

function drawCharts(flows) {
	const views = CHARTS[kindOf()], live = kindOf() === "live";
	const { last } = history(), origin = live ? last : state.recorded.origin;

	if (charts.length !== views.length) {
		charts.forEach((chart) => chart.end());
		charts = views.map(() => new Chart(zoom));
		$("charts").replaceChildren(...charts.map((chart) => chart.element));
	}
	views.forEach((view, i) => {
		const options = { origin, empty: "nothing yet", ...view };

		if (live)
			Object.assign(options, { first: last - KEEP_S, last });
		if (view.names)
			charts[i].drawRows(flows.map((f) => ({ label: nameOf(f), values: view.values(f) })), view.names,
					   COLORS, options);
		else
			charts[i].drawCurves(curvesOf(view, flows), options);
	});
}

function setZoom(range) {
	zoom.range = range;
	$("whole").hidden = !range;
	draw();
}

function decorateFlow(tr, flow) {
	const drawn = CHARTS[kindOf()][0].curves && state.colors.get(flow.key);
	const color = drawn || "transparent", chosen = String(flow.key === state.chosen);

	tr.classList.toggle("idle", flow.limit === "idle");
	if (tr.getAttribute("aria-selected") !== chosen)
		tr.setAttribute("aria-selected", chosen);
	if (tr.style.getPropertyValue("--color") !== color)
		tr.style.setProperty("--color", color);
}

function draw() {
	const flows = visibleFlows(), drawn = drawnFlows(flows), kind = kindOf();
	const by = kind === "live" && $("by").value !== "qp" ? $("by").value : kind;

	drawCharts(drawn);
	flowTable.update(COLUMNS[by], flows, { limit: state.all ? Infinity : ROWS, decorate: decorateFlow });
	$("all").hidden = flows.length <= ROWS;
	$("all").textContent = state.all ? `List only ${ROWS}` : `List all ${flows.length}`;
	$("flows-title").textContent = drawn.length < flows.length && drawn.length > 1
		? `Flows (the charts show the ${drawn.length} busiest of ${flows.length})` : "Flows";
}

function choose(key) {
	state.chosen = state.chosen === key ? null : key;
	draw();
}

// -- live flows ---------------------------------------------------------------------------------

function say(text, bad = false) {
	$("status").textContent = text;
	$("status").classList.toggle("bad", bad);
}

async function askJson(path) {
	const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
	const text = await response.text();

	if (!response.ok)
		throw new Error(text.trim());
	return JSON.parse(text);
}

const countOf = (list, noun) => `${list.length} ${noun}${list.length === 1 ? "" : "s"}`;

function describe() {
	const flows = state.histories.qp.current();
	const busy = flows.filter((f) => f.limit !== "idle").length;
	const limited = flows.filter((f) => ["rate", "window", "tenant cap"].includes(f.limit)).length;
	const goodput = flows.reduce((sum, f) => sum + (f.goodput || 0), 0);

	return `${countOf(flows, "flow")}, ${busy} busy, ${limited} limited by ccshim, ` +
		`goodput ${format.rate(goodput)}`;
}

// An agent counts bytes; the rate is their increase.
function showLinks(agent) {
	const now = performance.now() / 1e3;
	const links = (agent?.links ?? []).map((link) => {
		const key = `${link.interface}/${link.ingress}`, before = state.links.get(key);

		state.links.set(key, { bytes: link.bytes, now });
		return { ...link, key, rate: before ? (link.bytes - before.bytes) * 8 / (now - before.now) : NaN };
	});

	$("agent").hidden = !links.length || Boolean(state.recorded);
	linkTable.update(LINKS, links);
}

async function poll() {
	try {
		if (!state.paused && !state.recorded && !document.hidden) {
			const snapshot = await askJson("/flows.json"), flows = readSnapshot(snapshot);

			for (const one of Object.values(state.histories))
				one.add(snapshot.time, flows);
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
	state.chosen = zoom.range = null;
	state.colors.clear();
	$("whole").hidden = true;
	$("by").hidden = Boolean(recorded);
	$("live").hidden = !recorded;
	$("pause").hidden = Boolean(recorded);
	$("agent").hidden = true;
	note(recorded ? recorded.notes.join("; ") : "");
	if (recorded)
		say(`${recorded.kind} ${recorded.name}: ${countOf(recorded.flows, recorded.kind === "bench" ? "run" : "flow")}`);
	draw();
}

// Several files become one picture if they are of one kind; files of one host share its clock.
async function open(files) {
	const before = state.recorded;

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
		show(before);
		note(e.message, true);
	}
}

function merge(all) {
	const flows = all.flatMap((one, i) => one.flows.map((flow) => ({ ...flow, key: `${i}/${flow.key}` })));

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

// -- start --------------------------------------------------------------------------------------

$("pause").addEventListener("click", () => {
	state.paused = !state.paused;
	$("pause").textContent = state.paused ? "Continue" : "Pause";
});
$("live").addEventListener("click", () => show(null));
$("filter").addEventListener("input", draw);
$("by").addEventListener("change", draw);
$("whole").addEventListener("click", () => setZoom(null));
$("all").addEventListener("click", () => {
	state.all = !state.all;
	draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	charts.forEach((chart) => chart.end());
	draw();
});
acceptFiles();
say("waiting for the first reading");
draw();
poll();
