// SPDX-License-Identifier: BSD-2-Clause
// Curves over time, on a canvas.

const POINTS = 600;
const MARGIN = { left: 68, right: 8, top: 6, bottom: 20 };

// Add what point q covers to point p.
function join(p, q) {
	p.min = Math.min(p.min, q.min);
	p.max = Math.max(p.max, q.max);
	p.sum += q.sum;
	p.n += q.n;
}

// A curve of bounded length: when it has too many points, each pair becomes one that keeps the
// minimum, the maximum and the mean, so that no peak is lost. Times must not decrease.
export class Series {
	constructor() {
		this.points = []; // { t, min, max, sum, n }
		this.most = 1;    // values in a point
	}

	add(t, v) {
		const last = this.points[this.points.length - 1], point = { t, min: v, max: v, sum: v, n: 1 };

		if (!Number.isFinite(v) || !Number.isFinite(t))
			return;
		if (last && last.n < this.most)
			join(last, point);
		else if (this.points.push(point) > 2 * POINTS)
			this.halve();
	}

	halve() {
		const half = [];

		this.points.forEach((p, i) => {
			if (i % 2)
				join(half[half.length - 1], p);
			else
				half.push(p);
		});
		this.points = half;
		this.most *= 2;
	}

	forgetBefore(t) {
		let n = 0;

		while (n < this.points.length && this.points[n].t < t)
			n++;
		this.points.splice(0, n);
	}
}

// -- axes ---------------------------------------------------------------------------------------

function niceStep(range, most, base) {
	const rough = range / most;
	const unit = base ** Math.floor(Math.log(rough) / Math.log(base));
	const steps = base === 2 ? [1, 2] : [1, 2, 5, 10];

	return unit * (steps.find((k) => k * unit >= rough) || steps[steps.length - 1]);
}

function linearTicks(low, high, most, base = 10) {
	const step = niceStep(high - low || 1, most, base), ticks = [];

	for (let v = Math.ceil(low / step) * step; v <= high * (1 + 1e-9); v += step)
		ticks.push(Math.abs(v) < step / 1e6 ? 0 : v);
	return ticks;
}

function logTicks(low, high) {
	const few = Math.log10(high / low) > 3, ticks = [];

	for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d++)
		for (const k of few ? [1] : [1, 2, 5])
			if (k * 10 ** d >= low * 0.999 && k * 10 ** d <= high * 1.001)
				ticks.push(k * 10 ** d);
	return ticks;
}

function extent(curves) {
	let low = Infinity, high = -Infinity, first = Infinity, last = -Infinity;

	for (const { series } of curves)
		for (const p of series.points) {
			low = Math.min(low, p.min);
			high = Math.max(high, p.max);
			first = Math.min(first, p.t);
			last = Math.max(last, p.t);
		}
	return { low, high, first, last };
}

// The vertical axis: { ticks, at(v): 0 at the bottom to 1 }.
function verticalAxis(range, options) {
	if (options.log && range.high > 0) {
		const low = Math.max(range.low, range.high / 1e6) / 1.3, high = range.high * 1.3;

		return {
			ticks: logTicks(low, high),
			at: (v) => Math.log(Math.max(v, low) / low) / Math.log(high / low),
		};
	}
	if (!(range.high > 0))
		return { ticks: [0], at: () => 0 };
	const high = range.high * 1.05;

	return { ticks: linearTicks(0, high, 4, options.base), at: (v) => v / high };
}

// -- drawing ------------------------------------------------------------------------------------

function prepare(canvas) {
	const scale = window.devicePixelRatio || 1;
	const width = canvas.clientWidth, height = canvas.clientHeight;
	const g = canvas.getContext("2d");

	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	g.scale(scale, scale);
	g.font = "11px system-ui, sans-serif";
	return { g, width, height, style: getComputedStyle(document.documentElement) };
}

function drawGrid(area, y, x, options) {
	const { g, style, left, right, top, bottom } = area;

	g.strokeStyle = style.getPropertyValue("--grid");
	g.fillStyle = style.getPropertyValue("--faint");
	g.lineWidth = 1;
	g.beginPath();
	g.textAlign = "right";
	g.textBaseline = "middle";
	for (const v of y.ticks) {
		const at = Math.round(bottom - y.at(v) * (bottom - top)) + 0.5;

		g.moveTo(left, at);
		g.lineTo(right, at);
		g.fillText(options.format(v), left - 6, at);
	}
	g.stroke();
	g.textBaseline = "top";
	for (const t of x.ticks) {
		const at = left + x.at(t) * (right - left);

		g.textAlign = at > right - 20 ? "right" : at < left + 20 ? "left" : "center";
		g.fillText(options.time(t), at, bottom + 5);
	}
}

