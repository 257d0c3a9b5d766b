/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "bench/common/collectives.h"
#include "bench/common/rng.h"
#include "bench/common/sizes.h"
#include "bench/sim/core/memory.h"

enum { PORT = 100 };
#define CLAIM_PAUSE_US 50e3 /* within the time after which agents forget a flow */
#define FLOWS_MAX (1u << 26)

struct maker {
	struct fab_flows *f;
	const struct fab_traffic *how;
	struct rng random;
	unsigned *host, hosts;   /* nodes */
	double *rate;            /* each host's first link, bit/s */
	uint64_t size;
	double at_us;            /* start of flows that are not drawn at random */
	unsigned priority;
	unsigned groups;         /* of flows with operations, so far */
	unsigned term;           /* from 1 */
	unsigned least;          /* hosts that the traffic needs, if there are too few */
};

static bool has_hosts(struct maker *m, unsigned least)
{
	if (m->hosts >= least)
		return true;
	m->least = least;
	return false;
}

/* The terms are the tenants, if there are tenants. */
static unsigned tenant(const struct maker *m)
{
	return m->term <= m->how->tenants ? m->term : 0;
}

static void add(struct maker *m, unsigned src, unsigned dst, uint64_t size, double start_us)
{
	if (m->how->jitter_us > 0)
		start_us += m->how->jitter_us * rng_unit(&m->random);
	fab_flows_add(m->f, (struct fab_flow_spec){
		.src = m->host[src], .dst = m->host[dst], .priority = m->priority,
		.port = PORT, .size = size, .message = m->how->message, .verb = m->how->verb,
		.tenant = tenant(m),
		.start = (uint64_t)((m->at_us + start_us) * 1e6),
	});
}

static void list_hosts(struct maker *m, const struct topology *t)
{
	m->host = mem_zeroed(t->nodes, sizeof(*m->host));
	m->rate = mem_zeroed(t->nodes, sizeof(*m->rate));
	for (unsigned i = 0; i < t->nodes; i++) {
		unsigned l = 0;

		if (t->is_switch[i])
			continue;
		while (l < t->links && t->link[l].from != i && t->link[l].to != i)
			l++;
		m->rate[m->hosts] = l < t->links ? t->link[l].rate_bps : 0;
		m->host[m->hosts++] = i;
	}
}

static bool parse_size(struct maker *m, const char *text)
{
	double bytes;

	if (ccs_parse_unit(text, CCS_UNIT_BYTES, &bytes) || !(bytes >= 1) || !(bytes < 0x1p40))
		return false;
	m->size = (uint64_t)bytes;
	return true;
}

static bool make_incast(struct maker *m, const char *text)
{
	unsigned n, to = 0;
	char size[32], tail;
	int end = 0;

	if (sscanf(text, "%5u,%31[^,]%n", &n, size, &end) != 2 || !parse_size(m, size) ||
	    (text[end] && (sscanf(text + end, ",%5u%c", &to, &tail) != 1 || !has_hosts(m, to + 1))) || !n ||
	    !has_hosts(m, 2))
		return false;
	for (unsigned i = 0; i < n; i++)
		add(m, (to + 1 + i % (m->hosts - 1)) % m->hosts, to, m->size, 0);
	return true;
}

/* From each host to the hosts that are first, first + 1... last hosts further. */
static bool make_shifts(struct maker *m, const char *text, unsigned first, unsigned last)
{
	if (!parse_size(m, text) || !has_hosts(m, 2))
		return false;
	for (unsigned shift = first; shift <= last; shift++)
		for (unsigned i = 0; i < m->hosts; i++)
			add(m, i, (i + shift) % m->hosts, m->size, 0);
	return true;
}

struct hosts {
	unsigned first, last;
};

static bool parse_hosts(struct maker *m, const char *text, struct hosts *h)
{
	char tail;
	const int n = sscanf(text, "%5u-%5u%c", &h->first, &h->last, &tail);

	if (n == 1 && sscanf(text, "%5u%c", &h->first, &tail) == 1)
		h->last = h->first;
	else if (n != 2)
		return false;
	return h->first <= h->last && has_hosts(m, h->last + 1);
}

