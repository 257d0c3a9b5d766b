/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshimd: the host agent as a process. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ccshimd.h"
#include "agent/host/kernel_qps.h"
#include "base/units.h"
#include "config/options.h"
#include "tools/common/ask_agent.h"
#include "tools/common/capabilities.h"
#include "tools/common/next_option.h"

enum { LIST = 64, SERVICE_FD = 3 };

struct ccshimd {
	struct ccs_agent_config config;
	const char *address[LIST], *switches[LIST];
	struct ccs_agent_capacity capacity[LIST];
	struct ccs_agent_publication publication[LIST];
	const char *key_file, *derive, *hosts, *tenants_file;
	struct tenants tenants;
	struct ccs_agent_auth auth;
	struct ccs_kernel_qps qps;
	int inherited[LIST];
	bool status;
};

static struct ccs_agent *volatile running;
static volatile sig_atomic_t ended, reload;

static void help(void)
{
	printf("usage: ccshimd [OPTION...]\n\n"
	       "The host agent: sends CNPs for congestion marks that arrive, and delivers CNPs of\n"
	       "other agents to the processes that run under ccshim. Measures links for senders\n"
	       "that request telemetry.\n\n"
	       "  --socket PATH      socket for processes of this host (%s)\n"
	       "  --port N           UDP port of all agents (%d)\n"
	       "  --interval TIME    least time between CNPs for a flow (50us)\n"
	       "  --dscp N           DSCP of messages to other agents, 0 to 63 (%d)\n"
	       "  --address ADDRESS  serve only this address; may be repeated (all)\n"
	       "  --no-capture       send no CNPs, only receive them; needs no privilege\n"
	       "  --key-file FILE    accept only agents that share a key; SIGHUP reloads it\n"
	       "  --derive ADDRESS   print the key file of the host at this address, with a key\n"
	       "                     for each pair of hosts, derived from the key in --key-file\n"
	       "  --hosts FILE       for --derive: a line for each host with its addresses\n"
	       "  --tenants FILE     configuration file with the tenants; SIGHUP reloads it\n"
	       "                     (" CCS_SYSTEM_FILE ")\n"
	       "  --verify HOW       kernel: a process may register only queue pairs that it\n"
	       "                     owns; none: any (kernel)\n"
	       "  --no-telemetry     do not measure links on which data arrive\n"
	       "  --capacity I=RATE  capacity of interface I (its speed)\n"
	       "  --switch ADDRESS   request this switch's records; may be repeated\n"
	       "  --publish PORT[,to=PREFIX][,from=PREFIX][,hop=N][,rate=RATE]\n"
	       "                     report this port's queue to receivers, as a switch\n"
	       "  --status           print the running agent's state as JSON\n"
	       "  -h, --help         print this text\n"
	       "  -V, --version      print the version\n",
	       CCS_IPC_SOCKET, CCS_WIRE_PORT, CCS_AGENT_DSCP);
}

static int wrong(const char *option, const char *value, const char *wanted)
{
	agent_error("--%s %s: expected %s", option, value, wanted);
	return -1;
}

static int set_number(const char *option, const char *text, long least, long most, long *value)
{
	char *end, wanted[64];

	*value = strtol(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *value >= least && *value <= most)
		return 0;
	snprintf(wanted, sizeof(wanted), "a whole number from %ld to %ld", least, most);
	return wrong(option, text, wanted);
}

static int set_port(struct ccshimd *d, const char *text)
{
	long value;

	if (set_number("port", text, 1, 65535, &value))
		return -1;
	d->config.port = (uint16_t)value;
	return 0;
}

static int set_dscp(struct ccshimd *d, const char *text)
{
	long value;

	if (set_number("dscp", text, 0, 63, &value))
		return -1;
	d->config.dscp = (uint8_t)value;
	return 0;
}

static int set_interval(struct ccshimd *d, const char *text)
{
	double us;

	if (ccs_parse_unit(text, CCS_UNIT_TIME, &us) || us > 1e6)
		return wrong("interval", text, "a time up to 1s, like 50us");
	d->config.interval_ns = (uint64_t)(us * 1e3);
	return 0;
}

static bool is_full(const char *option, const char *text, unsigned n)
{
	if (n == LIST)
		agent_error("--%s %s: there may be %d of them", option, text, LIST);
	return n == LIST;
}

static int append(const char *option, const char **list, unsigned *n, const char *text)
{
	if (is_full(option, text, *n))
		return -1;
	list[(*n)++] = text;
	return 0;
}

static int append_capacity(struct ccshimd *d, const char *text)
{
	const unsigned n = d->config.ncapacities;

	if (is_full("capacity", text, n) || parse_capacity(text, &d->capacity[n]))
		return -1;
	d->config.ncapacities++;
	return 0;
}

static int append_publication(struct ccshimd *d, const char *text)
{
	const unsigned n = d->config.npublications;

	if (is_full("publish", text, n) || parse_publication(text, &d->publication[n]))
		return -1;
	d->config.npublications++;
	return 0;
}

