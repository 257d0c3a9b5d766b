/* SPDX-License-Identifier: BSD-2-Clause */
/* The help of `ccbench SCENARIO`, and the title of a scenario. */
#include <math.h>
#include <stdio.h>

#include "tools/common/human.h"
#include "bench/ccbench/scenario/opts.h"
#include "bench/ccbench/scenario/scenario.h"

const char *op_name(enum bench_op op)
{
	static const char *const name[] = {
		[OP_WRITE] = "write", [OP_READ] = "read", [OP_SEND] = "send",
	};

	return name[op];
}

/* "incast of 64 KB writes", "permutation, websearch sizes at load 50 %" */
static int title_traffic(const struct opts *o, char *buf, size_t len)
{
	char size[32], load[32];
	int n = 0;

	if (o->sizes == SIZES_FIXED || o->kind->elephants)
		n = snprintf(buf, len, " of %s %ss",
			     human_bytes((double)o->size, size, sizeof(size)), op_name(o->op));
	if (o->load > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", %s sizes at load %s",
			      sizes_name(o->sizes), human_percent(o->load, load, sizeof(load)));
	if (o->qp_pool && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", a pool of %u QPs", o->qp_pool);
	return n;
}

static int title_hosts(const struct opts *o, char *buf, size_t len)
{
	char qps[24] = "";

	if (o->qps > 1)
		snprintf(qps, sizeof(qps), " x %u QPs", o->qps);
	return o->kind->to_one ? snprintf(buf, len, "%u:1%s %s", o->senders, qps, o->kind->name)
			       : snprintf(buf, len, "%s among %u hosts%s", o->kind->name,
				      o->hosts, qps);
}

char *opts_title(const struct opts *o, char *buf, size_t len)
{
	char size[32], rate[32];
	int n;

	if (o->scenario) {
		snprintf(buf, len, "%s", o->scenario);
		return buf;
	}
	n = title_hosts(o, buf, len);
	if (n < (int)len)
		n += title_traffic(o, buf + n, len - (size_t)n);
	if (o->link.rate_bps > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, " into %s",
			      human_rate(o->link.rate_bps, rate, sizeof(rate)));
	if (o->link.queue_bytes > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", queue %s",
			      human_bytes(o->link.queue_bytes, size, sizeof(size)));
	if (o->link.nic_bps > 0 && o->link.nic_bps != o->link.rate_bps && n < (int)len)
		snprintf(buf + n, len - (size_t)n, ", senders at %s",
			 human_rate(o->link.nic_bps, rate, sizeof(rate)));
	return buf;
}

static const char usage[] =
"usage: ccbench SCENARIO [OPTION]...\n"
"\n"
"SCENARIO: incast, readincast, victim, mice, elephant, joinleave, leave,\n"
"permutation, alltoall, collective, trunk, claims or kv.\n"
"Runs every setting of --cc in turn and compares them. (Defaults in parentheses.)\n"
"\n"
"  --cc LIST              none (no preload), off, observe, or an algorithm\n"
"                         NAME[:param=value,...]; may be repeated (none)\n"
"  --senders N            senders, on hosts 2..N+1; the receiver is host 1 (4)\n"
"      --hosts N          hosts of permutation, alltoall, collective and trunk\n"
"                         (LAB_HOSTS, or 4)\n"
"  -q, --qp N             QPs per sender and receiver (1)\n"
"  -s, --size BYTES       message size (64k); of collective, the data (1m)\n"
"  -t, --tx-depth N       outstanding messages per QP (about 1 MB, 2 to 128)\n"
"  -D, --duration TIME    duration of a run, including the warm-up (2s)\n"
"  -n, --iters N          messages per QP, or operations, instead of a duration\n"
"      --warmup TIME      start of a run that results leave out (100ms, or\n"
"                         20ms from 10 Gb/s on, or 0 with -n)\n"
"      --sizes NAME       fixed (--size), or a published distribution:\n"
"                         websearch, hadoop (fixed)\n"
"      --load F           Poisson arrivals that use this share of the busiest\n"
"                         link, as 0.5 or 50%\n"
"      --qp-pool N        send each message on a free QP of N between its\n"
"                         hosts (one QP, in order)\n"
"      --collective KIND  halving, tree or ring (halving)\n"
"      --pause TIME       pause between collective operations (1ms)\n"
"      --response BYTES   of kv, to a request of --victim-size bytes\n"
"                         and whose pause is --victim-interval (4k)\n"
"      --claims N         QPs of the host that claims (256)\n"
"      --repeat N         runs of each setting, each with another seed (1)\n"
"      --op OP            write, read or send (write)\n"
"      --start HOW        together, stagger (over the warm-up) or\n"
"                         stagger:TIME (together)\n"
"      --poll[=TIME]      poll the CQ, or poll it every TIME, instead of waiting\n"
"                         for its events\n"
"      --late F:TIME      delay that share of the polls that follow a completion,\n"
"                         as 1%:200us: the program is busy\n"
"  -d, --ib-dev DEV       device of host 1; others count up from it (rxe_1)\n"
"      --devices A,B,...  names of all devices: receiver, senders, victim\n"
"  -x, --gid-index N      GID index (1)\n"
"  -m, --mtu BYTES        path MTU (the port's)\n"
"      --tclass N         traffic class of all packets; 2 allows ECN marks (0)\n"
"  -F                     ignored, for compatibility with perftest\n"
"      --no-victim        no latency-sensitive flow\n"
"      --victim-size BYTES size of the victim's writes (64)\n"
"      --victim-interval TIME  pause between the victim's writes (1ms)\n"
"      --rate RATE        rate of the bottleneck (LAB_RATE_BPS)\n"
"      --switch-ns NAME   network namespace of the switch (LAB_SWITCH_NS)\n"
"      --switch-port DEV  port whose queue is sampled (LAB_SWITCH_PORT)\n"
"      --preload FILE     the shim (libccshim.so of the build tree, or the\n"
"                         installed one)\n"
"      --seed N           seed of all random choices (LAB_SEED, or 1)\n"
"      --scenario TEXT    title of the report\n"
"      --timeout TIME     when to give up a run (its duration and a minute)\n"
"      --out DIR          directory of results (LAB_OUT, or .); a FILE without\n"
"                         a slash is created there\n"
"      --out_json FILE    write the results as JSON\n"
"      --plot FILE        draw a picture, .png or .svg\n"
"  -h, --help             print this text\n"
"\n"
"With --out or LAB_OUT the JSON and the picture are always written.\n";

void opts_usage(void)
{
	fputs(usage, stdout);
}
