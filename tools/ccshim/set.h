/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SET_H
#define CCS_TOOLS_SET_H
/* ccshim set: one request to a process or to all, without waiting for one after the other. */
#include <stddef.h>
#include <stdbool.h>

#include "config/request.h"

struct stat_process;
struct stat_snapshot;

enum { EXIT_TIMEOUT = 3 };      /* the process did not answer in time */

struct set_request {
	char text[CCS_REQUEST_LEN];
	double timeout_us;
	bool stays;                      /* without an answer, for the process to read it later */
};

/* Send to these processes and report each with set_report(). Runs in a child process. */
typedef void set_sender(const struct set_request *request, const struct stat_process *const *p,
			size_t n, int out);

/* set_send.c: the sender. */
void set_send(const struct set_request *request, const struct stat_process *const *p, size_t n, int out);

/* The result for the i-th process of the sender; fmt NULL: the sender is alive. */
void set_report(int out, size_t i, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Call send() in a child process for each user and container that has processes in *s, at once, and
 * then print() for each process in order of IDs. A process without a report was not reached. Returns the lowest status except 0, or 0.
 */
int set_all(const struct stat_snapshot *s, const struct set_request *request, set_sender *send,
	    void (*print)(const struct stat_process *p, int status, char *text));

/* Handle `ccshim set tenant`: the arguments after it. Returns the exit status. */
int set_tenant(int argc, char **argv);

#endif