static int set_verify(struct ccshimd *d, const char *text)
{
	if (strcmp(text, "kernel") != 0 && strcmp(text, "none") != 0)
		return wrong("verify", text, "kernel or none");
	d->config.check_owner = strcmp(text, "kernel") == 0 ? ccs_kernel_qps_check_owner : NULL;
	d->config.check_qp = d->config.check_owner ? ccs_kernel_qps_check : NULL;
	d->config.count_qps = d->config.check_owner ? ccs_kernel_qps_count : NULL;
	return 0;
}

enum { OPT_SOCKET = 256, OPT_PORT, OPT_INTERVAL, OPT_DSCP, OPT_ADDRESS,
       OPT_NO_CAPTURE, OPT_KEY_FILE, OPT_VERIFY, OPT_NO_TELEMETRY, OPT_CAPACITY, OPT_SWITCH,
       OPT_PUBLISH, OPT_DERIVE, OPT_HOSTS, OPT_STATUS, OPT_TENANTS };

static const struct option options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "dscp", required_argument, NULL, OPT_DSCP },
	{ "address", required_argument, NULL, OPT_ADDRESS },
	{ "no-capture", no_argument, NULL, OPT_NO_CAPTURE },
	{ "key-file", required_argument, NULL, OPT_KEY_FILE },
	{ "derive", required_argument, NULL, OPT_DERIVE },
	{ "tenants", required_argument, NULL, OPT_TENANTS },
	{ "hosts", required_argument, NULL, OPT_HOSTS },
	{ "verify", required_argument, NULL, OPT_VERIFY },
	{ "no-telemetry", no_argument, NULL, OPT_NO_TELEMETRY },
	{ "capacity", required_argument, NULL, OPT_CAPACITY },
	{ "switch", required_argument, NULL, OPT_SWITCH },
	{ "publish", required_argument, NULL, OPT_PUBLISH },
	{ "status", no_argument, NULL, OPT_STATUS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static int parse_option(struct ccshimd *d, int option)
{
	switch (option) {
	case OPT_SOCKET: d->config.socket = optarg; return 0;
	case OPT_PORT: return set_port(d, optarg);
	case OPT_INTERVAL: return set_interval(d, optarg);
	case OPT_DSCP: return set_dscp(d, optarg);
	case OPT_ADDRESS: return append("address", d->address, &d->config.naddresses, optarg);
	case OPT_NO_CAPTURE: d->config.capture = false; return 0;
	case OPT_KEY_FILE: d->key_file = optarg; return 0;
	case OPT_DERIVE: d->derive = optarg; return 0;
	case OPT_HOSTS: d->hosts = optarg; return 0;
	case OPT_TENANTS: d->tenants_file = optarg; return 0;
	case OPT_VERIFY: return set_verify(d, optarg);
	case OPT_NO_TELEMETRY: d->config.telemetry = false; return 0;
	case OPT_CAPACITY: return append_capacity(d, optarg);
	case OPT_SWITCH: return append("switch", d->switches, &d->config.nswitches, optarg);
	case OPT_PUBLISH: return append_publication(d, optarg);
	case OPT_STATUS: d->status = true; return 0;
	case 'h':
		help();
		exit(agent_flush_stdout());
	case 'V':
		printf("ccshimd %s\n", PACKAGE_VERSION);
		exit(agent_flush_stdout());
	default:
		return -1;
	}
}

static int parse_options(struct ccshimd *d, int argc, char **argv)
{
	int option;

	while ((option = next_option(argc, argv, "hV", options, NULL)) >= 0)
		if (parse_option(d, option))
			return -1;
	if (optind < argc)
		agent_error("unexpected argument '%s'", argv[optind]);
	else if (d->hosts && !d->derive)
		agent_error("--hosts has no effect without --derive");
	else
		return 0;
	return -1;
}

/* -- the process ------------------------------------------------------------------- */

static void print_warning(void *arg, const char *sentence)
{
	(void)arg;
	agent_error("%s", sentence);
}

/* The loop returns; run_agent() then does what the signal asks for. */
static void handle_signal(int sig)
{
	if (sig == SIGHUP)
		reload = 1;
	else
		ended = 1;
	if (running)
		ccs_agent_stop(running);
}

static void handle_signals(void)
{
	const struct sigaction handled = { .sa_handler = handle_signal };

	sigaction(SIGTERM, &handled, NULL);
	sigaction(SIGINT, &handled, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* From the start, because it would end the process before there is anything to reload. */
static void handle_hangup(void)
{
	const struct sigaction handled = { .sa_handler = handle_signal };

	sigaction(SIGHUP, &handled, NULL);
}

/* Each client needs a descriptor. */
static void allow_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* Notify the service manager by the protocol of sd_notify(3): one datagram. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	if (!path || strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
	       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(fd);
}

static void notify_alive(void *arg)
{
	(void)arg;
	notify("WATCHDOG=1");
}

/* With WatchdogSec= in the unit: as sd_watchdog_enabled(3), three times in that period. */
static void set_watchdog(struct ccs_agent_config *config)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return;
	config->alive = notify_alive;
	config->alive_ns = strtoull(usec, NULL, 10) * 1000 / 3;
}

/* The sockets that the service manager passes to this process, as sd_listen_fds(3); at most max. */
static unsigned inherited_sockets(int *fd, unsigned max)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	unsigned long n = 0;

	if (pid && count && strtol(pid, NULL, 10) == getpid())
		n = strtoul(count, NULL, 10);
	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++)
		fd[i] = SERVICE_FD + (int)i;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return (unsigned)n;
}

