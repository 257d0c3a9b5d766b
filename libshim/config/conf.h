/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_CONF_H
#define CCS_CONF_H
/*
 * The grammar of a configuration file:
 *
 *	# a comment, also after a value
 *	name = value
 *	name = "a value with # or spaces at its ends; only a comment may follow the quote"
 *	[app "ib_*"]
 *	name = value for the processes and queue pairs that match the header, see match.h
 *	[tenant NAME]
 *	name = value of a tenant, see tenant.h
 *
 * The reader does not know the options.
 */
#include <stdbool.h>
#include <stddef.h>

#include "config/match.h"

struct ccs_conf_item {
	const char *where;   /* "FILE:LINE" */
	unsigned section;    /* 0: before the first */
	bool bad;            /* the header is invalid and was reported: no queue pair matches */
	const char *tenant;  /* of the section; NULL: it is another section */
	struct ccs_match match;
	const char *name, *value;
};

struct ccs_conf_reader {
	void (*handle_item)(void *arg, const struct ccs_conf_item *item);
	void (*complain)(void *arg, const char *where, const char *sentence);
	/* Called for the header of a tenant. NULL: the mistakes in their sections are not reported; else
	 * only these are. */
	void (*handle_tenant)(void *arg, const struct ccs_conf_item *item);
	void *arg;
	bool own;            /* a file of another user than root and the process's is not read */
};

/* 0, or an errno value if the file cannot be read; EPERM: it is another user's. */
int ccs_conf_read(const char *path, const struct ccs_conf_reader *reader);

/* Format value as the right-hand side of a line, in quotes if it needs them. */
char *ccs_conf_quote(const char *value, char *buf, size_t len);

#endif
