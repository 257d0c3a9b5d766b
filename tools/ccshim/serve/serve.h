/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SERVE_H
#define CCS_TOOLS_SERVE_H
/* ccshim serve: a web page with the flows of this host. */
#include <stdbool.h>
#include <stddef.h>

#include "config/options.h"
#include "tools/ccshim/stat/stat.h"

enum { SERVE_TOKEN_LEN = 33, SERVE_SOCKETS = 2 };

struct serve {
	struct ccs_options options;      /* names the agent's socket */
	const char *address;             /* NULL: loopback, of IPv4 and IPv6 */
	unsigned port;                   /* 0: any; set to the chosen port */
	bool metrics;                    /* without the token */
	char token[SERVE_TOKEN_LEN];     /* in the address of the page; every request for data has it */
	struct stat_snapshot last;       /* the reading before */
	char *flows, *agent;             /* JSON */
	double flows_s, agent_s;         /* when they were read */
};

/* serve_listen.c. Bind the sockets. Returns their number, or 0 after printing an error. */
unsigned serve_listen(struct serve *s, int fd[SERVE_SOCKETS]);
/* Whether a numeric address is of this host only; -1: it is no address. */
int serve_is_loopback(const char *address);

/* serve_guard.c. Another site may let its DNS name point to this host, so Host must be localhost or
 * an address. NULL: the request has no such header. */
bool serve_accepts_host(const char *host);
/* Origin must be absent, as in requests of programs, or this server. */
bool serve_accepts_origin(const char *origin, const char *host);
/* Authorization: Bearer TOKEN */
bool serve_accepts_token(const char *authorization, const char *token);
/* 0, or -1 with errno. */
int serve_make_token(char token[SERVE_TOKEN_LEN]);

/* serve_data.c. Read the statistics, or the agent's status only, unless that was done a moment ago; JSON,
 * or NULL. */
void serve_data_start(struct serve *s);
const char *serve_data_flows(struct serve *s);
const char *serve_data_agent(struct serve *s);
void serve_data_end(struct serve *s);
/* Metrics of that reading; free them. NULL: without memory. */
char *serve_data_metrics(struct serve *s);

/* The files of the page, made by embed.awk. */
struct serve_file {
	const char *path, *type, *text;
};

extern const struct serve_file serve_files[];

/* serve_http.c. Answer requests until a signal ends it. 0, or the exit status after an error. */
int serve_http(struct serve *s, const int *fd, unsigned n);
/* Whether this program was built with an HTTP server; prints an error if not. */
bool serve_http_present(void);

#endif
