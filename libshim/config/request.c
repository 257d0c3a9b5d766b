/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/request.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"
#include "config/plugin.h"

/* Parse the first line: the queue pairs that the request applies to. */
static int parse_subject(struct ccs_request *r, char *line, char *err, size_t errlen)
{
	char *word = strsep(&line, " "), *value;

	if (strcmp(word, "new") == 0) {
		r->only_new = true;
		if (!line)
			return 0;
		word = strsep(&line, " ");
	}
	value = line;
	if (strcmp(word, "all") == 0 && !value && !r->only_new)
		return 0;
	if (strcmp(word, "peer") == 0 && value)
		return ccs_match_add_key(&r->match, word, value, err, errlen);
	if (strcmp(word, "qp") == 0 && value && !r->only_new) {
		r->one = true;
		if (ccs_parse_digits(value, (1 << 24) - 1, &r->lqpn) == 0)
			return 0;
		return ccs_refuse(err, errlen, "qp: '%.32s' is not a queue pair number", value);
	}
	return ccs_refuse(err, errlen, "the first line of the request is not all, qp, peer or new");
}

static int parse_setting(struct ccs_request *r, char *line, char *err, size_t errlen)
{
	char *value = strchr(line, '=');

	if (!value || value == line)
		return ccs_refuse(err, errlen, "'%.64s' is not NAME=VALUE", line);
	if (r->count == CCS_REQUEST_MAX)
		return ccs_refuse(err, errlen, "there are more than %d settings", CCS_REQUEST_MAX);
	*value++ = '\0';
	r->setting[r->count].name = line;
	r->setting[r->count++].value = value;
	return 0;
}

int ccs_request_parse(struct ccs_request *r, const char text[CCS_REQUEST_LEN], char *err,
		      size_t errlen)
{
	char *rest = r->text, *line;

	memset(r, 0, sizeof(*r));
	if (!memchr(text, '\0', CCS_REQUEST_LEN))
		return ccs_refuse(err, errlen, "the request is longer than %d bytes",
				  CCS_REQUEST_LEN - 1);
	memcpy(r->text, text, CCS_REQUEST_LEN);
	if (parse_subject(r, strsep(&rest, "\n"), err, errlen))
		return -1;
	while ((line = strsep(&rest, "\n")))
		if (*line && parse_setting(r, line, err, errlen))
			return -1;
	return 0;
}

/* The comma-separated item that sets that parameter, and its length; NULL if absent. */
static char *find_item(char *items, const char *name, size_t *len)
{
	const size_t n = strlen(name);

	for (; *items; items += *items == ',') {
		*len = strcspn(items, ",");
		if (strncmp(items, name, n) == 0 && items[n] == '=')
			return items;
		items += *len;
	}
	return NULL;
}

/* Set that parameter in cc; an earlier item for it is removed. */
static int set_param(char *cc, size_t size, const char *name, const char *value)
{
	char *end = cc + ccs_cc_name_len(cc), *item;
	size_t len, had;

	item = *end ? find_item(end + 1, name, &len) : NULL;
	if (item) /* with the comma after it, or the comma or colon before the last item */
		memmove(item - !item[len], item + len + !!item[len],
			strlen(item + len + !!item[len]) + 1);
	had = strlen(cc);
	return snprintf(cc + had, size - had, "%c%s=%s", *end ? ',' : ':', name, value) <
	       (int)(size - had) ? 0 : -1;
}

static int refuse_unknown(const struct ccs_cc_ops *ops, const char *name, char *err, size_t errlen)
{
	struct ccs_suggestion near = ccs_suggest_for(name);
	char hint[96];

	for (size_t i = 0; i < ccs_opt_count; i++)
		if (ccs_opt_table[i].per_qp)
			ccs_suggest_offer(&near, ccs_opt_table[i].name);
	ccs_cc_offer_params(&near, ops);
	return ccs_refuse(err, errlen, "'%.64s' is neither an option nor a parameter of %s%s", name,
			  ops->name, ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int apply_param(struct ccs_options *o, const char *name, const char *value, char *err,
		       size_t errlen)
{
	struct ccs_cc_spec spec;
	char cc[2 * sizeof(o->cc)];

	if (ccs_spec_parse(&spec, o->cc, err, errlen))
		return -1;
	if (ccs_cc_find_param(spec.ops, name) < 0)
		return refuse_unknown(spec.ops, name, err, errlen);
	snprintf(cc, sizeof(cc), "%s", o->cc);
	if (strchr(value, ',') || set_param(cc, sizeof(o->cc), name, value))
		return ccs_refuse(err, errlen,
				  "%s: '%.32s' has a comma, or makes cc longer than %zu bytes",
				  name, value, sizeof(o->cc) - 1);
	return ccs_options_set(o, "cc", cc, err, errlen);
}

/* A request must not load code into the process. */
static bool is_other_plugin(const char *cc, const char *now)
{
	const size_t len = ccs_cc_name_len(cc);

	return ccs_cc_is_path(cc) && (ccs_cc_name_len(now) != len || strncmp(cc, now, len) != 0);
}

static int apply_one(struct ccs_options *o, const char *name, const char *value, char *err,
		     size_t errlen)
{
	const struct ccs_opt *opt = ccs_opt_find(name);

	if (!opt)
		return apply_param(o, name, value, err, errlen);
	if (!opt->per_qp)
		return ccs_refuse(err, errlen, "%s applies to the whole process and cannot be "
				  "changed while it runs", name);
	if (strcmp(name, "cc") == 0 && is_other_plugin(value, o->cc))
		return ccs_refuse(err, errlen, "cc: a plug-in is loaded only when a process "
				  "starts, and '%.128s' is not the one in use", value);
	return ccs_options_set(o, name, value, err, errlen);
}

/* Not inlined: its buffers would be in a thread's stack while values are parsed. */
static __attribute__((noinline)) int check_whole(const struct ccs_options *o, char *err,
						 size_t errlen)
{
	const struct ccs_opt *opt;
	struct ccs_cc_spec spec;
	char why[512];

	opt = ccs_options_conflict(o, why, sizeof(why));
	if (opt)
		return ccs_refuse(err, errlen, "%s: %s", opt->name, why);
	if (ccs_spec_parse(&spec, o->cc, why, sizeof(why)) == 0)
		return 0;
	return ccs_refuse(err, errlen, "cc: %s", why);
}

int ccs_request_apply(const struct ccs_request *r, struct ccs_options *o, char *err,
		      size_t errlen)
{
	for (unsigned i = 0; i < r->count; i++)
		if (apply_one(o, r->setting[i].name, r->setting[i].value, err, errlen))
			return -1;
	return check_whole(o, err, errlen);
}

bool ccs_request_sets(const struct ccs_request *r, const struct ccs_opt *opt)
{
	const bool is_cc = strcmp(opt->name, "cc") == 0;

	for (unsigned i = 0; i < r->count; i++)
		if (strcmp(r->setting[i].name, opt->name) == 0 ||
		    (is_cc && !ccs_opt_find(r->setting[i].name)))
			return true;
	return false;
}
