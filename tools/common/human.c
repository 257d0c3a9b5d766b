/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats numbers with units. */
#include "human.h"

#include <math.h>
#include <stdio.h>

/* Three significant digits without an exponent; whole numbers without decimals. */
static char *format_scaled(double v, double step, const char *const *unit, char *buf, size_t len)
{
	if (isnan(v)) {
		snprintf(buf, len, "-");
		return buf;
	}
	while (unit[1] && fabs(v) >= step * 0.9995) {
		v /= step;
		unit++;
	}
	if (v == floor(v))
		snprintf(buf, len, "%.0f %s", v, *unit);
	else
		snprintf(buf, len, "%.*f %s", fabs(v) >= 100 ? 0 : fabs(v) >= 10 ? 1 : 2, v, *unit);
	return buf;
}

char *human_bytes(double bytes, char *buf, size_t len)
{
	static const char *const unit[] = { "B", "KB", "MB", "GB", "TB", NULL };

	return format_scaled(bytes, 1024, unit, buf, len);
}

char *human_rate(double bps, char *buf, size_t len)
{
	static const char *const unit[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", NULL };

	return format_scaled(bps, 1000, unit, buf, len);
}

char *human_us(double us, char *buf, size_t len)
{
	static const char *const unit[] = { "us", "ms", "s", NULL };

	return format_scaled(us, 1000, unit, buf, len);
}

static char *format_plain(double v, int digits, const char *tail, char *buf, size_t len)
{
	if (isnan(v))
		snprintf(buf, len, "-");
	else
		snprintf(buf, len, "%.*f%s", digits, v, tail);
	return buf;
}

char *human_count(double n, char *buf, size_t len)
{
	return format_plain(n, 0, "", buf, len);
}

char *human_percent(double share, char *buf, size_t len)
{
	/* No "-0.0 %". */
	return format_plain(fabs(share) < 0.0005 ? 0 : share * 100, 1, " %", buf, len);
}

char *human_share(double v, char *buf, size_t len)
{
	return format_plain(v, 4, "", buf, len);
}
