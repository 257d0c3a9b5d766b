/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim serve: its command line. */
#include "serve.h"

#include <stdio.h>
#include <string.h>

#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/stat/stat.h"
#include "tools/common/next_option.h"

enum { OPT_PORT = 256, OPT_ADDRESS, OPT_METRICS, PORT = 8470 };

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
	return EXIT_OK;
}

/* -- options ----------------------------------------------------------------------------------- */

static bool read_address(struct serve *s)
{
	s->address = optarg;
	if (serve_is_loopback(optarg) >= 0)
		return true;
	tool_error("serve", "--address: '%s' is not an IPv4 or IPv6 address", optarg);
	return false;
}

static void warn_of_exposure(const struct serve *s)
{
	if (s->address && !serve_is_loopback(s->address))
		tool_error("serve", "warning: other hosts can connect to %s, and the traffic is not encrypted; "
			   "'ssh -L' is safer", s->address);
}

static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_OK;
	tool_error("serve", "standard output: %m");
	return EXIT_FAILED;
}

/* 0, or the exit status plus 1. */
static int read_options(struct serve *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "port", required_argument, NULL, OPT_PORT },
		{ "address", required_argument, NULL, OPT_ADDRESS },
		{ "metrics", no_argument, NULL, OPT_METRICS },
		{ 0 }
	};
	unsigned long port = s->port;
	bool ok = true;
	int c;

	while ((c = next_option(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'h': print_help(); return flush_output() + 1;
		case OPT_PORT: ok &= tool_parse_count("serve", "--port", optarg, 0, 65535, &port); break;
		case OPT_ADDRESS: ok &= read_address(s); break;
		case OPT_METRICS: s->metrics = true; break;
		default: ok = false;
		}
	}
	s->port = (unsigned)port;
	if (ok && argv[optind])
		tool_error("serve", "unexpected argument '%s'", argv[optind]);
	if (!ok || argv[optind])
		return tool_usage_error("serve") + 1;
	warn_of_exposure(s);
	return 0;
}

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
	argv[1] = (char *)"ccshim serve"; /* the prefix of getopt's messages */
	status = read_options(&s, argc - 1, argv + 1);
	if (status)
		return status - 1;
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
