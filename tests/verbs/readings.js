// SPDX-License-Identifier: BSD-2-Clause
// Replaces the readings that the page asks for: 1000 queue pairs of 50 processes; of each five, three
// only receive. "readings" counts them.
var readings = 0;
window.fetch = async (path) => {
	const processes = Array.from({ length: 50 }, (_, i) => ({ pid: 1000 + i, program: `worker${i}`, qps: [] }));

	for (let i = 0; i < 1000; i++) {
		const goodput = [0, 0, 0, 1, 5][i % 5] * (1e8 + i * 1e5) * (1 + 0.02 * Math.sin(readings + i));

		processes[i % 50].qps.push({ lqpn: 100 + i, ifname: "mlx5_0", port: 1, peer: `10.0.0.${i % 7}`, cc: "copa",
			limit: goodput ? "window" : "idle", rate_bps: goodput * 1.1, bytes: goodput / 8, gated_us: 0,
			rtt_us: goodput ? { p50: 20, p99: 60 + readings } : {}, inflight_bytes: 4096, queued_bytes: 0,
			window_bytes: 65536, rp_cnp_handled: 0, losses: 0 });
	}
	readings += path.startsWith("/flows.json");
	return new Response(JSON.stringify(path.startsWith("/flows.json")
		? { schema: 1, time: 1.7e9 + readings, interval_s: 1, processes } : {}));
};
