/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim plot: draws a picture of recorded flows. */
#include "plot.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/suggest.h"
#include "base/sysfs.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/options.h"
#include "tools/common/gnuplot.h"

static int print_help(void)
{
	printf("usage: ccshim plot [OPTION...] FILE...\n\n"
	       "Draws with gnuplot, for each flow in traces (option trace) or in recordings of\n"
	       "'ccshim stat -i SECONDS --json', over time: rate, RTT, bytes in flight, the\n"
	       "longest queue on its path, CNPs; for each run in results of ccbench: goodput\n"
	       "and queue.\n\n"
	       "  --output FILE      the picture, .png or .svg   [the first FILE's name, .png];\n"
	       "                     .json: all values and flows for Perfetto or Chrome instead\n"
	       "  --cdf WHAT         the distribution of rtt, rate, inflight or queue instead\n"
	       "  --flows N          maximum number of flows, the busiest ones       [%d]\n"
	       "  --qp N             only this queue pair\n"
	       "  --dry-run          print the commands for gnuplot, and draw nothing\n"
	       "  -h, --help         this text\n", GNUPLOT_COLORS);
	return EXIT_OK;
}

static int parse_cdf(const char *cmd, void *member, const struct option_row *row)
{
	struct ccs_suggestion near = ccs_suggest_for(optarg);
	int *cdf = member;
	char hint[96];

	(void)row;
	for (unsigned i = 0; i < PLOT_CNPS; i++) { /* a count has no distribution */
		ccs_suggest_offer(&near, plot_words[i]);
		if (strcmp(plot_words[i], optarg) == 0)
			*cdf = (int)i;
	}
	if (*cdf >= 0)
		return 0;
	return tool_refuse(cmd, "--cdf: there is no '%s'%s", optarg, ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int parse_out(const char *cmd, void *member, const struct option_row *row)
{
	static struct ccs_json json;
	struct plot *p = member;

	(void)row;
	p->out = optarg;
	p->json = plot_is_export(optarg) ? &json : NULL;
	if (p->json || gnuplot_can_write(optarg))
		return 0;
	return tool_refuse(cmd, "--output: '%s' does not end in .png, .svg or .json", optarg);
}

#define AT(member) .at = offsetof(struct plot, member)

static const struct option_row options[] = {
	{ "output", 0, OPTION_PARSE, .call = parse_out },
	{ "dry-run", 0, OPTION_FLAG, AT(script) },
	{ "cdf", 0, OPTION_PARSE, AT(cdf), .call = parse_cdf },
	{ "flows", 0, OPTION_COUNT, AT(most), .first = 1, .last = 64, .with = "!qp" },
	{ "qp", 0, OPTION_COUNT, AT(qp), .last = PLOT_ANY_QP - 1 },
	{ 0 }
};

/* trace.csv becomes trace.png. */
static void name_picture(struct plot *p, const char *first)
{
	static char name[PATH_MAX];
	const char *base = strrchr(first, '/'), *dot = strrchr(base ? base : first, '.');
	const size_t len = dot && dot > (base ? base + 1 : first) ? (size_t)(dot - first)
								  : strlen(first);

	snprintf(name, sizeof(name), "%.*s.png", (int)len, first);
	p->out = name;
}

/* Files are read twice, so must be regular, and must not be the picture. */
static int check_file(const struct plot *p, const char *file)
{
	struct stat st, out;

	if (stat(file, &st)) {
		tool_error("plot", "%s: %m", file);
	} else if (!S_ISREG(st.st_mode)) {
		tool_error("plot", "%s: not a regular file, which is needed since it is read twice", file);
	} else if (!p->script && stat(p->out, &out) == 0 && out.st_dev == st.st_dev &&
		   out.st_ino == st.st_ino) {
		tool_error("plot", "the picture would replace %s: name another file with --output", file);
	} else {
		return 0;
	}
	return -1;
}

static plot_reader *find_reader(const char *file)
{
	char start[4096];

	ccs_read_file(file, start, sizeof(start));
	if (start[strspn(start, " \t\r\n")] != '{')
		return plot_read_trace;
	return strstr(start, "\"runs\"") ? plot_read_bench : plot_read_stat;
}

static int read_all(struct plot *p, char **files)
{
	plot_reader *const read = find_reader(files[0]);

	for (unsigned i = 0; files[i]; i++) {
		if (find_reader(files[i]) != read) {
			tool_error("plot", "traces, recordings of 'ccshim stat' and results of ccbench "
				   "have no common time line: draw them separately");
			return -1;
		}
		if (read(p, i, files[i]))
			return -1;
	}
	return 0;
}

static void name_flows(struct plot *p, char **files)
{
	for (unsigned i = 0; i < p->n; i++) {
		struct plot_flow *flow = p->flow[i];

		if (!*flow->label)
			snprintf(flow->label, sizeof(flow->label), "QP %" PRIu32, (uint32_t)flow->id);
		snprintf(flow->name, sizeof(flow->name), "%.40s%s%s%s%s%s",
			 files[1] && !p->json ? basename(files[flow->source]) : "",
			 files[1] && !p->json ? " " : "", p->json ? "" : flow->owner, flow->label,
			 *flow->peer ? " to " : "", flow->peer);
		if (!flow->process[strspn(flow->process, " ")])
			snprintf(flow->process, sizeof(flow->process), "%.150s",
				 basename(files[flow->source]));
	}
}

static int select_flows(struct plot *p)
{
	const unsigned shown = plot_choose(p);

	if (!p->n)
		tool_error("plot", "there are no events to draw: nothing was recorded of a queue pair that "
			   "ccshim controls; 'ccshim check COMMAND' names reasons, 'ccshim stat' has them");
	else if (!shown)
		tool_error("plot", "there is no QP %" PRIu32, p->qp);
	else if (shown < p->n && p->qp == PLOT_ANY_QP)
		tool_error("plot", "of %u flows the %u busiest are drawn; --flows and --qp select others",
			   p->n, shown);
	return shown ? 0 : -1;
}

static int draw_picture(const struct plot *p)
{
	FILE *script = p->script ? stdout : gnuplot_script();
	char err[PATH_MAX + 256];
	int rc;

	if (!script) {
		tool_error("plot", "%m");
		return -1;
	}
	rc = plot_draw(p, script);
	if (rc)
		tool_error("plot", "there are no values of that kind");
	if (!rc && !p->script && (rc = gnuplot_draw(script, p->out, err, sizeof(err))))
		tool_error("plot", "no picture: %s", err);
	if (!p->script)
		fclose(script);
	return rc;
}

static int export_values(struct plot *p, char **files)
{
	struct new_file to;
	int rc, error;

	if (!new_file_open(&to, p->out, 0666)) {
		tool_error("plot", "%s: %m", p->out);
		return -1;
	}
	ccs_json_start_line(p->json, to.file);
	plot_export_begin(p);
	rc = read_all(p, files);
	error = rc ? ECANCELED : ccs_json_finish(p->json) ? 0 : errno;
	error = new_file_close(&to, error);
	if (error && !rc)
		tool_error("plot", "%s: %s", p->out, strerror(error));
	return error ? -1 : 0;
}

static int plot(struct plot *p, char **files)
{
	for (unsigned i = 0; files[i]; i++)
		if (check_file(p, files[i]))
			return -1;
	if (read_all(p, files) || select_flows(p))
		return -1;
	name_flows(p, files);
	p->values = true;
	if (p->json)
		return export_values(p, files);
	return read_all(p, files) || draw_picture(p) ? -1 : 0;
}

int cmd_plot(int argc, char **argv)
{
	struct plot p = { .cdf = -1, .qp = PLOT_ANY_QP, .t0 = INFINITY,
			  .span = { [PLOT_RTT].first = INFINITY, [PLOT_INFLIGHT].first = INFINITY } };
	const int status = tool_options("plot", print_help, options, &p, argc, argv);
	int rc;

	if (status >= 0)
		return status;
	if (optind == argc || (p.json && (p.cdf >= 0 || p.script)))
		return tool_refuse_usage("plot", optind == argc ? "FILE is missing: give a trace or a recording"
					 : "--cdf and --dry-run are for pictures, not for a .json file");
	if (!p.most)
		p.most = p.json ? UINT_MAX : GNUPLOT_COLORS;
	snprintf(p.title, sizeof(p.title), argc - optind > 1 ? "%.200s and %d more" : "%.200s",
		 argv[optind], argc - optind - 1);
	if (!p.out)
		name_picture(&p, argv[optind]);
	rc = plot(&p, argv + optind);
	plot_free(&p);
	return rc ? EXIT_FAILED : EXIT_OK;
}
