/* SPDX-License-Identifier: BSD-2-Clause */
/* CSV into events. Nothing is guessed: what is not as it should be ends the replay. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "tools/ccshim.h"
#include "tools/replay.h"

#define MOST 0x1p53 /* beyond, a double skips whole numbers */

static const char *const columns[REPLAY_COLUMNS] = {
	[COL_T_US] = "t_us", [COL_T_NS] = "t_ns", [COL_EVENT] = "event", [COL_QP] = "qp",
	[COL_RTT_US] = "rtt_us", [COL_RTT_NS] = "rtt_ns", [COL_BYTES] = "bytes",
	[COL_ACK_SEQ] = "ack_seq", [COL_SND_NXT] = "snd_nxt", [COL_INFLIGHT] = "inflight",
	[COL_PATH] = "path", [COL_FLOWS] = "flows", [COL_HOPS] = "hops",
	[COL_COVERS] = "covers_us", [COL_ADVISED] = "advised_bps",
	[COL_NIC_WAIT] = "nic_wait_us", [COL_SET] = "set",
	[COL_RATE] = "rate_bps", [COL_WINDOW] = "window_bytes", [COL_CLOCK] = "clock_us",
};

int replay_fault(const struct replay_file *f, enum replay_column column, const char *fmt, ...)
{
	const bool named = column < REPLAY_COLUMNS;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++) /* a trace may hold anything, a terminal obeys it */
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			*p = '?';
	tool_error(f->cmd, "%s:%lu: %s%s%s%s", f->name, f->line, named ? "column " : "",
		   named ? columns[column] : "", named ? ": " : "", text);
	return -1;
}

/* A line without its end. 1, 0 at the end of the file, -1 after a complaint. */
static int read_line(struct replay_file *f)
{
	size_t len = 0;
	int c;

	f->line++;
	while ((c = getc_unlocked(f->file)) != EOF && c != '\n') {
		if (!c)
			return replay_fault(f, REPLAY_COLUMNS, "a NUL byte: this is no text");
		if (len == sizeof(f->buf) - 1)
			return replay_fault(f, REPLAY_COLUMNS, "the line is longer than %zu bytes",
					    sizeof(f->buf) - 1);
		f->buf[len++] = (char)c;
	}
	if (ferror(f->file))
		return replay_fault(f, REPLAY_COLUMNS, "cannot be read: %m");
	f->cut = len && c == EOF && f->whole_lines;
	if (f->cut)
		return 0;
	if (len && f->buf[len - 1] == '\r')
		len--;
	f->buf[len] = '\0';
	return len || c != EOF;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len && strchr(" \t", text[len - 1]); len--)
		;
	text[len] = '\0';
	return text;
}

/* The next line that says something; of comments, what the recorder says of itself. */
static int read_content(struct replay_file *f, char **text)
{
	unsigned long lost;
	int rc;

	do {
		rc = read_line(f);
		if (rc <= 0)
			return rc;
		*text = trim(f->buf);
		if (f->line == 1 && strncmp(*text, "\xef\xbb\xbf", 3) == 0)
			*text += 3; /* the mark that some spreadsheets put first */
		if (sscanf(*text, "# %lu events are lost", &lost) == 1)
			f->lost += lost;
	} while (**text == '#' || !**text);
	return 1;
}

static enum replay_column column_named(const char *name)
{
	for (unsigned i = 0; i < REPLAY_COLUMNS; i++)
		if (strcmp(columns[i], name) == 0)
			return i;
	return REPLAY_COLUMNS;
}

static int check_header(const struct replay_file *f)
{
	if (f->has[COL_T_US] && f->has[COL_T_NS])
		return replay_fault(f, COL_T_NS, "there is t_us already");
	if (f->has[COL_RTT_US] && f->has[COL_RTT_NS])
		return replay_fault(f, COL_RTT_NS, "there is rtt_us already");
	if (!f->has[COL_T_US] && !f->has[COL_T_NS])
		return replay_fault(f, COL_T_US, "the header does not name it, nor t_ns");
	if (!f->has[COL_EVENT])
		return replay_fault(f, COL_EVENT, "the header does not name it");
	return 0;
}

