/* SPDX-License-Identifier: BSD-2-Clause */
/* Events: functions to be called at a time, the wake-ups of drivers, and packets under way. */
#include "bench/sim/core/memory.h"
#include "priv.h"

void star_at(struct star *s, uint64_t at, void (*function)(struct star *s, void *who), void *who)
{
	struct call *c;
	uint32_t i;

	if (!s->unused_call)
		s->call = mem_pool(s->call, &s->calls, &s->unused_call, sizeof(*s->call),
				   offsetof(struct call, next));
	i = s->unused_call;
	c = &s->call[i];
	s->unused_call = c->next;
	*c = (struct call){ function, who, 0 };
	set_event(&s->net, at, CALL, i);
}

static void handle_call(struct sim *net, uint32_t number)
{
	struct star *s = (struct star *)net;
	const struct call c = s->call[number];

	s->call[number].next = s->unused_call;
	s->unused_call = number;
	c.function(s, c.who);
}

static void wake(struct star *s, void *who)
{
	struct star_flow *f = who;

	if (s->net.now != f->wake_at)
		return; /* superseded by an earlier one */
	f->wake_at = NEVER;
	f->driver->wake(s, f);
}

void star_wake_at(struct star *s, struct star_flow *f, uint64_t at)
{
	if (at >= f->wake_at)
		return; /* it is woken earlier in any case, and then checks again */
	f->wake_at = at;
	star_at(s, at, wake, f);
}

/*
 * Each packet has an event, and each transmission an event for its end, so that events of equal
 * times happen in the order in which they were set. A host receives a packet when the switch has
 * transmitted it, and adds the delay of the line.
 */
void star_line(struct sim *net, uint32_t port, uint32_t packet)
{
	struct port *p = &net->port[port];

	net->packet[packet].port = port;
	if (p->of_host)
		set_event(net, p->free_at + p->delay, REACH, packet);
	else
		p->on_line = packet;
	port_kick(net, port);
	if (p->of_host)
		star_sent(net, packet);
}

static void free_port(struct sim *net, uint32_t port)
{
	const uint32_t packet = net->port[port].on_line;

	net->port[port].on_line = 0;
	port_free(net, port);
	if (packet)
		star_receive(net, port, packet);
}

static void reach_switch(struct sim *net, uint32_t packet)
{
	if (star_admit(net, packet))
		switch_receive(net, net->packet[packet].port, packet);
}

void (*const star_handler[])(struct sim *net, uint32_t number) = {
	[FREE] = free_port, [CALL] = handle_call, [REACH] = reach_switch, [LEAVE] = star_send_back,
	[RETURN] = star_return,
};
