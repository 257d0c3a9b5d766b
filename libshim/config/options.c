/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/options.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "config/filename.h"
#include "config/impair.h"
#include "config/plugin.h"
#include "feedback/ipc.h"

const char *const ccs_mode_names[] = { "off", "observe", "enforce", NULL };
static const char *const deepbinds[] = { "clear", "keep", NULL };
static const char *const fallbacks[] = { "auto", "timely", "swift", "hold", "open", NULL };
static const char *const levels[] = { "error", "warn", "info", "debug", NULL };

int ccs_dscp(const char *text)
{
	unsigned dscp;

	return strlen(text) > 2 || ccs_parse_digits(text, 63, &dscp) ? -1 : (int)dscp;
}

static int check_dscp(const char *text, char *err, size_t errlen)
{
	if (ccs_dscp(text) >= 0 || strcmp(text, "keep") == 0)
		return 0;
	return ccs_refuse(err, errlen, "'%s' is neither keep nor a number from 0 to 63", text);
}

static int check_agent(const char *text, char *err, size_t errlen)
{
	if (*text == '/' || strcmp(text, "off") == 0)
		return 0;
	return ccs_refuse(err, errlen, "'%s' is neither off nor a path that begins with /", text);
}

static int check_stats_dir(const char *text, char *err, size_t errlen)
{
	if (!*text || *text == '/')
		return 0;
	return ccs_refuse(err, errlen, "'%s' is not a path that begins with /", text);
}

/* The member of struct ccs_options and its size. */
#define AT(member) \
	.offset = offsetof(struct ccs_options, member), \
	.size = sizeof(((struct ccs_options *)0)->member)
#define QP_AT(member) AT(member), .per_qp = true

#define ESCAPES "Its name may have escapes such as %h, see FILE NAMES in ccshim.conf(5)."

