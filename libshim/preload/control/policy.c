/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Policies: the settings that the rules give a queue pair, ready for use. QPs with equal settings
 * share one. There are few, and they are never freed, because flows point to their algorithms.
 */
#include "preload/control/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/job.h"
#include "config/plugin.h"
#include "config/rules.h"
#include "observe/log.h"
#include "preload/control/qp_feedback.h"

enum { POLICIES_MAX = 4096 }; /* as docs/man/ccshim-set.1 says */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ccs_rules rules;
static struct ccs_policy *policies;
static unsigned count;
static _Atomic(const struct ccs_policy *) default_policy; /* for QPs that no rule names */
static atomic_uint generation;           /* incremented when the rules change */
static atomic_uint missing_feedback;

static void warn(void *arg, const char *sentence)
{
	(void)arg;
	ccs_log(CCS_LOG_WARN, "%s", sentence);
}

/* There may be thousands of QPs. */
static void warn_once(void *arg, const char *sentence)
{
	(void)arg;
	ccs_log_once(CCS_LOG_WARN, "%s", sentence);
}

void ccs_policy_name_feedback(unsigned needs, const char *between, char *text, size_t len)
{
	size_t at = 0;

	for (const struct ccs_cc_need_name *s = ccs_cc_need_names; s->name; s++)
		if (needs & s->bit)
			at += (size_t)snprintf(text + at, len - at, "%s%s", at ? between : "",
					       s->name);
}

void ccs_policy_warn_missing_feedback(const struct ccs_policy *p)
{
	char names[128] = "";

	if (!p->missing_feedback ||
	    !(p->missing_feedback & ~atomic_fetch_or(&missing_feedback, p->missing_feedback)))
		return;
	ccs_policy_name_feedback(p->missing_feedback, " and ", names, sizeof(names));
	ccs_log(CCS_LOG_WARN, "cc=%s needs %s, which nothing here provides: "
		"its rate does not follow them", p->cc.ops->name, names);
}

/* The QP keeps its record and shadow CQ, but its traffic is not changed. */
static void disable(struct ccs_policy *p)
{
	p->options.mode = CCS_MODE_OFF;
	p->options.split = p->options.split_imm = false;
	p->cc = ccs_cc_default_spec(&ccs_cc_none);
}

/* Derive the rest from its options. The lock is held; a stack may be too small for a buffer. */
static void prepare_policy(struct ccs_policy *p)
{
	static char err[1024];

	if (p->options.mode == CCS_MODE_OFF) {
		disable(p);
		return;
	}
	if (ccs_spec_parse(&p->cc, p->options.cc, err, sizeof(err))) {
		ccs_log(CCS_LOG_WARN, "cc: %s; traffic is uncontrolled", err);
		disable(p);
		return;
	}
	p->tenants = rules.tenants;
	ccs_qp_feedback_prepare(p);
	p->missing_feedback = p->cc.ops->needs & ~p->feedback_needs &
			 (CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE);
}

/* Load the plug-ins of all rules now, so that no thread of the application has to wait for that
 * later, or run a plug-in's constructor. */
static void load_plugins(void)
{
	struct ccs_cc_spec spec;
	char err[1024];

	for (const struct ccs_setting *s = rules.first; s; s = s->next)
		if (strcmp(s->opt->name, "cc") == 0 && (s->match.keys & CCS_MATCH_QP) &&
		    ccs_cc_is_path(s->value) && ccs_spec_parse(&spec, s->value, err, sizeof(err)))
			ccs_log(CCS_LOG_WARN, "%s: cc: %s", s->where, err);
}

static struct ccs_match_subject this_process(void)
{
	return (struct ccs_match_subject){
		.known = CCS_MATCH_APP,
		.app = program_invocation_short_name,
	};
}

