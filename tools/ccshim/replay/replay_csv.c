/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses CSV into events. Any mistake ends the replay. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "base/number.h"
#include "base/text.h"
#include "tools/ccshim/shared/ccshim.h"
#include "replay.h"

#define MOST 0x1p53 /* beyond, a double skips whole numbers */

const char *const replay_column_names[REPLAY_COLUMNS] = {
	[COL_T_US] = "t_us", [COL_T_NS] = "t_ns", [COL_EVENT] = "event", [COL_QP] = "qp",
	[COL_RTT_US] = "rtt_us", [COL_RTT_NS] = "rtt_ns", [COL_BYTES] = "bytes",
	[COL_ACK_SEQ] = "ack_seq", [COL_SND_NXT] = "snd_nxt", [COL_INFLIGHT] = "inflight",
	[COL_PATH] = "path", [COL_FLOWS] = "flows", [COL_HOPS] = "hops",
	[COL_COVERS] = "covers_us", [COL_ADVISED] = "advised_bps",
	[COL_NIC_WAIT] = "nic_wait_us", [COL_SET] = "set",
	[COL_RATE] = "rate_bps", [COL_WINDOW] = "window_bytes", [COL_CLOCK] = "clock_us",
	[COL_PID] = "pid", [COL_PROGRAM] = "program", [COL_HOST] = "host", [COL_RANK] = "rank",
};

int replay_fault(const struct replay_file *f, enum replay_column column, const char *fmt, ...)
{
	const bool named = column < REPLAY_COLUMNS;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tool_error(f->cmd, "%s:%lu: %s%s%s%s", f->name, f->line, named ? "column " : "",
		   named ? replay_column_names[column] : "", named ? ": " : "", text);
	return -1;
}

