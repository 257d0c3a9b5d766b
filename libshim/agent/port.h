/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PORT_H
#define CCS_AGENT_PORT_H
/* A link that is measured here, and who wants to be told of it. */
#include "agent/capacity.h"
#include "agent/egress.h"
#include "agent/ingress.h"
#include "agent/priv.h"
#include "cc/advice.h"

/* What is wanted beyond these is not given. */
#define CCS_PERIOD_LEAST_NS 200000ull
#define CCS_PERIOD_MOST_NS 10000000ull

struct ccs_subscriber {
	struct ccs_peer *peer;
	bool inbound;                    /* flows here READ from it; else it is sent messages */
	uint64_t due_ns;
	uint64_t bytes;                  /* as it was told last */
	uint64_t advised;                /* the same */
};

struct ccs_port {
	char name[IF_NAMESIZE];
	uint32_t ifindex;                /* 0: it is gone */
	const struct ccs_agent_publication *publication; /* as a switch; NULL: ingress */
	struct ccs_prefix to, from;
	struct ccs_ingress ingress;

	double told;                     /* capacity, bit/s; 0: unknown */
	bool learns;
	struct ccs_capacity learnt;
	bool marked;                     /* CE marks since the last sample */

	struct ccs_advice advice;
	struct ccs_record record;        /* newest; ts_ns 0: none yet */
	uint64_t taken_ns;               /* not before that, by this host's clock */
	uint64_t next_ns;                /* sample */
	uint64_t heard_ns;               /* records of switches on the way here; 0: none */
	struct ccs_subscriber *sub;      /* nsubs of them in use */
	unsigned nsubs, room;
	unsigned nreaders;               /* of nsubs: inbound */
};

/* bit/s; 0: unknown. */
double ccs_port_capacity(const struct ccs_port *port);
/* The port cannot be read any more. */
void ccs_port_lose(struct ccs_agent *a, struct ccs_port *port, int error);
void ccs_port_leave(struct ccs_port *port, const struct ccs_peer *p, bool inbound);

/* advise.c */
/* Takes the newest record, if a flow wants advice, and advises in it. */
void ccs_port_advise(struct ccs_port *port);
/* So many more flows of a subscriber, before their bytes. */
void ccs_port_joined(struct ccs_agent *a, struct ccs_port *port, uint32_t more);
/* The rate to advise to its flows, by all that is known of their path, bit/s; 0: none. */
uint64_t ccs_port_advised(const struct ccs_agent *a, const struct ccs_port *port,
			  const struct ccs_subscriber *s);

#endif
