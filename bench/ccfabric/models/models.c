/* SPDX-License-Identifier: BSD-2-Clause */
#include "models.h"

#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "tools/common/words.h"

/* Append the rest of the line, with a space between the words. */
static void append_line(char **text, struct words *w)
{
	size_t len = strlen(*text);

	while (words_more(w)) {
		const char *word = words_next(w);

		*text = mem_resized(*text, len + strlen(word) + 2, 1);
		len += (size_t)sprintf(*text + len, "%s%s", len ? " " : "", word);
	}
}

static char *copy(const char *text)
{
	return mem_checked(strdup(text));
}

static bool read_goal(struct words *w, struct fab_model *m)
{
	const char *word = words_next(w);

	if (word && strcmp(word, "delivered") == 0) {
		m->goal = FAB_GOAL_DELIVERED;
	} else if (word && strcmp(word, "not-run") == 0 && words_more(w)) {
		m->goal = FAB_GOAL_NOT_RUN;
		m->reason = copy("");
		append_line(&m->reason, w);
	} else if (word && strncmp(word, "full=", 5) == 0 && word[5]) {
		m->goal = FAB_GOAL_FULL;
		m->ports = copy(word + 5);
	} else {
		return words_refuse(w, "model %s needs a goal: full=PORTS, delivered, or not-run REASON",
				    m->name);
	}
	return true;
}

static bool read_model(struct words *w, struct fab_models *all, const char *name,
		       const char *defaults)
{
	struct fab_model *m;

	if (strlen(name) > MODEL_NAME_MAX)
		return words_refuse(w, "the name of model %s is longer than %d", name, MODEL_NAME_MAX);
	for (unsigned i = 0; i < all->n; i++)
		if (strcmp(all->model[i].name, name) == 0)
			return words_refuse(w, "there are two models %s", name);
	all->model = mem_resized(all->model, all->n + 1u, sizeof(*all->model));
	m = &all->model[all->n++];
	*m = (struct fab_model){ .options = copy(defaults) };
	snprintf(m->name, sizeof(m->name), "%s", name);
	if (!read_goal(w, m))
		return false;
	append_line(&m->options, w);
	return true;
}

static bool read_all(struct words *w, struct fab_models *m, char **defaults)
{
	while (words_line(w, NULL)) {
		char name[64];

		snprintf(name, sizeof(name), "%s", words_next(w));
		if (*name == '#')
			continue;
		if (strcmp(name, "defaults") == 0) {
			**defaults = '\0';
			append_line(defaults, w);
		} else if (!read_model(w, m, name, *defaults)) {
			return false;
		}
	}
	if (w->refused)
		return false;
	return m->n || words_refuse(w, "the file has no model");
}

bool fab_models_read(struct fab_models *m, const char *path, char *err, size_t len)
{
	char *defaults = copy("");
	struct words w;
	bool ok;

	*m = (struct fab_models){ 0 };
	ok = words_open(&w, path, err, len) && read_all(&w, m, &defaults);
	words_close(&w);
	free(defaults);
	return ok;
}
