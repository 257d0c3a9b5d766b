/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools of packets and telemetry records, which grow on demand. Number 0 is not used. */
#include "bench/sim/core/memory.h"
#include "priv.h"

uint32_t new_packet(struct sim *s)
{
	uint32_t i = s->free_packet;

	if (!i) {
		const uint32_t old = s->packets ? s->packets : 1;

		struct packet *few = s->packet;

		s->packets = s->packets ? 2 * s->packets : 1024;
		s->packet = mem_lines(s->packets, sizeof(*s->packet));
		if (few)
			memcpy(s->packet, few, old * sizeof(*few));
		free(few);
		for (i = s->packets - 1; i >= old; i--) {
			s->packet[i].next = s->free_packet;
			s->free_packet = i;
		}
		i = s->free_packet;
	}
	s->free_packet = s->packet[i].next;
	s->packet[i] = (struct packet){ 0 };
	return i;
}

uint32_t new_record(struct sim *s)
{
	uint32_t i = s->free_record;

	if (!i) {
		const uint32_t old = s->records ? s->records : 1;

		s->records = s->records ? 2 * s->records : 1024;
		s->record = mem_resized(s->record, s->records, sizeof(*s->record));
		for (i = s->records - 1; i >= old; i--) {
			s->record[i].next = s->free_record;
			s->free_record = i;
		}
		i = s->free_record;
	}
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

uint32_t new_control(struct sim *s, uint32_t flow, enum kind kind)
{
	const uint32_t i = new_packet(s);
	struct packet *k = &s->packet[i];

	k->flow = flow;
	k->kind = (uint8_t)kind;
	k->ttl = (uint8_t)s->conf->ttl;
	k->priority = (uint8_t)s->conf->cnp_priority;
	k->dscp = FAB_CNP_DSCP;
	k->sent = s->now;
	k->len = (uint16_t)s->conf->wire.cnp;
	return i;
}
