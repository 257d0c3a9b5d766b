/* SPDX-License-Identifier: BSD-2-Clause */
#include "tenantrig.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *const files[] = {
	"class", "class/net", "class/net/lo", "class/net/lo/statistics",
	"class/net/lo/statistics/rx_bytes",
};

enum { FILES = sizeof(files) / sizeof(*files) };

struct ccs_agent_tenant tenants_list[3];
unsigned tenants_n;
int tenants_of[PROCESSES];
static unsigned tenants_found;

static unsigned list_tenants(void *arg, struct ccs_agent_tenant to[CCS_AGENT_TENANTS])
{
	(void)arg;
	memcpy(to, tenants_list, sizeof(tenants_list));
	tenants_found = 0;
	return tenants_n;
}

static int tenant_of(void *arg, pid_t pid, uid_t uid)
{
	(void)arg, (void)pid, (void)uid;
	return tenants_of[tenants_found++ % PROCESSES];
}

static int select_key(void *arg, const struct ccs_address *peer)
{
	(void)arg, (void)peer;
	return 1;
}

static void put_tag(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		    size_t len, uint8_t tag[CCS_WIRE_TAG])
{
	(void)arg, (void)peer, (void)key, (void)message, (void)len;
	memset(tag, 1, CCS_WIRE_TAG);
}

static bool check_tag(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		      size_t len, const uint8_t tag[CCS_WIRE_TAG])
{
	(void)arg, (void)peer, (void)key, (void)message, (void)len, (void)tag;
	return true;
}

void lo_count(const struct rig *r, uint64_t bytes)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", r->dir, files[FILES - 1]);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%llu\n", (unsigned long long)bytes);
	fclose(f);
}

void lo_make(const struct rig *r)
{
	char path[256];

	for (unsigned i = 0; i < FILES - 1; i++) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	lo_count(r, 0);
}

void lo_remove(const struct rig *r)
{
	char path[256];

	for (unsigned i = FILES; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		remove(path);
	}
}

void tenants_set(unsigned n, const double *weight)
{
	tenants_n = n;
	for (unsigned i = 0; i < n; i++) {
		tenants_list[i] = (struct ccs_agent_tenant){ .identity = 100 + i, .terms.weight = weight[i] };
		snprintf(tenants_list[i].name, sizeof(tenants_list[i].name), "t%u", i);
		tenants_of[i] = (int)i;
	}
}

void tenants_begin(struct tenants_rig *b, void **state, bool key)
{
	struct rig *r = *state;

	*b = (struct tenants_rig){ .r = r, .capacity = { "lo", GBIT },
			     .auth = { .select = select_key, .tag = put_tag, .check = check_tag } };
	lo_make(r);
	for (int host = 0; host < RIG_HOSTS; host++) {
		rig_stop(r, host);
		r->config[host].sysfs = r->dir;
		r->config[host].capacities = &b->capacity;
		r->config[host].ncapacities = 1;
		r->config[host].auth = key ? &b->auth : NULL;
		r->config[host].tenants = list_tenants;
		r->config[host].tenant_of = tenant_of;
		rig_start(r, host);
	}
}

void tenants_add_process(struct tenants_rig *b, unsigned flows)
{
	struct tenants_process *p = &b->p[b->processes++];

	p->c = rig_client(b->r, RP);
	p->flows = flows;
	for (unsigned i = 0; i < flows; i++) {
		p->c.shm->slot[i].period_us = 200;
		p->c.shm->slot[i].requested = CCS_PEER_ADVICE;
		p->c.shm->slot[i].segment = 4096;
		assert_int_equal(rig_add(b->r, &p->c, RP, b->qps++, i), 0);
	}
}

void tenants_end(struct tenants_rig *b)
{
	for (unsigned i = 0; i < b->processes; i++)
		rig_hang_up(&b->p[i].c);
	lo_remove(b->r);
}

double tenants_advised(const struct tenants_process *p)
{
	struct ccs_path_telemetry t;

	assert_true(ccs_shm_path_read(rig_path(&p->c, 0), &t));
	return t.advised_rate;
}

void tenants_run(struct tenants_rig *b, unsigned ms)
{
	enum { STEP_NS = 100000 };

	for (unsigned i = 0; i < b->processes; i++)
		b->p[i].bits = 0;
	for (uint64_t done = 0; done < ms * MS; done += STEP_NS) {
		double sum = 0, most = (double)GBIT * STEP_NS / 1e9;

		for (unsigned i = 0; i < b->processes; i++)
			sum += tenants_advised(&b->p[i]) * b->p[i].flows * STEP_NS / 1e9;
		for (unsigned i = 0; i < b->processes; i++) {
			struct tenants_process *p = &b->p[i];

			p->bits += tenants_advised(p) * p->flows * STEP_NS / 1e9 * (sum > most ? most / sum : 1);
			for (unsigned k = 0; k < p->flows; k++)
				atomic_fetch_add(&p->c.shm->slot[k].sent, 4096);
		}
		b->r->now_ns += STEP_NS;
		b->rx_bytes += (uint64_t)((sum > most ? most : sum) / 8);
		lo_count(b->r, b->rx_bytes);
		rig_settle(b->r); /* send what is due */
		rig_settle(b->r); /* and arrives */
	}
}

double tenants_share(const struct tenants_rig *b, unsigned process)
{
	double all = 0;

	for (unsigned i = 0; i < b->processes; i++)
		all += b->p[i].bits;
	return b->p[process].bits / all;
}

void tenants_assert_shares(struct tenants_rig *b, unsigned n, const double *weight, double within)
{
	double weights = 0, bits = 0;

	for (unsigned i = 0; i < n; i++)
		weights += weight[i];
	for (unsigned i = 0; i < n; i++) {
		bits += b->p[i].bits;
		assert_float_equal(tenants_share(b, i) * weights / weight[i], 1, within);
	}
	assert_float_equal(bits / 200e-3 / GBIT, 0.975, 0.025);
}

int tenants_set_terms(struct tenants_rig *b, const char *name, unsigned set, struct ccs_terms t)
{
	struct ccs_ipc_tenant m = { .type = CCS_IPC_TENANT, .set = set, .weight = t.weight, .cap = t.cap,
				    .guarantee = t.guarantee, .floor = t.floor };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return rig_request(b->r, b->p[0].c.fd, &m, sizeof(m));
}
