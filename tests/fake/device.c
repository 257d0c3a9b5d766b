/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices fake0..fakeN, their contexts and their queries. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "priv.h"

enum { DEVICES_MAX = 16 };

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
struct fake_counts fake_count;

static struct ibv_device device[DEVICES_MAX];
static int devices;

static void make_devices(void)
{
	const char *n = getenv("FAKERDMA_DEVICES"), *transport = getenv("FAKERDMA_TRANSPORT");

	devices = n ? atoi(n) : 2;
	if (devices > DEVICES_MAX)
		devices = DEVICES_MAX;
	for (int i = 0; i < devices; i++) {
		device[i].node_type = IBV_NODE_CA;
		device[i].transport_type = transport && strcmp(transport, "iwarp") == 0
			? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
		snprintf(device[i].name, sizeof(device[i].name), "fake%d", i);
		snprintf(device[i].dev_name, sizeof(device[i].dev_name), "uverbs%d", i);
	}
}

static int index_of(const struct ibv_device *d)
{
	return (int)(d - device);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

EXPORT struct ibv_device **ibv_get_device_list(int *num)
{
	struct ibv_device **list;

	pthread_once(&once, make_devices);
	list = calloc((size_t)devices + 1, sizeof(struct ibv_device *));
	for (int i = 0; list && i < devices; i++)
		list[i] = &device[i];
	if (num)
		*num = list ? devices : 0;
	return list;
}

EXPORT void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

EXPORT const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

EXPORT __be64 ibv_get_device_guid(struct ibv_device *d)
{
	return htobe64(0x0200fa4e00000000ull + (unsigned)index_of(d));
}

EXPORT int ibv_get_device_index(struct ibv_device *d)
{
	return index_of(d);
}

static int modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_attr kept = { .rate_limit = attr->rate_limit };

	return attr->comp_mask ? EINVAL : fake_modify_qp(qp, &kept, IBV_QP_RATE_LIMIT);
}

static void fill_tables(struct fake_context *c)
{
	c->v.modify_qp_rate_limit = modify_qp_rate_limit;
	c->v.sz = sizeof(c->v);
	c->v.create_cq_ex = fake_create_cq_ex;
	c->v.create_qp_ex = fake_create_qp_ex;
	c->v.modify_cq = fake_modify_cq;
	fake_clock_table(c);
	fake_domain_table(c);
	fake_srq_table(c);
	fake_xrc_table(c);
	c->v.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	c->v.context.ops.post_send = fake_post_send;
	c->v.context.ops.post_recv = fake_post_recv;
	c->v.context.ops.poll_cq = fake_poll_cq;
	c->v.context.ops.req_notify_cq = fake_req_notify_cq;
}

/* The descriptor holds the device's index, so that another process can import the context. */
static int command_fd(const struct ibv_device *d)
{
	const int fd = memfd_create("fakerdma", MFD_CLOEXEC), index = index_of(d);

	return fd >= 0 && pwrite(fd, &index, sizeof(index), 0) == sizeof(index) ? fd : -1;
}

static struct ibv_context *open_context(struct ibv_device *d, int cmd_fd)
{
	struct fake_context *c = calloc(1, sizeof(*c));
	const char *setting = getenv("MLX5_SINGLE_THREADED");
	int error;

	if (!c || !fake_choose_profile() || fake_queue_open(&c->async)) {
		free(c);
		return NULL;
	}
	fill_tables(c);
	c->single_thread = setting && strcmp(setting, "1") == 0 ? &c->only : NULL;
	c->v.context.device = d;
	c->v.context.cmd_fd = cmd_fd;
	c->v.context.async_fd = c->async.fd;
	c->v.context.num_comp_vectors = 4;
	pthread_mutex_init(&c->v.context.mutex, NULL);
	pthread_mutex_lock(&fake_lock);
	error = fake_remote_open();
	if (!error) {
		fake_count.contexts++;
		pthread_mutex_unlock(&fake_lock);
		return &c->v.context;
	}
	fake_queue_close(&c->async);
	pthread_mutex_unlock(&fake_lock);
	free(c);
	errno = error;
	return NULL;
}

