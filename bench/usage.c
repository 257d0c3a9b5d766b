/* SPDX-License-Identifier: BSD-2-Clause */
/* What the options are called and how a scenario is described, for people. */
#include <math.h>
#include <stdio.h>

#include "human.h"
#include "opts.h"
#include "scenario.h"

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
	if (o->rate_bps > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, " into %s",
			      human_rate(o->rate_bps, rate, sizeof(rate)));
	if (o->queue_bytes > 0 && n < (int)len)
		n += snprintf(buf + n, len - (size_t)n, ", queue %s",
			      human_bytes(o->queue_bytes, size, sizeof(size)));
	if (o->nic_bps > 0 && o->nic_bps != o->rate_bps && n < (int)len)
		snprintf(buf + n, len - (size_t)n, ", senders at %s",
			 human_rate(o->nic_bps, rate, sizeof(rate)));
	return buf;
}

void opts_usage(void)
{
	fputs(
"usage: ccbench incast|readincast|victim|mice|joinleave|permutation|alltoall [OPTION]...\n"
"Every setting of --cc is run in turn and compared.\n"
"\n"
"  --cc LIST              none (no preload), off, observe, NAME[:param=value,...]; may be\n"
"                         repeated (default none)\n"
"  --senders N            senders (4), on hosts 2..N+1; the receiver is host 1\n"
"      --hosts N          hosts of permutation and alltoall (LAB_HOSTS, else 4)\n"
"  -q, --qp N             QPs per sender and receiver (1)\n"
"  -s, --size BYTES       message size (64k)\n"
"  -t, --tx-depth N       outstanding messages per QP (about 1 MB worth, 2 to 128)\n"
"  -D, --duration TIME    of a run, with the warm-up (2s)\n"
"  -n, --iters N          messages per QP, instead of a duration\n"
"      --warmup TIME      left out of the figures (100ms, 20ms from 10 Gb/s on, -n: 0)\n"
"      --sizes NAME       fixed (--size), websearch or hadoop: published distributions (fixed)\n"
"      --load F           Poisson arrivals, this share of the busiest link, as 0.5 or 50%\n"
"      --qp-pool N        each message takes a free one of N QPs of its hosts (one QP, in turn)\n"
"      --repeat N         run all so often, each time with another seed (1)\n"
"      --op OP            write, read or send (write)\n"
"      --start HOW        together, stagger (over the warm-up) or stagger:TIME (together)\n"
"      --poll             spin on the CQ instead of sleeping on its channel\n"
"  -d, --ib-dev DEV       the receiver's device; the others count up from it (rxe_1)\n"
"      --devices A,B,...  the devices by name: receiver, senders, victim\n"
"  -x, --gid-index N      (1)\n"
"  -m, --mtu BYTES        path MTU (the port's)\n"
"      --tclass N         traffic class of all packets, 2 lets queues mark them (0)\n"
"  -F                     taken and ignored\n"
"      --no-victim        no latency-sensitive flow\n"
"      --victim-size BYTES, --victim-interval TIME    its writes (64) and pauses (1ms)\n"
"      --rate RATE        of the bottleneck (LAB_RATE_BPS)\n"
"      --switch-ns NAME, --switch-port DEV    whose queue to sample (LAB_SWITCH_NS, _PORT)\n"
"      --preload FILE     the shim (the build tree's, else the installed libccshim.so)\n"
"      --seed N           of every random choice (LAB_SEED, else 1)\n"
"      --scenario TEXT    title of the report\n"
"      --timeout TIME     give up on a run (its duration and a minute)\n"
"      --out DIR          for results (LAB_OUT, else .); a FILE without a slash goes there\n"
"      --out_json FILE    figures as JSON\n"
"      --plot FILE        picture, .png or .svg\n"
"  -h, --help\n"
"With --out or LAB_OUT the JSON and the picture are written even if not asked for.\n", stdout);
}
