/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of packets and telemetry records, which grow on demand. Number 0 is not used. */
#include <stddef.h>

#include "bench/sim/core/memory.h"
#include "priv.h"

uint32_t new_packet(struct sim *s)
{
	uint32_t i;

	if (!s->free_packet)
		s->packet = mem_pool(s->packet, &s->packets, &s->free_packet, sizeof(*s->packet),
				     offsetof(struct packet, next));
	i = s->free_packet;
	s->free_packet = s->packet[i].next;
	s->packet[i] = (struct packet){ 0 };
	return i;
}

uint32_t new_record(struct sim *s)
{
	uint32_t i;

	if (!s->free_record)
		s->record = mem_pool(s->record, &s->records, &s->free_record, sizeof(*s->record),
				     offsetof(struct record, next));
	i = s->free_record;
	s->free_record = s->record[i].next;
	s->record[i].n = 0;
	return i;
}

void free_record(struct sim *s, uint32_t i)
{
	s->record[i].next = s->free_record;
	s->free_record = i;
}

void free_packet(struct sim *s, uint32_t i)
{
	if (s->packet[i].record)
		free_record(s, s->packet[i].record);
	s->packet[i].next = s->free_packet;
	s->free_packet = i;
}

uint32_t new_control(struct sim *s, const struct flow *f, enum kind kind)
{
	const uint32_t i = new_packet(s);
	struct packet *k = &s->packet[i];

	k->flow = flow_number(s, f);
	k->kind = (uint8_t)kind;
	k->ttl = (uint8_t)s->conf->ttl;
	k->priority = (uint8_t)s->conf->cnp_priority;
	k->dscp = FAB_CNP_DSCP;
	k->sent = s->now;
	k->len = s->conf->wire.cnp;
	return i;
}
