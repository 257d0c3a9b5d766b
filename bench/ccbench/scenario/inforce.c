/* SPDX-License-Identifier: BSD-2-Clause */
#include "inforce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/common/json_read.h"

struct check {
	struct inforce *sum;
	const struct setting *setting;
	struct inforce_qp *v;
	size_t n, len;
	char *why;               /* empty: no reason yet */
	char uncontrolled[128];        /* of queue pairs that passed: "shadow CQ 2" */
	double omitted;
};

/* One of the report's queue pairs. */
struct one {
	double qpn, posted, sent, fallback;
	bool enforced, has_fallback;
	char mode[16], asked[SETTING_LEN], uncontrolled[32], feedback[16], fallback_cc[32];
};

/* The first reason stays. */
#define blame(c, ...) (*(c)->why ? 0 : ccs_refuse((c)->why, (c)->len, __VA_ARGS__))

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static bool read_bool(struct json_read *j, bool *value)
{
	const char *at = j->at + strspn(j->at, " \t\r\n");

	*value = *at == 't';
	return json_skip(j);
}

static bool read_asked(struct json_read *j, const char *key, void *arg)
{
	struct one *q = arg;

	if (is(key, "mode"))
		return json_string(j, q->mode, sizeof(q->mode));
	if (is(key, "cc"))
		return json_string(j, q->asked, sizeof(q->asked));
	return json_skip(j);
}

static bool read_fallback(struct json_read *j, const char *key, void *arg)
{
	struct one *q = arg;

	if (is(key, "cc"))
		return json_string(j, q->fallback_cc, sizeof(q->fallback_cc));
	if (is(key, "sent_bytes"))
		return json_number(j, &q->fallback);
	return json_skip(j);
}

static bool read_member(struct json_read *j, const char *key, void *arg)
{
	struct one *q = arg;

	if (is(key, "lqpn"))
		return json_number(j, &q->qpn);
	if (is(key, "wrs_posted"))
		return json_number(j, &q->posted);
	if (is(key, "sent_bytes"))
		return json_number(j, &q->sent);
	if (is(key, "enforced"))
		return read_bool(j, &q->enforced);
	if (is(key, "pass"))
		return json_string(j, q->uncontrolled, sizeof(q->uncontrolled));
	if (is(key, "feedback"))
		return json_string(j, q->feedback, sizeof(q->feedback));
	if (is(key, "asked"))
		return json_object(j, read_asked, q);
	if (is(key, "fallback")) {
		q->has_fallback = true;
		return json_object(j, read_fallback, q);
	}
	return json_skip(j);
}

static void add(struct inforce *sum, const struct one *q)
{
	sum->sent += q->sent;
	if (!q->has_fallback)
		return;
	sum->qps++;
	snprintf(sum->cc, sizeof(sum->cc), "%s", q->fallback_cc);
	if (!(q->fallback > 0))
		return;
	sum->fallen++;
	sum->fallback += q->fallback;
	snprintf(sum->feedback, sizeof(sum->feedback), "%s", q->feedback);
}

static void judge(struct check *c, const struct one *q, const struct inforce_qp *data)
{
	const struct setting *s = c->setting;

	if (!is(q->mode, s->mode))
		blame(c, "the configuration has mode %s for queue pair %u", q->mode, data->qpn);
	else if (s->spec && !is(q->asked, s->spec))
		blame(c, "the configuration has cc=%s for queue pair %u", q->asked, data->qpn);
	else if (is(s->mode, "enforce") && !q->enforced)
		blame(c, "queue pair %u was let go: %s", data->qpn, *q->uncontrolled ? q->uncontrolled : "unknown");
	else if (data->used && !(q->posted > 0))
		blame(c, "queue pair %u was posted to past the shim", data->qpn);
}

static bool read_qp(struct json_read *j, void *arg)
{
	struct one q = { .qpn = NAN };
	struct check *c = arg;

	if (!json_object(j, read_member, &q))
		return false;
	for (size_t i = 0; i < c->n; i++) {
		if (!(q.qpn == c->v[i].qpn) || c->v[i].found)
			continue;
		c->v[i].found = true;
		judge(c, &q, &c->v[i]);
		add(c->sum, &q);
		break;
	}
	return true;
}

static bool read_pass(struct json_read *j, const char *key, void *arg)
{
	struct check *c = arg;
	size_t at = strlen(c->uncontrolled);
	double count;

	if (!json_number(j, &count))
		return false;
	if (count > 0)
		snprintf(c->uncontrolled + at, sizeof(c->uncontrolled) - at, "%s%s %.0f", at ? ", " : "", key,
			 count);
	return true;
}

static bool read_missing_feedback(struct json_read *j, void *arg)
{
	struct inforce *sum = ((struct check *)arg)->sum;

	return json_string(j, sum->missing_feedback, sizeof(sum->missing_feedback));
}

static bool read_report(struct json_read *j, const char *key, void *arg)
{
	struct check *c = arg;
	char mode[16];

	if (is(key, "mode")) {
		if (!json_string(j, mode, sizeof(mode)))
			return false;
		/* If there are sections, the mode of the queue pair counts. */
		if (is(c->setting->mode, "off") && !is(mode, "off"))
			blame(c, "the configuration has mode %s", mode);
		return true;
	}
	if (is(key, "uncontrolled"))
		return json_object(j, read_pass, c);
	if (is(key, "missing_feedback"))
		return json_array(j, read_missing_feedback, c);
	if (is(key, "qps_omitted"))
		return json_number(j, &c->omitted);
	if (is(key, "qps"))
		return json_array(j, read_qp, c);
	return json_skip(j);
}

int inforce_check(struct inforce *sum, const char *report, const struct setting *s,
		  struct inforce_qp *v, size_t n, char *why, size_t len)
{
	struct json_read j = { .text = report, .at = report };
	struct check c = { .sum = sum, .setting = s, .v = v, .n = n, .why = why, .len = len };

	why[0] = '\0';
	if (!report)
		blame(&c, "the shim was not called: it was not loaded, or a library before it in "
			  "LD_PRELOAD has the same functions");
	else if (!json_object(&j, read_report, &c) || !json_end(&j))
		blame(&c, "the shim's report cannot be read");
	/* Queue pairs that the report omits cannot be checked. */
	for (size_t i = 0; i < n && !is(s->mode, "off") && !(c.omitted > 0); i++)
		if (!v[i].found)
			blame(&c, "queue pair %u was not controlled%s%s%s", v[i].qpn,
			      c.uncontrolled[0] ? " (passed: " : "", c.uncontrolled, c.uncontrolled[0] ? ")" : "");
	return why[0] ? -1 : 0;
}
