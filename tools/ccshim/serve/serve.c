/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim serve: its command line. */
#include "serve.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/shared/options.h"

enum { PORT = 8470 };

static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	tool_error("serve", "standard output: %m");
	return EXIT_FAILED;
}

static int print_help(void)
{
	printf("usage: ccshim serve [OPTION...]\n\n"
	       "Serves a web page on this host with a live picture of the flows under congestion\n"
	       "control, what limits each, and the host agent's ports. A trace, a recording or a\n"
	       "report that is dropped onto the page is shown there and not sent anywhere. The\n"
	       "address of the page, which contains a secret, is printed. Ctrl-C ends it.\n\n"
	       "  --port N         TCP port; 0: any that is free                   [8470]\n"
	       "  --address ADDR   address to listen on              [127.0.0.1 and ::1]\n"
	       "  --metrics        answer GET /metrics, for Prometheus, without the secret:\n"
	       "                   other users then see the statistics\n"
	       "  -h, --help       this text\n\n"
	       "The status is 0 after SIGINT or SIGTERM; 1 if the port cannot be used; 2 for a\n"
	       "mistake in the options.\n");
	return flush_output();
}

/* -- options ----------------------------------------------------------------------------------- */

static int parse_address(const char *cmd, void *address, const struct option_row *row)
{
	(void)row;
	*(const char **)address = optarg;
	if (serve_is_loopback(optarg) >= 0)
		return 0;
	tool_error(cmd, "--address: '%s' is not an IPv4 or IPv6 address", optarg);
	return EXIT_USAGE;
}

static void warn_of_exposure(const struct serve *s)
{
	if (s->address && !serve_is_loopback(s->address))
		tool_error("serve", "warning: other hosts can connect to %s, and the traffic is not encrypted; "
			   "'ssh -L' is safer", s->address);
}

#define AT(member) .at = offsetof(struct serve, member)

static const struct option_row options[] = {
	{ "port", 0, OPTION_COUNT, AT(port), .last = 65535 },
	{ "address", 0, OPTION_PARSE, AT(address), .call = parse_address },
	{ "metrics", 0, OPTION_FLAG, AT(metrics) },
	{ 0 }
};

/* -- the address of the page ------------------------------------------------------------------- */

/* Browsers do not send the part after #; the page's script reads it. 0, or the exit status. */
static int print_address(const struct serve *s)
{
	const char *address = !s->address || strcmp(s->address, "0.0.0.0") == 0 ? "127.0.0.1"
		: strcmp(s->address, "::") == 0 ? "::1" : s->address;
	const bool v6 = strchr(address, ':');

	printf("http://%s%s%s:%u/#%s\n", v6 ? "[" : "", address, v6 ? "]" : "", s->port, s->token);
	return flush_output();
}

/* As ccshim executes it: the first argument is the path of ccshim, which is not used. */
int main(int argc, char **argv)
{
	struct serve s = { .port = PORT };
	int fd[SERVE_SOCKETS], status;
	unsigned n;

	if (argc < 2) {
		tool_error("serve", "run it as 'ccshim serve'");
		return EXIT_USAGE;
	}
	status = tool_options("serve", print_help, options, &s, argc - 1, argv + 1);
	if (status >= 0)
		return status;
	if (argv[1 + optind])
		return tool_refuse_operand("serve", argv[1 + optind]);
	warn_of_exposure(&s);
	if (!serve_http_present())
		return EXIT_FAILED;
	ccs_options_load_as("ccshim", &s.options, tool_complain, (void *)"serve");
	if (serve_make_token(s.token)) {
		tool_error("serve", "the kernel gives no random numbers: %m");
		return EXIT_FAILED;
	}
	stat_warn_of_option("serve");
	n = serve_listen(&s, fd);
	if (!n)
		return EXIT_FAILED;
	if (print_address(&s))
		return EXIT_FAILED;
	serve_data_start(&s);
	status = serve_http(&s, fd, n);
	serve_data_end(&s);
	return status;
}
