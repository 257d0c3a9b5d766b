/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim replay --table: the events of traces as one table, whose columns are always the same. */
#include "replay.h"

#include <string.h>

#include "tools/ccshim/shared/ccshim.h"

static void print_row(const char *const *text)
{
	for (unsigned i = 0; i < REPLAY_COLUMNS; i++)
		if (i != COL_T_NS && i != COL_RTT_NS) /* they become t_us and rtt_us */
			printf("%s%s", i ? "," : "", text[i] ? text[i] : "");
	putchar('\n');
}

/* Complete the fields by the process and by times in us. */
static void print_event(struct replay_file *f, const struct replay_row *row)
{
	const struct replay_process *p = &f->process[row->process];
	const char *text[REPLAY_COLUMNS];
	char t[32], rtt[32], pid[16];

	memcpy(text, f->text, sizeof(text));
	snprintf(t, sizeof(t), "%.17g", row->ev.ack.now_us);
	snprintf(rtt, sizeof(rtt), "%.17g", row->ev.ack.rtt_us);
	snprintf(pid, sizeof(pid), "%.0u", p->pid); /* "": unknown */
	if (f->has[COL_T_NS])
		text[COL_T_US] = t;
	if (f->has[COL_RTT_NS] && *f->text[COL_RTT_NS])
		text[COL_RTT_US] = rtt;
	if (!row->has_qp)
		text[COL_QP] = "0";
	text[COL_PID] = pid;
	text[COL_PROGRAM] = p->program;
	text[COL_HOST] = p->host;
	text[COL_RANK] = p->rank;
	print_row(text);
}

static int print_file(const char *name, uint64_t *rows)
{
	static struct replay_file f;
	struct replay_row row;
	int rc;

	f = (struct replay_file){ .cmd = "replay", .whole_lines = true, .report_unknown = true };
	rc = replay_open(&f, name) ? -1 : 1;
	while (rc > 0 && !ferror(stdout) && (rc = replay_next(&f, &row)) > 0) {
		print_event(&f, &row);
		++*rows;
	}
	replay_report_incomplete(&f);
	replay_close(&f);
	return f.empty ? 0 : rc;
}

int replay_print_table(char **files)
{
	int status = EXIT_OK;
	uint64_t rows = 0;

	print_row(replay_column_names);
	for (unsigned i = 0; files[i]; i++)
		if (print_file(files[i], &rows))
			status = EXIT_FAILED;
	if (!rows && status == EXIT_OK) {
		tool_error("replay", "there are no events");
		status = EXIT_FAILED;
	}
	return status;
}
