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

struct ccs_nic_counter_port {
	struct ccs_nic_counter_port *next;
	char device[DEVICE_LEN];
	uint32_t number;
	struct counter file[FILES];      /* fd is -1 without the counter */
	uint64_t retry_ns;               /* if not open: next attempt */
	double phase;                    /* 0 to 1; see share_out */
	struct ccs_nic_counter_flow *first, **end; /* its flows; where the next one is linked */
	unsigned flows;
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
	p->end = &p->first;
	for (unsigned i = 0; i < FILES; i++)
		p->file[i].fd = -1;
	p->next = c->ports;
	c->ports = *made = p;
	return 0;
}

int ccs_nic_counters_join(struct ccs_nic_counters *c, const char *device, uint32_t number,
		      struct ccs_nic_counter_flow *flow, const _Atomic uint64_t *rate)
{
	struct ccs_nic_counter_port *p = find_port(c, device, number);
	const int err = p ? 0 : new_port(c, device, number, &p);

	if (err)
		return err;
	if (!p->flows && !open_port(c, p)) {
		drop_port(c, p);
		return ENOENT;
	}
	*flow = (struct ccs_nic_counter_flow){ .port = p, .at = p->end, .rate = rate };
	*p->end = flow;
	p->end = &flow->next;
	p->flows++;
	return 0;
}

void ccs_nic_counters_leave(struct ccs_nic_counters *c, struct ccs_nic_counter_flow *flow)
{
	struct ccs_nic_counter_port *p = flow->port;

	if (!p)
		return;
	*flow->at = flow->next;
	if (flow->next)
		flow->next->at = flow->at;
	else
		p->end = flow->at;
	*flow = (struct ccs_nic_counter_flow){ 0 };
	if (!--p->flows)
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
		for (struct ccs_nic_counter_flow *f = p->first; f; f = f->next)
			each(arg, f);
}

/* Read all rates and return their sum; equal weights if no flow sends. */
static double read_weights(struct ccs_nic_counter_port *p)
{
	double sum = 0;

	for (struct ccs_nic_counter_flow *f = p->first; f; f = f->next) {
		f->weight = (double)atomic_load_explicit(f->rate, memory_order_relaxed);
		sum += f->weight;
	}
	for (struct ccs_nic_counter_flow *f = p->first; sum == 0 && f; f = f->next)
		f->weight = 1;
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

	for (struct ccs_nic_counter_flow *f = p->first; f && given < n; f = f->next) {
		weight += f->weight;
		upto = (uint32_t)fmin(fmax(ceil(events_per_weight * weight - p->phase), given), n);
		if (!f->next)
			upto = n; /* rounding must not lose events */
		if (upto > given)
			deliver(arg, f, upto - given);
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
