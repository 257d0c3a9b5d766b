/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_MATCH_H
#define CCS_MATCH_H
/*
 * The header of a section of a configuration file. A section applies if all its keys match.
 *
 *	[app "ib_write_*"]
 *	[peer 10.0.0.0/24]
 *	[device mlx5_1 port 2 dscp 26]
 *	[share 10%]
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"

enum ccs_match_key {
	CCS_MATCH_APP = 1 << 0,
	CCS_MATCH_PEER = 1 << 1,
	CCS_MATCH_DEVICE = 1 << 2,
	CCS_MATCH_PORT = 1 << 3,
	CCS_MATCH_DSCP = 1 << 4,
	CCS_MATCH_SL = 1 << 5,
	CCS_MATCH_SHARE = 1 << 6,
	CCS_MATCH_PROCESS = CCS_MATCH_APP | CCS_MATCH_SHARE,
	CCS_MATCH_QP = CCS_MATCH_PEER | CCS_MATCH_DEVICE | CCS_MATCH_PORT | CCS_MATCH_DSCP |
		       CCS_MATCH_SL,     /* not known without a queue pair */
};

struct ccs_match {
	unsigned keys;                   /* enum ccs_match_key: present; 0: matches all */
	char app[64], device[64];        /* globs */
	struct ccs_prefix peer;
	unsigned port, dscp, sl;
	double share;                    /* percent of the processes */
	char text[128];                  /* as in the file */
};

/* A process, or one of its queue pairs. */
struct ccs_match_subject {
	const char *app, *device;
	uint8_t peer[16];                /* GID */
	unsigned port, dscp, sl;
	double place;                    /* among all processes, see ccs_share_place() */
	unsigned known;                  /* enum ccs_match_key */
};

/* Not isspace(), which depends on the application's locale. */
static inline bool ccs_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Parse a header from its [ to the end of the line. 0, or -1 with a sentence in err. */
int ccs_match_parse(struct ccs_match *m, const char *line, char *err, size_t errlen);

/* Add one key with its value: "peer", "10.0.0.0/24". 0, or -1 with a sentence in err. */
int ccs_match_add_key(struct ccs_match *m, const char *key, const char *value, char *err,
		   size_t errlen);

/* A key that is not known of the subject does not match. */
bool ccs_match_matches(const struct ccs_match *m, const struct ccs_match_subject *subject);

#endif
