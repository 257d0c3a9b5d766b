/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/sim/core/shim.h"

#include "bench/sim/core/memory.h"

void shim_init(struct shim *h, const struct ccs_flow_config *conf, const struct ccs_cc_spec *spec,
	       unsigned depth, unsigned device, uint64_t now)
{
	if (ccs_flow_init(&h->flow, conf, spec, depth, device, shim_ns(now)))
		mem_checked(NULL);
}

static void accept(struct shim *h)
{
	while (h->accepted < h->ready && ccs_flow_waiting(&h->flow) < h->waiting &&
	       h->flow.wr_head - h->flow.wr_tail < h->depth) {
		const uint64_t left = h->ready - h->accepted;
		const uint64_t len = h->message && h->message < left ? h->message : left;

		ccs_flow_accept(&h->flow, len, h->flags);
		h->accepted += len;
	}
}

const struct ccs_seg *shim_next(struct shim *h, uint64_t now)
{
	uint64_t now_ns = shim_ns(now);

	accept(h);
	return ccs_flow_next(&h->flow, &now_ns, NULL);
}

/* Whether the segment of this number has arrived, too. */
static bool has_arrived(const struct shim *h, uint64_t number, uint64_t bytes)
{
	return number < h->flow.seg_head &&
	       h->completed + ccs_flow_seg(&h->flow, number)->len <= bytes;
}

void shim_complete(struct shim *h, uint64_t bytes, struct ccs_done done, bool polled)
{
	uint64_t wr;

	done.ok = true;
	for (done.number = h->flow.seg_tail; has_arrived(h, done.number, bytes); done.number++) {
		h->completed += ccs_flow_seg(&h->flow, done.number)->len;
		done.more = polled && has_arrived(h, done.number + 1, bytes);
		ccs_flow_complete(&h->flow, &done, &wr);
	}
}
