/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/advice.h"

#include <math.h>

#include "cc/minmax.h"

#define ETA 0.98             /* share of the capacity for all flows together */
#define MARGIN ((1 - ETA) / 2) /* a load that is farther from ETA is not chance */
#define ALONE 1.08           /* flows in effect below which a single flow may be active */
#define ALONE_SPANS 16       /* time after which the port of such a flow is free, spans */
#define UNUSED 0.5           /* flows in effect below which all have paused */
#define SETTLE 0.25          /* shortest measurement, spans */
#define PROBE 0.92           /* first rate of a search, as a share of the capacity */
#define CUTS_SMALL 4         /* consecutive cuts of a bound port before its rate is halved */
#define FLOOR 0.45           /* smallest rate, as a share of an equal share by the hosts' count */
#define UNCOUNTED 1000       /* number of flows for the floor where flows are not counted */
#define GRAIN 4096.0         /* default of port->grain */
/*
 * Flows that begin together send a burst per round, so a burst more or less in the span changes the
 * load. With 4 grains per flow the rate oscillated by a tenth, which kept the flows in step; with 6
 * they separate after some hundred rounds.
 */
#define SPAN_GRAINS 64       /* shortest span over which a load is measured, grains */
#define SPAN_EACH 6          /* the same in grains of each flow */
#define RECENT_EACH 2        /* shortest measurement of flows that ended, grains of a flow */
#define LEFT 0.9             /* share of the flows below which the recent count applies */
#define JOIN_LEAST 4         /* flows that begin together and get shares before they send */
#define JOIN_TRIALS 16       /* time in which others may follow, trials */
#define JOIN_LOAD 0.7        /* load below which the announced flows do not send */
#define JOIN_DEAF 4          /* trials' time in which announcements have no effect then */
#define JOIN_FALSE_MOST 10   /* consecutive false announcements that double that time */

static const struct ccs_advice_record *record(const struct ccs_advice *a, unsigned age)
{
	return &a->record[(a->head + CCS_ADVICE_RECORDS - 1 - age) % CCS_ADVICE_RECORDS];
}

/* The integral of the rate at a time. Between two records it is interpolated. */
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

/* The average factor of the flows. */
static double factor(const struct ccs_advice_port *port)
{
	return port->units > 0 && port->flows ? port->units / port->flows : 1;
}

/*
 * Advance the integral of the rate, and take the port's unit. A change of the unit changes no flow's rate.
 * The capacity is the rate of a port that is not full.
 */
static void advance(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double old = a->unit > 0 ? a->unit : 1, new = port->unit > 0 ? port->unit : 1;
	const double ratio = new / old;

	if (!(a->rate > 0))
		a->rate = port->capacity;
	if (a->allowed_ns && port->now_ns > a->allowed_ns)
		a->allowed += a->rate * (double)(port->now_ns - a->allowed_ns) / 1e9;
	if (port->now_ns > a->allowed_ns)
		a->allowed_ns = port->now_ns;
	a->unit = port->unit;
	if (!(ratio < 1 || ratio > 1))
		return;
	a->allowed *= ratio;
	for (unsigned i = 0; i < CCS_ADVICE_RECORDS; i++)
		a->record[i].allowed *= ratio;
	if (a->rate < CCS_ADVICE_FREE * port->capacity)
		a->rate *= ratio;
}

/* The time of a grain at a rate. */
static double grain_ns(const struct ccs_advice_port *port, double rate)
{
	return 8e9 * grain(port) / rate;
}

/* The time until a flow of that rate obeys advice: on average, half of the gap between its grains. */
static double delay_ns(const struct ccs_advice_port *port, double rate)
{
	return 1e3 * port->rtt_us + grain_ns(port, rate) / 2;
}

static double effect_ns(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	return delay_ns(port, a->rate * factor(port));
}

static double span_ns(const struct ccs_advice_port *port)
{
	const double grains = ccs_max(SPAN_GRAINS, SPAN_EACH * (double)port->flows);

	return ccs_max(grains * grain_ns(port, port->capacity), 2e3 * port->rtt_us);
}

/* Replace the last record if it is recent, so that the records cover two spans. */
static void store(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double apart = 2 * span_ns(port) / CCS_ADVICE_RECORDS;

	if (a->n >= 2 && (double)(port->now_ns - record(a, 1)->ns) < apart) {
		a->head = (a->head + CCS_ADVICE_RECORDS - 1) % CCS_ADVICE_RECORDS;
		a->n--;
	}
	a->record[a->head] = (struct ccs_advice_record){
		.ns = port->now_ns, .bytes = port->bytes, .queue = port->queue,
		.allowed = a->allowed,
	};
	a->head = (a->head + 1) % CCS_ADVICE_RECORDS;
	a->n += a->n < CCS_ADVICE_RECORDS;
}

