/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Policies: what the rules say for a queue pair, ready for use. QPs of whom the same holds
 * share one. There are few, and they stay: flows point to their algorithms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/check_cc.h"
#include "runtime/log.h"
#include "runtime/rules.h"
#include "verbs/shim.h"

enum { POLICIES_MAX = 4096 }; /* as docs/ccshim-set.1 says */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ccs_rules rules;
static struct ccs_policy *policies;
static unsigned count;
static _Atomic(const struct ccs_policy *) general; /* whatever the QP */
static atomic_uint generation;           /* of the rules */
static atomic_uint undelivered;

static void complain(void *arg, const char *sentence)
{
	(void)arg;
	ccs_log(CCS_LOG_WARN, "%s", sentence);
}

/* Queue pairs come by the thousand. */
static void complain_once(void *arg, const char *sentence)
{
	(void)arg;
	ccs_log_once(CCS_LOG_WARN, "%s", sentence);
}

void ccs_policy_use(const struct ccs_policy *p)
{
	char names[128] = "";
	size_t at = 0;

	if (!p->undelivered || !(p->undelivered & ~atomic_fetch_or(&undelivered, p->undelivered)))
		return;
	for (const struct ccs_cc_signal *s = ccs_cc_signals; s->name; s++)
		if (p->undelivered & s->bit)
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " and " : "", s->name);
	ccs_log(CCS_LOG_WARN, "cc=%s needs %s, and nothing here delivers them: "
		"its rate moves without", p->cc.ops->name, names);
}

/* Under control as far as libibverbs is concerned, but nothing is done. */
static void let_pass(struct ccs_policy *p)
{
	p->options.mode = CCS_MODE_OFF;
	p->options.split = p->options.split_imm = false;
	p->cc = ccs_cc_plain(&ccs_cc_none);
}

/* From its options. */
static void prepare(struct ccs_policy *p)
{
	char err[1024];

	if (p->options.mode == CCS_MODE_OFF) {
		let_pass(p);
		return;
	}
	if (ccs_spec_parse(&p->cc, p->options.cc, err, sizeof(err))) {
		ccs_log(CCS_LOG_WARN, "cc: %s; traffic passes uncontrolled", err);
		let_pass(p);
		return;
	}
	ccs_signals_prepare(p);
	p->undelivered = p->cc.ops->needs & ~p->listens &
			 (CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE);
}

/* What is of use to all of its QPs is done now: the application's thread does not wait for
 * it later on, nor does a plug-in's own code run then. */
static void load_plugins(void)
{
	struct ccs_cc_spec spec;
	char err[1024];

	for (const struct ccs_setting *s = rules.first; s; s = s->next)
		if (strcmp(s->opt->name, "cc") == 0 && (s->match.keys & CCS_MATCH_QP) &&
		    ccs_cc_is_path(s->value) && ccs_spec_parse(&spec, s->value, err, sizeof(err)))
			ccs_log(CCS_LOG_WARN, "%s: cc: %s", s->where, err);
}

static struct ccs_who process(void)
{
	return (struct ccs_who){ .known = CCS_MATCH_APP, .app = program_invocation_short_name };
}

/* Whether a mode other than off may hold for some QP, though the process has off. */
static bool may_control(void)
{
	const struct ccs_opt *mode = ccs_opt_find("mode");
	const struct ccs_who who = process();
	const struct ccs_setting *all = ccs_rules_find(&rules, mode, &who);

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

const struct ccs_policy *ccs_policy_for(const struct ccs_options *o)
{
	struct ccs_policy *p;

	for (p = policies; p; p = p->next)
		if (memcmp(o, &p->asked, sizeof(p->asked)) == 0)
			return p;
	p = count < POLICIES_MAX ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->options = p->asked = *o;
	prepare(p);
	p->next = policies;
	policies = p;
	count++;
	return p;
}

void ccs_policy_options(const struct ccs_who *who, struct ccs_options *o)
{
	const struct ccs_who all = process();

	ccs_rules_resolve(&rules, who ? who : &all, o, NULL, who ? complain_once : complain, NULL);
}

bool ccs_policy_setup(struct ccs_options *options)
{
	const int complaints = ccs_rules_load(&rules, program_invocation_short_name, complain,
					      NULL);
	const struct ccs_policy *p = NULL;

	ccs_policy_options(NULL, options);
	ccs_log_setup((enum ccs_log_level)options->log_level, options->log_file);
	if (complaints >= 0) {
		if (options->mode == CCS_MODE_OFF && !may_control())
			return false;
		p = ccs_policy_for(options);
	}
	if (!p) {
		ccs_log(CCS_LOG_WARN, "no memory; traffic passes uncontrolled");
		return false;
	}
	atomic_store(&general, p);
	ccs_policy_use(p);
	load_plugins();
	return p->options.mode != CCS_MODE_OFF || ccs_rules_by_qp(&rules);
}

const struct ccs_policy *ccs_policy_general(void)
{
	return atomic_load_explicit(&general, memory_order_acquire);
}

unsigned ccs_policy_undelivered(void)
{
	return atomic_load(&undelivered);
}

unsigned ccs_policy_generation(void)
{
	return atomic_load(&generation);
}

const struct ccs_policy *ccs_policy_of(const struct ccs_who *who)
{
	const struct ccs_policy *p = ccs_policy_general();
	struct ccs_options o;

	ccs_policy_lock();
	if (ccs_rules_by_qp(&rules)) {
		ccs_policy_options(who, &o);
		p = ccs_policy_for(&o);
	}
	ccs_policy_unlock();
	if (!p)
		ccs_log_once(CCS_LOG_WARN, "no memory for a section's settings; those of all hold");
	return p ? p : ccs_policy_general();
}

int ccs_policy_amend(const struct ccs_setting *settings, unsigned n)
{
	const struct ccs_policy *p = NULL;
	struct ccs_options o;
	unsigned added;

	for (added = 0; added < n && !ccs_rules_add(&rules, &settings[added], true); added++)
		;
	if (added == n) {
		ccs_policy_options(NULL, &o);
		p = ccs_policy_for(&o);
	}
	if (!p) {
		ccs_rules_drop(&rules, added);
		return -1;
	}
	ccs_rules_prune(&rules, n);
	atomic_store(&general, p);
	atomic_fetch_add(&generation, 1);
	return 0;
}