const struct ccs_opt ccs_opt_table[] = {
	{ .name = "mode", .type = CCS_OPT_ENUM, .def = "enforce", .choices = ccs_mode_names, QP_AT(mode),
	  .doc = "What the shim does: nothing (off), measure and count only (observe), or "
		 "also pace traffic to the algorithm's rate (enforce). Use observe to see "
		 "what would be measured without changing the traffic." },
	{ .name = "cc", .type = CCS_OPT_STRING, .def = CCS_CC_AUTO, .check = ccs_check_cc, QP_AT(cc),
	  .doc = "Congestion-control algorithm and its parameters, as "
		 "NAME[:PARAM=VALUE,...]. 'ccshim info -a' lists them. A name that "
		 "contains a / is the path of a plug-in." },
	{ .name = "line_rate", .type = CCS_OPT_RATE, .def = "auto", .min = 1e3, .max = 1e15,
	  QP_AT(line_rate),
	  .doc = "Line rate of the port, from which algorithm parameters are derived. "
		 "Default: read from the port attributes or the network interface, or 10g "
		 "if neither is available. Set it where they are wrong, e.g. Soft-RoCE "
		 "over a shaped or virtual link." },
	{ .name = "max_rate", .type = CCS_OPT_RATE, .def = "inf", .min = 1e3, .max = INFINITY,
	  QP_AT(max_rate),
	  .doc = "Upper limit on the rate of each queue pair, whatever the algorithm "
		 "decides. Default: no limit." },
	{ .name = "base_rtt", .type = CCS_OPT_TIME, .def = "auto", .min = 1e-3, .max = 1e7,
	  QP_AT(base_rtt),
	  .doc = "Round-trip time of a segment through the unloaded network. Default: "
		 "measured. Set it if queue pairs never see the network unloaded." },
	{ .name = "rtt_jitter", .type = CCS_OPT_TIME, .def = "0", .min = 0, .max = 1e7,
	  QP_AT(rtt_jitter),
	  .doc = "Delay added by the end hosts (scheduling, interrupts), 95th percentile. "
		 "Delay up to this value is not treated as congestion. Set it if RTTs vary "
		 "widely on an idle network, as with software RDMA on few cores." },
	{ .name = "segment", .type = CCS_OPT_BYTES, .def = "auto", .min = 256, .max = 0x1p30,
	  QP_AT(segment),
	  .doc = "Segment size for splitting long WRITE and READ requests, so that RTT can "
		 "be sampled and pacing applied within a request. Default: the amount of "
		 "data the port transmits in 8 us, 4 to 64 KB; more on systems where "
		 "reading the clock is slow. A queue pair that is slower uses what it sends "
		 "in that time, but at least 16 KB, unless its algorithm needs RTTs alone." },
	{ .name = "max_inflight", .type = CCS_OPT_BYTES, .def = "auto", .min = 256, .max = INFINITY,
	  QP_AT(max_inflight),
	  .doc = "Maximum bytes in flight per queue pair. Default: one bandwidth-delay "
		 "product (base RTT plus rtt_jitter) and three segments; no limit for "
		 "algorithms that compute their window from RTTs. Set a megabyte or more "
		 "if the host is delayed for longer than that, as with software RDMA on "
		 "few cores." },
	{ .name = "split", .type = CCS_OPT_BOOL, .def = "y", QP_AT(split),
	  .doc = "Whether WRITE and READ requests are split into segments. With n, each "
		 "request is paced and timed as a whole." },
	{ .name = "split_imm", .type = CCS_OPT_BOOL, .def = "n", QP_AT(split_imm),
	  .doc = "Whether WRITE_WITH_IMM requests are split as well. The last segment then "
		 "carries the immediate data, and the receiver's completion reports the "
		 "length of that segment only. Requires split=y." },
	{ .name = "impair", .type = CCS_OPT_STRING, .def = "", .check = ccs_impair_check,
	  QP_AT(impair),
	  .doc = "Network conditions and failures that queue pairs are tested with, as ccshim-impair(1) "
		 "describes. Empty: none. Requires mode=enforce." },
	{ .name = "linger", .type = CCS_OPT_TIME, .def = "10ms", .min = 0, .max = 1e7,
	  QP_AT(linger),
	  .doc = "How long ibv_destroy_qp, ibv_modify_qp to ERR or RESET, and exit wait at most for "
		 "requests that were held back: these are posted at once, and waited for as "
		 "long as they have been held back, so that a program's last messages arrive. "
		 "With 0, they are lost." },
	{ .name = "hw_timestamps", .type = CCS_OPT_BOOL, .def = "y", AT(hw_timestamps),
	  .doc = "Whether RTTs are measured with the completion timestamps of devices that "
		 "have them. Set n to compare, or if a device's clock is faulty; completions "
		 "then occur when the application polls them." },
	{ .name = "deepbind", .type = CCS_OPT_ENUM, .def = "clear", .choices = deepbinds,
	  AT(deepbind),
	  .doc = "What is done with RTLD_DEEPBIND when the application opens a module that "
		 "uses libibverbs with this flag. clear: the flag is removed, so that the "
		 "module's traffic is controlled. keep: for a module that needs the flag; "
		 "its traffic is uncontrolled." },
	{ .name = "agent", .type = CCS_OPT_STRING, .def = CCS_IPC_SOCKET, .check = check_agent,
	  AT(agent),
	  .doc = "Socket of the host agent, which provides the feedback other than RTTs "
		 "that an algorithm needs (CNPs, telemetry, advised rates). With off no "
		 "agent is contacted, and such an algorithm runs without this feedback." },
	{ .name = "fallback", .type = CCS_OPT_ENUM, .def = "auto", .choices = fallbacks,
	  QP_AT(fallback),
	  .doc = "Algorithm used while the feedback that cc needs is unavailable: timely "
		 "or swift with default parameters, hold (keep the last rate) or open (no "
		 "control). auto: swift for telemetry, copa for advised rates, timely for "
		 "CNPs. cc is used again once feedback arrives." },
	{ .name = "dscp", .type = CCS_OPT_STRING, .def = "keep", .check = check_dscp, QP_AT(dscp),
	  .doc = "DSCP of the packets of controlled queue pairs, 0 to 63, where mode is "
		 "enforce. Switches select a queue by it. Default: keep, the value that "
		 "the application asked for." },
	{ .name = "log_level", .type = CCS_OPT_ENUM, .def = "warn", .choices = levels,
	  AT(log_level),
	  .doc = "Least severe level of messages that are logged." },
	{ .name = "log_file", .type = CCS_OPT_STRING, .def = "", .check = ccs_filename_check,
	  AT(log_file),
	  .doc = "File to which messages are appended. Empty: stderr. What the file does not take "
		 "goes there, too. " ESCAPES },
	{ .name = "failures", .type = CCS_OPT_STRING, .def = "", .check = ccs_filename_check,
	  AT(failures),
	  .doc = "File to which the verdict on a queue pair that fails is written as JSON, with its "
		 "last second and the other queue pairs to the same peer; at the end of the process "
		 "also without a failure, for 'ccshim doctor FILE...'. Empty: none, and the verdict is "
		 "logged only. " ESCAPES },
	{ .name = "report", .type = CCS_OPT_STRING, .def = "", .check = ccs_filename_check,
	  AT(report),
	  .doc = "File to which a summary is written as JSON when the process ends. Empty: "
		 "none. " ESCAPES },
	{ .name = "stats", .type = CCS_OPT_BOOL, .def = "y", AT(stats),
	  .doc = "Whether the process publishes its statistics for 'ccshim stat', in a "
		 "file in shared memory that is removed when the process ends." },
	{ .name = "stats_dir", .type = CCS_OPT_STRING, .def = "", .check = check_stats_dir,
	  AT(stats_dir),
	  .doc = "Directory that contains the directories of statistics files, one for each "
		 "user, as an absolute path; for processes in containers one that is bound "
		 "from the host. It belongs to the only user or has the sticky bit, as /tmp "
		 "has; if it cannot be used, the default is, with a warning. Empty: see "
		 "FILES in libccshim(7)." },
	{ .name = "trace", .type = CCS_OPT_STRING, .def = "", .check = ccs_filename_check,
	  AT(trace),
	  .doc = "File in which the events that the algorithm of each queue pair receives "
		 "and its decisions are recorded, as CSV for 'ccshim replay'. Empty: none. "
		 ESCAPES },
	{ .name = "trace_size", .type = CCS_OPT_BYTES, .def = "64m", .min = 4096, .max = INFINITY,
	  AT(trace_size),
	  .doc = "Maximum size of the trace file; later events are not recorded." },
};

