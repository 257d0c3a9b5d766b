/* SPDX-License-Identifier: BSD-2-Clause */
#include "models.h"

#include <stdlib.h>
#include <string.h>

#include "bench/sim/core/memory.h"
#include "tools/common/words.h"

struct list {
	char **word;
	unsigned n;
};

static void append(struct list *l, const char *word)
{
	l->word = mem_resized(l->word, l->n + 1u, sizeof(*l->word));
	l->word[l->n++] = mem_checked(strdup(word));
}

static void append_line(struct list *l, struct words *w)
{
	while (words_more(w))
		append(l, words_next(w));
}

static void clear(struct list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->word[i]);
	free(l->word);
	*l = (struct list){ 0 };
}

static void read_reason(struct words *w, struct fab_model *m)
{
	size_t len = 0;

	m->reason = mem_zeroed(1, 1);
	while (words_more(w)) {
		const char *word = words_next(w);
		const size_t more = strlen(word);

		m->reason = mem_resized(m->reason, len + more + 2, 1);
		if (len)
			m->reason[len++] = ' ';
		memcpy(m->reason + len, word, more + 1);
		len += more;
	}
}

static bool read_goal(struct words *w, struct fab_model *m)
{
	const char *word = words_next(w);

	if (word && strcmp(word, "delivered") == 0) {
		m->goal = FAB_GOAL_DELIVERED;
	} else if (word && strcmp(word, "not-run") == 0 && words_more(w)) {
		m->goal = FAB_GOAL_NOT_RUN;
		read_reason(w, m);
	} else if (word && strncmp(word, "full=", 5) == 0 && word[5]) {
		m->goal = FAB_GOAL_FULL;
		m->ports = mem_checked(strdup(word + 5));
	} else {
		return words_refuse(w, "model %s needs a goal: full=PORTS, delivered, or not-run REASON",
				    m->name);
	}
	return true;
}

static bool read_model(struct words *w, struct fab_models *all, const char *name,
		       const struct list *defaults)
{
	struct list options = { 0 };
	struct fab_model *m;

	if (strlen(name) > MODEL_NAME_MAX)
		return words_refuse(w, "the name of model %s is longer than %d", name, MODEL_NAME_MAX);
	for (unsigned i = 0; i < all->n; i++)
		if (strcmp(all->model[i].name, name) == 0)
			return words_refuse(w, "there are two models %s", name);
	all->model = mem_resized(all->model, all->n + 1u, sizeof(*all->model));
	m = &all->model[all->n++];
	*m = (struct fab_model){ 0 };
	snprintf(m->name, sizeof(m->name), "%s", name);
	if (!read_goal(w, m))
		return false;
	for (unsigned i = 0; i < defaults->n; i++)
		append(&options, defaults->word[i]);
	append_line(&options, w);
	m->word = options.word;
	m->words = options.n;
	return true;
}

static bool read_all(struct words *w, struct fab_models *m, struct list *defaults)
{
	while (words_line(w, NULL)) {
		char name[64];

		snprintf(name, sizeof(name), "%s", words_next(w));
		if (*name == '#')
			continue;
		if (strcmp(name, "defaults") == 0) {
			clear(defaults);
			append_line(defaults, w);
		} else if (!read_model(w, m, name, defaults)) {
			return false;
		}
	}
	if (w->refused)
		return false;
	return m->n || words_refuse(w, "the file has no model");
}

bool fab_models_read(struct fab_models *m, const char *path, char *err, size_t len)
{
	struct list defaults = { 0 };
	struct words w;
	bool ok;

	*m = (struct fab_models){ 0 };
	ok = words_open(&w, path, err, len) && read_all(&w, m, &defaults);
	words_close(&w);
	clear(&defaults);
	if (!ok)
		fab_models_free(m);
	return ok;
}

void fab_models_free(struct fab_models *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		struct list options = { m->model[i].word, m->model[i].words };

		clear(&options);
		free(m->model[i].ports);
		free(m->model[i].reason);
	}
	free(m->model);
	*m = (struct fab_models){ 0 };
}
