/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ccshim check: finds the reasons why a command could not be controlled on this host. Prints a line
 * for each check. It runs no command and changes no setting.
 */
#include "check.h"

#include <dlfcn.h>
#include <getopt.h>
#include <string.h>

#include "cc/cc.h"
#include "config/plugin.h"
#include "tools/ccshim/run/run.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/preload.h"

static int print_help(void)
{
	printf("usage: ccshim check [-a ALG] [-m MODE] [-o NAME=VALUE] [-c FILE] [--json]\n"
	       "                    [--root DIR] [--] [COMMAND [ARG...]]\n"
	       "       ccshim check --fabric [--priority N] [--json] [--root DIR]\n\n"
	       "Checks whether COMMAND can be run under congestion control here, and prints\n"
	       "remedies if not. COMMAND is only read, never run.\n\n"
	       "  -a, --cc; -r, --max-rate; -m, --mode; -t, --trace; -o, --option; -c, --config\n"
	       "              as of 'ccshim run'\n"
	       "  --fabric    check instead how the interfaces of RoCE devices are set up:\n"
	       "              MTU, PFC, trust, ECN, CNPs' DSCP\n"
	       "  --priority N  the priority of RDMA traffic there (3)\n"
	       "  --json      JSON\n"
	       "  --root DIR  check the devices in DIR/sys and DIR/dev\n"
	       "  -h, --help  this text\n\n"
	       "The status is 0 if no check failed, 1 if one did, 2 for a usage error.\n");
	return EXIT_OK;
}

/* The file that defines a symbol. */
static const char *file_of(void *symbol)
{
	Dl_info where;

	return symbol && dladdr(symbol, &where) ? where.dli_fname : "?";
}

static void check_library(struct check *c)
{
	char path[PATH_MAX], err[PATH_MAX + 128];
	void *handle, *hook;

	if (preload_find(path, sizeof(path), err, sizeof(err))) {
		check_report(c, CHECK_FAIL, "library", "install it, or set CCSHIM_LIB to its path",
			  "%s", err);
		return;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	hook = handle ? dlvsym(handle, "ibv_open_device", "IBVERBS_1.1") : NULL;
	if (!hook)
		check_report(c, CHECK_FAIL, "library", "build it against the libibverbs of this host",
			  "%s cannot be loaded: %s", path, dlerror());
	else
		check_report(c, CHECK_OK, "library", NULL, "%s, before %s", path,
			  file_of(dlvsym(RTLD_DEFAULT, "ibv_get_device_list", "IBVERBS_1.1")));
}

static void report_mistake(void *arg, const char *sentence)
{
	check_report(arg, CHECK_FAIL, "config", NULL, "%s", sentence);
}

/* Whether the feedback that the algorithm requires is available. */
static void check_feedback(struct check *c, const struct ccs_cc_ops *ops,
			  const struct ccs_options *o)
{
	const unsigned agents = CCS_NEEDS_CNP | CCS_NEEDS_TELEMETRY | CCS_NEEDS_ADVICE;

	if (ccs_cc_is_auto(o->cc))
		check_report(c, CHECK_OK, "agent", NULL, "auto uses an agent if one runs");
	else if (ops->needs & agents)
		check_agent(c, o);
	else
		check_report(c, CHECK_OK, "agent", NULL, "not needed for %s", ops->name);
}

static void check_configuration(struct check *c)
{
	struct ccs_options o;
	struct ccs_cc_spec spec;
	char err[1024];
	int wrong;

	wrong = ccs_options_load_as(*c->program ? c->program : "ccshim", &o, report_mistake, c);
	if (ccs_spec_parse(&spec, o.cc, err, sizeof(err))) {
		check_report(c, CHECK_FAIL, "config", "'ccshim info -a' lists the algorithms",
			  "cc: %s", err);
		return;
	}
	if (o.mode == CCS_MODE_OFF)
		check_report(c, CHECK_WARN, "config", "set mode=enforce", "mode=off: no traffic is controlled");
	else if (!wrong)
		check_report(c, CHECK_OK, "config", NULL, "mode=%s, cc=%s",
			  o.mode == CCS_MODE_OBSERVE ? "observe" : "enforce", o.cc);
	check_feedback(c, spec.ops, &o);
}

static void check_all(struct check *c, char *const *argv)
{
	if (c->fabric) {
		check_fabric(c);
		return;
	}
	check_library(c);
	if (*argv)
		check_command(c, argv);
	check_devices(c);
	check_configuration(c);
}

static void print_verdict(const struct check *c, const char *command)
{
	static const char *const sentences[] = {
		"can be controlled here", "can be controlled here, but for the warnings",
		"cannot be controlled here: see what failed",
	};

	printf("%s: %s %s\n", check_verdicts[c->worst], command ? command : "a command", sentences[c->worst]);
}

static int run_checks(struct check *c, char *const *argv)
{
	check_all(c, argv);
	if (!c->json && !c->fabric)
		print_verdict(c, *argv);
	return c->worst == CHECK_FAIL ? EXIT_FAILED : EXIT_OK;
}

static int run_checks_json(struct check *c, char *const *argv)
{
	struct ccs_json j;
	int status;

	c->json = &j;
	ccs_document_start(&j, stdout, ccs_document_now());
	ccs_json_str(&j, "command", *argv);
	ccs_json_array(&j, "checks");
	status = run_checks(c, argv);
	ccs_json_end(&j);
	ccs_json_str(&j, "status", check_verdicts[c->worst]);
	return ccs_json_finish(&j) ? status : EXIT_FAILED;
}

struct request {
	struct check check;
	struct run_options options;
	bool json;
};

#define AT(member) .at = offsetof(struct request, member)

static const struct option_row options[] = {
	RUN_OPTIONS(offsetof(struct request, options)),
	{ "json", 0, OPTION_FLAG, AT(json) },
	{ "root", 0, OPTION_TEXT, AT(check.root) },
	{ "fabric", 0, OPTION_FLAG, AT(check.fabric) },
	{ "priority", 0, OPTION_COUNT, AT(check.priority), .last = 7, .with = "fabric" },
	{ .kind = OPTION_COMMAND }
};

int cmd_check(int argc, char **argv)
{
	struct request rq = { .check = { .root = "", .priority = 3 } };
	int status;

	ccs_options_default(&rq.options.scratch);
	status = tool_options("check", print_help, options, &rq, argc, argv);
	if (status >= 0)
		return status;
	argv += optind;
	if (rq.check.fabric && *argv)
		return tool_refuse_operand("check", *argv);
	if (run_options_export(&rq.options, "check"))
		return EXIT_FAILED;
	return rq.json ? run_checks_json(&rq.check, argv) : run_checks(&rq.check, argv);
}
