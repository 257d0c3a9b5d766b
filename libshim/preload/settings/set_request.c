/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the running process (`ccshim set`), in the mailbox of its statistics file. A thread
 * that polls, or the pacer thread, finds a request and processes it: for all QPs that it names, or
 * for none. Any process of the user may write to the mailbox at any time: the text is copied
 * first, and then parsed as untrusted input.
 */
#include "preload/settings/set_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "config/request.h"
#include "config/rules.h"
#include "observe/log.h"
#include "observe/stats.h"
#include "preload/control/policy.h"
#include "preload/datapath/qp.h"
#include "preload/object/registry.h"
#include "preload/object/shim.h"
#include "preload/settings/qp_config.h"

enum { ECN_MASK = 3 };

_Static_assert(CCS_REQUEST_LEN == CCS_STATS_TEXT, "the mailbox holds a request");

/* One QP that the request names, and its new policy. */
struct change {
	struct qp *qp;
	const struct ccs_policy *policy;
};

struct job {
	struct ccs_request request;
	struct change *change;           /* with a reference to each QP */
	size_t count, space;
	unsigned rejected;               /* 0, or an errno */
	struct ccs_options options;      /* that are being changed: large for a stack */
	struct ccs_setting setting[CCS_REQUEST_MAX];
	char value[CCS_REQUEST_MAX][512];
	char text[CCS_STATS_TEXT], answer[CCS_STATS_TEXT], err[512];
};

static void __attribute__((format(printf, 3, 4))) reject(struct job *w, int error,
							  const char *fmt, ...)
{
	va_list ap;

	w->rejected = (unsigned)error;
	va_start(ap, fmt);
	vsnprintf(w->answer, sizeof(w->answer), fmt, ap);
	va_end(ap);
}

/* -- which QPs --------------------------------------------------------------------- */

/* The QP's policy; NULL: the request does not name it, or it is not connected. */
static const struct ccs_policy *policy_of_qp(const struct job *w, struct qp *qp)
{
	const struct ccs_policy *policy = NULL;

	ccs_lock(&qp->lock);
	if (!qp->dead && qp->who.known && (!w->request.one || qp->qp_num == w->request.lqpn) &&
	    ccs_match_matches(&w->request.match, &qp->who))
		policy = qp->policy;
	ccs_unlock(&qp->lock);
	return policy;
}

static int add_change(struct job *w, struct qp *qp, const struct ccs_policy *policy)
{
	if (w->count == w->space) {
		const size_t space = w->space ? 2 * w->space : 64;
		struct change *more = realloc(w->change, space * sizeof(*more));

		if (!more)
			return -1;
		w->change = more;
		w->space = space;
	}
	w->change[w->count++] = (struct change){ qp, policy };
	return 0;
}

static void find_qps(struct job *w)
{
	uint32_t slot = 0;
	struct qp *qp;

	while (!w->rejected && (qp = ccs_registry_grab(NULL, &slot))) {
		const struct ccs_policy *policy = policy_of_qp(w, qp);

		if (policy && add_change(w, qp, policy) == 0)
			continue;
		if (policy)
			reject(w, ENOMEM, "no memory");
		ccs_qp_put(qp);
	}
	if (!w->rejected && w->request.one && !w->count)
		reject(w, ENOENT, "there is no connected and controlled queue pair %" PRIu32,
		       w->request.lqpn);
}

/* -- the new policies -------------------------------------------------------------- */

/* Properties of a connection cannot change while it exists. */
static void check_connection(struct job *w, struct qp *qp, const struct ccs_policy *p)
{
	const char *cc = p->cc.ops->name;
	unsigned class, feedback_needs;
	bool global;

	ccs_lock(&qp->lock);
	class = qp->class_sent;
	feedback_needs = qp->feedback.feedback_needs;
	global = qp->who.known & CCS_MATCH_PEER;
	ccs_unlock(&qp->lock);
	if (ccs_request_sets(&w->request, ccs_opt_find("dscp")))
		reject(w, EINVAL, "dscp: queue pair %" PRIu32 " is connected, and its packets keep "
		       "their DSCP; use --new to change future connections only", qp->qp_num);
	else if (p->options.mode == CCS_MODE_ENFORCE && global && !(class & ECN_MASK) &&
		 (p->cc.ops->needs & CCS_NEEDS_ECT))
		reject(w, EINVAL, "cc: %s needs ECN-capable packets, but queue pair %" PRIu32
		       " was connected without ECT; use --new to change future connections only",
		       cc, qp->qp_num);
	else if (p->feedback_needs & ~feedback_needs)
		reject(w, EINVAL, "cc: %s needs feedback of the host agent, but queue pair %" PRIu32
		       " was connected without; use --new to change future connections only",
		       cc, qp->qp_num);
}

/* The policy for these options with the request applied; NULL: the request is rejected. */
static const struct ccs_policy *changed_policy(struct job *w, struct ccs_options *o)
{
	const struct ccs_policy *p;

	if (ccs_request_apply(&w->request, o, w->err, sizeof(w->err))) {
		reject(w, EINVAL, "%s", w->err);
		return NULL;
	}
	p = ccs_policy_for(o);
	if (!p)
		reject(w, ENOMEM, "no memory, or too many different settings so far");
	return p;
}

