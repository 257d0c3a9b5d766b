// SPDX-License-Identifier: BSD-2-Clause
// A table whose rows stay the same elements while their numbers change: focus, selected text and the
// pointer's place survive. Text enters the document by textContent only.

export function element(name, text, className) {
	const e = document.createElement(name);

	if (text !== undefined)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}

function compare(a, b) {
	const [x, y] = [a, b].map((v) => (typeof v === "number" && !Number.isFinite(v) ? -Infinity : v ?? ""));

	return typeof x === typeof y ? (x > y) - (x < y) : typeof x === "string" ? 1 : -1;
}

export class Table {
	// choose(key): a row was clicked, or Enter was pressed in it; null without rows that can be chosen.
	// changed(): the caller should update the table.
	constructor(table, choose, changed) {
		this.table = table;
		this.choose = choose;
		this.changed = changed;
		this.columns = [];
		this.rows = new Map(); // key to { tr, cells, texts, row: its values, seen: is in the window }
		this.sort = null;      // { title, down }
		[this.head, this.body, this.foot] = ["thead", "tbody", "tfoot"].map((name) => table.appendChild(element(name)));
		this.window = new IntersectionObserver((entries) => this.show(entries), { rootMargin: "100px" });
		if (choose) {
			this.body.addEventListener("click", (event) => this.chooseRow(event.target));
			this.body.addEventListener("keydown", (event) => this.key(event));
			this.body.addEventListener("focusin", (event) => this.makeTabStop(event.target.closest("tr")));
		}
	}

	// rows: objects with a key, in their natural order. decorate(tr, row): classes and marks.
	update(columns, rows, { limit = Infinity, decorate = () => {} } = {}) {
		if (columns !== this.columns)
			this.start(columns);
		else if (!getSelection().isCollapsed && this.body.contains(getSelection().anchorNode))
			return; // selected text stays until the selection ends
		const column = columns.find((c) => c.title === this.sort?.title);
		const sign = this.sort?.down ? -1 : 1;
		const ordered = column ? [...rows].sort((a, b) => sign * compare(column.value(a), column.value(b))) : rows;

		this.decorate = decorate;
		this.place(ordered.slice(0, limit));
		for (const row of ordered.slice(0, limit)) {
			const known = this.rows.get(row.key);

			known.row = row;
			if (known.seen)
				this.fill(known);
		}
		this.sum(rows);
	}

	// Rows outside of the window are filled when they come into it.
	show(entries) {
		for (const { target, isIntersecting } of entries) {
			const known = this.rows.get(target.dataset.key);

			if (known?.tr !== target)
				continue;
			known.seen = isIntersecting;
			if (isIntersecting)
				this.fill(known);
		}
	}

	start(columns) {
		const titles = element("tr");

		this.columns = columns;
		this.rows.clear();
		this.window.disconnect();
		this.body.replaceChildren();
		if (!columns.some((c) => c.title === this.sort?.title))
			this.sort = null;
		for (const c of columns) {
			const th = titles.appendChild(element("th", undefined, c.number ? "number" : ""));
			const button = th.appendChild(element("button", c.title));

			th.scope = "col";
			button.type = "button";
			button.addEventListener("click", () => this.sortBy(c));
		}
		this.head.replaceChildren(titles);
		this.totals = columns.some((c) => c.sum) ? columns.map((c) => element("td", "", c.number ? "number" : "")) : null;
		this.foot.replaceChildren();
		if (this.totals)
			this.foot.appendChild(element("tr")).append(...this.totals);
		this.showSort();
	}

	// Numbers fall first, texts rise first; a third click returns to the natural order.
	sortBy({ title, number }) {
		const first = Boolean(number);

		if (this.sort?.title !== title)
			this.sort = { title, down: first };
		else
			this.sort = this.sort.down === first ? { title, down: !first } : null;
		this.showSort();
		this.changed();
	}

	showSort() {
		this.columns.forEach(({ title }, i) => {
			const th = this.head.firstChild.children[i];

			if (title === this.sort?.title)
				th.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
			else
				th.removeAttribute("aria-sort");
		});
	}

	make(key) {
		const tr = element("tr");
		const cells = this.columns.map((c) => tr.appendChild(element("td", "", c.number ? "number" : "")));

		tr.dataset.key = key;
		if (this.choose)
			tr.tabIndex = -1;
		this.window.observe(tr);
		return { tr, cells, texts: cells.map(() => ""), row: null, seen: true };
	}

	// A row that moves keeps the focus.
	place(rows) {
		const keys = new Set(rows.map((row) => row.key)), focused = document.activeElement;
		let at = this.body.firstChild;

		for (const [key, { tr }] of this.rows)
			if (!keys.has(key)) {
				at = at === tr ? tr.nextSibling : at;
				tr.remove();
				this.window.unobserve(tr);
				this.rows.delete(key);
			}
		for (const { key } of rows) {
			if (!this.rows.has(key))
				this.rows.set(key, this.make(key));
			const { tr } = this.rows.get(key);

			if (tr === at || tr === at?.nextSibling) // if the row at this place moves down, only that moves
				at = tr.nextSibling;
			else
				this.body.insertBefore(tr, at);
		}
		if (focused !== document.activeElement && this.body.contains(focused))
			focused.focus({ preventScroll: true });
		if (this.choose && !this.body.querySelector('tr[tabindex="0"]'))
			this.makeTabStop(this.body.firstChild);
	}

	// Only texts that differ are written: each costs a new layout.
	fill({ tr, cells, texts, row }) {
		this.columns.forEach((c, i) => {
			const text = c.text(row);

			if (text !== texts[i]) {
				texts[i] = text;
				cells[i].textContent = text;
				if (c.style)
					cells[i].className = /^[a-z]+$/.test(c.style(row)) ? c.style(row) : "";
			}
		});
		this.decorate(tr, row);
	}

	sum(rows) {
		this.foot.hidden = rows.length < 2;
		this.totals?.forEach((cell, i) => {
			const c = this.columns[i];
			const text = c.sum ? c.format(rows.reduce((sum, row) => sum + (c.value(row) || 0), 0)) : i ? "" : "SUM";

			if (cell.textContent !== text)
				cell.textContent = text;
		});
	}

	// -- choosing by pointer and keyboard -------------------------------------------------------

	// One row of the table is a stop of the Tab key; the arrows go on from there.
	makeTabStop(tr) {
		this.body.querySelector('tr[tabindex="0"]')?.setAttribute("tabindex", "-1");
		tr?.setAttribute("tabindex", "0");
	}

	chooseRow(target) {
		const key = target.closest("tr")?.dataset.key;

		if (key !== undefined && getSelection().isCollapsed)
			this.choose(key);
	}

	key(event) {
		const tr = event.target.closest("tr"), rows = this.body.children;
		const to = { ArrowDown: tr.nextSibling, ArrowUp: tr.previousSibling, Home: rows[0], End: rows[rows.length - 1] };

		if (event.key === "Enter" || event.key === " ")
			this.chooseRow(tr);
		else if (event.key in to)
			to[event.key]?.focus();
		else
			return;
		event.preventDefault();
	}
}
