/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SERVER_H
#define CCS_TESTS_SERVER_H
/* A process that runs programs, one after another, with or without the shim. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct setting {
	const char *name;
	const char *env[8];              /* NULL-terminated; empty: no shim */
};

struct server {
	const struct setting *setting;
	const char *profile;             /* profile of the fake provider */
	struct server *bare;             /* the same without a shim */
	const char *mutant;
	pid_t pid;                       /* 0: not started yet */
	int to, from;
	char *text;                      /* the last answer */
	size_t size;
};

extern const struct setting settings[]; /* the first without a shim; ends in a NULL name */

/*
 * Run a program and return its record, valid until the next call, or report that the process died.
 * With a trace the steps come first.
 */
const char *server_ask(struct server *s, const uint8_t *program, size_t len, bool trace);
/* The same in two parts, so that several servers run a program at the same time. */
void server_request(struct server *s, const uint8_t *program, size_t len, bool trace);
const char *server_answer(struct server *s);
/* Let it end, without waiting: some settings take seconds to end. Then stop it. */
void server_hang_up(struct server *s);
void server_stop(struct server *s);
/* Main function of the other process: answers until its input ends. */
int server_main(char **argv);

#endif
