/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTP server of ccshim serve, with libmicrohttpd. */
#include "serve.h"

#include "tools/ccshim/shared/ccshim.h"

#ifndef HAVE_LIBMICROHTTPD

bool serve_http_present(void)
{
	tool_error("serve", "this ccshim was built without libmicrohttpd; install libmicrohttpd-dev, configure "
		   "it again and build it; 'ccshim top' shows the flows on a terminal");
	return false;
}

int serve_http(struct serve *s, const int *fd, unsigned n)
{
	(void)s, (void)fd, (void)n;
	return EXIT_FAILED;
}

#else

#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve_clients.h"

enum { IDLE_S = 30 };

bool serve_http_present(void)
{
	return true;
}

/* -- responses --------------------------------------------------------------------------------- */

/* The page loads only files of this server, has no inline script, and cannot be framed. */
static const char *const headers[][2] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
	  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

struct reply {
	unsigned status;
	const char *type, *text;         /* NULL: text/plain */
	const char *name, *value;        /* a further header */
};

static enum MHD_Result send_reply(struct MHD_Connection *c, const struct reply *r)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(r->text), (void *)r->text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	MHD_add_response_header(response, "Content-Type", r->type ? r->type : "text/plain; charset=utf-8");
	if (r->name)
		MHD_add_response_header(response, r->name, r->value);
	result = MHD_queue_response(c, r->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	return send_reply(c, &(struct reply){ .status = status, .text = why });
}

/* -- requests ---------------------------------------------------------------------------------- */

struct request {
	struct serve *serve;
	struct MHD_Connection *connection;
	const char *method, *path;
};

