/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the running process (`ccshim set`), by the mailbox of its statistics page.
 * Whoever polls, or the helper, finds one and does it: for all queue pairs that it is for, or
 * for none. Whatever is in the mailbox may be written by anybody who has the user's rights, at
 * any time: it is copied first, and then read as a stranger's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/log.h"
#include "runtime/request.h"
#include "runtime/rules.h"
#include "runtime/stats.h"
#include "verbs/shim.h"

enum { ECN_MASK = 3 };

_Static_assert(CCS_REQUEST_LEN == CCS_STATS_TEXT, "a request is a mailbox's");

/* One QP that the request is for, and what it will have. */
struct change {
	struct qp *qp;
	const struct ccs_policy *policy;
};

struct work {
	struct ccs_request request;
	struct change *change;           /* with a reference to each QP */
	size_t count, room;
	unsigned rejected;               /* 0: none; else an errno */
	struct ccs_setting setting[CCS_REQUEST_MAX];
	char value[CCS_REQUEST_MAX][512];
	char answer[CCS_STATS_TEXT];
};

static void __attribute__((format(printf, 3, 4))) reject(struct work *w, int error,
							  const char *fmt, ...)
{
	va_list ap;

	w->rejected = (unsigned)error;
	va_start(ap, fmt);
	vsnprintf(w->answer, sizeof(w->answer), fmt, ap);
	va_end(ap);
}

/* -- for whom ---------------------------------------------------------------------- */

/* Its policy, if the request is for this QP; NULL: it is not, or it is not connected. */
static const struct ccs_policy *policy_of(const struct work *w, struct qp *qp)
{
	const struct ccs_policy *policy = NULL;

	ccs_lock(&qp->lock);
	if (!qp->dead && qp->who.known && (!w->request.one || qp->qp_num == w->request.lqpn) &&
	    ccs_match_holds(&w->request.match, &qp->who))
		policy = qp->policy;
	ccs_unlock(&qp->lock);
	return policy;
}

static int note(struct work *w, struct qp *qp, const struct ccs_policy *policy)
{
	if (w->count == w->room) {
		const size_t room = w->room ? 2 * w->room : 64;
		struct change *more = realloc(w->change, room * sizeof(*more));

		if (!more)
			return -1;
		w->change = more;
		w->room = room;
	}
	w->change[w->count++] = (struct change){ qp, policy };
	return 0;
}

static void find_qps(struct work *w)
{
	uint32_t slot = 0;
	struct qp *qp;

	while (!w->rejected && (qp = ccs_registry_grab(NULL, &slot))) {
		const struct ccs_policy *policy = policy_of(w, qp);

		if (policy && note(w, qp, policy) == 0)
			continue;
		if (policy)
			reject(w, ENOMEM, "no memory");
		ccs_qp_put(qp);
	}
	if (!w->rejected && w->request.one && !w->count)
		reject(w, ENOENT, "there is no connected queue pair %" PRIu32 " under control",
		       w->request.lqpn);
}

/* -- what they would have ---------------------------------------------------------- */

/* What belongs to a connection does not change while it lasts. */
static void check_connection(struct work *w, struct qp *qp, const struct ccs_policy *p)
{
	const char *cc = p->cc.ops->name;
	unsigned class, listens;
	bool global;

	ccs_lock(&qp->lock);
	class = qp->class_sent;
	listens = qp->hearing.listens;
	global = qp->who.known & CCS_MATCH_PEER;
	ccs_unlock(&qp->lock);
	if (ccs_request_sets(&w->request, ccs_opt_find("dscp")))
		reject(w, EINVAL, "dscp: queue pair %" PRIu32 " is connected, and its packets keep "
		       "theirs; '--new' is for those to come", qp->qp_num);
	else if (p->options.mode == CCS_MODE_ENFORCE && global && !(class & ECN_MASK) &&
		 (p->cc.ops->needs & CCS_NEEDS_ECT))
		reject(w, EINVAL, "cc: %s needs packets that can be marked, and queue pair %" PRIu32
		       " was connected without; '--new' is for those to come", cc, qp->qp_num);
	else if (p->listens & ~listens)
		reject(w, EINVAL, "cc: %s needs signals of the host agent, and queue pair %" PRIu32
		       " was connected without; '--new' is for those to come", cc, qp->qp_num);
}

/* The policy of these options with the request applied; NULL: it is rejected. */
static const struct ccs_policy *amended(struct work *w, struct ccs_options *o)
{
	const struct ccs_policy *p;
	char err[512];

	if (ccs_request_apply(&w->request, o, err, sizeof(err))) {
		reject(w, EINVAL, "%s", err);
		return NULL;
	}
	p = ccs_policy_for(o);
	if (!p)
		reject(w, ENOMEM, "no memory, or too many different settings so far");
	return p;
}

