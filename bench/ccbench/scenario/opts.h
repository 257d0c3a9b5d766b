/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_OPTS_H
#define BENCH_OPTS_H
/* The command line of `ccbench SCENARIO`, with defaults from the variables LAB_* of ci/lab/lab. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/ccbench/scenario/figures.h"
#include "bench/common/collectives.h"
#include "bench/common/sizes.h"
#include "settings.h"

#define MAX_HOSTS 256
#define MAX_FLOWS 4096
#define MAX_REPEATS 100
#define DEVICE_LEN 64
#define MAX_TENANTS 16

struct scenario;

/* A tenant's queue pairs, which its hosts have in turn. */
struct opts_tenant {
	unsigned qps, hosts;
	double weight;
};

struct opts {
	const struct scenario *kind;
	unsigned ranks;                    /* in the MPI job; 0 without MPI */
	unsigned hosts;                    /* of scenarios without --senders */
	char device[MAX_HOSTS][DEVICE_LEN]; /* receiver, senders, victim */
	unsigned gid_index, tclass;        /* tclass: DSCP and ECN bits of all packets */
	unsigned senders, qps, depth, mtu; /* depth, mtu: 0 = by size, by port */
	unsigned qp_pool;                  /* QPs that two hosts' messages share; 0: no pool */
	uint64_t size, iterations;         /* iterations: 0 = by time */
	enum bench_op op;
	enum sizes sizes;
	double load;                       /* share of the busiest link; 0: backlogged flows */
	unsigned repeat;
	bool poll;
	double late_share;                 /* share of polls that are late, by `late` */
	int64_t poll_interval, late;       /* ns; poll_interval 0: all the time */
	struct {
		bool wanted;
		uint64_t size;
		int64_t interval;          /* ns */
	} victim;
	struct {
		enum collective kind;
		int64_t pause;             /* between operations, ns */
	} collective;
	uint64_t response;                 /* bytes, to a request */
	unsigned claims;                   /* QPs of the host that claims */
	struct {
		struct opts_tenant v[MAX_TENANTS];
		unsigned n;
	} tenants;
	int64_t duration, warmup, timeout; /* ns; warmup -1 = by rate */
	uint64_t seed;
	struct settings cc;
	const char *preload;               /* NULL: found beside the program or installed */

	struct {                           /* the bottleneck; unknown values are 0 or NULL */
		double rate_bps, nic_bps, queue_bytes;
		const char *switch_ns, *switch_port;
	} link;

	const char *engine, *time;         /* the lab's; NULL outside of it */
	const char *out;                   /* directory */
	bool out_given;
	const char *out_json, *plot;
};

/* The number of hosts that take part. */
unsigned opts_hosts(const struct opts *o);

enum opts_result { OPTS_OK, OPTS_HELP, OPTS_BAD };

/* Parse the options; argv[0] is the scenario. Reads LAB_* with getenv(). After OPTS_BAD err has
 * an error message. */
enum opts_result opts_parse(struct opts *o, unsigned ranks, int argc, char **argv,
			    char *err, size_t errlen);

void opts_usage(void);

/* "4:1 incast of 64 KB writes, 200 Mb/s, queue 256 KB" */
char *opts_title(const struct opts *o, char *buf, size_t len);

const char *op_name(enum bench_op op);

#endif
