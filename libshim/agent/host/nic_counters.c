/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/nic_counters.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/sysfs.h"

enum { FILES = 2, DEVICE_LEN = 64 };

#define RETRY_NS 1000000000ull           /* between attempts to open a device that vanished */
#define GOLDEN 0.6180339887498949        /* spreads any number of phases evenly */

/* Drivers' names for the CNPs that the NIC received for its senders: mlx5, irdma, bnxt_re. */
static const char *const names[][FILES] = {
	{ "rp_cnp_handled", "rp_cnp_ignored" },
	{ "cnpHandled", "cnpIgnored" },
	{ "rx_cnp_pkts" },
};

struct counter {
	int fd;
	uint64_t last;
};

struct share {
	struct ccs_nic_counter_flow *flow;
	double weight;
};

struct ccs_nic_counter_port {
	struct ccs_nic_counter_port *next;
	char device[DEVICE_LEN];
	uint32_t number;
	struct counter file[FILES];      /* fd is -1 without the counter */
	uint64_t retry_ns;               /* if not open: next attempt */
	double phase;                    /* 0 to 1; see share_out */
	unsigned flows, max_flows;
	struct share *share;
};

static bool is_open(const struct ccs_nic_counter_port *p)
{
	return p->file[0].fd >= 0;
}

static void close_port(struct ccs_nic_counter_port *p)
{
	for (unsigned i = 0; i < FILES; i++) {
		ccs_close(p->file[i].fd);
		p->file[i].fd = -1;
	}
}

static int open_counter(const struct ccs_nic_counters *c, const struct ccs_nic_counter_port *p,
			const char *name)
{
	return ccs_sysfs_open(c->sysfs, "infiniband/%s/ports/%u/hw_counters/%s", p->device,
			      p->number, name);
}

/* Events counted before now are not attributed to any flow. */
static bool open_port(const struct ccs_nic_counters *c, struct ccs_nic_counter_port *p)
{
	for (unsigned set = 0; set < sizeof(names) / sizeof(*names) && !is_open(p); set++)
		for (unsigned i = 0; i < FILES && names[set][i]; i++) {
			p->file[i].fd = open_counter(c, p, names[set][i]);
			if (p->file[i].fd < 0 ||
			    !ccs_sysfs_read_number(p->file[i].fd, &p->file[i].last)) {
				close_port(p);
				break;
			}
		}
	return is_open(p);
}

/* 32-bit counters wrap; any other counter that decreases was reset: count from its new value. */
static uint64_t increase(uint64_t last, uint64_t value)
{
	const uint32_t wrapped = (uint32_t)value - (uint32_t)last;

	if (value >= last)
		return value - last;
	return last <= UINT32_MAX && wrapped < 1u << 20 ? wrapped : 0;
}

/* *events: the increase since the last call. False: the port cannot be read any more. */
static bool read_port(struct ccs_nic_counter_port *p, uint64_t *events)
{
	uint64_t value;

	*events = 0;
	for (unsigned i = 0; i < FILES && p->file[i].fd >= 0; i++) {
		if (!ccs_sysfs_read_number(p->file[i].fd, &value))
			return false;
		*events += increase(p->file[i].last, value);
		p->file[i].last = value;
	}
	return true;
}

static struct ccs_nic_counter_port *find_port(struct ccs_nic_counters *c, const char *device,
					  uint32_t number)
{
	struct ccs_nic_counter_port *p = c->ports;

	while (p && (p->number != number || strcmp(p->device, device) != 0))
		p = p->next;
	return p;
}

static void drop_port(struct ccs_nic_counters *c, struct ccs_nic_counter_port *p)
{
	struct ccs_nic_counter_port **at = &c->ports;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	close_port(p);
	free(p->share);
	free(p);
}

static int new_port(struct ccs_nic_counters *c, const char *device, uint32_t number,
		    struct ccs_nic_counter_port **made)
{
	struct ccs_nic_counter_port *p;

	/* The name becomes a component of a file path. */
	if (!*device || *device == '.' || strchr(device, '/') || strlen(device) >= DEVICE_LEN)
		return EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	strcpy(p->device, device);
	p->number = number;
	for (unsigned i = 0; i < FILES; i++)
		p->file[i].fd = -1;
	p->next = c->ports;
	c->ports = *made = p;
	return 0;
}

static bool reserve_share(struct ccs_nic_counter_port *p)
{
	const unsigned max = p->max_flows ? 2 * p->max_flows : 16;
	struct share *more;

	if (p->flows < p->max_flows)
		return true;
	more = reallocarray(p->share, max, sizeof(*more));
	if (more) {
		p->share = more;
		p->max_flows = max;
	}
	return more;
}

