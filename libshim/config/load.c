/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads settings from the system's file, the user's file and the environment. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/suggest.h"
#include "config/conf.h"
#include "config/environment.h"
#include "config/options.h"
#include "config/rules.h"

#define SYSTEM_FILE CCS_SYSTEM_FILE
#define PREFIX CCS_ENVIRONMENT_PREFIX

struct load {
	struct ccs_rules *rules;
	const struct ccs_match_subject *subject;
	enum ccs_opt_origin source;      /* being read */
	ccs_opt_complain *complain;      /* may be NULL */
	void *arg;
	int complaints;
	bool no_memory;
	struct ccs_options scratch;      /* values are parsed into it to be checked */
};

static void __attribute__((format(printf, 2, 3))) complain(struct load *l, const char *fmt, ...)
{
	char sentence[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	l->complaints++;
	if (l->complain)
		l->complain(l->arg, sentence);
}

static void add(struct load *l, const struct ccs_setting *s)
{
	if (ccs_rules_add(l->rules, s, false))
		l->no_memory = true;
}

static bool is_repeated(const struct load *l, const struct ccs_setting *s)
{
	for (const struct ccs_setting *t = l->rules->first; t; t = t->next)
		if (t->opt == s->opt && t->source == s->source && t->section == s->section)
			return true;
	return false;
}

/* True if the section applies to other processes only. */
static bool is_for_other_process(const struct load *l, struct ccs_match match)
{
	match.keys &= l->subject->known & CCS_MATCH_PROCESS;
	return !ccs_match_matches(&match, l->subject);
}

/* A value is checked even where it does not apply, so that mistakes are found early. */
static void handle_item(void *arg, const struct ccs_conf_item *item)
{
	struct load *l = arg;
	struct ccs_setting s = {
		.opt = ccs_opt_find(item->name),
		.source = l->source,
		.section = item->section,
		.match = item->match,
		.where = item->where,
		.value = item->value,
	};
	char err[512];

	if (item->tenant) {
		l->rules->tenants |= l->source == CCS_FROM_SYSTEM_FILE;
		if (l->source != CCS_FROM_SYSTEM_FILE)
			complain(l, "%s: tenants are read by the host agent, from " SYSTEM_FILE " only",
				 item->where);
		return;
	}
	/* A share is decided here, once for all queue pairs. */
	s.match.keys &= ~(l->subject->known & CCS_MATCH_SHARE);
	if (ccs_options_set(&l->scratch, item->name, item->value, err, sizeof(err)))
		complain(l, "%s: %s", item->where, err);
	else if ((item->match.keys & CCS_MATCH_QP) && !s.opt->per_qp)
		complain(l, "%s: %s applies to the whole process; set it before all sections or "
			 "in one with the keys app and share only", item->where, item->name);
	else if (item->bad || is_for_other_process(l, item->match))
		return;
	else if (is_repeated(l, &s))
		complain(l, "%s: %s is set twice in this section; the first value is used",
			 item->where, item->name);
	else
		add(l, &s);
}

static void complain_line(void *arg, const char *where, const char *sentence)
{
	complain(arg, "%s: %s", where, sentence);
}

/* A default file need not exist, and the home may belong to another user (su). */
static bool may_be_missing(const struct load *l, int error)
{
	return error == ENOENT || error == ENOTDIR ||
	       (error == EACCES && l->source == CCS_FROM_USER_FILE);
}

/* By the name of an algorithm a configuration loads code, so one in another user's home (su -m,
 * sudo -E) must not be read unless the user names it. */
static void read_file(struct load *l, const char *path, bool is_named)
{
	const struct ccs_conf_reader reader = {
		.handle_item = handle_item, .complain = complain_line, .arg = l,
		.own = l->source == CCS_FROM_USER_FILE && !is_named,
	};
	int error;

	error = ccs_conf_read(path, &reader);
	if (error == EPERM && reader.own)
		complain(l, "%s: is not read, because another user owns it; CCSHIM_CONFIG=%s reads it",
			 path, path);
	else if (error && (is_named || !may_be_missing(l, error)))
		complain(l, "%s: cannot be read: %s", path, strerror(error));
}

static void read_user_file(struct load *l)
{
	const char *named = ccs_environment_get(PREFIX "CONFIG");
	const char *dir = ccs_environment_get("XDG_CONFIG_HOME"), *below = "";
	char path[1024];

	if (named) {
		if (*named)
			read_file(l, named, true);
		return;
	}
	if (!dir || *dir != '/') { /* the XDG specification says to ignore a relative path */
		dir = ccs_environment_get("HOME");
		below = "/.config";
	}
	if (dir && *dir &&
	    snprintf(path, sizeof(path), "%s%s/ccshim.conf", dir, below) < (int)sizeof(path))
		read_file(l, path, false);
}

/* True for a variable with our prefix that is not an option. */
static bool is_other_variable(const char *name, size_t len)
{
	static const char *const exact[] = { "CONFIG", "LIB" };

	for (unsigned i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (len == strlen(exact[i]) && memcmp(name, exact[i], len) == 0)
			return true;
	return len > 4 && memcmp(name, "LAB_", 4) == 0;
}

static const struct ccs_opt *option_of_variable(const char *name, size_t len)
{
	char variable[64];

	for (size_t i = 0; i < ccs_opt_count; i++) {
		ccs_opt_variable(&ccs_opt_table[i], variable, sizeof(variable));
		if (strlen(variable) == len && memcmp(variable, name, len) == 0)
			return &ccs_opt_table[i];
	}
	return NULL;
}

static void complain_unknown(struct load *l, const char *name, size_t len)
{
	char word[64], best[64] = "";
	struct ccs_suggestion near;

	snprintf(word, sizeof(word), "%.*s", (int)(len - strlen(PREFIX)), name + strlen(PREFIX));
	near = ccs_suggest_for(word);
	for (size_t i = 0; i < ccs_opt_count; i++)
		ccs_suggest_offer(&near, ccs_opt_table[i].name);
	if (near.best)
		ccs_opt_variable(ccs_opt_find(near.best), best, sizeof(best));
	complain(l, "there is no option " PREFIX "%s%s%s%s", word,
		 near.best ? "; did you mean " : "", best, near.best ? "?" : "");
}

static void parse_variable(void *arg, const char *variable)
{
	struct load *l = arg;
	const size_t len = strcspn(variable, "="), prefix = strlen(PREFIX);
	const struct ccs_opt *opt = option_of_variable(variable, len);
	const char *value = variable + len + 1;
	char err[512];

	if (variable[len] != '=' || is_other_variable(variable + prefix, len - prefix))
		return;
	if (!opt)
		complain_unknown(l, variable, len);
	else if (ccs_opt_set(&l->scratch, opt, value, err, sizeof(err)))
		complain(l, "%.*s: %s", (int)len, variable, err);
	else
		add(l, &(struct ccs_setting){ .opt = opt, .source = CCS_FROM_ENV, .where = "",
					      .value = value });
}

int ccs_rules_load(struct ccs_rules *r, const struct ccs_match_subject *process,
		   ccs_opt_complain *complain_to, void *arg)
{
	/* not on the stack: an application's thread may have little */
	struct load *l = calloc(1, sizeof(*l));
	int complaints;

	*r = (struct ccs_rules){ 0 };
	if (!l)
		return -1;
	l->rules = r;
	l->subject = process;
	l->complain = complain_to;
	l->arg = arg;
	l->source = CCS_FROM_SYSTEM_FILE;
	read_file(l, SYSTEM_FILE, false);
	if (!getauxval(AT_SECURE)) {
		l->source = CCS_FROM_USER_FILE;
		read_user_file(l);
		ccs_environment_each(parse_variable, l);
	}
	complaints = l->no_memory ? -1 : l->complaints;
	free(l);
	if (complaints < 0)
		ccs_rules_free(r);
	return complaints;
}

int ccs_options_load_as(const char *app, struct ccs_options *o, ccs_opt_complain *complain_to,
			void *arg)
{
	const struct ccs_match_subject subject = { .known = CCS_MATCH_APP, .app = app };
	struct ccs_rules rules;
	int complaints = ccs_rules_load(&rules, &subject, complain_to, arg);

	complaints += ccs_rules_resolve(&rules, &subject, o, NULL, complain_to, arg);
	ccs_rules_free(&rules);
	return complaints;
}
