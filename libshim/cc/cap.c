/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/cap.h"

uint64_t ccs_cap_reserve(struct ccs_cap *c, double rate, uint64_t bytes, uint64_t now_ns)
{
	const uint64_t least = now_ns > CCS_CAP_BURST_NS ? now_ns - CCS_CAP_BURST_NS : 0;
	const uint64_t ns = (uint64_t)(8e9 * (double)bytes / rate);
	uint64_t free_ns = atomic_load_explicit(&c->free_ns, memory_order_relaxed), at_ns;

	do
		at_ns = free_ns < least ? least : free_ns;
	while (!atomic_compare_exchange_weak_explicit(&c->free_ns, &free_ns, at_ns + ns, memory_order_relaxed,
						      memory_order_relaxed));
	return at_ns;
}
