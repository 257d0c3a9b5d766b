/* SPDX-License-Identifier: BSD-2-Clause */
#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "config/plugin.h"

/* The end of the setting that starts at text: a comma that no parameter follows, or the end. */
static const char *setting_end(const char *text)
{
	const char *end = strchrnul(text, ',');

	while (*end && memchr(text, ':', (size_t)(end - text))) {
		size_t word = strcspn(end + 1, ",:=");

		if (end[1 + word] != '=')
			break;
		end = strchrnul(end + 1, ',');
	}
	return end;
}

/* Derive a worker's environment from the name of a setting. */
static int setting_resolve(struct setting *s, char *err, size_t errlen)
{
	struct ccs_cc_spec cc;

	s->preload = strcmp(s->name, "none") != 0;
	s->mode = "enforce";
	s->spec = NULL;
	if (!s->preload)
		return 0;
	if (!strcmp(s->name, "observe") || !strcmp(s->name, "off")) {
		s->mode = s->name;
		return 0;
	}
	s->spec = s->name;
	return ccs_spec_parse(&cc, s->name, err, errlen);
}

static int setting_append(struct settings *s, const char *name, size_t len,
			  char *err, size_t errlen)
{
	struct setting *new = &s->v[s->n];

	if (s->n == MAX_SETTINGS)
		return ccs_refuse(err, errlen, "more than %d settings in --cc", MAX_SETTINGS);
	if (len == 0 || len >= sizeof(new->name))
		return ccs_refuse(err, errlen, "--cc has an %s setting",
				  len ? "overlong" : "empty");
	memcpy(new->name, name, len);
	new->name[len] = '\0';
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].name, new->name))
			return ccs_refuse(err, errlen, "--cc names %s twice", new->name);
	if (setting_resolve(new, err, errlen))
		return -1;
	s->n++;
	return 0;
}

int settings_add(struct settings *s, const char *text, char *err, size_t errlen)
{
	const char *end;

	for (;; text = end + 1) {
		end = setting_end(text);
		if (setting_append(s, text, (size_t)(end - text), err, errlen))
			return -1;
		if (!*end)
			return 0;
	}
}