int ccs_nic_counters_join(struct ccs_nic_counters *c, const char *device, uint32_t number,
		      struct ccs_nic_counter_flow *flow, const _Atomic uint64_t *rate)
{
	struct ccs_nic_counter_port *p = find_port(c, device, number);
	int err = p ? 0 : new_port(c, device, number, &p);

	if (err)
		return err;
	if (!p->flows && !open_port(c, p))
		err = ENOENT;
	else if (!reserve_share(p))
		err = ENOMEM;
	if (err) {
		if (!p->flows)
			drop_port(c, p);
		return err;
	}
	*flow = (struct ccs_nic_counter_flow){ .port = p, .index = p->flows, .rate = rate };
	p->share[p->flows++].flow = flow;
	return 0;
}

void ccs_nic_counters_leave(struct ccs_nic_counters *c, struct ccs_nic_counter_flow *flow)
{
	struct ccs_nic_counter_port *p = flow->port;

	if (!p)
		return;
	p->share[flow->index] = p->share[--p->flows];
	p->share[flow->index].flow->index = flow->index;
	*flow = (struct ccs_nic_counter_flow){ 0 };
	if (!p->flows)
		drop_port(c, p);
}

bool ccs_nic_counters_alive(const struct ccs_nic_counter_flow *flow)
{
	return flow->port && is_open(flow->port);
}

void ccs_nic_counters_each(const struct ccs_nic_counters *c,
		       void (*each)(void *arg, struct ccs_nic_counter_flow *flow), void *arg)
{
	for (const struct ccs_nic_counter_port *p = c->ports; p; p = p->next)
		for (unsigned i = 0; i < p->flows; i++)
			each(arg, p->share[i].flow);
}

/* Read all rates and return their sum; equal weights if no flow sends. */
static double read_weights(struct ccs_nic_counter_port *p)
{
	double sum = 0;

	for (unsigned i = 0; i < p->flows; i++) {
		p->share[i].weight = (double)atomic_load_explicit(p->share[i].flow->rate,
								  memory_order_relaxed);
		sum += p->share[i].weight;
	}
	for (unsigned i = 0; sum == 0 && i < p->flows; i++)
		p->share[i].weight = 1;
	return sum > 0 ? sum : p->flows;
}

/*
 * The flows' weights are laid out on a line of length 1, with the n events at
 * (phase + 0, 1 .. n-1) / n: each flow gets its share, rounded up or down, and no event is lost.
 * The phases of successive calls are spread evenly, so that shares are exact over time.
 */
static void share_out(struct ccs_nic_counter_port *p, uint32_t n,
		      void (*deliver)(void *, struct ccs_nic_counter_flow *, uint32_t), void *arg)
{
	const double events_per_weight = n / read_weights(p);
	double weight = 0;
	uint32_t given = 0, upto;

	for (unsigned i = 0; i < p->flows && given < n; i++) {
		weight += p->share[i].weight;
		upto = (uint32_t)fmin(fmax(ceil(events_per_weight * weight - p->phase), given), n);
		if (i == p->flows - 1)
			upto = n; /* rounding must not lose events */
		if (upto > given)
			deliver(arg, p->share[i].flow, upto - given);
		given = upto;
	}
	p->phase = fmod(p->phase + GOLDEN, 1);
}

static void poll_port(struct ccs_nic_counters *c, struct ccs_nic_counter_port *p, uint64_t now_ns,
		      void (*deliver)(void *, struct ccs_nic_counter_flow *, uint32_t), void *arg)
{
	uint64_t events;

	if (!is_open(p)) {
		if (now_ns < p->retry_ns || open_port(c, p))
			return;
		p->retry_ns = now_ns + RETRY_NS;
	} else if (!read_port(p, &events)) {
		close_port(p);
		p->retry_ns = now_ns + RETRY_NS;
	} else if (events) {
		events = events < UINT32_MAX ? events : UINT32_MAX;
		share_out(p, (uint32_t)events, deliver, arg);
	}
}

void ccs_nic_counters_poll(struct ccs_nic_counters *c, uint64_t now_ns,
			   void (*deliver)(void *, struct ccs_nic_counter_flow *, uint32_t),
			   void *arg)
{
	for (struct ccs_nic_counter_port *p = c->ports; p; p = p->next)
		poll_port(c, p, now_ns, deliver, arg);
}
