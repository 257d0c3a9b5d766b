/* SPDX-License-Identifier: BSD-2-Clause */
/* The title of a scenario. */
#include <stdio.h>

#include "tools/common/human.h"
#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/scenario/scenario.h"

const char *op_name(enum bench_op op)
{
	static const char *const name[] = {
		[OP_WRITE] = "write", [OP_READ] = "read", [OP_SEND] = "send",
	};

	return name[op];
}

/* "incast of 64 KB writes", "permutation, websearch sizes at load 50 %" */
static int title_traffic(const struct opts *o, char *buf, size_t len)
{
	char size[32], load[32];
	int n = 0;

	if (o->sizes == SIZES_FIXED || o->kind->elephants)
		n = snprintf(buf, len, " of %s %ss",
			     human_bytes((double)o->size, size, sizeof(size)), op_name(o->op));
	if (o->load > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", %s sizes at load %s",
			      sizes_name(o->sizes), human_percent(o->load, load, sizeof(load)));
	if (o->qp_pool && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", a pool of %u QPs", o->qp_pool);
	return n;
}

static int title_hosts(const struct opts *o, char *buf, size_t len)
{
	char qps[24] = "";

	if (o->qps > 1)
		snprintf(qps, sizeof(qps), " x %u QPs", o->qps);
	return o->kind->to_one ? snprintf(buf, len, "%u:1%s %s", o->senders, qps, o->kind->name)
			       : snprintf(buf, len, "%s among %u hosts%s", o->kind->name,
				      o->hosts, qps);
}

char *opts_title(const struct opts *o, char *buf, size_t len)
{
	char size[32], rate[32];
	int n;

	n = title_hosts(o, buf, len);
	if (n < (int)len)
		n += title_traffic(o, buf + n, len - (size_t)n);
	if (o->link.rate_bps > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, " into %s",
			      human_rate(o->link.rate_bps, rate, sizeof(rate)));
	if (o->link.queue_bytes > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", queue %s",
			      human_bytes(o->link.queue_bytes, size, sizeof(size)));
	if (o->link.nic_bps > 0 && o->link.nic_bps != o->link.rate_bps && n < (int)len)
		snprintf(buf + n, len - (size_t)n, ", senders at %s",
			 human_rate(o->link.nic_bps, rate, sizeof(rate)));
	return buf;
}
