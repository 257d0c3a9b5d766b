/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/advice.h"

#include <math.h>

#include "cc/minmax.h"

#define ETA 0.98             /* of the capacity, for all flows together */
#define FULL 0.99            /* a load from which on there may be a queue that is not seen */
#define FLOOR 0.45           /* of its share, which a flow may send at least */
#define UNCOUNTED 1000       /* flows that the floor expects where none are counted */
/* Most that one record adds, as a factor: of 16 flows the last one gets the port in two records. */
#define RISE 4.0
/* So few flows in effect do not need the rate that there is, so that no burst comes at it. */
#define UNUSED 0.5
#define SETTLE 0.25          /* of the span: the least that a count after a cut or a pause is of */
#define CUTS_MOST 8          /* in a row that accelerate */
#define CUTS_BLIND 2         /* in a row before the hosts' count of the flows is believed, */
#define HALVE 0.5            /* as far as that */
#define GRAIN 4096.0
/* A load is measured over so many grains, so that one more or less is little of it, */
#define SPAN_GRAINS 64
/*
 * and over so many of each flow. Flows that start together send in one burst per round, and one
 * burst more or less in the span is then that share of the load. With 4 the rate swung by a tenth
 * for that, which kept the flows in step; with 6 they part after some hundred rounds.
 */
#define SPAN_EACH 6
/*
 * When flows leave, the load falls at once, but its average over a span takes a span to follow. So
 * flows are also counted over the newest quarter of it, or two grains of a flow if that is longer.
 */
#define RECENT 0.25
#define RECENT_EACH 2
#define LEFT 0.9             /* of the flows: if so few are left by that count, it holds */
#define PAUSE 0.75           /* grains of a flow: when nothing came for so long, all may have paused */

static const struct ccs_advice_record *record(const struct ccs_advice *a, unsigned age)
{
	return &a->record[(a->head + CCS_ADVICE_RECORDS - 1 - age) % CCS_ADVICE_RECORDS];
}

/* The integral of the rate, up to now. */
static void allow(struct ccs_advice *a, uint64_t now_ns)
{
	if (now_ns <= a->allowed_ns)
		return;
	if (a->allowed_ns)
		a->allowed += a->rate * (double)(now_ns - a->allowed_ns) / 1e9;
	a->allowed_ns = now_ns;
}

/* The integral of the rate at that time: between two records it is taken for constant. */
static double allowed_at(const struct ccs_advice *a, double ns)
{
	const struct ccs_advice_record *new = record(a, 0), *old = new;

	for (unsigned age = 1; age < a->n && (double)old->ns > ns; age++) {
		new = old;
		old = record(a, age);
	}
	if (new == old || (double)old->ns > ns)
		return old->allowed - a->rate * ((double)old->ns - ns) / 1e9;
	return old->allowed + (new->allowed - old->allowed) * (ns - (double)old->ns) /
			      (double)(new->ns - old->ns);
}

static double grain(const struct ccs_advice_port *port)
{
	return port->grain > 0 ? port->grain : GRAIN;
}

static double span_ns(const struct ccs_advice_port *port)
{
	const double grains = ccs_max(SPAN_GRAINS, SPAN_EACH * (double)port->flows);

	return ccs_max(8e9 * grain(port) * grains / port->capacity, 2e3 * port->rtt_us);
}

/* Records that come often are thinned out, so that those that are kept reach back far enough. */
static void store(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double apart = 2 * span_ns(port) / CCS_ADVICE_RECORDS;

	if (a->n >= 2 && (double)(port->now_ns - record(a, 1)->ns) < apart) {
		a->head = (a->head + CCS_ADVICE_RECORDS - 1) % CCS_ADVICE_RECORDS;
		a->n--;
	}
	a->record[a->head] = (struct ccs_advice_record){
		.ns = port->now_ns, .bytes = port->bytes, .queue = port->queue,
		.allowed = a->allowed, .joined = a->joined,
	};
	a->head = (a->head + 1) % CCS_ADVICE_RECORDS;
	a->n += a->n < CCS_ADVICE_RECORDS;
}

/* A flow that sends rarely sends at another rate after half a gap, on average. */
static double effect_ns(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	return 1e3 * port->rtt_us + 4e9 * grain(port) / a->rate;
}

/*
 * Where to measure from: the newest record that is old enough, but none of before the last cut
 * took effect, or before flows began after a pause. The bytes that a full port sent show no more
 * than its capacity, and flows that were not there all the time would count for less.
 */