static int read_header(struct replay_file *f)
{
	char *rest, *name;
	const int rc = read_content(f, &rest);

	if (rc < 0)
		return -1;
	if (!rc) {
		tool_error(f->cmd, "%s: there is nothing in it, not even a header", f->name);
		return -1;
	}
	while ((name = strsep(&rest, ","))) {
		const enum replay_column column = column_named(trim(name));

		if (f->fields == REPLAY_FIELDS_MAX)
			return replay_fault(f, REPLAY_COLUMNS, "there are more than %d columns",
					    REPLAY_FIELDS_MAX);
		if (column < REPLAY_COLUMNS && f->has[column])
			return replay_fault(f, column, "it is named twice");
		if (column < REPLAY_COLUMNS)
			f->has[column] = true;
		f->column[f->fields++] = (unsigned char)column;
	}
	return check_header(f);
}

int replay_open(struct replay_file *f, const char *path)
{
	const bool standard = strcmp(path, "-") == 0;

	f->name = standard ? "standard input" : path;
	f->file = standard ? stdin : fopen(path, "re");
	if (f->file)
		return read_header(f);
	tool_error(f->cmd, "%s: %m", path);
	return -1;
}

void replay_close(struct replay_file *f)
{
	if (f->file && f->file != stdin)
		fclose(f->file);
}

/* A number of digits, point and exponent, and nothing else. */
static int parse_double(const struct replay_file *f, enum replay_column column, const char *text,
			double most, double *value)
{
	const char *end;

	*value = ccs_strtod(text, &end);
	if (*text == '-')
		return replay_fault(f, column, "'%.40s' is negative", text);
	if (end == text || *end)
		return replay_fault(f, column, "'%.40s' is not a number", text);
	if (*value > most)
		return replay_fault(f, column, "'%.40s' is above %.17g", text, most);
	return 0;
}

/* A whole number as programs write it that know no other than floating point: 4096.0, 1e7. */
static bool whole_double(const char *text, uint64_t *value)
{
	const char *end;
	const double number = ccs_strtod(text, &end);

	*value = number < MOST ? (uint64_t)number : 0;
	return !*end && (double)*value == number;
}

static int parse_whole(const struct replay_file *f, enum replay_column column, const char *text,
		       uint64_t most, uint64_t *value)
{
	char *end;

	if (*text == '-')
		return replay_fault(f, column, "'%.40s' is negative", text);
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || (*end && !whole_double(text, value)))
		return replay_fault(f, column, "'%.40s' is not a whole number", text);
	if (errno || *value > most)
		return replay_fault(f, column, "'%.40s' is above %llu", text,
				    (unsigned long long)most);
	return 0;
}

/* A field that may be left out, or its column; *value is what it is then. */
static int take_whole(const struct replay_file *f, enum replay_column column, uint64_t most,
		      uint64_t *value)
{
	const char *text = f->text[column];

	return text && *text ? parse_whole(f, column, text, most, value) : 0;
}

static int take_bytes(const struct replay_file *f, enum replay_column column, double *value)
{
	uint64_t whole = (uint64_t)*value;

	if (take_whole(f, column, (uint64_t)MOST, &whole))
		return -1;
	*value = (double)whole;
	return 0;
}

static int require(const struct replay_file *f, enum replay_column column, const char *event)
{
	if (!f->text[column])
		return replay_fault(f, column, "%s needs it, and the header does not name it", event);
	if (!*f->text[column])
		return replay_fault(f, column, "it is empty, and %s needs it", event);
	return 0;
}

static int take_clock(const struct replay_file *f, double *clock_us)
{
	const char *text = f->text[COL_CLOCK];

	*clock_us = NAN;
	return text && *text ? parse_double(f, COL_CLOCK, text, MOST, clock_us) : 0;
}

/* In us or whole ns, whichever column there is. */
static int take_time(const struct replay_file *f, enum replay_column us, enum replay_column ns,
		     const char *event, double *value)
{
	uint64_t whole;

	if (!f->has[ns])
		return require(f, us, event) || parse_double(f, us, f->text[us], MOST, value) ? -1 : 0;
	if (require(f, ns, event) || parse_whole(f, ns, f->text[ns], UINT64_MAX, &whole))
		return -1;
	*value = (double)whole / 1e3;
	return 0;
}

