/* SPDX-License-Identifier: BSD-2-Clause */
/* The two devices of the verbs suite, and the contents of their memory. */
#include "suite.h"

#include <stdlib.h>

uint8_t gid_index;

void host_open(struct host *h, const char *device)
{
	const char *index = getenv("GID_INDEX");
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	gid_index = index ? (uint8_t)atoi(index) : 1;
	require(list, "no RDMA devices");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), device); i++)
		;
	require(list[i], "%s: no such device", device);
	h->ctx = ibv_open_device(list[i]);
	require(h->ctx, "%s cannot be opened", device);
	ibv_free_device_list(list);
	require(!ibv_query_gid(h->ctx, PORT, gid_index, &h->gid), "%s has no GID", device);
	require(!ibv_query_device(h->ctx, &h->attr), "%s cannot be queried", device);
	h->pd = ibv_alloc_pd(h->ctx);
	h->mem = aligned_alloc(4096, MEMORY);
	require(h->pd && h->mem, "%s", device);
	memset(h->mem, 0, MEMORY);
	h->mr = ibv_reg_mr(h->pd, h->mem, MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC |
				   (h->attr.max_mw ? IBV_ACCESS_MW_BIND : 0));
	require(h->mr, "%s: no memory region", device);
}

int host_close(struct host *h)
{
	int error = ibv_dereg_mr(h->mr);

	if (!error)
		error = ibv_dealloc_pd(h->pd);
	if (!error)
		error = ibv_close_device(h->ctx);
	free(h->mem);
	return error;
}

static uint8_t pattern(size_t i, unsigned seed)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + seed * 31 + 1);
}

void fill(uint8_t *at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = pattern(i, seed);
}

bool is_filled(const uint8_t *at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != pattern(i, seed))
			return false;
	return true;
}

bool is_zero(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (at[i])
			return false;
	return true;
}
