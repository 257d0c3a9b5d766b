/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim top: its command line, and reading, drawing and handling keys repeatedly. */
#include "top.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/options.h"
#include "tools/common/terminal.h"
#include "tools/common/seconds.h"

enum { ESCAPE = 27, BACKSPACE = 127 };

static int print_help(void)
{
	printf("usage: ccshim top [OPTION...]\n\n"
	       "Shows the flows of processes under congestion control on the whole terminal,\n"
	       "busy ones first, and whether the rate, the window or the application limits\n"
	       "each. If the output is no terminal, prints one page.\n\n"
	       "  -i, --interval SECONDS  interval between two pages                        [1]\n"
	       "  -n, --count N           number of pages; then exit\n"
	       "  --sort KEY              gated, goodput, rate, rtt or program          [gated]\n"
	       "  --by GROUP              sums by process, peer, job, tenant or host\n"
	       "  --filter TEXT           only flows of that PID or job, or with TEXT in the\n"
	       "                          name of their program or peer\n"
	       "  --json                  a line of JSON for each page, as of ccshim stat\n"
	       "  -h, --help              this text\n\n"
	       "Keys: q quit, s next order, t next kind of sum, f filter (Enter accepts, Escape\n"
	       "removes it), arrows scroll, space pause, ? help. NO_COLOR in the environment\n"
	       "switches bold and colour off.\n");
	return EXIT_OK;
}

struct request {
	struct top_view view;
	unsigned count;                  /* 0: unlimited */
	bool json;
};

/* -- the screen -------------------------------------------------------------------------------- */

static void draw(struct stat_snapshot *s, struct top_view *v)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	if (v->by == STAT_BY_TENANT)
		stat_read_tenants(s);    /* without an agent no process has a tenant */
	top_screen_size(&v->rows, &v->columns);
	top_page(s, v, f);
	if (fclose(f) == 0)
		top_screen_draw(text, v->rows);
	free(text);
}

static void edit_filter(struct top_view *v, int key)
{
	const size_t len = strlen(v->filter);

	if (key == '\n' || key == '\r' || key == ESCAPE)
		v->typing = false;
	if (key == ESCAPE)
		v->filter[0] = '\0';
	else if ((key == BACKSPACE || key == '\b') && len)
		v->filter[len - 1] = '\0';
	else if (key >= ' ' && key < BACKSPACE && len + 1 < sizeof(v->filter))
		v->filter[len] = (char)key, v->filter[len + 1] = '\0';
}

static void scroll(struct top_view *v, int key)
{
	const size_t page = v->rows > TOP_LINES_AROUND ? v->rows - TOP_LINES_AROUND : 1;
	const size_t back = key == TOP_PAGE_UP ? page : 1;

	switch (key) {
	case TOP_UP: case 'k': case TOP_PAGE_UP: v->first -= v->first < back ? v->first : back; break;
	case TOP_DOWN: case 'j': v->first++; break;
	case TOP_PAGE_DOWN: v->first += page; break;
	case TOP_HOME: v->first = 0; break;
	case TOP_END: v->first = SIZE_MAX; break;
	}
}

/* False: quit. */
static bool handle_key(struct top_view *v, int key)
{
	if (key == TOP_QUIT)
		return false;
	if (v->typing) {
		edit_filter(v, key);
		return true;
	}
	if (key == 's')
		v->order = (v->order + 1) % TOP_ORDERS;
	else if (key == 'f')
		v->typing = true;
	else if (key == ' ')
		v->paused = !v->paused;
	else if (key == '?')
		v->help = !v->help;
	else if (key == 't')
		v->by = (v->by + 1) % STAT_BYS;
	else
		scroll(v, key);
	return key != 'q' && key != 'Q';
}

/* Draw and handle keys until the next page is due. False: quit. */
static bool print_page(struct stat_snapshot *s, struct top_view *v)
{
	const double due_s = seconds_now(CLOCK_MONOTONIC) + v->interval_s;
	int key = TOP_REDRAW;

	do {
		draw(s, v);
		key = top_screen_key(v->paused ? 3600 : due_s - seconds_now(CLOCK_MONOTONIC));
		if (key != TOP_TIMEOUT && key != TOP_REDRAW && !handle_key(v, key))
			return false;
	} while (v->paused || key != TOP_TIMEOUT);
	return true;
}

