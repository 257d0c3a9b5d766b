/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_STAT_H
#define CCS_TOOLS_STAT_H
/* ccshim stat: what the statistics pages of running processes hold. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <ccshim/stats.h>

#include "runtime/stats_fields.h"

struct stat_qp {
	struct ccs_stats_qp q;
	struct ccs_stats_rtt rtt;
};

struct stat_process {
	struct ccs_stats_header h;       /* what an older page lacks is 0; text ends */
	struct stat_qp *qp;              /* those that are there */
	size_t count;
};

/* Of all processes at one time, or what happened since another one. */
struct stat_snapshot {
	uint64_t now_ns, unix_ns;
	double since_s;                  /* deltas: of so long; 0: totals */
	struct stat_process *process;
	size_t count;
	unsigned denied;                 /* directories of others that may not be read */
	unsigned strange;                /* pages of another version, or damaged */
};

/* stat_pages.c. Of that process, or of all (0) that may be seen. Pages of those that are gone are removed.
 * To be freed. */
void stat_take(struct stat_snapshot *s, pid_t only);
void stat_free(struct stat_snapshot *s);
/* A page of any version that is understood, of so many bytes; false: it is none. */
bool stat_parse(const void *page, size_t size, struct stat_process *p);

/* stat_delta.c. To be freed, in any case; -1: no memory. */
int stat_copy(struct stat_snapshot *to, const struct stat_snapshot *s);
/* Figures since base, of queue pairs that were there, and of new ones all. */
void stat_subtract(struct stat_snapshot *s, const struct stat_snapshot *base);
/* By a field, largest first. */
void stat_sort(struct stat_snapshot *s, const struct ccs_stats_field *field);
/* Sums over a process's queue pairs, gone ones too. */
struct ccs_stats_gone stat_totals(const struct stat_process *p);

/* stat_baseline.c: a snapshot in a file, as pages one behind the other. 0 or an errno. */
int stat_save(const struct stat_snapshot *s, const char *file);
int stat_load(struct stat_snapshot *s, const char *file);

/* How it is shown. */
void stat_table(const struct stat_snapshot *s, FILE *out);
void stat_json(const struct stat_snapshot *s, bool one_line, FILE *out);
/* As OpenMetrics, or Prometheus' older text format. */
void stat_metrics(const struct stat_snapshot *s, unsigned max_qps, bool open, FILE *out);

#endif