static const char *header(const struct request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_file(const struct request *rq, const struct serve_file *f)
{
	return send_reply(rq->connection, &(struct reply){ .status = MHD_HTTP_OK, .type = f->type,
							    .text = f->text });
}

static enum MHD_Result send_json(const struct request *rq, const char *text)
{
	return send_reply(rq->connection, &(struct reply){ .status = MHD_HTTP_OK,
							    .type = "application/json",
							    .text = text ? text : "null\n" });
}

static enum MHD_Result answer_flows(const struct request *rq)
{
	return send_json(rq, serve_data_flows(rq->serve));
}

static enum MHD_Result answer_agent(const struct request *rq)
{
	return send_json(rq, serve_data_agent(rq->serve));
}

static enum MHD_Result answer_metrics(const struct request *rq)
{
	char *text = serve_data_metrics(rq->serve);
	enum MHD_Result result;

	if (!text)
		return refuse(rq->connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	result = send_reply(rq->connection, &(struct reply){ .status = MHD_HTTP_OK, .text = text,
							      .type = "text/plain; version=0.0.4; charset=utf-8" });
	free(text);
	return result;
}

static const struct route {
	const char *path;
	enum MHD_Result (*answer)(const struct request *rq);
} routes[] = {
	{ "/flows.json", answer_flows },
	{ "/agent.json", answer_agent },
	{ "/metrics", answer_metrics },
};

/* A server that answers GET answers HEAD. */
static bool has_allowed_method(const struct request *rq)
{
	return strcmp(rq->method, MHD_HTTP_METHOD_GET) == 0 || strcmp(rq->method, MHD_HTTP_METHOD_HEAD) == 0;
}

static enum MHD_Result refuse_method(const struct request *rq)
{
	return send_reply(rq->connection, &(struct reply){ .status = MHD_HTTP_METHOD_NOT_ALLOWED,
							    .name = "Allow", .value = "GET, HEAD",
							    .text = "the method is not allowed\n" });
}

/* RFC 9110 wants the scheme of the secret. */
static enum MHD_Result refuse_secret(const struct request *rq)
{
	return send_reply(rq->connection, &(struct reply){ .status = MHD_HTTP_UNAUTHORIZED,
							    .name = "WWW-Authenticate", .value = "Bearer",
							    .text = "open the address that ccshim serve has printed\n" });
}

/* The reason to refuse the source of a request, or NULL. */
static const char *find_fault(const struct request *rq)
{
	const char *host = header(rq, "Host");

	if (!serve_accepts_host(host))
		return "the host in the address is neither localhost nor an IP address; use one of these\n";
	if (!serve_accepts_origin(header(rq, "Origin"), host))
		return "the request is of a page of another site\n";
	return NULL;
}

static enum MHD_Result answer(const struct request *rq)
{
	const char *fault = find_fault(rq);

	if (fault)
		return refuse(rq->connection, MHD_HTTP_FORBIDDEN, fault);
	for (const struct serve_file *f = serve_files; f->path; f++)
		if (strcmp(f->path, rq->path) == 0)
			return has_allowed_method(rq) ? send_file(rq, f) : refuse_method(rq);
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
		if (strcmp(routes[i].path, rq->path) != 0)
			continue;
		if (!has_allowed_method(rq))
			return refuse_method(rq);
		if (serve_accepts_token(header(rq, "Authorization"), rq->serve->token))
			serve_clients_trust(rq->connection);
		else if (!rq->serve->metrics || routes[i].answer != answer_metrics)
			return refuse_secret(rq);
		return routes[i].answer(rq);
	}
	return refuse(rq->connection, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

/* Called at the start of a request, for each part of its body, which is not used, and at its end. */
static enum MHD_Result on_request(void *serve, struct MHD_Connection *c, const char *path, const char *method,
				  const char *version, const char *part, size_t *len, void **state)
{
	static char begun;
	const struct request rq = { .serve = serve, .connection = c, .method = method, .path = path };
	const bool is_end = *state && !*len;

	(void)version, (void)part;
	*state = &begun;
	*len = 0;
	return is_end ? answer(&rq) : MHD_YES;
}

static void on_end(void *serve, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	(void)serve, (void)why, (void)state;
	serve_clients_answered(c);
}

/* -- the loop ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t quit;

static void on_signal(int sig)
{
	(void)sig;
	quit = 1;
}

/* Signals arrive in ppoll() only. */
static void catch_signals(sigset_t *before)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction act = { .sa_handler = on_signal };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaction(signals[i], &act, NULL);
		sigaddset(&blocked, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, before);
	signal(SIGPIPE, SIG_IGN);
}

static struct MHD_Daemon *start_daemon(struct serve *s, int fd)
{
	return MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, s,
				MHD_OPTION_LISTEN_SOCKET, fd,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS,
				MHD_OPTION_NOTIFY_CONNECTION, serve_clients_notify, NULL,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
				MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
}

static void run_daemons(struct MHD_Daemon **daemon, unsigned n)
{
	struct pollfd fds[SERVE_SOCKETS];
	sigset_t before;

	catch_signals(&before);
	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){ .events = POLLIN,
					  .fd = MHD_get_daemon_info(daemon[i], MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd };
	while (!quit) {
		const bool crowded = serve_clients_tick();
		const struct timespec most = { .tv_sec = !crowded, .tv_nsec = crowded * 50000000L };
		MHD_UNSIGNED_LONG_LONG ms;
		bool at_once = false;

		for (unsigned i = 0; i < n; i++)
			at_once |= MHD_get_timeout(daemon[i], &ms) == MHD_YES && ms == 0;
		ppoll(fds, n, at_once ? &(struct timespec){ 0 } : &most, &before);
		for (unsigned i = 0; i < n; i++)
			MHD_run(daemon[i]);
	}
}

int serve_http(struct serve *s, const int *fd, unsigned n)
{
	struct MHD_Daemon *daemon[SERVE_SOCKETS];
	unsigned started = 0;

	while (started < n && (daemon[started] = start_daemon(s, fd[started])))
		started++;
	if (started == n)
		run_daemons(daemon, n);
	else
		tool_error("serve", "libmicrohttpd cannot start");
	for (unsigned i = 0; i < started; i++)
		MHD_stop_daemon(daemon[i]); /* closes the socket */
	for (unsigned i = started; i < n; i++)
		close(fd[i]);
	return started == n ? EXIT_OK : EXIT_FAILED;
}

#endif
