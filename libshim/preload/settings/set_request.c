/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the running process (`ccshim set`), in the mailbox of its statistics file. A thread
 * that polls, or the pacer thread, finds a request. It changes all QPs that the request names, or
 * refuses the request. Any process of the user may write to the mailbox at any time, so the text
 * is copied first, and then parsed as untrusted input.
 */
#include "preload/settings/set_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "base/text.h"
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

struct set_request {
	struct ccs_request request;
	struct change *change;           /* with a reference to each QP */
	size_t count;
	unsigned rejected;               /* 0, or an errno */
	struct ccs_options options;      /* that are being changed: large for a stack */
	struct ccs_setting setting[CCS_REQUEST_MAX];
	char value[CCS_REQUEST_MAX][512];
	char text[CCS_STATS_TEXT], answer[CCS_STATS_TEXT], err[512];
};

#define reject(r, error, ...) \
	((r)->rejected = error, ccs_refuse((r)->answer, sizeof((r)->answer), __VA_ARGS__))

/* -- which QPs --------------------------------------------------------------------- */

/* The QP's policy; NULL: the request does not name it, or it is not connected. */
static const struct ccs_policy *policy_of_qp(const struct set_request *r, struct qp *qp)
{
	const struct ccs_policy *policy = NULL;

	ccs_lock(&qp->lock);
	if (!qp->dead && qp->peer.subject.known && (!r->request.one || qp->qp_num == r->request.lqpn) &&
	    ccs_match_matches(&r->request.match, &qp->peer.subject))
		policy = qp->policy;
	ccs_unlock(&qp->lock);
	return policy;
}

static int add_change(struct set_request *r, struct qp *qp, const struct ccs_policy *policy)
{
	if (!CCS_GROW(r->change, r->count))
		return -1;
	r->change[r->count++] = (struct change){ qp, policy };
	return 0;
}

static void find_qps(struct set_request *r)
{
	uint32_t slot = 0;
	struct qp *qp;

	while (!r->rejected && (qp = ccs_registry_grab(NULL, &slot))) {
		const struct ccs_policy *policy = policy_of_qp(r, qp);

		if (policy && add_change(r, qp, policy) == 0)
			continue;
		if (policy)
			reject(r, ENOMEM, "no memory");
		ccs_qp_put(qp);
	}
	if (!r->rejected && r->request.one && !r->count)
		reject(r, ENOENT, "there is no connected and controlled queue pair %" PRIu32,
		       r->request.lqpn);
}

/* -- the new policies -------------------------------------------------------------- */

/* Properties of a connection cannot change while it exists. */
static void check_connection(struct set_request *r, struct qp *qp, const struct ccs_policy *p)
{
	const char *cc = p->cc.ops->name;
	unsigned class, feedback_needs;
	bool global;

	ccs_lock(&qp->lock);
	class = qp->attr.class_sent;
	feedback_needs = qp->feedback.feedback_needs;
	global = qp->peer.subject.known & CCS_MATCH_PEER;
	ccs_unlock(&qp->lock);
	if (ccs_request_sets(&r->request, ccs_opt_find("dscp")))
		reject(r, EINVAL, "dscp: queue pair %" PRIu32 " is connected, and its packets keep "
		       "their DSCP; use --new to change future connections only", qp->qp_num);
	else if (p->options.mode == CCS_MODE_ENFORCE && global && !(class & ECN_MASK) &&
		 (p->cc.ops->needs & CCS_NEEDS_ECT))
		reject(r, EINVAL, "cc: %s needs ECN-capable packets, but queue pair %" PRIu32
		       " was connected without ECT; use --new to change future connections only",
		       cc, qp->qp_num);
	else if (p->feedback_needs & ~feedback_needs)
		reject(r, EINVAL, "cc: %s needs feedback of the host agent, but queue pair %" PRIu32
		       " was connected without; use --new to change future connections only",
		       cc, qp->qp_num);
}

/* The policy for these options with the request applied; NULL: the request is rejected. */
static const struct ccs_policy *changed_policy(struct set_request *r, struct ccs_options *o)
{
	const struct ccs_policy *p;

	if (ccs_request_apply(&r->request, o, r->err, sizeof(r->err))) {
		reject(r, EINVAL, "%s", r->err);
		return NULL;
	}
	p = ccs_policy_get(o);
	if (!p)
		reject(r, ENOMEM, "no memory, or too many different settings so far");
	return p;
}