/* The second page follows soon, since the first has no rates. */
static int run_screen(struct request *rq)
{
	const double interval_s = rq->view.interval_s;
	struct stat_snapshot last, s = { 0 };
	unsigned shown = 0;
	bool more = true;

	rq->view.colour = terminal_has_colour(stdout);
	stat_read(&last, 0);
	seconds_sleep(interval_s < 0.2 ? interval_s : 0.2);
	while (more && stat_read_increase(&s, &last)) {
		shown++;
		more = print_page(&s, &rq->view) && shown != rq->count;
		stat_free(&s);
	}
	stat_free(&s);
	stat_free(&last);
	top_screen_close();
	return EXIT_OK;
}

static bool print_json(struct stat_snapshot *s, const struct top_view *v)
{
	if (top_select(s, v))
		return false;
	stat_json(s, true, stdout);
	return true;
}

static int print_pages(struct request *rq)
{
	struct stat_snapshot last, s = { 0 };
	bool ok = true;

	rq->view.columns = 80;
	stat_read(&last, 0);
	for (unsigned n = 0; ok && n < (rq->count ? rq->count : 1); n++) {
		seconds_sleep(rq->view.interval_s);
		ok = stat_read_increase(&s, &last);
		if (ok && rq->view.by == STAT_BY_TENANT)
			ok = stat_require_tenants("top", &s);
		if (n && !rq->json)
			putchar('\n');
		if (ok && rq->json)
			ok = print_json(&s, &rq->view);
		else if (ok)
			top_page(&s, &rq->view, stdout);
		ok = ok && fflush(stdout) == 0 && !ferror(stdout);
		stat_free(&s);
	}
	stat_free(&last);
	return ok ? EXIT_OK : EXIT_FAILED;
}

/* -- options ----------------------------------------------------------------------------------- */

static int parse_order(const char *cmd, void *order, const struct option_row *row)
{
	struct ccs_suggestion near = ccs_suggest_for(optarg);
	char hint[96];
	const enum top_order found = top_order_of(optarg);

	(void)row;
	*(enum top_order *)order = found;
	if (found < TOP_ORDERS)
		return 0;
	for (unsigned i = 0; i < TOP_ORDERS; i++)
		ccs_suggest_offer(&near, top_orders[i]);
	tool_error(cmd, "--sort: there is no order '%s'%s", optarg, near.best
		   ? ccs_suggest_hint(&near, hint, sizeof(hint))
		   : "; give gated, goodput, rate, rtt or program");
	return EXIT_USAGE;
}

static int parse_filter(const char *cmd, void *filter, const struct option_row *row)
{
	const size_t most = sizeof(((struct top_view *)0)->filter);

	(void)row;
	if ((size_t)snprintf(filter, most, "%s", optarg) < most)
		return 0;
	tool_error(cmd, "--filter: '%s' is longer than %zu bytes", optarg, most - 1);
	return EXIT_USAGE;
}

#define AT(member) .at = offsetof(struct request, member)

static const struct option_row options[] = {
	{ "interval", 'i', OPTION_NUMBER, AT(view.interval_s), .least = 0.01, .most = 3600 },
	{ "count", 'n', OPTION_COUNT, AT(count), .first = 1, .last = UINT_MAX },
	{ "sort", 0, OPTION_PARSE, AT(view.order), .call = parse_order },
	{ "filter", 0, OPTION_PARSE, AT(view.filter), .call = parse_filter },
	{ "by", 0, OPTION_PARSE, AT(view.by), .call = stat_parse_by },
	{ "json", 0, OPTION_FLAG, AT(json) },
	{ 0 }
};

int cmd_top(int argc, char **argv)
{
	struct request rq = { .view.interval_s = 1 };
	const int status = tool_options("top", print_help, options, &rq, argc, argv);

	if (status >= 0)
		return status;
	if (argv[optind])
		return tool_refuse_operand("top", argv[optind]);
	stat_warn_of_option("top");
	return !rq.json && top_screen_open() ? run_screen(&rq) : print_pages(&rq);
}
