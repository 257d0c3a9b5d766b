// SPDX-License-Identifier: BSD-2-Clause
// Numbers with units, as ccshim's other commands print them.

function scaled(v, base, units, space = " ") {
	let i = 0;

	if (!Number.isFinite(v))
		return "-";
	while (i + 1 < units.length && Math.abs(v) >= base * 0.9995) {
		v /= base;
		i++;
	}
	return `${+v.toPrecision(3)}${space}${units[i]}`;
}

export const rate = (bps) => scaled(bps, 1000, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]);
export const bytes = (n) => scaled(n, 1024, ["B", "KB", "MB", "GB", "TB"]);
export const micros = (us) => (us < 1 && us > 0 ? scaled(us * 1000, 1000, ["ns"])
	: us < 1e6 ? scaled(us, 1000, ["us", "ms"]) : scaled(us / 1e6, 1e6, ["s"]));
export const count = (n) => (Number.isFinite(n) ? String(Math.round(n)) : "-");
export const name = (v) => (v === undefined || v === null ? "-" : String(v));
export const index = (v) => (Number.isFinite(v) ? v.toFixed(3) : "-");
export const percent = (share) => (Number.isFinite(share) ? `${Math.round(share * 100)} %` : "-");
export const seconds = (s) => (Math.abs(s) < 1e-9 ? "0"
	: Math.abs(s) < 1 ? micros(s * 1e6) : `${+s.toPrecision(4)} s`);