/* ts_ns:tx_bytes:qlen_bytes:capacity_bps */
static int parse_hop(const struct replay_file *f, char *text, struct ccs_cc_hop *hop)
{
	char *part[4];
	unsigned n = 0;

	for (char *p = text; (p = strchr(p, ':')); p++)
		n++;
	if (n != 3)
		return replay_fault(f, COL_HOPS, "'%.40s' is not ts_ns:tx_bytes:qlen_bytes:"
				    "capacity_bps", text);
	for (n = 0; n < 4; n++)
		part[n] = strsep(&text, ":");
	if (parse_whole(f, COL_HOPS, part[0], UINT64_MAX, &hop->ts_ns) ||
	    parse_whole(f, COL_HOPS, part[1], UINT64_MAX, &hop->tx_bytes) ||
	    parse_whole(f, COL_HOPS, part[2], UINT64_MAX, &hop->qlen_bytes) ||
	    parse_double(f, COL_HOPS, part[3], MOST, &hop->capacity))
		return -1;
	return hop->capacity > 0 ? 0 : replay_fault(f, COL_HOPS, "a link without capacity");
}

/* "-": none came. */
static int take_hops(const struct replay_file *f, struct ccs_told *told)
{
	char *rest = f->text[COL_HOPS], *text;

	if (!rest || !*rest || strcmp(rest, "-") == 0)
		return 0;
	while ((text = strsep(&rest, ";"))) {
		if (told->ack.nhops == CCS_CC_MAX_HOPS)
			return replay_fault(f, COL_HOPS, "there are more than %d records",
					    CCS_CC_MAX_HOPS);
		if (parse_hop(f, text, &told->hop[told->ack.nhops++]))
			return -1;
	}
	return 0;
}

/* Empty: not known. */
static int take_known(const struct replay_file *f, enum replay_column column, double *value)
{
	const char *text = f->text[column];

	return text && *text ? parse_double(f, column, text, MOST, value) : 0;
}

/* What came of the event when it was recorded; infinite is a rate too. */
static int take_decision(const struct replay_file *f, enum replay_column column, double *value)
{
	const char *text = f->text[column];

	*value = NAN;
	if (!text || !*text)
		return 0;
	if (strcmp(text, "inf") == 0) {
		*value = INFINITY;
		return 0;
	}
	return parse_double(f, column, text, INFINITY, value);
}

static int take_ack(const struct replay_file *f, struct ccs_told *told)
{
	struct ccs_cc_ack *ack = &told->ack;
	const bool telemetry = f->needs & CCS_NEEDS_TELEMETRY;
	const bool rtt = (f->has[COL_RTT_US] && *f->text[COL_RTT_US]) ||
			 (f->has[COL_RTT_NS] && *f->text[COL_RTT_NS]);
	uint64_t path = 0, flows = 0;

	ack->bytes = f->segment;
	if (telemetry && (require(f, COL_ACK_SEQ, "ack") || require(f, COL_SND_NXT, "ack") ||
			  require(f, COL_HOPS, "ack")))
		return -1;
	if ((rtt || ((f->needs & CCS_NEEDS_RTT) && !telemetry)) &&
	    take_time(f, COL_RTT_US, COL_RTT_NS, "ack", &ack->rtt_us))
		return -1;
	if (take_bytes(f, COL_BYTES, &ack->bytes) || take_bytes(f, COL_INFLIGHT, &ack->inflight) ||
	    take_whole(f, COL_ACK_SEQ, UINT64_MAX, &ack->ack_seq) ||
	    take_whole(f, COL_SND_NXT, UINT64_MAX, &ack->snd_nxt) ||
	    take_whole(f, COL_PATH, UINT32_MAX, &path) ||
	    take_whole(f, COL_FLOWS, UINT32_MAX, &flows) || take_hops(f, told) ||
	    take_known(f, COL_COVERS, &ack->covers_us) ||
	    take_known(f, COL_ADVISED, &ack->advised_rate) ||
	    take_known(f, COL_NIC_WAIT, &ack->nic_wait_us))
		return -1;
	ack->path = (uint32_t)path;
	ack->flows = (unsigned)flows;
	return 0;
}