// The range of values of each point, which is wider than a point if the curve is long.
function drawBand(area, px, py, curve) {
	const { g } = area;

	g.fillStyle = curve.color;
	g.globalAlpha = 0.2;
	for (const p of curve.series.points)
		if (p.max > p.min)
			g.fillRect(px(p.t) - 0.5, py(p.max), 1, py(p.min) - py(p.max));
	g.globalAlpha = 1;
}

// A curve is interrupted where points are much farther apart than elsewhere, unless it holds its
// value, as a rate does.
function drawCurve(area, y, x, curve) {
	const { g, left, right, top, bottom } = area;
	const { points } = curve.series;
	const gap = 10 * (points.length && points[points.length - 1].t - points[0].t) / points.length;
	const px = (t) => left + x.at(t) * (right - left);
	const py = (v) => bottom - y.at(v) * (bottom - top);
	const mean = (p) => py(p.sum / p.n);

	drawBand(area, px, py, curve);
	g.strokeStyle = curve.color;
	g.lineWidth = curve.thin ? 1 : 1.6;
	g.setLineDash(curve.thin ? [3, 3] : []);
	g.beginPath();
	points.forEach((p, i) => {
		if (curve.hold && i)
			g.lineTo(px(p.t), mean(points[i - 1]));
		else if (i && p.t - points[i - 1].t > gap)
			g.moveTo(px(p.t), mean(p));
		g.lineTo(px(p.t), mean(p));
	});
	if (points.length === 1)
		g.lineTo(px(points[0].t) + 2, mean(points[0]));
	g.stroke();
	g.setLineDash([]);
}

// curves: [{ series, color, thin, hold }]; options: { format, time, log, base, origin, first, last,
// empty }. Times are shown from the origin on.
export function drawChart(canvas, curves, options) {
	const area = prepare(canvas);
	const { g, width, height, style } = area;
	const range = extent(curves);
	const first = options.first ?? range.first, last = options.last ?? range.last;

	Object.assign(area, { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top,
			      bottom: height - MARGIN.bottom });
	if (!(range.high > -Infinity)) {
		g.fillStyle = style.getPropertyValue("--faint");
		g.textAlign = "center";
		g.fillText(options.empty, width / 2, height / 2);
		return;
	}
	const y = verticalAxis(range, options);
	const origin = options.origin ?? 0, span = last > first ? last - first : 1;
	const x = {
		ticks: linearTicks(first - origin, first - origin + span, Math.max(2, width / 110)).map((t) => t + origin),
		at: (t) => (last > first ? (t - first) / (last - first) : 0.5),
	};

	drawGrid(area, y, x, { ...options, time: (t) => options.time(t - origin) });
	g.save();
	g.beginPath();
	g.rect(area.left, 0, area.right - area.left, area.bottom + 1);
	g.clip();
	for (const curve of curves)
		drawCurve(area, y, x, curve);
	g.restore();
}

// Ranges, a row each: [{ name, color, low, from, to, high }], where from and to are marked.
export function drawRanges(canvas, rows, options) {
	const area = prepare(canvas);
	const { g, width, height, style } = area;
	const present = rows.filter((r) => r.high > 0);
	const high = Math.max(...present.map((r) => r.high), 0);
	const low = Math.min(...present.map((r) => r.low).filter((v) => v > 0), high || 1);
	const x = verticalAxis({ low, high }, { log: true });
	const left = 110, right = width - MARGIN.right, bottom = height - MARGIN.bottom;
	const step = Math.min(26, (bottom - MARGIN.top) / Math.max(present.length, 1));
	const px = (v) => left + x.at(v) * (right - left);

	g.fillStyle = style.getPropertyValue("--faint");
	g.textBaseline = "top";
	g.textAlign = "center";
	if (!(high > 0)) {
		g.fillText(options.empty, width / 2, height / 2);
		return;
	}
	for (const v of x.ticks) {
		g.textAlign = px(v) > right - 20 ? "right" : "center";
		g.fillText(options.format(v), px(v), bottom + 5);
	}
	present.forEach((r, i) => {
		const y = MARGIN.top + (i + 0.5) * step;

		g.fillStyle = style.getPropertyValue("--text");
		g.textAlign = "right";
		g.textBaseline = "middle";
		if (step >= 10)
			g.fillText(r.name, left - 8, y);
		g.fillStyle = r.color;
		g.fillRect(px(r.low), y - 0.5, Math.max(px(r.high) - px(r.low), 1), 1);
		g.fillRect(px(r.from), y - step / 4, Math.max(px(r.to) - px(r.from), 2), step / 2);
	});
}