/* "FROM,TO,SIZE" */
static bool parse_ends(struct maker *m, const char *text, struct hosts *from, struct hosts *to)
{
	char a[16], b[16], size[32], tail;

	return sscanf(text, "%15[^,],%15[^,],%31[^,]%c", a, b, size, &tail) == 3 &&
	       parse_hosts(m, a, from) && parse_hosts(m, b, to) && parse_size(m, size);
}

/* Each to each, but not to itself. */
static bool make_cross(struct maker *m, const char *text)
{
	struct hosts from, to;
	const unsigned before = m->f->n;

	if (!parse_ends(m, text, &from, &to))
		return false;
	for (unsigned i = from.first; i <= from.last; i++)
		for (unsigned k = to.first; k <= to.last; k++)
			if (i != k)
				add(m, i, k, m->size, 0);
	return m->f->n > before;
}

/* The first to the first, the second to the second... */
static bool make_pairs(struct maker *m, const char *text)
{
	struct hosts from, to;

	if (!parse_ends(m, text, &from, &to) || to.last - to.first != from.last - from.first ||
	    from.first == to.first)
		return false;
	for (unsigned i = 0; i <= from.last - from.first; i++)
		add(m, from.first + i, to.first + i, m->size, 0);
	return true;
}

static bool parse_load(const char *text, double *load)
{
	char *end;

	*load = strtod(text, &end);
	if (*end == '%')
		*load /= 100, end++;
	return end != text && !*end && *load > 0 && *load <= 2;
}

static bool make_load(struct maker *m, const char *text, enum sizes sizes)
{
	double load, now_us = 0, bits = 0;

	if (!parse_load(text, &load) || !has_hosts(m, 2))
		return false;
	for (unsigned i = 0; i < m->hosts; i++)
		bits += m->rate[i] * load;
	while (m->f->n < FLOWS_MAX) {
		const unsigned src = (unsigned)(rng_unit(&m->random) * m->hosts);
		const unsigned to = (unsigned)(rng_unit(&m->random) * (m->hosts - 1));

		now_us += -log(1 - rng_unit(&m->random)) * 8e6 * sizes_mean(sizes, m->size) / bits;
		if (now_us > m->how->until_us)
			break;
		add(m, src, to + (to >= src), sizes_next(sizes, m->size, m->f->n, &m->random),
		    now_us);
	}
	return true;
}

/* The N hosts after one that is drawn send to it, again and again. */
static bool make_incasts(struct maker *m, const char *text)
{
	char size[32], share[32];
	double load, now_us = 0, bits = 0;
	unsigned n;

	if (sscanf(text, "%5u,%31[^,],%31s", &n, size, share) != 3 || !parse_size(m, size) ||
	    !parse_load(share, &load) || !n || !has_hosts(m, n + 1))
		return false;
	for (unsigned i = 0; i < m->hosts; i++)
		bits += m->rate[i] * load;
	for (;;) {
		const unsigned to = (unsigned)(rng_unit(&m->random) * m->hosts);

		now_us += -log(1 - rng_unit(&m->random)) * 8e6 * n * (double)m->size / bits;
		if (now_us > m->how->until_us || m->f->n >= FLOWS_MAX)
			return true;
		for (unsigned i = 1; i <= n; i++)
			add(m, (to + i) % m->hosts, to, m->size, now_us);
	}
}

/* Each operation of the steps, one after another. */
struct operations {
	unsigned n;
	double pause_us;
	bool unmeasured;
};

/* "[,OPERATIONS[,PAUSE]]"; one operation by default. */
static bool parse_operations(const char *text, struct operations *o)
{
	char pause[32] = "0";
	int end = 0;

	*o = (struct operations){ .n = 1 };
	if (!*text)
		return true;
	if (sscanf(text, ",%7u%n,%31[^,]%n", &o->n, &end, pause, &end) < 1 || text[end] || !o->n)
		return false;
	return !ccs_parse_unit(pause, CCS_UNIT_TIME, &o->pause_us) && o->pause_us < 1e9;
}