static const struct ccs_advice_record *since(const struct ccs_advice *a,
					     const struct ccs_advice_port *port, double ns)
{
	const double first = ccs_max(a->cut_ns, a->begun_ns);
	const double least = ccs_max((double)port->now_ns - ns, first);
	unsigned age = 1;

	while (age + 1 < a->n && (double)record(a, age)->ns > least &&
	       (double)record(a, age + 1)->ns >= first)
		age++;
	return record(a, age);
}

/*
 * Bytes that came to the port since then. While a queue drains, a host that has much in it
 * sends nothing, so at least half of what passed. What waited all the time is to be gone
 * after another such span, except for one grain of each flow, which meet by chance.
 */
static double arrived(const struct ccs_advice *a, const struct ccs_advice_record *old,
		      const struct ccs_advice_port *port)
{
	const double passed = (double)(port->bytes - old->bytes);
	const double grown = (double)port->queue - (double)old->queue;
	const double standing = (double)(port->queue < old->queue ? port->queue : old->queue);

	return ccs_max(passed + grown, passed / 2) +
	       ccs_max(standing - (a->flows + 1) * grain(port), 0);
}

static double lowest(const struct ccs_advice_port *port)
{
	return ETA * port->capacity * (port->flows ? FLOOR / port->flows : 1.0 / UNCOUNTED);
}

static double set(struct ccs_advice *a, const struct ccs_advice_port *port, double rate)
{
	a->rate = ccs_min(ccs_max(rate, lowest(port)), port->capacity);
	return a->rate;
}

/*
 * What flows that were announced since that record would have sent, bits, had they been there
 * all the time: their bytes come an RTT after the announcement, at the advised rate.
 */
static double missing(const struct ccs_advice *a, double from_ns, double to_ns)
{
	const double from = allowed_at(a, from_ns), to = allowed_at(a, to_ns);
	double joined = a->joined, bits = 0;

	for (unsigned age = 0; age < a->n && (double)record(a, age)->ns > from_ns; age++) {
		const double before = age + 1 < a->n ? record(a, age + 1)->joined : joined;
		const double at = ccs_min(record(a, age)->allowed, to);

		bits += (joined - before) * ccs_max(at - from, 0);
		joined = before;
	}
	return bits;
}

/* The flows in effect since that record; 0 if none of them sent. */
static double count(struct ccs_advice *a, const struct ccs_advice_port *port,
		    const struct ccs_advice_record *old)
{
	const double ns = (double)(port->now_ns - old->ns), delay_ns = effect_ns(a, port);
	const double from_ns = (double)old->ns - delay_ns, to_ns = (double)port->now_ns - delay_ns;
	const double meant = allowed_at(a, to_ns) - allowed_at(a, from_ns);
	const double bits = 8 * arrived(a, old, port);

	a->load = 1e9 * bits / (port->capacity * ns);
	return meant > 0 ? (bits + missing(a, from_ns, to_ns)) / meant : 0;
}

/*
 * Where the queue is not seen a full port may have been offered any load, so the rate falls
 * faster with each cut that did not help; each has its time to. Many flows that begin at once may
 * have several times what the port carries. So the third cut and later ones halve a rate that is
 * above what the flows that their hosts count could have.
 */
static double cut(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	double rate = a->rate;

	a->saturated += a->saturated < CUTS_MOST;
	for (unsigned i = 0; i < a->saturated; i++)
		rate *= ETA;
	if (a->saturated > CUTS_BLIND && port->flows)
		rate = ccs_min(rate, ccs_max(HALVE * a->rate, ETA * port->capacity / port->flows));
	a->cut_ns = (double)port->now_ns + effect_ns(a, port);
	return rate;
}

/*
 * Whether flows have just begun after a pause. They may have begun at any time before the first
 * record that shows them, so what follows it counts, and until there is enough the rate does not
 * rise.
 */
static bool has_begun(struct ccs_advice *a, const struct ccs_advice_port *port, double settle_ns)
{
	const bool paused = a->paused;

	a->paused = a->flows < UNUSED;
	if (paused && !a->paused)
		a->begun_ns = (double)port->now_ns;
	return !a->paused && (double)port->now_ns - a->begun_ns < settle_ns;
}