/*
 * The start of a measurement of ns: the newest record that is old enough, but not from before the
 * last cut took effect, or before flows began after a pause. A full port sends its capacity at any
 * load, and flows that were not active all the time would count for less.
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
 * Bytes that arrived at the port since a record: at least half of the bytes sent, because a host
 * with much data in a draining queue pauses. The standing queue is added, so that it drains within
 * another such time, except for a grain of each flow that waits by chance.
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

static double set(struct ccs_advice *a, const struct ccs_advice_port *port, double rate)
{
	const double floor = port->flows ? FLOOR / (port->flows * factor(port)) : 1.0 / UNCOUNTED;

	a->rate = ccs_min(ccs_max(rate, ETA * port->capacity * floor), port->capacity);
	return a->rate;
}

/* Bits that the rates permitted to one flow whose data arrived between two times. */
static double meant(const struct ccs_advice *a, const struct ccs_advice_port *port, uint64_t from_ns,
		    uint64_t to_ns)
{
	const double late_ns = effect_ns(a, port);

	return allowed_at(a, (double)to_ns - late_ns) - allowed_at(a, (double)from_ns - late_ns);
}

/* The number of flows in effect since a record; 0: no flow sent. */
static double count(struct ccs_advice *a, const struct ccs_advice_port *port,
		    const struct ccs_advice_record *old)
{
	const double bits = 8 * arrived(a, old, port), each = meant(a, port, old->ns, port->now_ns);

	a->load = 1e9 * bits / (port->capacity * (double)(port->now_ns - old->ns));
	return each > 0 ? bits / each : 0;
}

/*
 * If the queue is not visible, a full port may have any load. A search begins at a rate that does not
 * fill the port with a single flow, once its queue in the host has drained. While the port remains full
 * the rate is halved, but not below an equal share of the flows that hosts count. The rate of a bound
 * port falls by 2 %, 4 % and so on before it is halved. Where shares are claimed, it falls to these.
 */
static double cut(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double counted = port->flows ? ETA * port->capacity / (port->flows * factor(port)) : 0;
	double rate = a->rate;

	a->cuts += a->cuts < 2 * CUTS_SMALL;
	for (unsigned i = 0; i < a->cuts; i++)
		rate *= ETA;
	if (port->claimed)
		rate = ETA * port->capacity / ccs_max(port->units, 1);
	else if (a->searching && a->cuts == 1)
		rate = PROBE * port->capacity / factor(port);
	else if (a->searching || a->cuts > CUTS_SMALL)
		rate = ccs_min(rate, ccs_max(a->rate / 2, counted));
	a->cut_ns = (double)port->now_ns + effect_ns(a, port);
	return rate;
}

/*
 * Whether flows have just begun after a pause. They may have begun at any time before the first
 * record that shows them. So the measurement starts with this record, and until it is long enough
 * the rate does not rise.
 */
static bool has_begun(struct ccs_advice *a, const struct ccs_advice_port *port, double settle_ns)
{
	const bool paused = a->paused;

	a->paused = a->flows < UNUSED;
	if (paused && !a->paused)
		a->begun_ns = (double)port->now_ns;
	return !a->paused && (double)port->now_ns - a->begun_ns < settle_ns;
}

/*
 * An upper bound of the flows that still send, from the newest part of the span, because the average
 * over the span follows an end late. The queue counts as sent recently, as does a grain, which is
 * much in a short time. If the stated delay is too long, a lower rate has had its effect already:
 * the smaller value counts.
 */
static double count_left(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double apart_ns = grain_ns(port, a->rate * factor(port));
	const struct ccs_advice_record *old =
		since(a, port, ccs_max(SETTLE * span_ns(port), RECENT_EACH * apart_ns));
	const double bytes = (double)(port->bytes - old->bytes + port->queue) + grain(port);
	const double each = ccs_min(a->allowed - old->allowed, meant(a, port, old->ns, port->now_ns));

	return each > 0 ? 8 * bytes / each : INFINITY;
}

/*
 * A single flow may be active. It may use the port, and after some time the port counts as free.
 * If the port is full, there are other flows, which delay limits.
 */
static double answer_alone(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	a->searching = a->load > ETA + MARGIN;
	if (a->searching)
		return cut(a, port);
	if (!(a->alone_ns > 0))
		a->alone_ns = (double)port->now_ns;
	if ((double)port->now_ns - a->alone_ns > ALONE_SPANS * span_ns(port))
		return port->capacity;
	return ETA * port->capacity;
}

/*
 * The flows' own control shares the port until it is full. Then the rate falls until it limits the
 * flows, and is a share for the flows that are measured, which does not depend on statements of hosts.
 */