/* A single operation has no group: its flows end with it. */
static bool add_steps(struct maker *m, const struct steps *steps, const struct operations *o)
{
	const unsigned first = m->f->n, group = o->n > 1 ? ++m->groups : 0;

	for (unsigned i = 0; i < steps->n; i++) {
		const struct step *s = &steps->v[i];
		struct fab_flow_spec flow = {
			.src = m->host[s->src], .dst = m->host[s->dst], .priority = m->priority,
			.port = PORT, .verb = m->how->verb, .start = (uint64_t)(m->at_us * 1e6),
			.message = s->size, .size = s->size * s->messages * o->n, .lag = s->lag,
			.group = group, .messages = s->messages, .unmeasured = o->unmeasured,
			.pause = (uint64_t)(o->pause_us * 1e6), .tenant = tenant(m),
		};

		for (unsigned k = 0; k < 2; k++)
			flow.after[k] = s->after[k] ? first + s->after[k] : 0;
		fab_flows_add(m->f, flow);
	}
	return !steps->failed;
}

/* "SIZE[,OPERATIONS[,PAUSE]]" */
static bool make_collective(struct maker *m, const char *text, const char *name)
{
	enum collective c = COLLECTIVE_HALVING;
	struct steps steps = { 0 };
	struct operations o;
	char size[32];
	int end = 0;
	bool ok;

	while (collective_name(c) && strcmp(collective_name(c), name) != 0)
		c++;
	if (!collective_name(c) || sscanf(text, "%31[^,]%n", size, &end) != 1 ||
	    !parse_size(m, size) || !parse_operations(text + end, &o) || !has_hosts(m, 2))
		return false;
	ok = collective_steps(&steps, c, m->hosts, m->size, m->how->message) &&
	     add_steps(m, &steps, &o);
	steps_free(&steps);
	return ok;
}

/* "FROM,TO,REQUEST,RESPONSE[,OPERATIONS[,PAUSE]]" */
static bool make_kv(struct maker *m, const char *text)
{
	char request[32], response[32];
	struct hosts from, to;
	struct operations o;
	char a[16], b[16];
	uint64_t bytes;
	bool ok = true;
	int end = 0;

	if (sscanf(text, "%15[^,],%15[^,],%31[^,],%31[^,]%n", a, b, request, response, &end) != 4 ||
	    !parse_hosts(m, a, &from) || !parse_hosts(m, b, &to) || !parse_size(m, request))
		return false;
	bytes = m->size;
	if (!parse_size(m, response) || !parse_operations(text + end, &o))
		return false;
	for (unsigned i = from.first; i <= from.last; i++)
		for (unsigned k = to.first; k <= to.last; k++) {
			struct steps steps = { 0 };

			request_steps(&steps, i, k, bytes, m->size);
			ok &= i != k && add_steps(m, &steps, &o);
			steps_free(&steps);
		}
	return ok;
}

/* "N,FROM,TO": flows that an agent counts but that use no bandwidth, a byte every 50 ms each. */
static bool make_claims(struct maker *m, const char *text)
{
	const struct operations o = { .n = 1000, .pause_us = CLAIM_PAUSE_US, .unmeasured = true };
	struct step step = { .size = 1, .messages = 1 };
	const struct steps steps = { .v = &step, .n = 1 };
	unsigned n;
	char tail;

	if (sscanf(text, "%5u,%5u,%5u%c", &n, &step.src, &step.dst, &tail) != 3 || !n ||
	    step.src == step.dst || !has_hosts(m, step.src + 1) || !has_hosts(m, step.dst + 1))
		return false;
	for (unsigned i = 0; i < n; i++)
		add_steps(m, &steps, &o);
	return true;
}

static bool make(struct maker *m, const char *name, const char *value)
{
	if (strncmp(name, "allreduce-", 10) == 0)
		return make_collective(m, value, name + 10);
	if (strcmp(name, "kv") == 0)
		return make_kv(m, value);
	if (strcmp(name, "claims") == 0)
		return make_claims(m, value);
	if (strcmp(name, "cross") == 0)
		return make_cross(m, value);
	if (strcmp(name, "pairs") == 0)
		return make_pairs(m, value);
	if (strcmp(name, "incasts") == 0)
		return make_incasts(m, value);
	if (strcmp(name, "incast") == 0)
		return make_incast(m, value);
	if (strcmp(name, "permutation") == 0)
		return make_shifts(m, value, m->hosts / 2, m->hosts / 2);
	if (strcmp(name, "ring") == 0)
		return make_shifts(m, value, 1, 1);
	if (strcmp(name, "all-to-all") == 0)
		return make_shifts(m, value, 1, m->hosts - 1);
	if (strcmp(name, "websearch") == 0)
		return make_load(m, value, SIZES_WEBSEARCH);
	if (strcmp(name, "hadoop") == 0)
		return make_load(m, value, SIZES_HADOOP);
	return parse_size(m, name) && make_load(m, value, SIZES_FIXED);
}

