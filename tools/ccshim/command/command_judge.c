/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a command's program can be controlled, for `ccshim check` and `ccshim run`. */
#include "command.h"
#include "tools/ccshim/shared/preload.h"

bool command_judge(const struct command *c, struct command_verdict *v)
{
	const enum preload_obstacle o = preload_obstacle(c->path);

	*v = (struct command_verdict){ .certain = true };
	if (*c->removed) {
		v->text = c->removed;
		v->remedy = "start the program with ccshim run: env ... ccshim run -- PROGRAM";
	} else if (*c->unknown) {
		v->certain = false;
		v->text = c->unknown;
		v->remedy = "start the program with ccshim run there";
	} else if (o) {
		v->text = preload_obstacle_text(o);
		v->remedy = preload_obstacle_remedy(o);
	}
	return v->text;
}