/* Read a line without its newline. 1, 0 at the end of the file, -1 after printing an error. */
static int read_line(struct replay_file *f)
{
	size_t len = 0;
	int c;

	f->line++;
	while ((c = getc_unlocked(f->file)) != EOF && c != '\n') {
		if (!c)
			return replay_fault(f, REPLAY_COLUMNS, "a NUL byte: this is not a text file");
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

/* A program, and by a file also a host, may have any name. */
static void copy_name(char *to, size_t len, const char *name)
{
	snprintf(to, len, "%s", name);
	for (char *p = to; *p; p++)
		if (strchr(",\"#", *p) || (unsigned char)*p < ' ')
			*p = '_';
	ccs_make_printable(to, "");
}

/* Find or add a process; NULL as host: any. -1 after printing an error. */
static int find_process(struct replay_file *f, unsigned pid, const char *host)
{
	unsigned *newest = &f->chain[pid % REPLAY_CHAINS];
	const struct replay_process *all = f->process;
	struct replay_process new = { .pid = pid, .next = *newest };

	copy_name(new.host, sizeof(new.host), host ? host : "");
	for (unsigned i = *newest; i; i = all[i - 1].next)
		if (all[i - 1].pid == pid && (!host || strcmp(all[i - 1].host, new.host) == 0))
			return (int)i - 1;
	if (!CCS_GROW(f->process, f->processes))
		return replay_fault(f, REPLAY_COLUMNS, "no memory");
	f->process[f->processes] = new;
	*newest = ++f->processes;
	return (int)*newest - 1;
}

/* VERSION: PROGRAM, process PID, host HOST, rank RANK, ... */
static void read_process(struct replay_file *f, char *text)
{
	char *program = strstr(text, ": "), *at = program ? strstr(program, ", process ") : NULL;
	const char *rank = at ? strstr(at, ", rank ") : NULL;
	char host[64] = "", digits[16] = "";
	unsigned pid;
	int i;

	if (!at || sscanf(at, ", process %u, host %63[^, ]", &pid, host) < 1)
		return;
	i = find_process(f, pid, host);
	if (i < 0)
		return;
	*at = '\0';
	copy_name(f->process[i].program, sizeof(f->process[i].program), program + 2);
	if (rank)
		sscanf(rank, ", rank %15[0-9]", digits);
	snprintf(f->process[i].rank, sizeof(f->process[i].rank), "%s", digits);
	f->latest = (unsigned)i;
}

/* Comments give the number of lost events, peers, and before a process's rows its description. */
static void read_comment(struct replay_file *f, char *text)
{
	char peer[INET6_ADDRSTRLEN];
	unsigned long lost;
	unsigned pid;
	uint32_t qp;
	int n, process;

	if (sscanf(text, "# %lu events are lost", &lost) == 1)
		f->lost += lost;
	n = sscanf(text, "# QP %" SCNu32 " sends to %45[0-9a-f.:] (process %u)", &qp, peer, &pid);
	process = n == 3 ? find_process(f, pid, NULL) : (int)f->latest;
	if (f->handle_peer && n >= 2 && process >= 0)
		f->handle_peer(f->arg, (unsigned)process, qp, peer);
	if (strncmp(text, "# ccshim ", 9) == 0)
		read_process(f, text);
}

/* Read the next line, without empty lines and comments. */
static int read_content(struct replay_file *f, char **text)
{
	int rc;

	do {
		rc = read_line(f);
		if (rc <= 0)
			return rc;
		*text = trim(f->buf);
		if (f->line == 1 && strncmp(*text, "\xef\xbb\xbf", 3) == 0)
			*text += 3; /* the byte order mark that some spreadsheets write */
		if (**text == '#')
			read_comment(f, *text);
	} while (**text == '#' || !**text);
	return 1;
}

static enum replay_column column_named(const char *name)
{
	for (unsigned i = 0; i < REPLAY_COLUMNS; i++)
		if (strcmp(replay_column_names[i], name) == 0)
			return i;
	return REPLAY_COLUMNS;
}

static int check_header(const struct replay_file *f)
{
	if (f->has[COL_T_US] && f->has[COL_T_NS])
		return replay_fault(f, COL_T_NS, "the header has t_us as well; remove one");
	if (f->has[COL_RTT_US] && f->has[COL_RTT_NS])
		return replay_fault(f, COL_RTT_NS, "the header has rtt_us as well; remove one");
	if (!f->has[COL_T_US] && !f->has[COL_T_NS])
		return replay_fault(f, COL_T_US, "the header has neither this column nor t_ns");
	if (!f->has[COL_EVENT])
		return replay_fault(f, COL_EVENT, "the header has no such column");
	return 0;
}

/* Read up to the first line that is not a row. If a process truncates a file while another process
 * writes to it, a row of the other may precede the header. */
static int find_header(struct replay_file *f, char **text)
{
	unsigned long rows = 0;
	int rc;

	while ((rc = read_content(f, text)) > 0 && **text >= '0' && **text <= '9')
		rows++;
	f->empty = !rc && !rows;
	if (!rc)
		tool_error(f->cmd, "%s: the file %s", f->name,
			   rows ? "has no header" : "is empty, without a header");
	return rc > 0 ? 0 : -1;
}

static int parse_header(struct replay_file *f, char *rest)
{
	char *name;

	f->fields = 0;
	memset(f->has, 0, sizeof(f->has));
	memset(f->text, 0, sizeof(f->text));
	while ((name = strsep(&rest, ","))) {
		const enum replay_column column = column_named(trim(name));

		if (f->fields == REPLAY_FIELDS_MAX)
			return replay_fault(f, REPLAY_COLUMNS, "there are more than %d columns",
					    REPLAY_FIELDS_MAX);
		if (column < REPLAY_COLUMNS && f->has[column])
			return replay_fault(f, column, "the header names it twice");
		if (column < REPLAY_COLUMNS)
			f->has[column] = true;
		else if (f->report_unknown)
			replay_fault(f, column, "column '%.40s' is unknown to this version and left out",
				     trim(name));
		f->column[f->fields++] = (unsigned char)column;
	}
	return check_header(f);
}

int replay_open(struct replay_file *f, const char *path)
{
	const bool standard = strcmp(path, "-") == 0;
	char *header;

	f->name = standard ? "standard input" : path;
	f->file = standard ? stdin : fopen(path, "re");
	if (f->file)
		return find_header(f, &header) ? -1 : parse_header(f, header);
	tool_error(f->cmd, "%s: %m", path);
	return -1;
}

void replay_close(struct replay_file *f)
{
	if (f->file && f->file != stdin)
		fclose(f->file);
	free(f->process);
	f->process = NULL;
	f->processes = 0;
}

/* Parse a number of digits, point and exponent only. */
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

/* Parse a whole number in floating-point notation, as some programs write it: 4096.0, 1e7. */
static bool parse_whole_double(const char *text, uint64_t *value)
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
	if (*text < '0' || *text > '9' || (*end && !parse_whole_double(text, value)))
		return replay_fault(f, column, "'%.40s' is not a whole number", text);
	if (errno || *value > most)
		return replay_fault(f, column, "'%.40s' is above %llu", text,
				    (unsigned long long)most);
	return 0;
}

/* Parse a field that may be empty or have no column; *value keeps its default then. */
static int parse_optional_whole(const struct replay_file *f, enum replay_column column, uint64_t most,
		      uint64_t *value)
{
	const char *text = f->text[column];

	return text && *text ? parse_whole(f, column, text, most, value) : 0;
}

static int parse_bytes(const struct replay_file *f, enum replay_column column, double *value)
{
	uint64_t whole = (uint64_t)*value;

	if (parse_optional_whole(f, column, (uint64_t)MOST, &whole))
		return -1;
	*value = (double)whole;
	return 0;
}

static int require(const struct replay_file *f, enum replay_column column, const char *event)
{
	if (!f->text[column])
		return replay_fault(f, column, "%s needs it, but the header has no such column", event);
	if (!*f->text[column])
		return replay_fault(f, column, "it is empty, but %s needs it", event);
	return 0;
}

static int parse_clock(const struct replay_file *f, double *clock_us)
{
	const char *text = f->text[COL_CLOCK];

	*clock_us = NAN;
	return text && *text ? parse_double(f, COL_CLOCK, text, MOST, clock_us) : 0;
}

/* Parse a time in us or whole ns, whichever column the header has. */
static int parse_time(const struct replay_file *f, enum replay_column us, enum replay_column ns,
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

/* "-": no telemetry. */
static int parse_hops(const struct replay_file *f, struct ccs_cc_event *ev)
{
	char *rest, *text;

	if (!f->text[COL_HOPS] || !*f->text[COL_HOPS] || strcmp(f->text[COL_HOPS], "-") == 0)
		return 0;
	rest = strdupa(f->text[COL_HOPS]);
	while ((text = strsep(&rest, ";"))) {
		if (ev->ack.nhops == CCS_CC_MAX_HOPS)
			return replay_fault(f, COL_HOPS, "there are more than %d records",
					    CCS_CC_MAX_HOPS);
		if (parse_hop(f, text, &ev->hop[ev->ack.nhops++]))
			return -1;
	}
	return 0;
}

/* An empty field means unknown. */
static int parse_optional(const struct replay_file *f, enum replay_column column, double *value)
{
	const char *text = f->text[column];

	return text && *text ? parse_double(f, column, text, MOST, value) : 0;
}

/* The recorded decision; a rate may be infinite. */
static int parse_decision(const struct replay_file *f, enum replay_column column, double *value)
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

static int parse_ack(const struct replay_file *f, struct ccs_cc_event *ev)
{
	struct ccs_cc_ack *ack = &ev->ack;
	const bool telemetry = f->needs & CCS_NEEDS_TELEMETRY;
	const bool rtt = (f->has[COL_RTT_US] && *f->text[COL_RTT_US]) ||
			 (f->has[COL_RTT_NS] && *f->text[COL_RTT_NS]);
	uint64_t path = 0, flows = 0;

	ack->bytes = f->segment;
	if (telemetry && (require(f, COL_ACK_SEQ, "ack") || require(f, COL_SND_NXT, "ack") ||
			  require(f, COL_HOPS, "ack")))
		return -1;
	if ((rtt || ((f->needs & CCS_NEEDS_RTT) && !telemetry)) &&
	    parse_time(f, COL_RTT_US, COL_RTT_NS, "ack", &ack->rtt_us))
		return -1;
	if (parse_bytes(f, COL_BYTES, &ack->bytes) || parse_bytes(f, COL_INFLIGHT, &ack->inflight) ||
	    parse_optional_whole(f, COL_ACK_SEQ, UINT64_MAX, &ack->ack_seq) ||
	    parse_optional_whole(f, COL_SND_NXT, UINT64_MAX, &ack->snd_nxt) ||
	    parse_optional_whole(f, COL_PATH, UINT32_MAX, &path) ||
	    parse_optional_whole(f, COL_FLOWS, UINT32_MAX, &flows) || parse_hops(f, ev) ||
	    parse_optional(f, COL_COVERS, &ack->covers_us) ||
	    parse_optional(f, COL_ADVISED, &ack->advised_rate) ||
	    parse_optional(f, COL_NIC_WAIT, &ack->nic_wait_us))
		return -1;
	ack->path = (uint32_t)path;
	ack->flows = (unsigned)flows;
	return 0;
}

static double *find_setting(struct ccs_cc_event *ev, const char *name)
{
	const struct { const char *name; double *value; } all[] = {
		{ "line_rate", &ev->path.line_rate }, { "base_rtt", &ev->path.base_rtt_us },
		{ "rtt_jitter", &ev->path.rtt_jitter_us }, { "segment", &ev->path.segment },
		{ "epoch", &ev->path.epoch_us }, { "bottleneck_rate", &ev->path.bottleneck_rate },
		{ "payload_share", &ev->path.payload_share },
		{ "max_rate", &ev->max_rate },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].value;
	return NULL;
}

static int parse_setting(const struct replay_file *f, struct ccs_cc_event *ev, const char *name,
			const char *value)
{
	double *number = find_setting(ev, name);
	uint64_t flows;

	if (number)
		return parse_double(f, COL_SET, value, 1e15, number);
	if (strcmp(name, "flows") != 0)
		return replay_fault(f, COL_SET, "there is no setting '%.40s'", name);
	if (parse_whole(f, COL_SET, value, 1000000, &flows))
		return -1;
	ev->path.flows = (unsigned)flows;
	return 0;
}

/* Parse a complete network path, with an optional max_rate. */
static int parse_path(const struct replay_file *f, struct ccs_cc_event *ev)
{
	char *rest = strdupa(f->text[COL_SET]), *item;

	ev->max_rate = INFINITY;
	ev->path = (struct ccs_cc_path){ .rtt_jitter_us = NAN };
	while ((item = strsep(&rest, ";"))) {
		char *value = strchr(item, '=');

		if (!value)
			return replay_fault(f, COL_SET, "'%.40s' is not name=value", item);
		*value++ = '\0';
		if (parse_setting(f, ev, item, value))
			return -1;
	}
	if (ev->path.line_rate > 0 && ev->path.base_rtt_us > 0 && ev->path.rtt_jitter_us >= 0 &&
	    ev->path.segment > 0 && ev->path.flows && ev->max_rate > 0)
		return 0;
	return replay_fault(f, COL_SET, "a path is line_rate, base_rtt, segment, flows, all above 0, "
			    "and rtt_jitter");
}

static int parse_set(const struct replay_file *f, struct ccs_cc_event *ev)
{
	if (require(f, COL_SET, ccs_cc_event_names[ev->kind]))
		return -1;
	if (ev->kind == CCS_CC_EVENT_START || strncmp(f->text[COL_SET], "rate=", 5) != 0)
		return parse_path(f, ev);
	ev->kind = CCS_CC_EVENT_RATE;
	if (parse_double(f, COL_SET, f->text[COL_SET] + 5, 1e15, &ev->rate))
		return -1;
	return ev->rate > 0 ? 0 : replay_fault(f, COL_SET, "the rate is 0");
}

static int parse_event(const struct replay_file *f, struct replay_row *row)
{
	struct ccs_suggestion near = ccs_suggest_for(f->text[COL_EVENT]);
	char hint[96];

	for (unsigned i = 0; i < CCS_CC_EVENT_KINDS; i++) {
		ccs_suggest_offer(&near, ccs_cc_event_names[i]);
		if (strcmp(ccs_cc_event_names[i], f->text[COL_EVENT]) != 0)
			continue;
		row->ev.kind = i;
		row->event = ccs_cc_event_names[i];
		return 0;
	}
	return replay_fault(f, COL_EVENT, "there is no event '%.40s'%s", f->text[COL_EVENT],
			    ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int parse_input(const struct replay_file *f, struct ccs_cc_event *ev)
{
	switch (ev->kind) {
	case CCS_CC_EVENT_START:
	case CCS_CC_EVENT_PATH:
		return parse_set(f, ev);
	case CCS_CC_EVENT_ACK:
		return parse_ack(f, ev);
	case CCS_CC_EVENT_SEND:
		return require(f, COL_BYTES, "send") || parse_bytes(f, COL_BYTES, &ev->ack.bytes);
	default:
		return 0;
	}
}

static int split_fields(struct replay_file *f, char *rest)
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

/* Processes of several versions write a header each. */
static bool is_header(const char *text)
{
	const char *at = strstr(text, "event");

	return at && at > text && strchr(", \t", at[-1]) && (!at[5] || strchr(", \t", at[5])) &&
	       (strstr(text, "t_us") || strstr(text, "t_ns"));
}

/* Read the fields of the next row. */
static int read_row(struct replay_file *f)
{
	char *rest;
	int rc;

	while ((rc = read_content(f, &rest)) > 0 && is_header(rest))
		if (parse_header(f, rest))
			return -1;
	return rc > 0 && split_fields(f, rest) ? -1 : rc;
}

/* Find the process of the row by its columns, without them by the latest description. */
static int parse_process(struct replay_file *f, unsigned *process)
{
	const char *host = f->text[COL_HOST];
	uint64_t pid = 0;
	int i = (int)f->latest;

	if (parse_optional_whole(f, COL_PID, INT32_MAX, &pid))
		return -1;
	if (pid || host || !f->processes)
		i = find_process(f, (unsigned)pid, host);
	if (i < 0)
		return -1;
	if (f->text[COL_PROGRAM])
		copy_name(f->process[i].program, sizeof(f->process[i].program), f->text[COL_PROGRAM]);
	if (f->text[COL_RANK])
		copy_name(f->process[i].rank, sizeof(f->process[i].rank), f->text[COL_RANK]);
	*process = (unsigned)i;
	return 0;
}

int replay_next(struct replay_file *f, struct replay_row *row)
{
	uint64_t qp = 0;
	const int rc = read_row(f);

	if (rc <= 0)
		return rc;
	*row = (struct replay_row){ .has_qp = f->has[COL_QP] };
	if (parse_event(f, row) ||
	    parse_time(f, COL_T_US, COL_T_NS, "every event", &row->ev.ack.now_us) ||
	    (row->has_qp && (require(f, COL_QP, "every event") ||
			     parse_whole(f, COL_QP, f->text[COL_QP], UINT32_MAX, &qp))) ||
	    parse_process(f, &row->process) || parse_clock(f, &row->clock_us) ||
	    parse_input(f, &row->ev) || parse_decision(f, COL_RATE, &row->ev.out.rate) ||
	    parse_decision(f, COL_WINDOW, &row->ev.out.window))
		return -1;
	row->qp = (uint32_t)qp;
	return 1;
}

void replay_report_incomplete(const struct replay_file *f)
{
	if (f->cut)
		tool_error(f->cmd, "%s ends in the middle of a line, which is ignored; its process "
			   "was probably killed", f->name);
	if (f->lost)
		tool_error(f->cmd, "%s: %" PRIu64 " events were dropped when it was recorded", f->name,
			   f->lost);
}