/* ibv_open_device calls this, as in libibverbs. */
EXPORT struct ibv_context *verbs_open_device(struct ibv_device *d, void *private_data)
{
	const int fd = command_fd(d);
	struct ibv_context *context = open_context(d, fd);

	(void)private_data;
	if (!context)
		close(fd);
	return context;
}

EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	int index;

	pthread_once(&once, make_devices);
	if (pread(cmd_fd, &index, sizeof(index), 0) != sizeof(index) || index < 0 ||
	    index >= devices) {
		errno = EINVAL;
		return NULL;
	}
	return open_context(&device[index], cmd_fd);
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct fake_context *c = container(context, struct fake_context, v.context);

	pthread_mutex_lock(&fake_lock);
	fake_count.contexts--;
	fake_queue_close(&c->async);
	pthread_mutex_unlock(&fake_lock);
	close(context->cmd_fd);
	free(c);
	return 0;
}

/* FAKERDMA_VENDOR=ID:PART: some programs choose how they post by the vendor and part. */
static void set_vendor(struct ibv_device_attr *attr)
{
	const char *vendor = getenv("FAKERDMA_VENDOR"), *part = vendor ? strchr(vendor, ':') : NULL;

	attr->vendor_id = fake_profile()->vendor;
	if (!part)
		return;
	attr->vendor_id = (uint32_t)strtoul(vendor, NULL, 0);
	attr->vendor_part_id = (uint32_t)strtoul(part + 1, NULL, 0);
}

bool fake_is_rxe(void)
{
	const char *vendor = getenv("FAKERDMA_VENDOR");

	return (vendor ? strtoul(vendor, NULL, 0) : fake_profile()->vendor) == FAKE_RXE_VENDOR;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.fw_ver = "fake",
		.node_guid = ibv_get_device_guid(context->device),
		.sys_image_guid = ibv_get_device_guid(context->device),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 4096,
		.max_qp = MAX_QPS,
		.max_qp_wr = MAX_WR,
		.max_sge = MAX_SGE,
		.max_sge_rd = MAX_SGE,
		.max_cq = 65536,
		.max_cqe = MAX_CQE,
		.max_mr = 65536,
		.max_pd = 65536,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 16 * MAX_QPS,
		.atomic_cap = fake_has_atomics() ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE,
		.max_mw = 65536,
		.max_ah = 65536,
		.max_srq = 65536,
		.max_srq_wr = MAX_WR,
		.max_srq_sge = MAX_SGE,
		.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
				    IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_XRC,
		.max_pkeys = 1,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = 1,
	};
	set_vendor(attr);
	return 0;
}

/*
 * The macro of that name clears the structure and calls this with the size that the caller's
 * header knows.
 */
#undef ibv_query_port
EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port,
			  struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

	(void)context;
	if (port != 1)
		return EINVAL;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 2;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = MAX_MESSAGE;
	attr->active_width = 1;
	attr->active_speed = 4; /* 10 Gbit/s on one lane */
	attr->phys_state = 5;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

/* GID 0 is link-local, GID 1 an IPv4 address: 10.250.0.1 is fake0's. */
EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	const uint8_t host = (uint8_t)(1 + index_of(context->device));

	if (port != 1 || index < 0 || index > 1)
		return EINVAL;
	memset(gid, 0, sizeof(*gid));
	gid->raw[15] = host;
	if (index == 0) {
		gid->raw[0] = 0xfe;
		gid->raw[1] = 0x80;
	} else {
		gid->raw[10] = gid->raw[11] = 0xff;
		gid->raw[12] = 10;
		gid->raw[13] = 250;
	}
	return 0;
}

EXPORT int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			     struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	(void)flags;
	memset(entry, 0, size);
	entry->port_num = port;
	entry->gid_index = index;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return ibv_query_gid(context, (uint8_t)port, (int)index, &entry->gid);
}

EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				    size_t max, uint32_t flags, size_t size)
{
	size_t n = 0;

	for (; n < max && n < 2; n++)
		_ibv_query_gid_ex(context, 1, (uint32_t)n,
				  (struct ibv_gid_entry *)(void *)((char *)entries + n * size),
				  flags, size);
	return (ssize_t)n;
}

EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	*pkey = htobe16(0xffff);
	return port == 1 && index == 0 ? 0 : EINVAL;
}