static void find_policies(struct set_request *r)
{
	const struct ccs_policy *old = NULL, *new = NULL;

	for (size_t i = 0; i < r->count && !r->rejected; i++) {
		struct change *c = &r->change[i];

		if (c->policy != old) { /* most have the same */
			r->options = c->policy->configured;
			old = c->policy;
			new = changed_policy(r, &r->options);
		}
		c->policy = new;
		if (new)
			check_connection(r, c->qp, new);
	}
}

/* Set r->options to the options that future connections would have without the request. */
static void find_options(struct set_request *r)
{
	struct ccs_match_subject subject = { .known = CCS_MATCH_APP | r->request.match.keys,
			       .app = program_invocation_short_name };

	memcpy(subject.peer, r->request.match.peer.address.b, sizeof(subject.peer));
	ccs_policy_options(&subject, &r->options);
}

static void add_rules(struct set_request *r)
{
	unsigned n = 0;

	find_options(r);
	if (!changed_policy(r, &r->options))
		return;
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		if (!ccs_request_sets(&r->request, opt))
			continue;
		r->setting[n] = (struct ccs_setting){
			.opt = opt,
			.source = CCS_FROM_REQUEST,
			.section = 1,
			.match = r->request.match,
			.where = "",
			.value = ccs_options_format(&r->options, opt, r->value[n],
						    sizeof(r->value[n])),
		};
		n++;
	}
	if (ccs_policy_add_rules(r->setting, n))
		reject(r, ENOMEM, "no memory");
}

/* -- processing -------------------------------------------------------------------- */

static void print_options(struct set_request *r)
{
	const struct ccs_options *o = &r->options;
	size_t at = 0;

	if (r->request.one)
		o = &r->change[0].policy->configured;
	else
		find_options(r);
	for (size_t i = 0; i < ccs_opt_count && at < sizeof(r->answer); i++)
		if (ccs_opt_table[i].per_qp)
			at += (size_t)snprintf(r->answer + at, sizeof(r->answer) - at,
					       "%s = %s\n", ccs_opt_table[i].name,
					       ccs_options_format(o, &ccs_opt_table[i],
								  r->value[0],
								  sizeof(r->value[0])));
}

static void apply_changes(struct set_request *r)
{
	find_policies(r);
	if (!r->rejected && !r->request.one)
		add_rules(r);
	if (r->rejected)
		return;
	for (size_t i = 0; i < r->count; i++)
		ccs_qp_change_policy(r->change[i].qp, r->change[i].policy);
	snprintf(r->answer, sizeof(r->answer), "%zu connected queue pair%s changed%s", r->count,
		 r->count == 1 ? "" : "s", r->request.one ? "" : ", and future ones");
}

static void process_request(struct set_request *r, const char text[CCS_STATS_TEXT])
{
	if (ccs_request_parse(&r->request, text, r->err, sizeof(r->err))) {
		reject(r, EINVAL, "%s", r->err);
		return;
	}
	ccs_policy_lock();
	if (!r->request.only_new)
		find_qps(r);
	if (!r->rejected && r->request.count)
		apply_changes(r);
	else if (!r->rejected)
		print_options(r);
	ccs_policy_unlock();
	for (size_t i = 0; i < r->count; i++)
		ccs_qp_put(r->change[i].qp);
	free(r->change);
	if (!r->rejected && r->request.count)
		ccs_log(CCS_LOG_INFO, "request: %s", r->answer);
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
static void log_refusal(const struct set_request *r, uint64_t generation)
{
	const struct ccs_stats_header *file = ccs_stats_file();

	if (r->rejected && file &&
	    __atomic_load_n(&file->unattended, __ATOMIC_SEQ_CST) == generation - 1)
		ccs_log(CCS_LOG_WARN, "refused a pending request of 'ccshim set': %s", r->answer);
}

static void process_mailbox(struct ccs_stats_mailbox *box, uint64_t generation)
{
	static const char no_memory[CCS_STATS_TEXT] = "no memory";
	struct set_request *r = calloc(1, sizeof(*r));

	if (r) {
		copy_text(r->text, box->request);
		process_request(r, r->text);
		log_refusal(r, generation);
	}
	copy_text(box->answer, r ? r->answer : no_memory);
	__atomic_store_n(&box->status, r ? r->rejected : ENOMEM, __ATOMIC_RELAXED);
	__atomic_store_n(&box->answer_gen, generation, __ATOMIC_RELEASE);
	free(r);
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
