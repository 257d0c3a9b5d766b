// SPDX-License-Identifier: BSD-2-Clause
// Values over time, of bounded length.

const POINTS = 600;

// Add the values of point q to point p.
function join(p, q) {
	p.min = Math.min(p.min, q.min);
	p.max = Math.max(p.max, q.max);
	p.sum += q.sum;
	p.n += q.n;
}

// When a series has too many points, each pair becomes one that keeps the minimum, the maximum and
// the mean, so that no peak is lost. Times must not decrease.
export class Series {
	constructor() {
		this.points = []; // { t, min, max, sum, n }
		this.most = 1;    // values in a point
	}

	add(t, v) {
		if (!Number.isFinite(v) || !Number.isFinite(t))
			return;
		const last = this.points[this.points.length - 1], point = { t, min: v, max: v, sum: v, n: 1 };

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
		if (n)
			this.points.splice(0, n);
	}
}
