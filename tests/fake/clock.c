/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's clock, which stamps completions. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

#define FIRST_NS 3000000000ull /* start of the device's clock after the host's */

static uint64_t khz, mask;
static bool query, stuck;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void __attribute__((constructor)) from_environment(void)
{
	khz = setting("FAKERDMA_CLOCK", 0);
	mask = UINT64_MAX >> (64 - setting("FAKERDMA_CLOCK_BITS", 48));
	query = setting("FAKERDMA_CLOCK_QUERY", 0);
	stuck = setting("FAKERDMA_CLOCK_STUCK", 0);
}

bool fake_clock_runs(void)
{
	return khz;
}

uint64_t fake_clock_ticks(uint64_t ns)
{
	const uint64_t own = stuck ? 0 : ns - FIRST_NS;

	return (own / 1000000 * khz + own % 1000000 * khz / 1000000) & mask;
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	memset(attr, 0, size);
	if (khz) {
		attr->completion_timestamp_mask = mask;
		attr->hca_core_clock = khz;
	}
#ifdef HAVE_STRUCT_IBV_DEVICE_ATTR_EX_PHYS_PORT_CNT_EX
	attr->phys_port_cnt_ex = 1;
#endif
	return ibv_query_device(context, &attr->orig_attr);
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	(void)context;
	if (!query)
		return EOPNOTSUPP;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = (long)fake_clock_ticks(fake_now_ns());
	return 0;
}

void fake_clock_table(struct fake_context *c)
{
	c->v.query_device_ex = query_device_ex;
	if (khz)
		c->v.query_rt_values = query_rt_values;
}

/* The shim calls functions of the C library that a test program defines, and no other library's. */
EXPORT void *ccs_test_function(const char *name);
EXPORT void *ccs_test_function(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);
	struct link_map *map;
	Dl_info where;

	return function && dladdr1(function, &where, (void **)&map, RTLD_DL_LINKMAP) &&
	       map == _r_debug.r_map ? function : NULL;
}
