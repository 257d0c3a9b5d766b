/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver without algorithm: an application posts whole messages, a fixed number at a time. */
#include "priv.h"

struct messages {
	uint64_t completed;      /* bytes */
};

static void fill(struct sim *s, struct flow *f)
{
	const uint64_t message = f->spec->message, most = f->spec->depth * message;

	while (f->handed < f->size && f->handed - f->messages->completed < most)
		flow_hand(s, f, (uint32_t)message);
	flow_update(s, f);
}

static void ack(struct sim *s, struct flow *f, const struct packet *k, uint32_t acked)
{
	(void)k;
	f->messages->completed += acked;
	fill(s, f);
}

const struct driver message_driver = {
	.size = sizeof(struct messages), .start = fill, .ack = ack, .cnp = flow_update,
	.loss = flow_update, .timer = flow_update, .ready = fill,
};
