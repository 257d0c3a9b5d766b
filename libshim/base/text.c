/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ccs_refuse(char *err, size_t len, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, len, fmt, ap);
	va_end(ap);
	return -1;
}

void ccs_append(char *text, size_t len, const char *fmt, ...)
{
	const size_t at = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + at, len - at, fmt, ap);
	va_end(ap);
}

/* -- text of unknown origin ------------------------------------------------------------ */

unsigned ccs_utf8_len(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char low = 0x80, high = 0xbf;
	unsigned len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/* The second byte excludes overlong forms, surrogates and > U+10FFFF. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (unsigned i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

uint32_t ccs_utf8_code(const char *text, unsigned len)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t code = len == 1 ? s[0] : s[0] & (0x7fu >> len);

	for (unsigned i = 1; i < len; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* Controls, format characters and separators of Unicode 15, ranges of them. */
static const struct {
	uint32_t first, last;
} unprintable[] = {
	{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c },
	{ 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe007f },
};

unsigned ccs_printable_len(const char *text)
{
	const unsigned len = ccs_utf8_len(text);
	const uint32_t code = len ? ccs_utf8_code(text, len) : 0;

	if (code >= ' ' && code < 0x7f)
		return 1;
	for (size_t i = 0; i < sizeof(unprintable) / sizeof(*unprintable); i++)
		if (code >= unprintable[i].first && code <= unprintable[i].last)
			return 0;
	return len;
}

char *ccs_make_printable(char *text, const char *keep)
{
	char *to = text;
	unsigned len;

	for (const char *from = text; *from; from += len) {
		len = ccs_printable_len(from);
		if (len || strchr(keep, *from)) {
			len = len ? len : 1;
			memmove(to, from, len);
			to += len;
		} else {
			len = ccs_utf8_len(from);
			len = len ? len : 1;
			*to++ = '?';
		}
	}
	*to = '\0';
	return text;
}
