/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the line of one check, as text or as JSON. */
#include "check.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "tools/common/terminal.h"

const char *const check_verdicts[] = { "ok", "warn", "fail" };

void check_report(struct check *c, enum verdict v, const char *what, const char *remedy,
		  const char *fmt, ...)
{
	char text[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (v > c->worst)
		c->worst = v;
	if (!c->json) {
		terminal_print(stdout, "                ", "%-4s  %-8s  %s%s%s", check_verdicts[v], what,
			       text, remedy ? "; " : "", remedy ? remedy : "");
		return;
	}
	ccs_json_object(c->json, NULL);
	ccs_json_str(c->json, "check", what);
	ccs_json_str(c->json, "status", check_verdicts[v]);
	ccs_json_str(c->json, "text", text);
	ccs_json_str(c->json, "remedy", remedy);
	ccs_json_end(c->json);
}
