/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_STAT_H
#define CCS_TOOLS_STAT_H
/* ccshim stat: reads the statistics files of running processes and prints them. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include <ccshim/stats.h>

#include "cc/shares.h"
#include "config/job.h"
#include "observe/stats_fields.h"
#include "tools/ccshim/shared/options.h"

/* The limit of a flow's rate in an interval. */
enum stat_limit {
	STAT_IDLE,                       /* the queue was empty */
	STAT_APPLICATION,                /* it waits for no gate: the application posts no more */
	STAT_RATE, STAT_WINDOW,          /* set by the algorithm or by the user */
	STAT_TENANT_CAP,                 /* the rate: the cap of its tenant */
	STAT_OBSERVED,                   /* only observed: not limited by the shim */
	STAT_UNCONTROLLED,
};

struct stat_qp {
	struct ccs_stats_qp q;
	struct ccs_stats_rtt rtt;
	struct ccs_stats_moment history[CCS_STATS_MOMENTS]; /* oldest first */
	unsigned moments;
	uint64_t sums;                   /* the queue pairs that it sums up; 0: it is one */
	enum stat_limit limit;           /* of a sum: the strongest limit of its queue pairs */
};

/* Queue pairs are shown each, or summed up. */
enum stat_by {
	STAT_BY_QP, STAT_BY_PROCESS, STAT_BY_PEER, STAT_BY_JOB, STAT_BY_TENANT, STAT_BY_HOST, STAT_BYS
};

struct stat_process {
	struct ccs_stats_header h;       /* missing fields of an older file are 0; text ends in NUL */
	struct stat_qp *qp;              /* the queue pairs with a slot */
	size_t count;
	/* Where it was read. h.pid is as the reader sees it. */
	uint64_t inner_pid;              /* ID in its PID namespace; 0: it is the reader's namespace */
	uid_t owner;
	bool other_root;                 /* file is a path as the process sees it */
	bool in_own_mount;               /* file is in the process's mount namespace */
	bool ambiguous;                  /* it has two files: no request is sent to either */
	dev_t dev;                       /* device of the file */
	ino_t ino;                       /* inode of the file */
	char tenant[64];                 /* after stat_read_tenants(); "": none */
	struct ccs_terms terms;          /* of the tenant */
	size_t party;                    /* number of the user or container whose file it is */
	char file[360], other_file[360]; /* other_file: if it is ambiguous */
};

/* The statistics of all processes at one time, or their increase since an earlier snapshot. */
struct stat_snapshot {
	uint64_t now_ns, unix_ns;
	double since_s;                  /* deltas: length of the interval; 0: totals */
	enum stat_by by;                 /* other than QP: each process is a group with one sum */
	struct stat_process *process;
	size_t count;
	unsigned denied;                 /* directories of other users that may not be read */
	unsigned invisible;              /* files of PID namespaces that the reader does not see */
	unsigned unreadable;             /* files that are damaged, of another version, or too many */
	unsigned unlisted;               /* processes that the agent does not list, by stat_read_tenants() */
	char stuck[256];                 /* users and containers whose files did not respond */
	char obstacle[480];              /* why the file of the process asked for is not used */
};

/* stat_find.c. Read the statistics of a process, or of all (0) that the caller may read, also in
 * containers. Removes the files of ended processes. Does not wait for files of other users for long:
 * they are read in child processes. Free the snapshot with stat_free(). */
void stat_read(struct stat_snapshot *s, pid_t only);
/* The same without queue pairs. */
void stat_read_brief(struct stat_snapshot *s, pid_t only);
/* Read all statistics into *last, and set *s to the increase since the previous *last. */
bool stat_read_increase(struct stat_snapshot *s, struct stat_snapshot *last);
/* Open the file that a process was read from; -1 and errno. It may wait for its owner. */
int stat_open(const struct stat_process *p, int flags);
/* Warn if processes cannot use that directory. */
void stat_warn_of_option(const char *cmd);