static double answer(struct ccs_advice *a, const struct ccs_advice_port *port,
		     const struct ccs_advice_record *old)
{
	const double share = ETA * port->capacity / a->flows;
	const double seen_ns = (double)port->now_ns - ccs_max((double)old->ns, a->cut_ns);
	const double settle_ns = SETTLE * span_ns(port);

	if (has_begun(a, port, settle_ns))
		return a->flows > 0 ? ccs_min(a->rate, share) : a->rate;
	if (a->saturated && seen_ns < settle_ns)
		return ccs_min(a->rate, share);
	if (!port->sees_queue && a->load > FULL)
		return ccs_min(cut(a, port), share);
	a->saturated = 0;
	if (a->flows < UNUSED && port->flows)
		return ccs_max(a->rate / RISE, ETA * port->capacity / port->flows);
	return a->flows > 0 ? ccs_min(share, RISE * a->rate) : RISE * a->rate;
}

/* Flows that were announced since that time, as far as records reach back. */
static double announced(const struct ccs_advice *a, double since_ns)
{
	unsigned age = 0;

	while (age + 1 < a->n && (double)record(a, age)->ns > since_ns)
		age++;
	return a->joined - record(a, age)->joined;
}

/* What one flow may have sent, bits, until it took effect at that time. */
static double meant_until(const struct ccs_advice *a, const struct ccs_advice_port *port, uint64_t ns)
{
	return allowed_at(a, (double)ns - effect_ns(a, port));
}

/*
 * At most so many flows are left: what is queued counts as sent lately, and so does a grain more,
 * which is much of a short time. A full port sends without pauses, however unevenly its flows send, so it
 * never seems to be left. Flows that were announced within the span may not have begun. Where the
 * delay is stated too long, a rate that fell has had its effect already: the lesser one counts.
 */
static double count_left(const struct ccs_advice *a, const struct ccs_advice_port *port,
			 const struct ccs_advice_record *old, const struct ccs_advice_record *whole)
{
	const double bytes = (double)(port->bytes - old->bytes + port->queue) + grain(port);
	const double meant = ccs_min(a->allowed - old->allowed, meant_until(a, port, port->now_ns) -
				     meant_until(a, port, old->ns));

	return (meant > 0 ? 8 * bytes / meant : INFINITY) +
	       announced(a, (double)whole->ns - effect_ns(a, port));
}

/* Whether nothing came for some time since that record, so that all flows may have paused. */
static bool has_paused(const struct ccs_advice *a, const struct ccs_advice_port *port,
		       const struct ccs_advice_record *from)
{
	double silent = 0;

	for (unsigned age = 0; record(a, age) != from; age++) {
		const struct ccs_advice_record *new = record(a, age), *old = record(a, age + 1);
		const double meant = meant_until(a, port, new->ns) - meant_until(a, port, old->ns);
		const bool nothing = 8 * (double)(new->bytes - old->bytes) < UNUSED * meant;

		silent = nothing ? silent + meant : 0;
		if (silent > PAUSE * 8 * grain(port))
			return true;
	}
	return false;
}

/* The flows in effect, or those that are left: none, or some that continue to send. */
static double lower_count(const struct ccs_advice *a, const struct ccs_advice_port *port,
			  const struct ccs_advice_record *whole)
{
	const double apart_ns = 8e9 * grain(port) / a->rate;
	const double ns = ccs_max(RECENT * span_ns(port), RECENT_EACH * apart_ns);
	const struct ccs_advice_record *old = since(a, port, ns);
	const double left = count_left(a, port, old, whole);

	if (left < UNUSED || (left < LEFT * a->flows && !has_paused(a, port, old)))
		return left;
	return a->flows;
}

double ccs_advice_feed(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const struct ccs_advice_record *last = record(a, 0), *old;

	if (!(a->rate > 0))
		a->rate = ETA * port->capacity / (port->flows ? port->flows : 1);
	if (a->n && (port->now_ns <= last->ns || port->bytes < last->bytes))
		a->n = 0;
	allow(a, port->now_ns);
	store(a, port);
	if (a->n == 1)
		return set(a, port, a->rate);
	old = since(a, port, span_ns(port));
	a->flows = count(a, port, old);
	a->flows = lower_count(a, port, old);
	return set(a, port, answer(a, port, old));
}

double ccs_advice_join(struct ccs_advice *a, const struct ccs_advice_port *port, unsigned more)
{
	const double most = ETA * port->capacity;

	allow(a, port->now_ns);
	a->joined += more;
	a->flows += more;
	return set(a, port, ccs_min(a->rate > 0 ? a->rate : most, most / ccs_max(a->flows, 1)));
}