static void find_policies(struct work *w)
{
	const struct ccs_policy *old = NULL, *new = NULL;

	for (size_t i = 0; i < w->count && !w->rejected; i++) {
		struct change *c = &w->change[i];

		if (c->policy != old) { /* most have the same */
			struct ccs_options o = c->policy->asked;

			old = c->policy;
			new = amended(w, &o);
		}
		c->policy = new;
		if (new)
			check_connection(w, c->qp, new);
	}
}

/* What those that are connected from now on would have without it. */
static void options_of(const struct work *w, struct ccs_options *o)
{
	struct ccs_who who = { .known = CCS_MATCH_APP | w->request.match.keys,
			       .app = program_invocation_short_name };

	memcpy(who.peer, w->request.match.peer, sizeof(who.peer));
	ccs_policy_options(&who, o);
}

/* For those that are connected from now on. */
static void amend_rules(struct work *w)
{
	struct ccs_options o;
	unsigned n = 0;

	options_of(w, &o);
	if (!amended(w, &o))
		return;
	for (const struct ccs_opt *opt = ccs_opt_table; opt < ccs_opt_table + ccs_opt_count; opt++) {
		if (!ccs_request_sets(&w->request, opt))
			continue;
		w->setting[n] = (struct ccs_setting){
			.opt = opt,
			.source = CCS_FROM_REQUEST,
			.section = 1,
			.match = w->request.match,
			.where = "",
			.value = ccs_options_format(&o, opt, w->value[n], sizeof(w->value[n])),
		};
		n++;
	}
	if (ccs_policy_amend(w->setting, n))
		reject(w, ENOMEM, "no memory");
}

/* -- doing it ---------------------------------------------------------------------- */

static void show(struct work *w)
{
	struct ccs_options o;
	char value[512];
	size_t at = 0;

	if (w->request.one)
		o = w->change[0].policy->asked;
	else
		options_of(w, &o);
	for (size_t i = 0; i < ccs_opt_count && at < sizeof(w->answer); i++)
		if (ccs_opt_table[i].per_qp)
			at += (size_t)snprintf(w->answer + at, sizeof(w->answer) - at,
					       "%s = %s\n", ccs_opt_table[i].name,
					       ccs_options_format(&o, &ccs_opt_table[i], value,
								  sizeof(value)));
}

static void apply(struct work *w)
{
	find_policies(w);
	if (!w->rejected && !w->request.one)
		amend_rules(w);
	if (w->rejected)
		return;
	for (size_t i = 0; i < w->count; i++)
		ccs_qp_adopt(w->change[i].qp, w->change[i].policy);
	snprintf(w->answer, sizeof(w->answer), "%zu connected queue pair%s changed%s", w->count,
		 w->count == 1 ? "" : "s", w->request.one ? "" : ", and those to come");
}

static void serve(struct work *w, const char text[CCS_STATS_TEXT])
{
	char err[512];

	if (ccs_request_parse(&w->request, text, err, sizeof(err))) {
		reject(w, EINVAL, "%s", err);
		return;
	}
	ccs_policy_lock();
	if (!w->request.only_new)
		find_qps(w);
	if (!w->rejected && w->request.count)
		apply(w);
	else if (!w->rejected)
		show(w);
	ccs_policy_unlock();
	for (size_t i = 0; i < w->count; i++)
		ccs_qp_put(w->change[i].qp);
	free(w->change);
	if (!w->rejected && w->request.count)
		ccs_log(CCS_LOG_INFO, "request: %s", w->answer);
}

/* -- the mailbox ------------------------------------------------------------------- */

/* Byte by byte: another process may be writing it. */
static void copy_text(char *to, const char *from)
{
	for (size_t i = 0; i < CCS_STATS_TEXT; i++)
		__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

static void answer(struct ccs_stats_mailbox *box, uint64_t taken)
{
	struct work *w = calloc(1, sizeof(*w));
	char text[CCS_STATS_TEXT];

	if (w) {
		copy_text(text, box->request);
		serve(w, text);
	}
	copy_text(box->answer, w ? w->answer : (char[CCS_STATS_TEXT]){ "no memory" });
	__atomic_store_n(&box->status, w ? w->rejected : ENOMEM, __ATOMIC_RELAXED);
	__atomic_store_n(&box->answer_gen, taken, __ATOMIC_RELEASE);
	free(w);
}

/* One thread at a time; the application's errno stays. */
static void take(struct ccs_stats_mailbox *box, uint64_t asked)
{
	static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
	const int saved = errno;

	if (pthread_mutex_trylock(&busy))
		return;
	if (__atomic_compare_exchange_n(&box->request_gen, &asked, asked + 1, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		answer(box, asked + 1);
	pthread_mutex_unlock(&busy);
	errno = saved;
}

void ccs_control_take(struct ccs_stats_mailbox *box, uint64_t asked)
{
	if (!getauxval(AT_SECURE) && !ccs_forked())
		take(box, asked);
}