static double *setting_named(struct ccs_told *told, const char *name)
{
	const struct { const char *name; double *value; } all[] = {
		{ "line_rate", &told->path.line_rate }, { "base_rtt", &told->path.base_rtt_us },
		{ "noise", &told->path.noise_us }, { "segment", &told->path.segment },
		{ "epoch", &told->path.epoch_us }, { "bottleneck_rate", &told->path.bottleneck_rate },
		{ "max_rate", &told->max_rate },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	return NULL;
}

static int take_setting(const struct replay_file *f, struct ccs_told *told, const char *name,
			const char *value)
{
	double *number = setting_named(told, name);
	uint64_t flows;

	if (number)
		return parse_double(f, COL_SET, value, 1e15, number);
	if (strcmp(name, "flows") != 0)
		return replay_fault(f, COL_SET, "there is no setting '%.40s'", name);
	if (parse_whole(f, COL_SET, value, 1000000, &flows))
		return -1;
	told->path.flows = (unsigned)flows;
	return 0;
}

/* A whole path, with or without the user's cap. */
static int take_path(const struct replay_file *f, struct ccs_told *told)
{
	char *rest = f->text[COL_SET], *item;

	told->max_rate = INFINITY;
	told->path = (struct ccs_cc_path){ .noise_us = NAN };
	while ((item = strsep(&rest, ";"))) {
		char *value = strchr(item, '=');

		if (!value)
			return replay_fault(f, COL_SET, "'%.40s' is not name=value", item);
		*value++ = '\0';
		if (take_setting(f, told, item, value))
			return -1;
	}
	if (told->path.line_rate > 0 && told->path.base_rtt_us > 0 && told->path.noise_us >= 0 &&
	    told->path.segment > 0 && told->path.flows && told->max_rate > 0)
		return 0;
	return replay_fault(f, COL_SET, "a path is line_rate, base_rtt, segment, flows, all above 0, "
			    "and noise");
}

static int take_set(const struct replay_file *f, struct ccs_told *told)
{
	if (require(f, COL_SET, ccs_told_words[told->kind]))
		return -1;
	if (told->kind == CCS_TOLD_START || strncmp(f->text[COL_SET], "rate=", 5) != 0)
		return take_path(f, told);
	told->kind = CCS_TOLD_RATE;
	if (parse_double(f, COL_SET, f->text[COL_SET] + 5, 1e15, &told->rate))
		return -1;
	return told->rate > 0 ? 0 : replay_fault(f, COL_SET, "the rate is 0");
}

static int take_event(const struct replay_file *f, struct replay_row *row)
{
	struct ccs_nearest near = ccs_nearest_to(f->text[COL_EVENT]);
	char hint[96];

	for (unsigned i = 0; i < CCS_TOLD_KINDS; i++) {
		ccs_nearest_offer(&near, ccs_told_words[i]);
		if (strcmp(ccs_told_words[i], f->text[COL_EVENT]) != 0)
			continue;
		row->told.kind = i;
		row->event = ccs_told_words[i];
		return 0;
	}
	return replay_fault(f, COL_EVENT, "there is no event '%.40s'%s", f->text[COL_EVENT],
			    ccs_nearest_hint(&near, hint, sizeof(hint)));
}

static int take_facts(const struct replay_file *f, struct ccs_told *told)
{
	switch (told->kind) {
	case CCS_TOLD_START:
	case CCS_TOLD_PATH:
		return take_set(f, told);
	case CCS_TOLD_ACK:
		return take_ack(f, told);
	case CCS_TOLD_SEND:
		return require(f, COL_BYTES, "send") || take_bytes(f, COL_BYTES, &told->ack.bytes);
	default:
		return 0;
	}
}

static int split(struct replay_file *f, char *rest)
{
	unsigned n = 0;
	char *field;

	while ((field = strsep(&rest, ","))) {
		if (n < f->fields && f->column[n] < REPLAY_COLUMNS)
			f->text[f->column[n]] = trim(field);
		n++;
	}
	if (n == f->fields)
		return 0;
	return replay_fault(f, n < f->fields ? f->column[n] : REPLAY_COLUMNS,
			    "the line has %u field%s, the header %u", n, n == 1 ? "" : "s",
			    f->fields);
}

int replay_next(struct replay_file *f, struct replay_row *row)
{
	uint64_t qp = 0;
	char *rest;
	const int rc = read_content(f, &rest);

	if (rc <= 0)
		return rc;
	*row = (struct replay_row){ .has_qp = f->has[COL_QP] };
	if (split(f, rest) || take_event(f, row) ||
	    take_time(f, COL_T_US, COL_T_NS, "every event", &row->told.ack.now_us) ||
	    (row->has_qp && (require(f, COL_QP, "every event") ||
			     parse_whole(f, COL_QP, f->text[COL_QP], UINT32_MAX, &qp))) ||
	    take_clock(f, &row->clock_us) || take_facts(f, &row->told) || take_decision(f, COL_RATE, &row->told.out.rate) ||
	    take_decision(f, COL_WINDOW, &row->told.out.window))
		return -1;
	row->qp = (uint32_t)qp;
	return 1;
}