/* stat_omitted.c. Print once per program what a snapshot lacks, and why. */
void stat_warn_of_omissions(const char *cmd, const struct stat_snapshot *s);

/* stat_files.c. Parse a statistics file; false if it is invalid or of an unknown version. */
bool stat_parse(const void *image, size_t size, struct stat_process *p);
/* The same of a file that its owner may truncate; brief: without its queue pairs. */
bool stat_parse_mapped(const void *image, size_t size, bool brief, struct stat_process *p);

/* The job that the file names. */
struct ccs_job stat_job(const struct ccs_stats_header *h);
/* The reason why the last request was refused, if it is still pending; or NULL. */
const char *stat_refusal(const struct ccs_stats_header *h);

/* stat_delta.c. *to must be freed in any case; -1: no memory. */
int stat_copy(struct stat_snapshot *to, const struct stat_snapshot *s);
void stat_free(struct stat_snapshot *s);
/* Subtract the counters of base; queue pairs created since then keep their totals. */
void stat_subtract(struct stat_snapshot *s, const struct stat_snapshot *base);
/* Sort queue pairs by a field, largest first. */
void stat_sort(struct stat_snapshot *s, const struct ccs_stats_field *field);
/* Sums over a process's queue pairs, including destroyed ones. */
struct ccs_stats_gone stat_totals(const struct stat_process *p);

/* stat_group.c. Keep the queue pairs for which the test is true. */
typedef bool stat_test(const struct stat_snapshot *s, const struct stat_process *p, const struct stat_qp *qp,
		       const void *arg);
void stat_keep(struct stat_snapshot *s, stat_test *test, const void *arg);
stat_test stat_is_busy;
/* Replace the processes by groups: a group has the PID 0 if it is of several processes, texts that differ
 * are "several", and the time at the gate is the longest of a queue pair. -1: no memory. */
int stat_group(struct stat_snapshot *s, enum stat_by by);
extern const char *const stat_bys[STAT_BYS];
/* Parse option --by, for a table of options. */
int stat_parse_by(const char *cmd, void *by, const struct option_row *row);

/* stat_limit.c. The limit of a flow or of a sum, from its increase in an interval. */
enum stat_limit stat_limit_of(const struct stat_qp *qp, double since_s);
/* The goodput's share of the line rate, which is the sum of all ports of a sum; NAN: unknown. */
double stat_share(const struct stat_qp *qp, double since_s);
/* The tenant's cap, guarantee and class background. */
void stat_format_terms(char *cell, size_t len, const struct stat_process *p);
/* stat_json.c. Members of the open object, unless the agent does not show them. */
void stat_json_terms(struct ccs_json *j, const struct ccs_terms *t);
extern const char *const stat_limits[]; /* the name of each */
extern const char *const stat_styles[]; /* its attributes on a terminal, ECMA-48 */

/* stat_baseline.c: a snapshot in a file, as a sequence of statistics files. 0 or an errno. */
int stat_save(const struct stat_snapshot *s, const char *file);
int stat_load(struct stat_snapshot *s, const char *file);

/* stat_tenant.c. Set the tenant of each process, which the host agent of option agent knows. NULL, or
 * why it cannot. */
const char *stat_read_tenants(struct stat_snapshot *s);
/* The same. Print why it cannot, and, once per program, how many processes the agent does not list. */
bool stat_require_tenants(const char *cmd, struct stat_snapshot *s);
/* The same from the agent's status, or NULL; false if it is not readable. */
bool stat_parse_tenants(struct stat_snapshot *s, const char *status);

/* The output formats. */
void stat_table(const struct stat_snapshot *s, FILE *out);
void stat_json(const struct stat_snapshot *s, bool one_line, FILE *out);
/* OpenMetrics, or the older text format of Prometheus, with series of the max_qps queue pairs that have
 * completed most bytes, in equal numbers for each user and container. Sorts each process's queue pairs. */
enum { STAT_METRICS_QPS = 100 };
void stat_metrics(struct stat_snapshot *s, unsigned max_qps, bool open, FILE *out);

#endif