/* Whether some QP may have another mode, though the process has mode off. */
static bool may_control_some(void)
{
	const struct ccs_opt *mode = ccs_opt_find("mode");
	const struct ccs_match_subject subject = this_process();
	const struct ccs_setting *all = ccs_rules_find(&rules, mode, &subject);

	for (const struct ccs_setting *s = rules.first; s; s = s->next)
		if (s->opt == mode && (s->match.keys & CCS_MATCH_QP) &&
		    strcasecmp(s->value, "off") != 0 && (!all || s->source >= all->source))
			return true;
	return false;
}

void ccs_policy_lock(void)
{
	pthread_mutex_lock(&lock);
}

void ccs_policy_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

const struct ccs_policy *ccs_policy_get(const struct ccs_options *o)
{
	struct ccs_policy *p;

	for (p = policies; p; p = p->next)
		if (memcmp(o, &p->configured, sizeof(p->configured)) == 0)
			return p;
	p = count < POLICIES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->options = p->configured = *o;
	prepare_policy(p);
	p->next = policies;
	policies = p;
	count++;
	return p;
}

void ccs_policy_options(const struct ccs_match_subject *subject, struct ccs_options *o)
{
	const struct ccs_match_subject all = this_process();

	ccs_rules_resolve(&rules, subject ? subject : &all, o, NULL, subject ? warn_once : warn, NULL);
}

bool ccs_policy_setup(struct ccs_options *options)
{
	const struct ccs_match_subject process = {
		.known = CCS_MATCH_PROCESS,
		.app = program_invocation_short_name,
		.place = ccs_share_place(ccs_job(), getpid()),
	};
	const int complaints = ccs_rules_load(&rules, &process, warn, NULL);
	const struct ccs_policy *p = NULL;

	ccs_policy_options(NULL, options);
	ccs_log_setup((enum ccs_log_level)options->log_level, options->log_file);
	if (complaints >= 0) {
		if (options->mode == CCS_MODE_OFF && !may_control_some())
			return false;
		p = ccs_policy_get(options);
	}
	if (!p) {
		ccs_log(CCS_LOG_WARN, "no memory; all traffic is uncontrolled");
		return false;
	}
	atomic_store(&default_policy, p);
	ccs_policy_warn_missing_feedback(p);
	load_plugins();
	return p->options.mode != CCS_MODE_OFF || ccs_rules_by_qp(&rules);
}

const struct ccs_policy *ccs_policy_default(void)
{
	return atomic_load_explicit(&default_policy, memory_order_acquire);
}

bool ccs_policy_may_split(void)
{
	const struct ccs_options *o = &ccs_policy_default()->options;
	bool several;

	ccs_policy_lock();
	several = ccs_rules_by_qp(&rules);
	ccs_policy_unlock();
	return several || (o->mode == CCS_MODE_ENFORCE && o->split);
}

unsigned ccs_policy_missing_feedback(void)
{
	return atomic_load(&missing_feedback);
}

unsigned ccs_policy_generation(void)
{
	return atomic_load(&generation);
}

const struct ccs_policy *ccs_policy_lookup(const struct ccs_match_subject *subject)
{
	static struct ccs_options o; /* under the lock; it is large for a stack */
	const struct ccs_policy *p = ccs_policy_default();

	ccs_policy_lock();
	if (ccs_rules_by_qp(&rules)) {
		ccs_policy_options(subject, &o);
		p = ccs_policy_get(&o);
	}
	ccs_policy_unlock();
	if (!p)
		ccs_log_once(CCS_LOG_WARN, "no memory for a section's settings; those for all QPs "
			     "are used");
	return p ? p : ccs_policy_default();
}

int ccs_policy_add_rules(const struct ccs_setting *settings, unsigned n)
{
	static struct ccs_options o; /* as above */
	const struct ccs_policy *p = NULL;
	unsigned added;

	for (added = 0; added < n && !ccs_rules_add(&rules, &settings[added], true); added++)
		;
	if (added == n) {
		ccs_policy_options(NULL, &o);
		p = ccs_policy_get(&o);
	}
	if (!p) {
		ccs_rules_drop(&rules, added);
		return -1;
	}
	ccs_rules_prune(&rules, n);
	atomic_store(&default_policy, p);
	atomic_fetch_add(&generation, 1);
	return 0;
}