/* Jitter also applies to the starts in a file. */
static bool read_file(struct fab_flows *f, const char *path, const struct topology *t,
		      const struct fab_traffic *how, char *err, size_t len)
{
	struct rng random = rng_of(how->seed, 1);

	if (!fab_flows_read(f, path, t, err, len))
		return false;
	for (unsigned i = 0; i < f->n && how->jitter_us > 0; i++)
		f->flow[i].start += (uint64_t)(1e6 * how->jitter_us * rng_unit(&random));
	fab_flows_sort(f);
	return true;
}

/* "[PRIORITY=][COPIES*]NAME:VALUE[@START[~INTERVAL]]" */
static bool make_term(struct maker *m, char *term)
{
	const bool negative = fab_has_negative(term);
	char *start = strchr(term, '@'), *interval = NULL, *value;
	double start_us = 0, interval_us = 0;
	unsigned copies = 1;
	char priority[2];
	int skip = 0;

	if (start)
		*start++ = '\0';
	if (start && (interval = strchr(start, '~')))
		*interval++ = '\0';
	if ((start && ccs_parse_unit(start, CCS_UNIT_TIME, &start_us)) ||
	    (interval && ccs_parse_unit(interval, CCS_UNIT_TIME, &interval_us)) ||
	    !(start_us < 1e12) || !(interval_us < 1e9))
		return false;
	m->priority = m->how->priority;
	if (sscanf(term, "%1[0-7]=%n", priority, &skip) == 1 && skip) {
		m->priority = (unsigned)(*priority - '0');
		term += skip;
		skip = 0;
	}
	if (sscanf(term, "%4u*%n", &copies, &skip) != 1 || !skip)
		copies = 1; /* the number begins a size */
	term += skip;
	value = strchr(term, ':');
	if (!value || !copies || negative)
		return false;
	*value++ = '\0';
	for (unsigned i = 0; i < copies; i++) {
		m->at_us = start_us + i * interval_us;
		if (!make(m, term, value))
			return false;
	}
	return true;
}

static bool make_all(struct maker *m, const char *text)
{
	char *copy = mem_checked(strdup(text)), *at = copy, *term;
	bool ok = true;

	while (ok && (term = strsep(&at, "+"))) {
		m->term++;
		ok = make_term(m, term);
	}
	free(copy);
	return ok;
}

bool fab_traffic(struct fab_flows *f, const char *text, const struct topology *t,
		 const struct fab_traffic *how, char *err, size_t len)
{
	struct maker m = { .f = f, .how = how, .random = rng_of(how->seed, 1) };
	bool ok;

	if (!strchr(text, ':') || strchr(text, '/'))
		return read_file(f, text, t, how, err, len);
	*f = (struct fab_flows){ 0 };
	list_hosts(&m, t);
	ok = make_all(&m, text);
	free(m.host);
	free(m.rate);
	if (ok && f->n) {
		fab_flows_sort(f);
		return true;
	}
	fab_flows_free(f);
	if (ok)
		snprintf(err, len, "no flow of '%s' starts within %g us; a longer --for is needed", text,
			 how->until_us);
	else if (m.least)
		snprintf(err, len, "'%s' is no traffic for %u host%s: it needs %u or more", text, m.hosts,
			 m.hosts == 1 ? "" : "s", m.least);
	else if (strstr(text, "halving:") && m.hosts & (m.hosts - 1))
		snprintf(err, len, "'%s' is no traffic for %u hosts: halving needs a power of two", text, m.hosts);
	else
		snprintf(err, len, "'%s' is no traffic for %u hosts: incast:16,2m, all-to-all:1m and "
			 "websearch:50%% are, see --help", text, m.hosts);
	return false;
}