const size_t ccs_opt_count = sizeof(ccs_opt_table) / sizeof(*ccs_opt_table);
_Static_assert(sizeof(ccs_opt_table) / sizeof(*ccs_opt_table) <= CCS_OPT_MAX, "raise CCS_OPT_MAX");

static const struct number_type {
	enum ccs_unit unit;
	const char *name, *example;
} numbers[] = {
	[CCS_OPT_RATE] = { CCS_UNIT_RATE, "rate", "10g or 400mbit (bits per second)" },
	[CCS_OPT_BYTES] = { CCS_UNIT_BYTES, "size", "64k or 1m" },
	[CCS_OPT_TIME] = { CCS_UNIT_TIME, "time", "50us or 1ms" },
};

static bool takes_auto(const struct ccs_opt *opt)
{
	return strcmp(opt->def, "auto") == 0;
}

const struct ccs_opt *ccs_opt_find(const char *name)
{
	for (size_t i = 0; i < ccs_opt_count; i++)
		if (strcmp(ccs_opt_table[i].name, name) == 0)
			return &ccs_opt_table[i];
	return NULL;
}

char *ccs_opt_variable(const struct ccs_opt *opt, char *buf, size_t len)
{
	const int n = snprintf(buf, len, "CCSHIM_%s", opt->name);

	for (int i = 0; i < n && i < (int)len; i++)
		if (buf[i] >= 'a' && buf[i] <= 'z')
			buf[i] = (char)(buf[i] - 'a' + 'A');
	return buf;
}

static char *join(const char *const *words, char *buf, size_t len)
{
	buf[0] = '\0';
	for (; *words; words++)
		ccs_append(buf, len, "%s%s", *buf ? "|" : "", *words);
	return buf;
}

/* The range of a numeric option, as text. */
static char *format_range(const struct ccs_opt *opt, char *buf, size_t len)
{
	const enum ccs_unit unit = numbers[opt->type].unit;
	char min[CCS_UNIT_LEN], max[CCS_UNIT_LEN];

	snprintf(buf, len, "%s to %s%s", ccs_format_unit(opt->min, unit, min, sizeof(min)),
		 ccs_format_unit(opt->max, unit, max, sizeof(max)),
		 takes_auto(opt) ? ", or auto" : "");
	return buf;
}

char *ccs_opt_values(const struct ccs_opt *opt, char *buf, size_t len)
{
	char range[100];

	switch (opt->type) {
	case CCS_OPT_BOOL:
		snprintf(buf, len, "y|n");
		return buf;
	case CCS_OPT_ENUM:
		return join(opt->choices, buf, len);
	case CCS_OPT_STRING:
		snprintf(buf, len, "text");
		return buf;
	default:
		snprintf(buf, len, "%s, %s", numbers[opt->type].name,
			 format_range(opt, range, sizeof(range)));
		return buf;
	}
}

static int parse_bool(const char *text, void *at)
{
	static const char *const words[] = { "n", "y", "no", "yes", "off", "on", "false", "true",
					     "0", "1" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(text, words[i]) == 0) {
			*(bool *)at = i % 2;
			return 0;
		}
	return -1;
}

static int parse_enum(const struct ccs_opt *opt, const char *text, void *at, char *err, size_t len)
{
	struct ccs_suggestion near = ccs_suggest_for(text);
	char choices[128], hint[96];

	for (int i = 0; opt->choices[i]; i++) {
		if (strcasecmp(text, opt->choices[i]) == 0) {
			*(int *)at = i;
			return 0;
		}
		ccs_suggest_offer(&near, opt->choices[i]);
	}
	return ccs_refuse(err, len, "'%s' is not one of %s%s", text,
			  join(opt->choices, choices, sizeof(choices)),
			  ccs_suggest_hint(&near, hint, sizeof(hint)));
}

