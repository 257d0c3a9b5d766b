/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim replay --table: the events of traces as one table, whose columns are always the same. */
#include "replay.h"

#include <stdlib.h>

#include "tools/ccshim/shared/ccshim.h"

static bool is_printed(unsigned column)
{
	return column != COL_T_NS && column != COL_RTT_NS; /* they become t_us and rtt_us */
}

static void print_field(const struct replay_file *f, const struct replay_row *row, unsigned column)
{
	const struct replay_process *p = &f->process[row->process];
	const char *text = f->text[column];

	if (column == COL_T_US && f->has[COL_T_NS])
		printf("%.17g", row->ev.ack.now_us);
	else if (column == COL_RTT_US && f->has[COL_RTT_NS] && *f->text[COL_RTT_NS])
		printf("%.17g", row->ev.ack.rtt_us);
	else if (column == COL_PID && p->pid)
		printf("%u", p->pid);
	else if (column >= COL_PROGRAM)
		fputs(column == COL_PROGRAM ? p->program : column == COL_HOST ? p->host : p->rank, stdout);
	else
		fputs(text ? text : "", stdout);
}

static int print_file(const char *name, uint64_t *rows)
{
	static struct replay_file f;
	struct replay_row row;
	int rc;

	f = (struct replay_file){ .cmd = "replay", .whole_lines = true, .report_unknown = true };
	rc = replay_open(&f, name);
	while (!rc && !ferror(stdout) && (rc = replay_next(&f, &row)) == 1) {
		for (unsigned i = 0; i < REPLAY_COLUMNS; i++) {
			if (i && is_printed(i))
				putchar(',');
			if (is_printed(i))
				print_field(&f, &row, i);
		}
		putchar('\n');
		++*rows;
		rc = 0;
	}
	replay_report_incomplete(&f);
	replay_close(&f);
	return f.empty ? 0 : rc;
}

int replay_print_table(char **files)
{
	int status = EXIT_OK;
	uint64_t rows = 0;

	for (unsigned i = 0; i < REPLAY_COLUMNS; i++)
		if (is_printed(i))
			printf("%s%s", i ? "," : "", replay_column_names[i]);
	putchar('\n');
	for (unsigned i = 0; files[i]; i++)
		if (print_file(files[i], &rows))
			status = EXIT_FAILED;
	if (!rows && status == EXIT_OK) {
		tool_error("replay", "there are no events");
		status = EXIT_FAILED;
	}
	return status;
}
