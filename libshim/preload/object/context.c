/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of device contexts. */
#include "preload/object/shim.h"

#include <stdlib.h>

#include "base/sysfs.h"
#include "preload/object/clock.h"
#include "preload/object/real.h"

#define UNKNOWN_LINE_RATE 10e9 /* bit/s, if a port does not report its rate */

enum { VALID_NS = 500000000 };

void ccs_context_put(struct ctx *ctx)
{
	if (atomic_fetch_sub(&ctx->refs, 1) == 1)
		free(ctx);
}

static double query_line_rate(const struct ctx *ctx, uint8_t port)
{
	struct ibv_port_attr attr = { 0 };
	double rate;

	if (ccs_query_port(ctx->context, port, &attr))
		return UNKNOWN_LINE_RATE;
	rate = ccs_port_rate(attr.active_speed, attr.active_width,
			     attr.link_layer == IBV_LINK_LAYER_ETHERNET);
	rate = ccs_sysfs_rate("/sys", ctx->device, port, rate);
	return rate > 0 ? rate : UNKNOWN_LINE_RATE;
}

/* An application may create thousands of QPs at once, and the query is a command to the device. */
double ccs_context_line_rate(struct ctx *ctx, uint8_t port, double configured)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const uint64_t now_ns = ccs_now_ns();
	double rate = configured;

	if (rate > 0)
		return rate;
	pthread_mutex_lock(&lock);
	if (ctx->line.port != port || now_ns >= ctx->line.until_ns) {
		ctx->line.rate = query_line_rate(ctx, port);
		ctx->line.until_ns = now_ns + VALID_NS;
		ctx->line.port = port;
	}
	rate = ctx->line.rate;
	pthread_mutex_unlock(&lock);
	return rate;
}