static int parse_string(const struct ccs_opt *opt, const char *text, void *at, char *err,
			size_t len)
{
	if (strlen(text) >= opt->size)
		return ccs_refuse(err, len, "'%.32s...' is longer than %zu bytes", text,
				  opt->size - 1);
	/* Logs and configuration files cannot contain control characters. */
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return ccs_refuse(err, len,
					  "'%.*s' is followed by a control character; remove it",
					  (int)(p - text), text);
	if (opt->check && opt->check(text, err, len))
		return -1;
	memset(at, 0, opt->size); /* so that equal options are equal bytes */
	strcpy(at, text);
	return 0;
}

static int parse_number(const struct ccs_opt *opt, const char *text, void *at, char *err,
			size_t len)
{
	const struct number_type *type = &numbers[opt->type];
	char range[128];
	double value;

	if (takes_auto(opt) && strcasecmp(text, "auto") == 0) {
		*(double *)at = 0;
		return 0;
	}
	if (ccs_parse_unit(text, type->unit, &value))
		return ccs_refuse(err, len, "'%s' is not a %s such as %s; allowed: %s", text,
				  type->name, type->example,
				  format_range(opt, range, sizeof(range)));
	if (value < opt->min || value > opt->max)
		return ccs_refuse(err, len, "'%s' is out of range; allowed: %s", text,
				  format_range(opt, range, sizeof(range)));
	*(double *)at = value;
	return 0;
}

int ccs_opt_set(struct ccs_options *o, const struct ccs_opt *opt, const char *text, char *err,
		size_t errlen)
{
	void *at = (char *)o + opt->offset;

	switch (opt->type) {
	case CCS_OPT_BOOL:
		if (parse_bool(text, at) == 0)
			return 0;
		return ccs_refuse(err, errlen, "'%s' is neither y nor n", text);
	case CCS_OPT_ENUM:
		return parse_enum(opt, text, at, err, errlen);
	case CCS_OPT_STRING:
		return parse_string(opt, text, at, err, errlen);
	default:
		return parse_number(opt, text, at, err, errlen);
	}
}

int ccs_options_set(struct ccs_options *o, const char *name, const char *text, char *err,
		    size_t errlen)
{
	const struct ccs_opt *opt = ccs_opt_find(name);
	struct ccs_suggestion near = ccs_suggest_for(name);
	char why[512], hint[96];

	if (opt) {
		if (ccs_opt_set(o, opt, text, why, sizeof(why)) == 0)
			return 0;
		return ccs_refuse(err, errlen, "%s: %s", name, why);
	}
	for (size_t i = 0; i < ccs_opt_count; i++)
		ccs_suggest_offer(&near, ccs_opt_table[i].name);
	return ccs_refuse(err, errlen, "there is no option '%s'%s", name, near.best
			  ? ccs_suggest_hint(&near, hint, sizeof(hint)) : "; see ccshim.conf(5)");
}

void ccs_options_default(struct ccs_options *o)
{
	char err[8];

	memset(o, 0, sizeof(*o));
	for (size_t i = 0; i < ccs_opt_count; i++)
		ccs_opt_set(o, &ccs_opt_table[i], ccs_opt_table[i].def, err, sizeof(err));
}

const struct ccs_opt *ccs_options_conflict(const struct ccs_options *o, char *err, size_t errlen)
{
	char segment[CCS_UNIT_LEN];

	if (o->split_imm && !o->split) {
		snprintf(err, errlen, "y requires split=y");
		return ccs_opt_find("split_imm");
	}
	if (*o->impair && o->mode != CCS_MODE_ENFORCE) {
		snprintf(err, errlen, "it requires mode=enforce");
		return ccs_opt_find("impair");
	}
	if (o->max_inflight > 0 && o->max_inflight < o->segment) {
		snprintf(err, errlen, "it is smaller than one segment of %s; raise it or lower segment",
			 ccs_format_unit(o->segment, CCS_UNIT_BYTES, segment, sizeof(segment)));
		return ccs_opt_find("max_inflight");
	}
	return NULL;
}

char *ccs_options_format(const struct ccs_options *o, const struct ccs_opt *opt, char *buf,
			 size_t len)
{
	const void *at = (const char *)o + opt->offset;

	switch (opt->type) {
	case CCS_OPT_BOOL:
		snprintf(buf, len, "%s", *(const bool *)at ? "y" : "n");
		return buf;
	case CCS_OPT_ENUM:
		snprintf(buf, len, "%s", opt->choices[*(const int *)at]);
		return buf;
	case CCS_OPT_STRING:
		snprintf(buf, len, "%s", (const char *)at);
		return buf;
	default:
		if (takes_auto(opt) && *(const double *)at == 0)
			snprintf(buf, len, "auto");
		else
			ccs_format_unit(*(const double *)at, numbers[opt->type].unit, buf, len);
		return buf;
	}
}
