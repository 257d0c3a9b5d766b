/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/text.h"

/* As UTF-16, as JSON has it. */
static void write_escape(FILE *f, uint32_t code)
{
	if (code > 0xffff)
		fprintf(f, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 | (code & 0x3ff));
	else
		fprintf(f, "\\u%04x", code);
}

static void write_string(FILE *f, const char *text)
{
	unsigned len;

	putc('"', f);
	for (; *text; text += len ? len : 1) {
		len = ccs_utf8_len(text);
		if (!len)
			fputs("\\ufffd", f);
		else if (!ccs_printable_len(text))
			write_escape(f, ccs_utf8_code(text, len));
		else if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else
			fwrite(text, 1, len, f);
	}
	putc('"', f);
}

static uint64_t level_bit(const struct ccs_json *j)
{
	return (uint64_t)1 << (j->depth - 1);
}

static void new_line(struct ccs_json *j)
{
	if (!j->one_line)
		fprintf(j->f, "\n%*s", 2 * (int)j->depth, "");
}

static void begin_value(struct ccs_json *j, const char *key)
{
	if (!j->depth)
		return;
	if (j->has_items & level_bit(j))
		putc(',', j->f);
	j->has_items |= level_bit(j);
	new_line(j);
	if (!(j->is_array & level_bit(j))) {
		write_string(j->f, key ? key : "");
		fputs(": ", j->f);
	}
}

static void open_level(struct ccs_json *j, const char *key, bool array)
{
	begin_value(j, key);
	putc(array ? '[' : '{', j->f);
	j->depth++;
	j->has_items &= ~level_bit(j);
	j->is_array = (j->is_array & ~level_bit(j)) | (array ? level_bit(j) : 0);
}

void ccs_json_start(struct ccs_json *j, FILE *f)
{
	*j = (struct ccs_json){ .f = f };
}

void ccs_json_start_line(struct ccs_json *j, FILE *f)
{
	*j = (struct ccs_json){ .f = f, .one_line = true };
}

void ccs_json_object(struct ccs_json *j, const char *key)
{
	open_level(j, key, false);
}

void ccs_json_array(struct ccs_json *j, const char *key)
{
	open_level(j, key, true);
}

void ccs_json_end(struct ccs_json *j)
{
	bool array, items;

	if (!j->depth)
		return;
	array = j->is_array & level_bit(j);
	items = j->has_items & level_bit(j);
	j->depth--;
	if (items)
		new_line(j);
	putc(array ? ']' : '}', j->f);
}

void ccs_json_str(struct ccs_json *j, const char *key, const char *s)
{
	begin_value(j, key);
	if (s)
		write_string(j->f, s);
	else
		fputs("null", j->f);
}

void ccs_json_num(struct ccs_json *j, const char *key, double v)
{
	char text[CCS_NUMBER_LEN];

	begin_value(j, key);
	fputs(isfinite(v) ? ccs_number_text(v, text, sizeof(text)) : "null", j->f);
}

void ccs_json_uint(struct ccs_json *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	fprintf(j->f, "%" PRIu64, v);
}

void ccs_json_bool(struct ccs_json *j, const char *key, bool v)
{
	begin_value(j, key);
	fputs(v ? "true" : "false", j->f);
}

bool ccs_json_finish(struct ccs_json *j)
{
	while (j->depth)
		ccs_json_end(j);
	putc('\n', j->f);
	return fflush(j->f) == 0 && !ferror(j->f);
}

void ccs_document_head(struct ccs_json *j, double time)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	ccs_json_uint(j, "schema", CCS_DOCUMENT_SCHEMA);
	ccs_json_str(j, "version", PACKAGE_VERSION);
	ccs_json_str(j, "host", host);
	ccs_json_num(j, "time", time);
}

void ccs_document_start(struct ccs_json *j, FILE *f, double time)
{
	ccs_json_start(j, f);
	ccs_json_object(j, NULL);
	ccs_document_head(j, time);
}

double ccs_document_now(void)
{
	return (double)(ccs_clock_ns(CLOCK_REALTIME) / 1000) / 1e6;
}
