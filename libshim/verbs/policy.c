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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ccs_rules rules;
static bool by_qp;                       /* the rules say more than one thing */
static struct ccs_policy general;        /* whatever the QP */
static struct ccs_policy *others;
static atomic_uint undelivered;

static void complain(void *arg, const char *sentence)
{
	(void)arg;
	ccs_log(CCS_LOG_WARN, "%s", sentence);
}

static void warn_of_needs(const struct ccs_policy *p)
{
	char names[128] = "";
	size_t at = 0;

	for (const struct ccs_cc_signal *s = ccs_cc_signals; s->name; s++)
		if (p->undelivered & s->bit)
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " and " : "", s->name);
	if (at)
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

	p->asked = p->options;
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
	p->undelivered = p->cc.ops->needs & (CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY) & ~p->listens;
	atomic_fetch_or(&undelivered, p->undelivered);
	warn_of_needs(p);
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

/* Of the process, or one of its QPs. */
static void resolve(const struct ccs_who *who, struct ccs_policy *p)
{
	*p = (struct ccs_policy){ 0 };
	ccs_rules_resolve(&rules, who, &p->options, NULL, complain, NULL);
}

/* Whether a mode other than off may hold for some QP, though the process has off. */
static bool may_control(void)
{
	const struct ccs_opt *mode = ccs_opt_find("mode");
	const struct ccs_who who = { .known = CCS_MATCH_APP,
				     .app = program_invocation_short_name };
	const struct ccs_setting *all = ccs_rules_find(&rules, mode, &who);

	for (const struct ccs_setting *s = rules.first; s; s = s->next)
		if (s->opt == mode && (s->match.keys & CCS_MATCH_QP) &&
		    strcasecmp(s->value, "off") != 0 && (!all || s->source >= all->source))
			return true;
	return false;
}

bool ccs_policy_setup(struct ccs_options *options)
{
	const struct ccs_who who = { .known = CCS_MATCH_APP,
				     .app = program_invocation_short_name };
	const bool memory = ccs_rules_load(&rules, who.app, complain, NULL) >= 0;

	resolve(&who, &general);
	*options = general.options;
	ccs_log_setup((enum ccs_log_level)options->log_level, options->log_file);
	if (!memory) {
		ccs_log(CCS_LOG_WARN, "no memory; traffic passes uncontrolled");
		return false;
	}
	if (options->mode == CCS_MODE_OFF && !may_control())
		return false;
	by_qp = ccs_rules_by_qp(&rules);
	prepare(&general);
	load_plugins();
	return by_qp || general.options.mode != CCS_MODE_OFF;
}

const struct ccs_policy *ccs_policy_general(void)
{
	return &general;
}

unsigned ccs_policy_undelivered(void)
{
	return atomic_load(&undelivered);
}

/* The one with these options, made if there is none; with the lock. NULL: no memory. */
static const struct ccs_policy *intern(const struct ccs_policy *wanted)
{
	struct ccs_policy *p;

	if (memcmp(&wanted->options, &general.asked, sizeof(general.asked)) == 0)
		return &general;
	for (p = others; p; p = p->next)
		if (memcmp(&wanted->options, &p->asked, sizeof(p->asked)) == 0)
			return p;
	p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	*p = *wanted;
	prepare(p);
	p->next = others;
	others = p;
	return p;
}

const struct ccs_policy *ccs_policy_of(const struct ccs_who *who)
{
	const struct ccs_policy *found;
	struct ccs_policy wanted;

	if (!by_qp)
		return &general;
	pthread_mutex_lock(&lock);
	resolve(who, &wanted);
	found = intern(&wanted);
	pthread_mutex_unlock(&lock);
	if (!found)
		ccs_log_once(CCS_LOG_WARN, "no memory for a section's settings; those of all hold");
	return found ? found : &general;
}
