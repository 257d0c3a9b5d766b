/* SPDX-License-Identifier: BSD-2-Clause */
/* Where options come from: defaults, two files, the environment. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/nearest.h"
#include "runtime/conf.h"
#include "runtime/options.h"

#define SYSTEM_FILE CCS_SYSCONFDIR "/ccshim.conf"
#define PREFIX "CCSHIM_"
#define NOBODY UINT32_MAX

struct load {
	struct ccs_options *o;
	enum ccs_opt_origin *origin;     /* may be NULL */
	enum ccs_opt_origin source;      /* being read */
	uint32_t owner[CCS_OPT_MAX];     /* section of the file being read that named the option */
	ccs_opt_complain *complain;      /* may be NULL */
	void *arg;
	int complaints;
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

static void set_origin(struct load *l, const struct ccs_opt *opt, enum ccs_opt_origin origin)
{
	if (l->origin)
		l->origin[opt - ccs_opt_table] = origin;
}

/* The first section that matches and names the option decides; what stands before any
 * section is the default. */
static void take_item(void *arg, const struct ccs_conf_item *item)
{
	struct load *l = arg;
	const struct ccs_opt *opt = ccs_opt_find(item->name);
	struct ccs_options scratch = *l->o;
	char err[512];
	uint32_t *owner;

	/* Checked even where it does not apply: a slip shows before the day it is needed. */
	if (ccs_options_set(&scratch, item->name, item->value, err, sizeof(err))) {
		complain(l, "%s: %s", item->where, err);
		return;
	}
	owner = &l->owner[opt - ccs_opt_table];
	if (!item->applies || (*owner != NOBODY && *owner != 0 && *owner != item->section))
		return;
	if (*owner == item->section) {
		complain(l, "%s: %s is set for the second time here; the first holds", item->where,
			 opt->name);
		return;
	}
	*owner = item->section;
	*l->o = scratch;
	set_origin(l, opt, l->source);
}

static void complain_line(void *arg, const char *where, const char *sentence)
{
	complain(arg, "%s: %s", where, sentence);
}

/* A file that nobody asked for need not exist, and the home may be somebody else's (su). */
static bool may_be_missing(const struct load *l, int error)
{
	return error == ENOENT || error == ENOTDIR ||
	       (error == EACCES && l->source == CCS_FROM_USER_FILE);
}

static void read_file(struct load *l, const char *path, const char *app, bool asked_for)
{
	const struct ccs_conf_reader reader = { take_item, complain_line, l };
	int error;

	memset(l->owner, 0xff, sizeof(l->owner));
	error = ccs_conf_read(path, app, &reader);
	if (error && (asked_for || !may_be_missing(l, error)))
		complain(l, "%s: cannot be read: %s", path, strerror(error));
}

static void read_user_file(struct load *l, const char *app)
{
	const char *named = secure_getenv(PREFIX "CONFIG");
	const char *dir = secure_getenv("XDG_CONFIG_HOME"), *below = "";
	char path[1024];

	if (named) {
		if (*named)
			read_file(l, named, app, true);
		return;
	}
	if (!dir || *dir != '/') { /* the XDG specification: a relative one is ignored */
		dir = secure_getenv("HOME");
		below = "/.config";
	}
	if (dir && *dir &&
	    snprintf(path, sizeof(path), "%s%s/ccshim.conf", dir, below) < (int)sizeof(path))
		read_file(l, path, app, false);
}

/* Variables of ours that are no options. */
static bool is_other_variable(const char *name, size_t len)
{
	static const char *const exact[] = { "CONFIG", "LIB" };

	for (unsigned i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (len == strlen(exact[i]) && memcmp(name, exact[i], len) == 0)
			return true;
	return len > 4 && memcmp(name, "LAB_", 4) == 0;
}

/* The variable's name for an option, without the prefix. */
static void upper(const char *name, char *buf, size_t len)
{
	size_t i = 0;

	for (; name[i] && i < len - 1; i++)
		buf[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
	buf[i] = '\0';
}

static const struct ccs_opt *option_of_variable(const char *name, size_t len)
{
	char variable[64];

	for (size_t i = 0; i < ccs_opt_count; i++) {
		upper(ccs_opt_table[i].name, variable, sizeof(variable));
		if (strlen(variable) == len && memcmp(variable, name, len) == 0)
			return &ccs_opt_table[i];
	}
	return NULL;
}

static void complain_unknown(struct load *l, const char *name, size_t len)
{
	char word[64], best[64] = "";
	struct ccs_nearest near;

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	near = ccs_nearest_to(word);
	for (size_t i = 0; i < ccs_opt_count; i++)
		ccs_nearest_offer(&near, ccs_opt_table[i].name);
	if (near.best)
		upper(near.best, best, sizeof(best));
	complain(l, "there is no option " PREFIX "%s%s%s%s", word,
		 near.best ? "; did you mean " PREFIX : "", best, near.best ? "?" : "");
}

/* setting is what follows the prefix: NAME=value. */
static void take_variable(struct load *l, const char *setting)
{
	const size_t len = strcspn(setting, "=");
	const struct ccs_opt *opt = option_of_variable(setting, len);
	char err[512];

	if (setting[len] != '=' || is_other_variable(setting, len))
		return;
	if (!opt)
		complain_unknown(l, setting, len);
	else if (ccs_opt_set(l->o, opt, setting + len + 1, err, sizeof(err)))
		complain(l, PREFIX "%.*s: %s", (int)len, setting, err);
	else
		set_origin(l, opt, CCS_FROM_ENV);
}

static void resolve_conflicts(struct load *l)
{
	const struct ccs_opt *opt;
	char err[512];

	while ((opt = ccs_options_conflict(l->o, err, sizeof(err)))) {
		complain(l, "%s: %s; it stays %s", opt->name, err, opt->def);
		ccs_opt_set(l->o, opt, opt->def, err, sizeof(err));
		set_origin(l, opt, CCS_FROM_DEFAULT);
	}
}

int ccs_options_load_as(const char *app, struct ccs_options *o, enum ccs_opt_origin *origin,
			ccs_opt_complain *complain_to, void *arg)
{
	struct load l = { .o = o, .origin = origin, .complain = complain_to, .arg = arg };

	ccs_options_default(o);
	for (size_t i = 0; origin && i < ccs_opt_count; i++)
		origin[i] = CCS_FROM_DEFAULT;
	l.source = CCS_FROM_SYSTEM_FILE;
	read_file(&l, SYSTEM_FILE, app, false);
	if (!getauxval(AT_SECURE)) {
		l.source = CCS_FROM_USER_FILE;
		read_user_file(&l, app);
		for (char **e = environ; e && *e; e++)
			if (strncmp(*e, PREFIX, sizeof(PREFIX) - 1) == 0)
				take_variable(&l, *e + sizeof(PREFIX) - 1);
	}
	resolve_conflicts(&l);
	return l.complaints;
}

int ccs_options_load(struct ccs_options *o, enum ccs_opt_origin *origin,
		     ccs_opt_complain *complain_to, void *arg)
{
	return ccs_options_load_as(program_invocation_short_name, o, origin, complain_to, arg);
}