static double answer(struct ccs_advice *a, const struct ccs_advice_port *port,
		     const struct ccs_advice_record *old)
{
	const double share = ETA * port->capacity / a->flows;
	const double seen_ns = (double)port->now_ns - ccs_max((double)old->ns, a->cut_ns);
	const double settle_ns = SETTLE * span_ns(port);

	if (port->flows == 1 || a->rate >= CCS_ADVICE_FREE * port->capacity) {
		a->cuts = 0;
		a->searching = port->flows != 1 && a->load > ETA + MARGIN;
		a->alone_ns = 0;
		return a->searching ? cut(a, port) : port->capacity;
	}
	if (has_begun(a, port, settle_ns) || (a->cuts && seen_ns < settle_ns))
		return ccs_min(a->rate, share);
	if (a->searching ? a->load > ETA - MARGIN : !port->sees_queue && a->load > ETA + MARGIN)
		return ccs_min(cut(a, port), share);
	a->cuts = 0;
	a->searching = false;
	if (a->flows < ALONE)
		return answer_alone(a, port);
	a->alone_ns = 0;
	return share;
}

/* -- flows that begin together ---------------------------------------------------------- */

/* The time until data of a flow show that was announced at a free port. */
static double first_data_ns(const struct ccs_advice_port *port)
{
	return delay_ns(port, port->capacity);
}

/* In a trial each announced flow has had the time for a grain. */
static double trial_ns(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	return 2 * first_data_ns(port) +
	       ccs_min(a->joining, SPAN_GRAINS) * grain_ns(port, port->capacity);
}

/* The measurement begins now. */
static void restart(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	a->trying = a->paused = false;
	a->n = 0;
	a->begun_ns = (double)port->now_ns;
	store(a, port);
}

/*
 * The end of a trial. If the flows have not loaded the port, they were too few, or do not send.
 * Announcements then have no effect for a time that doubles with each false one in a row.
 */
static double end_trial(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double ns = (double)port->now_ns - a->join_ns - first_data_ns(port);
	const double bits = 8 * (double)(port->bytes - a->join_bytes);
	const bool sent = 1e9 * bits >= JOIN_LOAD * port->capacity * ccs_max(ns, 1);

	restart(a, port);
	if (sent) {
		a->false_joins = 0;
		return a->rate;
	}
	a->deaf_ns = (double)port->now_ns + ldexp(JOIN_DEAF * trial_ns(a, port), (int)a->false_joins);
	a->false_joins += a->false_joins < JOIN_FALSE_MOST;
	return port->capacity;
}

double ccs_advice_feed(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const struct ccs_advice_record *last = record(a, 0), *old;
	double left;

	advance(a, port);
	if (a->n && (port->now_ns <= last->ns || port->bytes < last->bytes))
		a->n = 0;
	store(a, port);
	if (a->n == 1)
		return set(a, port, a->rate);
	if (a->trying)
		return ccs_advice_wait_ns(a, port) > 0 ? a->rate : set(a, port, end_trial(a, port));
	old = since(a, port, span_ns(port));
	a->flows = count(a, port, old);
	left = count_left(a, port);
	if (left < UNUSED || left < LEFT * a->flows)
		a->flows = left;
	return set(a, port, answer(a, port, old));
}

/* Whether flows that were announced together did send, and others still follow them. */
static bool stream_goes_on(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	const double now_ns = (double)port->now_ns;

	return !a->trying && !a->false_joins && a->joining >= JOIN_LEAST &&
	       now_ns <= a->joined_ns + first_data_ns(port) &&
	       now_ns <= a->join_ns + JOIN_TRIALS * trial_ns(a, port);
}

double ccs_advice_join(struct ccs_advice *a, const struct ccs_advice_port *port, unsigned more)
{
	const double most = ETA * port->capacity / factor(port), now_ns = (double)port->now_ns;
	const bool follows = stream_goes_on(a, port);

	advance(a, port);
	if (!a->trying && !follows) {
		if (a->rate < ETA * port->capacity)
			return a->rate;
		if (now_ns > a->join_ns + first_data_ns(port))
			a->joining = 0;
		a->join_ns = now_ns; /* others that join do not make the trial longer */
		a->join_bytes = port->bytes;
	}
	a->joining += more;
	a->joined_ns = now_ns;
	if (follows)
		return set(a, port, ccs_min(a->rate, most / a->joining));
	if (a->joining < JOIN_LEAST || now_ns < a->deaf_ns)
		return set(a, port, port->capacity);
	a->trying = true;
	return set(a, port, most / a->joining);
}

double ccs_advice_claim(struct ccs_advice *a, const struct ccs_advice_port *port)
{
	advance(a, port);
	a->searching = false;
	a->cuts = 0;
	restart(a, port);
	return set(a, port, ccs_min(a->rate, ETA * port->capacity / ccs_max(port->units, 1)));
}

double ccs_advice_wait_ns(const struct ccs_advice *a, const struct ccs_advice_port *port)
{
	return a->trying ? ccs_max(a->join_ns + trial_ns(a, port) - (double)port->now_ns, 0) : 0;
}