static void find_policies(struct job *w)
{
	const struct ccs_policy *old = NULL, *new = NULL;

	for (size_t i = 0; i < w->count && !w->rejected; i++) {
		struct change *c = &w->change[i];

		if (c->policy != old) { /* most have the same */
			w->options = c->policy->asked;
			old = c->policy;
			new = changed_policy(w, &w->options);
		}
		c->policy = new;
		if (new)
			check_connection(w, c->qp, new);
	}
}

/* In w->options: those that future connections would have without the request. */
static void find_options(struct job *w)
{
	struct ccs_match_subject who = { .known = CCS_MATCH_APP | w->request.match.keys,
			       .app = program_invocation_short_name };

	memcpy(who.peer, w->request.match.peer, sizeof(who.peer));
	ccs_policy_options(&who, &w->options);
}

/* Add the request to the rules for future connections. */
static void add_rules(struct job *w)
{
	unsigned n = 0;

	find_options(w);
	if (!changed_policy(w, &w->options))
		return;
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		if (!ccs_request_sets(&w->request, opt))
			continue;
		w->setting[n] = (struct ccs_setting){
			.opt = opt,
			.source = CCS_FROM_REQUEST,
			.section = 1,
			.match = w->request.match,
			.where = "",
			.value = ccs_options_format(&w->options, opt, w->value[n],
						    sizeof(w->value[n])),
		};
		n++;
	}
	if (ccs_policy_add_rules(w->setting, n))
		reject(w, ENOMEM, "no memory");
}

/* -- processing -------------------------------------------------------------------- */

static void print_options(struct job *w)
{
	const struct ccs_options *o = &w->options;
	size_t at = 0;

	if (w->request.one)
		o = &w->change[0].policy->asked;
	else
		find_options(w);
	for (size_t i = 0; i < ccs_opt_count && at < sizeof(w->answer); i++)
		if (ccs_opt_table[i].per_qp)
			at += (size_t)snprintf(w->answer + at, sizeof(w->answer) - at,
					       "%s = %s\n", ccs_opt_table[i].name,
					       ccs_options_format(o, &ccs_opt_table[i],
								  w->value[0],
								  sizeof(w->value[0])));
}

static void apply_changes(struct job *w)
{
	find_policies(w);
	if (!w->rejected && !w->request.one)
		add_rules(w);
	if (w->rejected)
		return;
	for (size_t i = 0; i < w->count; i++)
		ccs_qp_change_policy(w->change[i].qp, w->change[i].policy);
	snprintf(w->answer, sizeof(w->answer), "%zu connected queue pair%s changed%s", w->count,
		 w->count == 1 ? "" : "s", w->request.one ? "" : ", and future ones");
}

static void process_request(struct job *w, const char text[CCS_STATS_TEXT])
{
	if (ccs_request_parse(&w->request, text, w->err, sizeof(w->err))) {
		reject(w, EINVAL, "%s", w->err);
		return;
	}
	ccs_policy_lock();
	if (!w->request.only_new)
		find_qps(w);
	if (!w->rejected && w->request.count)
		apply_changes(w);
	else if (!w->rejected)
		print_options(w);
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

/* Its tool prints a refusal if it still waits. Paired with leave_pending() of ccshim set. */
static void log_refusal(const struct job *w, uint64_t generation)
{
	const struct ccs_stats_header *file = ccs_stats_file();

	if (w->rejected && file &&
	    __atomic_load_n(&file->unattended, __ATOMIC_SEQ_CST) == generation - 1)
		ccs_log(CCS_LOG_WARN, "refused a pending request of 'ccshim set': %s", w->answer);
}

static void process_mailbox(struct ccs_stats_mailbox *box, uint64_t generation)
{
	static const char no_memory[CCS_STATS_TEXT] = "no memory";
	struct job *w = calloc(1, sizeof(*w));

	if (w) {
		copy_text(w->text, box->request);
		process_request(w, w->text);
		log_refusal(w, generation);
	}
	copy_text(box->answer, w ? w->answer : no_memory);
	__atomic_store_n(&box->status, w ? w->rejected : ENOMEM, __ATOMIC_RELAXED);
	__atomic_store_n(&box->answer_gen, generation, __ATOMIC_RELEASE);
	free(w);
}

/* One thread at a time; errno is kept, as it is the application's. */
static void claim_request(struct ccs_stats_mailbox *box, uint64_t request)
{
	static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
	const int saved = errno;

	if (pthread_mutex_trylock(&busy))
		return;
	if (__atomic_compare_exchange_n(&box->request_gen, &request, request + 1, false,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		process_mailbox(box, request + 1);
	pthread_mutex_unlock(&busy);
	errno = saved;
}

void ccs_set_request_handle(struct ccs_stats_mailbox *box, uint64_t request)
{
	if (!getauxval(AT_SECURE) && !ccs_forked())
		claim_request(box, request);
}
