// SPDX-License-Identifier: BSD-2-Clause
// Charts: curves over time, and points of flows side by side, drawn by uPlot, which also enlarges a
// part, shows the values under the pointer, and hides curves by a click on the legend.
import uPlot from "./uplot.js";

const HEIGHT = 220;
const POWERS = Array.from({ length: 52 }, (_, i) => 2 ** i);

// -- the data -----------------------------------------------------------------------------------

// The columns of a curve: times, means, and minima and maxima if its points hold several values. A
// curve is interrupted where points are much farther apart than elsewhere, unless it holds its
// value, as a rate does.
function columnsOf({ series, hold }, log) {
	const { points, most } = series, columns = [[], [], [], []];
	const gap = 10 * (points.length && points[points.length - 1].t - points[0].t) / points.length;
	const value = (v) => (log && !(v > 0) ? null : v);
	let before = Infinity;

	for (const p of points) {
		if (!hold && p.t - before > gap)
			[(before + p.t) / 2, null, null, null].forEach((v, i) => columns[i].push(v));
		[p.t, value(p.sum / p.n), value(p.min), value(p.max)].forEach((v, i) => columns[i].push(v));
		before = p.t;
	}
	return most > 1 ? columns : columns.slice(0, 2);
}

// -- axes ---------------------------------------------------------------------------------------

function verticalScale({ log }) {
	return log ? { distr: 3, range: (u, low, high) => (high > 0 ? [Math.max(low, high / 1e6) / 1.3, high * 1.3] : [1, 10]) }
		: { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] };
}

// Times are shown from the origin on.
function ticksFrom(origin) {
	return (u, axis, low, high, step) => {
		const ticks = [];

		for (let k = Math.ceil((low - origin()) / step); origin() + k * step <= high; k++)
			ticks.push(origin() + k * step);
		return ticks;
	};
}

const whole = (u, axis, low, high) =>
	Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, i) => Math.ceil(low) + i);

const formatAll = (format) => (u, ticks) => ticks.map((v) => (v === null ? "" : format(v)));

function axis(style, rest) {
	const faint = style.getPropertyValue("--faint"), grid = style.getPropertyValue("--grid");

	return { stroke: faint, font: "11px system-ui, sans-serif", grid: { stroke: grid, width: 1 },
		 ticks: { show: false }, ...rest };
}

// -- charts -------------------------------------------------------------------------------------

function seriesOf(curve, options) {
	return { label: curve.label, stroke: curve.color, width: curve.dash ? 1 : 1.5, dash: curve.dash,
		 value: (u, v) => (Number.isFinite(v) ? options.format(v) : "-"), points: { show: curve.points },
		 ...(curve.unnamed && { class: "unnamed" }),
		 ...(curve.hold && { paths: uPlot.paths.stepped({ align: 1 }) }),
		 ...(curve.points && { paths: () => null }) };
}

// A chart in its own element. zoom: { range: [from, to] or null, changed() }, which charts share.
export class Chart {
	constructor(zoom) {
		this.zoom = zoom;
		this.element = document.createElement("figure");
		this.caption = this.element.appendChild(document.createElement("figcaption"));
		this.note = this.element.appendChild(document.createElement("p"));
		this.plot = null;
		this.shape = "";
		this.visible = true;
		this.redraw = null;    // draws what came while the chart was outside of the window
		new ResizeObserver(() => this.plot?.setSize(this.size())).observe(this.element);
		new IntersectionObserver((entries) => {
			this.visible = entries[entries.length - 1].isIntersecting;
			if (this.visible)
				this.redraw?.();
		}, { rootMargin: "100px" }).observe(this.element);
	}

	size() {
		return { width: this.element.clientWidth, height: HEIGHT };
	}

	// curves: [{ label, color, dash, hold, unnamed: in the legend, series }]; options: { title, format, time,
	// log, base, origin, first, last, empty }.
	drawCurves(curves, options) {
		this.redraw = this.visible || !this.plot ? null : () => this.drawCurves(curves, options);
		if (this.redraw)
			return;
		const present = curves.filter((curve) => curve.series.points.length);
		const tables = present.map((curve) => columnsOf(curve, options.log));
		const list = [], bands = [];

		present.forEach((curve, i) => {
			list.push(seriesOf(curve, options));
			if (tables[i].length > 2) {
				bands.push({ series: [list.length + 2, list.length + 1], fill: `${curve.color}33` });
				list.push(...[1, 2].map(() => ({ ...seriesOf(curve, options), width: 0, class: "unnamed" })));
			}
		});
		this.draw({ ...options, ticks: { splits: ticksFrom(() => this.options.origin) } }, list, bands,
			  tables.length ? uPlot.join(tables) : []);
	}

	// Points of flows side by side. rows: [{ label, values }]; names: of the values.
	drawRows(rows, names, colors, options) {
		const curves = names.map((label, i) => ({ label, color: colors[i], points: true }));
		const values = names.map((_, i) => rows.map((row) => (row.values[i] > 0 ? row.values[i] : null)));

		this.draw({ ...options, rows, first: -0.5, last: rows.length - 0.5,
			    time: (i) => rows[i]?.label ?? "", origin: 0, ticks: { splits: whole } },
			  curves.map((curve) => seriesOf(curve, options)), [],
			  rows.length ? [rows.map((_, i) => i), ...values] : []);
	}

	draw(options, series, bands, data) {
		const shape = JSON.stringify([options.title, series, bands]);

		this.options = options;
		this.caption.textContent = options.title;
		this.note.textContent = data.length ? "" : options.empty;
		if (shape !== this.shape || !data.length) {
			this.plot?.destroy();
			this.plot = data.length ? this.make(series, bands, data) : null;
			this.shape = shape;
		} else {
			this.plot.setData(data);
		}
	}

	make(series, bands, data) {
		const style = getComputedStyle(document.documentElement), { options, zoom } = this;
		const time = (v) => this.options.time(v - this.options.origin);
		const plot = new uPlot({
			...this.size(), bands,
			series: [{ label: options.rows ? "flow" : "time", value: (u, v) => (v === null ? "-" : time(v)) },
				 ...series],
			scales: { x: { time: false, range: (u, low, high) => this.range(low, high) }, y: verticalScale(options) },
			axes: [axis(style, { ...options.ticks, values: formatAll(time), space: 90, size: 28 }),
			       axis(style, { values: formatAll(options.format), size: 72,
					     ...(options.base === 2 && { incrs: POWERS }) })],
			cursor: { sync: { key: options.rows ? "rows" : "time" }, focus: { prox: 24 }, drag: { setScale: false },
				  bind: { dblclick: () => () => zoom.changed(null) } },
			focus: { alpha: 0.3 },
			hooks: { setSelect: [(u) => this.select(u)] },
		}, data, this.element);

		plot.root.setAttribute("role", "img");
		plot.root.setAttribute("aria-label", options.title);
		return plot;
	}

	range(low, high) {
		const { first, last, rows } = this.options;

		if (this.zoom.range && !rows)
			return this.zoom.range;
		return [first ?? low, last ?? (high > low ? high : low + 1)];
	}

	select(u) {
		const { left, width } = u.select;

		if (width > 2 && !this.options.rows)
			this.zoom.changed([u.posToVal(left, "x"), u.posToVal(left + width, "x")]);
		if (width)
			u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
	}

	// The next drawing makes it again, in the page's colours.
	end() {
		this.plot?.destroy();
		this.plot = null;
		this.shape = "";
	}
}
