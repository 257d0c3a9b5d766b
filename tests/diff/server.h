/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_SERVER_H
#define CCS_TESTS_SERVER_H
/* A process in which programs run, one after the other, behind one shim or none. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct setting {
	const char *name;
	const char *env[8];              /* NULL-terminated; none: no shim */
};

struct server {
	const struct setting *setting;
	const char *mutant;
	pid_t pid;                       /* 0: to be started */
	int to, from;
	char *text;                      /* the last answer */
	size_t size;
};

extern const struct setting settings[]; /* the first without a shim; ends in a NULL name */

/* What the program shows, until the next one; that it died, if so. With a trace the
 * steps before. */
const char *server_ask(struct server *s, const uint8_t *program, size_t len, bool trace);
void server_stop(struct server *s);
/* In the other process: answers until its input ends. */
int server_main(char **argv);

#endif
