/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a command's program can be controlled, for `ccshim check` and `ccshim run`. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "tools/ccshim/shared/preload.h"

bool command_judge(const struct command *c, const struct command_uses *u, struct command_verdict *v)
{
	const enum preload_obstacle o = preload_obstacle(c->path);
	const char *started = *c->removed ? c->removed : c->unknown;

	v->certain = *c->removed || !*c->unknown;
	v->text[0] = '\0';
	if (*started) {
		snprintf(v->text, sizeof(v->text), "%s", started);
		v->remedy = "put 'ccshim run --' directly before the program's name";
	} else if (o) {
		snprintf(v->text, sizeof(v->text), "%s", preload_obstacle_texts[o].text);
		v->remedy = preload_obstacle_texts[o].remedy;
	} else if (u && *u->copy && !*u->verbs) {
		snprintf(v->text, sizeof(v->text), "%s contains a copy of libibverbs",
			 strcmp(u->copy, basename(c->path)) == 0 ? "it" : u->copy);
		v->remedy = "link it with the libibverbs of this host";
	}
	return *v->text;
}
