/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects findings and their figures. */
#include "doctor.h"

#include <stdarg.h>

#include "base/array.h"
#include "base/text.h"

void doctor_add_figure(struct doctor_finding *f, bool is_counter, double value, const char *fmt, ...)
{
	struct doctor_figure *to = &f->figure[f->figures];
	va_list ap;

	if (f->figures == DOCTOR_FIGURES)
		return;
	f->figures++;
	*to = (struct doctor_figure){ .value = value, .is_counter = is_counter };
	va_start(ap, fmt);
	vsnprintf(to->name, sizeof(to->name), fmt, ap);
	va_end(ap);
}

void doctor_report(struct doctor *d, const struct doctor_finding *f)
{
	struct doctor_finding *new;

	if (!CCS_GROW(d->finding, d->findings))
		return;
	new = &d->finding[d->findings++];
	*new = *f;
	ccs_make_printable(new->where, "");
	ccs_make_printable(new->text, "");
	for (unsigned i = 0; i < f->figures; i++)
		ccs_make_printable(new->figure[i].name, "");
}

unsigned doctor_count(const struct doctor *d, enum doctor_severity severity)
{
	unsigned n = 0;

	for (size_t i = 0; i < d->findings; i++)
		n += d->finding[i].severity == severity;
	return n;
}
