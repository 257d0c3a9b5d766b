/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of device contexts. */
#include "preload/object/shim.h"

#include <stdlib.h>

#include "base/sysfs.h"
#include "preload/object/real.h"

#define UNKNOWN_LINE_RATE 10e9 /* bit/s, if a port does not report its rate */

void ccs_context_put(struct ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) == 1)
		free(ctx);
}

double ccs_context_line_rate(const struct ctx *ctx, uint8_t port, double configured)
{
	struct ibv_port_attr attr = { 0 };
	double rate;

	if (configured > 0)
		return configured;
	if (ccs_query_port(ctx->context, port, &attr))
		return UNKNOWN_LINE_RATE;
	rate = ccs_port_rate(attr.active_speed, attr.active_width,
			     attr.link_layer == IBV_LINK_LAYER_ETHERNET);
	rate = ccs_sysfs_rate("/sys", ctx->device, port, rate);
	return rate > 0 ? rate : UNKNOWN_LINE_RATE;
}