/* If the file is bad, the old keys stay in use: a mistake must not cut the host off. */
static void reload_keys(struct ccshimd *d)
{
	char text[4096];

	if (!d->key_file)
		return;
	if (auth_open(&d->auth, d->key_file, text, sizeof(text))) {
		agent_error("%s; the keys loaded before stay in use", text);
	} else {
		auth_describe(&d->auth, text, sizeof(text));
		agent_error("loaded keys of %s: %s", d->key_file, text);
	}
}

/* Called when the sockets are open and the key is read. Later steps need no privilege if the agent's
 * user may read the key file. */
static void run_agent(struct ccshimd *d)
{
	int error;

	handle_signals();
	error = drop_capabilities();
	if (error)
		agent_error("cannot drop privileges, continuing with them: %s",
			     strerror(error));
	error = filter_system_calls(!d->config.ninherited);
	if (error && error != ENOTSUP)
		agent_error("cannot restrict system calls, continuing without: %s",
			     strerror(error));
	notify("READY=1");
	while (!ended) {
		if (reload) {
			reload = 0;
			reload_keys(d);
			ccs_agent_reload(running);
		}
		ccs_agent_run(running);
	}
}

/* Loads the kernel's list of devices, and its module if need be, before the first mark. */
static void prepare_checks(struct ccshimd *d)
{
	char device[64];

	if (d->config.check_qp)
		d->config.check_qp(d->config.check_arg, 0, device);
}

static int serve(struct ccshimd *d)
{
	struct ccs_agent *a;
	char err[512];

	handle_hangup();
	prepare_checks(d);
	allow_descriptors();
	if (d->key_file && auth_open(&d->auth, d->key_file, err, sizeof(err))) {
		agent_error("%s", err);
		return EXIT_FAILURE;
	}
	d->config.auth = d->key_file ? &d->auth : NULL;
	d->config.inherited = d->inherited;
	d->config.ninherited = inherited_sockets(d->inherited, LIST);
	set_watchdog(&d->config);
	tenants_open(&d->tenants, d->tenants_file, &d->config);
	running = ccs_agent_open(&d->config, err, sizeof(err));
	if (!running) {
		agent_error("%s", err);
		auth_close(&d->auth);
		return EXIT_FAILURE;
	}
	run_agent(d);
	a = running;
	running = NULL; /* signals have no effect any more */
	ccs_agent_close(a);
	ccs_netlink_close(&d->qps.netlink);
	auth_close(&d->auth);
	return EXIT_SUCCESS;
}

static int print_derived(const struct ccshimd *d)
{
	char err[512];

	if (!d->key_file || !d->hosts) {
		agent_error("--derive needs --key-file, the site's keys, and --hosts");
		return 2;
	}
	if (derive_keys(d->key_file, d->hosts, d->derive, err, sizeof(err)) == 0)
		return agent_flush_stdout();
	agent_error("%s", err);
	return EXIT_FAILURE;
}

static int print_status(const char *socket)
{
	char *text = ask_agent(socket);

	if (!text) {
		agent_error("no reply from an agent at %s: %s; start ccshimd, or give "
			     "the --socket of the running agent", socket, strerror(errno));
		return EXIT_FAILURE;
	}
	fputs(text, stdout);
	free(text);
	return agent_flush_stdout();
}

int main(int argc, char **argv)
{
	/* Static, so that a leak checker finds the memory of its options at the end. */
	static struct ccshimd d = { .qps = { .netlink.fd = -1 } };

	d.config = ccs_agent_defaults();
	d.config.warn = print_warning;
	d.config.addresses = d.address;
	d.config.capacities = d.capacity;
	d.config.publications = d.publication;
	d.config.switches = d.switches;
	d.config.check_owner = ccs_kernel_qps_check_owner;
	d.config.check_qp = ccs_kernel_qps_check;
	d.config.count_qps = ccs_kernel_qps_count;
	d.config.check_arg = &d.qps;
	if (parse_options(&d, argc, argv)) {
		fputs("Try 'ccshimd -h'.\n", stderr);
		return 2;
	}
	return d.derive ? print_derived(&d) : d.status ? print_status(d.config.socket) : serve(&d);
}
