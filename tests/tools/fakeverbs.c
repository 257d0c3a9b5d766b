/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Five devices that do not exist, preloaded before libibverbs: one of each kind that `ccshim
 * info -d` distinguishes. It also replaces libccshim.so where a test runs a command.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_device devices[] = {
	{ .name = "mlx5_0", .transport_type = IBV_TRANSPORT_IB },
	{ .name = "rxe0", .transport_type = IBV_TRANSPORT_IB },
	{ .name = "rxe1", .transport_type = IBV_TRANSPORT_IB },
	{ .name = "siw0", .transport_type = IBV_TRANSPORT_IWARP },
	{ .name = "locked0", .transport_type = IBV_TRANSPORT_IB },
};
enum { COUNT = sizeof(devices) / sizeof(*devices) };

static const struct ibv_port_attr ports[COUNT] = {
	{ .state = IBV_PORT_ACTIVE, .active_speed = 32, .active_width = 2,
	  .link_layer = IBV_LINK_LAYER_INFINIBAND },
	{ .state = IBV_PORT_ACTIVE, .active_speed = 8, .active_width = 1,
	  .link_layer = IBV_LINK_LAYER_ETHERNET },
	{ .state = IBV_PORT_DOWN, .active_speed = 1, .active_width = 1,
	  .link_layer = IBV_LINK_LAYER_ETHERNET },
	{ .state = IBV_PORT_ACTIVE, .link_layer = IBV_LINK_LAYER_ETHERNET },
};

/* The linker resolves ccshim's references to these. */
struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list = calloc(COUNT + 1, sizeof(*list));
	const int count = getenv("FAKE_NO_DEVICES") ? 0 : COUNT;

	for (int i = 0; i < count; i++)
		list[i] = &devices[i];
	if (num)
		*num = count;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	(void)input;
	memset(attr, 0, size);
	attr->completion_timestamp_mask = UINT64_MAX;
	attr->hca_core_clock = context->device == devices ? 156250 : 0;
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_context *vctx;

	if (device == &devices[COUNT - 1]) {
		errno = EACCES;
		return NULL;
	}
	vctx = calloc(1, sizeof(*vctx));
	vctx->sz = sizeof(*vctx);
	vctx->context.device = device;
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	if (device <= devices + 1)
		vctx->query_device_ex = query_device_ex;
	return &vctx->context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(verbs_get_ctx(context));
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->fw_ver, "1.2.3");
	attr->phys_port_cnt = 1;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	(void)port;
	memcpy(attr, &ports[context->device - devices], offsetof(struct ibv_port_attr, link_layer) + 1);
	return 0;
}
