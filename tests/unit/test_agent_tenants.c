/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tenants' shares of a port, by the code of the agents: processes of host RP send to host NP at the
 * rates that they are advised, and 127.0.0.3 sends only HELLOs.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/telemetry/caps.h"
#include "agent/telemetry/shares.h"
#include "feedback/agent_conn.h"
#include "agentrig.h"

enum { RP, NP, PROCESSES = 4 };

#define OTHER "127.0.0.3"
#define GBIT 1000000000ull
#define MS 1000000ull

struct process {
	struct rig_client c;
	unsigned flows;
	double bits;
};

struct bench {
	struct rig *r;
	struct process p[PROCESSES];
	unsigned processes, qps;
	uint64_t rx_bytes, sequence;
	struct ccs_agent_capacity capacity;
	struct ccs_agent_auth auth;
};

static const char *const files[] = {
	"class", "class/net", "class/net/lo", "class/net/lo/statistics",
	"class/net/lo/statistics/rx_bytes",
};

enum { FILES = sizeof(files) / sizeof(*files) };

/* The tenants of both hosts; the n-th process of RP is of tenant `of[n]`. */
static struct ccs_agent_tenant tenants[3];
static unsigned ntenants, found;
static int of[PROCESSES];

static unsigned list_tenants(void *arg, struct ccs_agent_tenant to[CCS_AGENT_TENANTS])
{
	(void)arg;
	memcpy(to, tenants, sizeof(tenants));
	found = 0;
	return ntenants;
}

static int tenant_of(void *arg, pid_t pid, uid_t uid)
{
	(void)arg, (void)pid, (void)uid;
	return of[found++ % PROCESSES];
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

static void put_bytes(const struct bench *b)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", b->r->dir, files[FILES - 1]);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%llu\n", (unsigned long long)b->rx_bytes);
	fclose(f);
}

static void set_tenants(unsigned n, const double *weight)
{
	ntenants = n;
	for (unsigned i = 0; i < n; i++) {
		tenants[i] = (struct ccs_agent_tenant){ .identity = 100 + i, .terms.weight = weight[i] };
		snprintf(tenants[i].name, sizeof(tenants[i].name), "t%u", i);
		of[i] = (int)i;
	}
}

static void begin(struct bench *b, void **state, bool key)
{
	struct rig *r = *state;
	char path[256];

	*b = (struct bench){ .r = r, .capacity = { "lo", GBIT },
			     .auth = { .select = select_key, .tag = put_tag, .check = check_tag } };
	for (unsigned i = 0; i < FILES - 1; i++) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	put_bytes(b);
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

static void add_process(struct bench *b, unsigned flows)
{
	struct process *p = &b->p[b->processes++];

	p->c = rig_client(b->r, RP);
	p->flows = flows;
	for (unsigned i = 0; i < flows; i++) {
		p->c.shm->slot[i].period_us = 200;
		p->c.shm->slot[i].requested = CCS_PEER_ADVICE;
		p->c.shm->slot[i].segment = 4096;
		assert_int_equal(rig_add(b->r, &p->c, RP, b->qps++, i), 0);
	}
}

static void end(struct bench *b)
{
	char path[256];

	for (unsigned i = 0; i < b->processes; i++)
		rig_hang_up(&b->p[i].c);
	for (unsigned i = FILES; i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", b->r->dir, files[i]);
		remove(path);
	}
}

static double advised(const struct process *p)
{
	struct ccs_path_telemetry t;

	assert_true(ccs_shm_path_read(rig_path(&p->c, 0), &t));
	return t.advised_rate;
}

/* All flows send at the advised rates for `ms`; the port is full if these are more than its capacity. */
static void run(struct bench *b, unsigned ms)
{
	enum { STEP_NS = 100000 };

	for (unsigned i = 0; i < b->processes; i++)
		b->p[i].bits = 0;
	for (uint64_t done = 0; done < ms * MS; done += STEP_NS) {
		double sum = 0, most = (double)GBIT * STEP_NS / 1e9;

		for (unsigned i = 0; i < b->processes; i++)
			sum += advised(&b->p[i]) * b->p[i].flows * STEP_NS / 1e9;
		for (unsigned i = 0; i < b->processes; i++) {
			struct process *p = &b->p[i];

			p->bits += advised(p) * p->flows * STEP_NS / 1e9 * (sum > most ? most / sum : 1);
			for (unsigned k = 0; k < p->flows; k++)
				atomic_fetch_add(&p->c.shm->slot[k].sent, 4096);
		}
		b->r->now_ns += STEP_NS;
		b->rx_bytes += (uint64_t)((sum > most ? most : sum) / 8);
		put_bytes(b);
		rig_settle(b->r); /* send what is due */
		rig_settle(b->r); /* and arrives */
	}
}

static double share(const struct bench *b, unsigned process)
{
	double all = 0;

	for (unsigned i = 0; i < b->processes; i++)
		all += b->p[i].bits;
	return b->p[process].bits / all;
}

static void assert_shares(struct bench *b, unsigned n, const double *weight, double within)
{
	double weights = 0, bits = 0;

	for (unsigned i = 0; i < n; i++)
		weights += weight[i];
	for (unsigned i = 0; i < n; i++) {
		bits += b->p[i].bits;
		assert_float_equal(share(b, i) * weights / weight[i], 1, within);
	}
	assert_float_equal(bits / 200e-3 / GBIT, 0.975, 0.025);
}

static void rates_are_in_proportion_to_weights_for_any_number_of_flows(void **state)
{
	static const double weight[] = { 1, 2, 4 };
	struct bench b;

	set_tenants(3, weight);
	begin(&b, state, true);
	add_process(&b, 1);
	add_process(&b, 16);
	add_process(&b, 64);
	run(&b, 300);
	run(&b, 200);
	assert_shares(&b, 3, weight, 0.03);
	end(&b);
}

/* A tenant's processes share its rate, so more of them gain nothing. */
static void processes_of_a_tenant_share_its_rate(void **state)
{
	static const double weight[] = { 1, 3 }, each[] = { 1 / 4., 1 / 4., 1 / 2., 3 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 1 }, sizeof(of));
	add_process(&b, 5);
	add_process(&b, 5);
	add_process(&b, 10);
	add_process(&b, 2);
	run(&b, 300);
	run(&b, 200);
	assert_shares(&b, 4, each, 0.03);
	end(&b);
}

static void processes_without_a_tenant_are_one_of_weight_1(void **state)
{
	static const double weight[] = { 2 }, each[] = { 2, 1 / 3., 2 / 3. };
	struct bench b;

	set_tenants(1, weight);
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, -1, -1, -1 }, sizeof(of));
	add_process(&b, 3);
	add_process(&b, 20);
	add_process(&b, 40);
	run(&b, 300);
	run(&b, 200);
	assert_shares(&b, 3, each, 0.03);
	end(&b);
}

/* -- what other hosts state ------------------------------------------------------------ */

static void claim(struct bench *b, uint64_t identity, uint32_t weight, uint32_t flows)
{
	struct ccs_ends ends = b->r->agent[NP]->peers.peer[0].ends;
	struct ccs_wire_message m = {
		.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = ++b->sequence,
			    .tenants = 1 },
		.hello = { .lease_ms = 3000, .requested = CCS_PEER_ADVICE, .period_us = 1000,
			   .flows = flows, .segment = 4096 },
		.tenant = { { .tenant = identity, .weight = weight, .flows = flows } },
	};

	ccs_address_parse(OTHER, &ends.remote);
	m.header.echo = ccs_agent_incarnation(b->r->agent[NP], &ends);
	rig_forge_message(b->r, OTHER, NP, &m);
}

/* The largest weight in the shares of the port. */
static double largest(struct bench *b)
{
	struct ccs_port *port = &b->r->agent[NP]->port[0];
	double most = 0;

	ccs_port_share(b->r->agent[NP], port);
	for (unsigned i = 0; i < port->shares.n; i++)
		most = port->shares.share[i].weight > most ? port->shares.share[i].weight : most;
	return most;
}

static void without_a_key_a_host_has_weight_1(void **state)
{
	static const double weight[] = { 4, 4 }, half[] = { 1, 1 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, false);
	add_process(&b, 4);
	add_process(&b, 32);
	run(&b, 300);
	claim(&b, 7, 10000, 3);
	assert_float_equal(largest(&b), 1, 1e-9);
	run(&b, 200); /* the other host sends nothing, and takes nothing */
	assert_shares(&b, 2, half, 0.03);
	end(&b);
}

/* Where this host has no tenants, a host without a key cannot get a share for its tenants. */
static void without_a_key_tenants_of_another_host_end_no_equality_of_flows(void **state)
{
	static const double weight[] = { 4, 4 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, false);
	rig_stop(b.r, NP);
	b.r->config[NP].tenants = NULL;
	b.r->config[NP].tenant_of = NULL;
	rig_start(b.r, NP);
	add_process(&b, 4);
	add_process(&b, 32);
	run(&b, 300);
	claim(&b, 7, 10000, 3);
	ccs_port_share(b.r->agent[NP], &b.r->agent[NP]->port[0]);
	assert_int_equal(b.r->agent[NP]->port[0].shares.n, 0);
	assert_float_equal(advised(&b.p[0]), advised(&b.p[1]), 1);
	end(&b);
}

static void with_a_key_weights_count_but_not_flows_that_do_not_send(void **state)
{
	static const double weight[] = { 1, 3 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, true);
	add_process(&b, 4);
	add_process(&b, 32);
	run(&b, 300);
	claim(&b, 7, 10000, 3);
	assert_float_equal(largest(&b), 100, 1e-9);
	run(&b, 200);
	assert_shares(&b, 2, weight, 0.03);
	end(&b);
}

/* A host that states a higher weight of another's tenant does not raise it. */
static void the_lowest_weight_of_a_tenant_counts(void **state)
{
	static const double weight[] = { 1, 3 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, true);
	add_process(&b, 4);
	add_process(&b, 32);
	run(&b, 10);
	claim(&b, 100, 10000, 3);
	assert_float_equal(largest(&b), 3, 1e-9);
	end(&b);
}

/* -- changes ------------------------------------------------------------------------------- */

static int set_weight(struct bench *b, const char *name, double weight)
{
	struct ccs_ipc_tenant m = { .type = CCS_IPC_TENANT, .set = CCS_TERM_WEIGHT, .weight = weight };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return rig_request(b->r, b->p[0].c.fd, &m, sizeof(m));
}

static void a_weight_changes_while_flows_send(void **state)
{
	static const double weight[] = { 1, 1 }, after[] = { 1, 5 };
	struct bench b;

	set_tenants(2, weight);
	begin(&b, state, true);
	add_process(&b, 4);
	add_process(&b, 8);
	run(&b, 300);
	run(&b, 200);
	assert_shares(&b, 2, weight, 0.03);
	rig_set_standing(b.r, RP, CCS_STANDING_USER);
	assert_int_equal(set_weight(&b, "t1", 5), EPERM);
	rig_set_standing(b.r, RP, CCS_STANDING_ADMIN);
	assert_int_equal(set_weight(&b, "t9", 5), ENOENT);
	assert_int_equal(set_weight(&b, "t1", 101), EINVAL);
	assert_int_equal(set_weight(&b, "t1", 0), EINVAL);
	assert_int_equal(set_weight(&b, "t1", NAN), EINVAL);
	assert_int_equal(set_weight(&b, "t1", 5), 0);
	run(&b, 20);
	run(&b, 200);
	assert_shares(&b, 2, after, 0.03);
	end(&b);
}

/* -- guarantees, background and caps -------------------------------------------------------- */

static int set_terms(struct bench *b, const char *name, unsigned set, struct ccs_terms t)
{
	struct ccs_ipc_tenant m = { .type = CCS_IPC_TENANT, .set = set, .weight = t.weight, .cap = t.cap,
				    .guarantee = t.guarantee, .floor = t.floor };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return rig_request(b->r, b->p[0].c.fd, &m, sizeof(m));
}

/* Two tenants of weight 1 and .01, the latter with a guarantee of a fifth of the port or background. */
static void run_terms(struct bench *b, void **state, bool key, struct ccs_terms terms)
{
	set_tenants(2, (const double[]){ 1, .01 });
	tenants[1].terms = terms;
	begin(b, state, key);
	add_process(b, 63);
	add_process(b, 1);
	run(b, 300);
	run(b, 200);
}

static void a_guarantee_is_in_force_with_the_key_only(void **state)
{
	static const double with[] = { .98 - .2, .2 }, without[] = { 1, .01 };
	struct bench b;

	run_terms(&b, state, true, (struct ccs_terms){ .weight = .01, .guarantee = .2 * (double)GBIT });
	assert_shares(&b, 2, with, 0.03);
	end(&b);
	rig_teardown(state);
	rig_setup(state);
	run_terms(&b, state, false, (struct ccs_terms){ .weight = .01, .guarantee = .2 * (double)GBIT });
	assert_shares(&b, 2, without, 0.1); /* its host's tenants divide its host's share */
	end(&b);
}

static void background_has_its_floor_beside_others(void **state)
{
	static const double floor[] = { .95, .05 };
	struct bench b;

	run_terms(&b, state, true, (struct ccs_terms){ .weight = 1, .floor = .05 });
	assert_shares(&b, 2, floor, 0.1);
	end(&b);
}

/* A guarantee or class that a host without the key states has no effect on others. */
static void without_a_key_other_hosts_are_foreground_of_weight_1(void **state)
{
	struct ccs_ends ends;
	struct ccs_port *port;
	struct bench b;

	for (unsigned key = 0; key < 2; key++) {
		struct ccs_wire_message m = {
			.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1, .tenants = 2 },
			.hello = { .lease_ms = 3000, .requested = CCS_PEER_ADVICE, .period_us = 1000,
				   .flows = 2, .segment = 4096 },
			.tenant = { { .tenant = 7, .weight = 1, .flows = 1, .guarantee = 900 },
				    { .tenant = 8, .weight = 1, .flows = 1, .floor = 100 } },
		};

		set_tenants(1, (const double[]){ 1 });
		begin(&b, state, key);
		add_process(&b, 4);
		run(&b, 10);
		ends = b.r->agent[NP]->peers.peer[0].ends;
		ccs_address_parse(OTHER, &ends.remote);
		m.header.echo = ccs_agent_incarnation(b.r->agent[NP], &ends);
		rig_forge_message(b.r, OTHER, NP, &m);
		port = &b.r->agent[NP]->port[0];
		ccs_port_share(b.r->agent[NP], port);
		assert_int_equal(port->shares.n, 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_true(key || !(port->shares.share[i].guarantee > 0));
			assert_true(key || !(port->shares.share[i].floor > 0));
		}
		assert_int_equal(port->shares.claimed > 0, key);
		end(&b);
		rig_teardown(state);
		rig_setup(state);
	}
}

/* Each flow of the process has that cap, bit/s, and shares it by the same entry of the page. */
static void assert_cap(const struct bench *b, unsigned process, uint64_t cap, uint32_t entry)
{
	for (unsigned i = 0; i < b->p[process].flows; i++) {
		assert_int_equal(atomic_load(&b->p[process].c.shm->slot[i].limit), cap);
		assert_int_equal(atomic_load(&b->p[process].c.shm->slot[i].cap), entry);
	}
}

/* Connect another process of tenant `of`. Returns the page that it gets with the answer, or NULL. */
static struct ccs_cap *connect_process(struct bench *b, int *fd)
{
	struct ccs_shm *shm;
	const int region = rig_region(&shm);
	struct ccs_ipc_result result;
	struct ccs_cap *caps = NULL;
	int passed;

	*fd = ccs_agent_conn_open(b->r->socket[RP], region);
	rig_settle(b->r);
	assert_int_equal(ccs_agent_conn_reply(*fd, &result, &passed), 0);
	assert_int_equal(result.type, CCS_IPC_RESULT);
	assert_int_equal(result.error, 0);
	if (passed >= 0) {
		caps = mmap(NULL, CCS_CAP_PORTS * sizeof(*caps), PROT_READ | PROT_WRITE, MAP_SHARED, passed, 0);
		assert_ptr_not_equal(caps, MAP_FAILED);
		assert_int_equal(ftruncate(passed, 0), -1); /* other processes would get SIGBUS */
		close(passed);
	}
	munmap(shm, sizeof(*shm));
	close(region);
	return caps;
}

static void processes_of_a_tenant_share_its_cap(void **state)
{
	struct ccs_cap *caps[4];
	struct bench b;
	int fd[4];

	set_tenants(2, (const double[]){ 1, 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 1, -1 }, sizeof(of));
	for (unsigned i = 0; i < 4; i++)
		caps[i] = connect_process(&b, &fd[i]);
	caps[0][3].free_ns = 7;
	assert_int_equal(caps[1][3].free_ns, 7);
	assert_int_equal(caps[2][3].free_ns, 0); /* another tenant's */
	assert_null(caps[3]);
	for (unsigned i = 0; i < 4; i++)
		close(fd[i]);
	for (unsigned i = 0; i < 3; i++)
		munmap(caps[i], CCS_CAP_PORTS * sizeof(*caps[i]));
	end(&b);
}

static void a_cap_changes_at_once(void **state)
{
	struct ccs_cap_page *page;
	struct bench b;

	set_tenants(2, (const double[]){ 1, 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 1 }, sizeof(of));
	add_process(&b, 8);
	add_process(&b, 4);
	add_process(&b, 20);
	add_process(&b, 2);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 200000000, 1);
	assert_cap(&b, 3, 0, 1);
	/* what flows have reserved at another rate does not delay them; a process may write anything */
	for (page = b.r->agent[RP]->flows.caps; strcmp(page->name, "t0") != 0; page = page->next)
		;
	page->cap[0].free_ns = UINT64_MAX;
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 1e8 }), 0);
	assert_int_equal(page->cap[0].free_ns, b.r->now_ns);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 100000000, 1);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 0 }), 0);
	assert_int_equal(set_terms(&b, "t1", CCS_TERM_CAP, (struct ccs_terms){ .cap = 3e8 }), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 0, 1);
	assert_cap(&b, 3, 300000000, 1);
	assert_int_equal(set_terms(&b, "t1", CCS_TERM_BACKGROUND, (struct ccs_terms){ 0 }), 0);
	assert_cap(&b, 3, 300000000 | CCS_BACKGROUND, 1);
	/* a tenant that is no longer configured leaves no limit */
	ntenants = 0;
	ccs_agent_reload(b.r->agent[RP]);
	assert_cap(&b, 3, 0, 0);
	end(&b);
}

static const struct ccs_cap_page *page_of(const struct bench *b, uid_t uid)
{
	const struct ccs_cap_page *p = b->r->agent[RP]->flows.caps;

	while (p && p->uid != uid)
		p = p->next;
	return p;
}

/* A process may write any time into its page, and so keep all that share it from sending. */
static void users_of_a_tenant_divide_its_cap(void **state)
{
	const uid_t own = geteuid(), other = own + 1;
	struct ccs_agent *a;
	struct bench b;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	a = b.r->agent[RP];
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	add_process(&b, 3);
	add_process(&b, 2);
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0 && c->flows == 2)
			rig_set_user(a, c, other);
	ccs_agent_reload(a);
	assert_cap(&b, 1, 100000000, 1);
	assert_ptr_not_equal(page_of(&b, own), NULL);
	assert_ptr_not_equal(page_of(&b, other), NULL);
	page_of(&b, other)->cap[0].free_ns = UINT64_MAX;
	assert_int_equal(page_of(&b, own)->cap[0].free_ns, b.r->now_ns); /* of the change of its rate */
	run(&b, 200);
	assert_cap(&b, 0, 100000000, 1);
	rig_hang_up(&b.p[1].c);
	b.processes = 1;
	run(&b, 200);
	assert_int_equal(page_of(&b, other)->clients, 0);
	assert_cap(&b, 0, 200000000, 1);
	end(&b);
}

/* Otherwise a process that connects again and again, and keeps what it gets, uses up the agent's memory. */
static void a_process_that_connects_again_gets_the_same_page(void **state)
{
	struct ccs_cap *caps[2];
	struct bench b;
	int fd;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	for (unsigned i = 0; i < 2; i++) {
		caps[i] = connect_process(&b, &fd);
		caps[i][3].free_ns += 7;
		close(fd);
		rig_settle(b.r);
		assert_int_equal(b.r->agent[RP]->nclients, 0);
	}
	assert_int_equal(caps[1][3].free_ns, 14);
	for (unsigned i = 0; i < 2; i++)
		munmap(caps[i], CCS_CAP_PORTS * sizeof(*caps[i]));
	assert_null(page_of(&b, geteuid())->next);
	b.r->now_ns += 61000 * MS;
	run(&b, 200);
	assert_null(page_of(&b, geteuid()));
	end(&b);
}

/* A user with many user IDs could otherwise take all descriptors of the agent by one connection after another,
 * and its memory by what those processes keep. */
static void pages_of_former_users_are_few_and_released(void **state)
{
	struct ccs_client c = { .tenant = 1 };
	struct ccs_agent *a;
	unsigned pages = 0;
	struct stat st;
	struct bench b;
	int kept;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	a = b.r->agent[RP];
	close(rig_region(&c.shm));
	for (c.uid = 100000; c.uid < 101000; c.uid++) {
		ccs_caps_attach(a, &c);
		pages += c.caps != NULL;
		ccs_caps_detach(a, &c);
	}
	assert_int_equal(pages, 128);
	kept = dup(a->flows.caps->fd);
	a->flows.caps->cap[0].free_ns = 5;
	assert_int_equal(fstat(kept, &st), 0);
	assert_true(st.st_blocks > 0);
	b.r->now_ns += 61000 * MS;
	run(&b, 200);
	assert_null(a->flows.caps);
	assert_int_equal(fstat(kept, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	close(kept);
	assert_true(ccs_caps_attach(a, &c));
	ccs_caps_detach(a, &c);
	munmap(c.shm, sizeof(*c.shm));
	end(&b);
}

/* Leave more descriptors unreceived than the kernel lets a process without privileges send. */
static void exhaust_descriptors_in_flight(int pair[2])
{
	enum { N = 250 };
	const struct rlimit less = { N - 50, N - 50 };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(N * sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(N * sizeof(int)) } };
	struct iovec iov = { .iov_base = &(char){ 0 }, .iov_len = 1 };
	const struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	int fd[N];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (unsigned i = 0; i < N; i++)
		fd[i] = 0;
	memcpy(CMSG_DATA(&control.head), fd, sizeof(fd));
	assert_int_equal(sendmsg(pair[0], &m, 0), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	assert_int_equal(syscall(SYS_capset, &head, none), 0);
}

/* Any user can bring this about: the others must get feedback. In a process that gives up its privileges. */
static void without_descriptors_to_pass_on_a_process_gets_an_answer(void **state)
{
	struct bench b;
	pid_t child;
	int status;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	child = fork();
	if (!child) {
		struct ccs_ipc_result result = { .error = -1 };
		struct ccs_shm *shm;
		int pair[2], passed, fd = ccs_agent_conn_open(b.r->socket[RP], rig_region(&shm));

		exhaust_descriptors_in_flight(pair);
		rig_settle(b.r);
		_exit(ccs_agent_conn_reply(fd, &result, &passed) || result.error ? 2 : passed < 0 ? 3 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	end(&b);
}

static struct ccs_client *client_of(const struct bench *b, uint32_t flows)
{
	struct ccs_client *c = b->r->agent[RP]->client;

	while (c->source.fd < 0 || c->flows != flows)
		c++;
	return c;
}

/* Root of a container is another user than root, and users without a number may not slow each other. */
static void flows_that_may_not_slow_each_other_have_two_pages(void **state)
{
	struct ccs_client *c[3];
	struct bench b;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2.4e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	for (unsigned i = 0; i < 3; i++) {
		add_process(&b, 1 + i);
		c[i] = client_of(&b, 1 + i);
		c[i]->standing = CCS_STANDING_USER;
	}
	c[0]->standing = CCS_STANDING_ADMIN;
	ccs_agent_reload(b.r->agent[RP]);
	run(&b, 200);
	assert_ptr_not_equal(c[0]->caps, c[1]->caps);
	assert_ptr_equal(c[1]->caps, c[2]->caps);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 120000000, 1);
	for (unsigned i = 1; i < 3; i++)
		rig_set_user(b.r->agent[RP], c[i], CCS_NO_USER);
	ccs_agent_reload(b.r->agent[RP]);
	run(&b, 200);
	assert_ptr_not_equal(c[1]->caps, c[2]->caps);
	assert_cap(&b, 0, 120000000, 1);
	assert_cap(&b, 1, 60000000, 1); /* they are one user */
	assert_cap(&b, 2, 60000000, 1);
	end(&b);
}

/* Ports beyond those of the page share its last entry, so the cap holds for their sum. */
static void a_cap_is_of_each_device_and_port(void **state)
{
	struct ccs_ipc_add m;
	struct bench b;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	add_process(&b, 1);
	for (unsigned i = 1; i < 70; i++) {
		m = rig_flow(b.r, RP, 100 + i, i);
		m.port = 1 + i % 2;
		snprintf(m.device, sizeof(m.device), "other%u", i / 2);
		assert_int_equal(rig_request(b.r, b.p[0].c.fd, &m, sizeof(m)), 0);
		assert_int_equal(atomic_load(&b.p[0].c.shm->slot[i].cap), i < 64 ? i + 1 : 64);
	}
	m = rig_flow(b.r, RP, 300, 80);
	m.port = 2;
	snprintf(m.device, sizeof(m.device), "other0");
	assert_int_equal(rig_request(b.r, b.p[0].c.fd, &m, sizeof(m)), 0);
	assert_int_equal(atomic_load(&b.p[0].c.shm->slot[80].cap), 2);
	end(&b);
}

/* Slurm's prolog reloads the tenants for each job. A cap that is in force must stay as it is. */
static void a_reload_leaves_caps_in_force(void **state)
{
	struct ccs_ipc_result result;
	struct ccs_cap *before;
	struct bench b;
	int passed;

	set_tenants(1, (const double[]){ 1 });
	tenants[0].terms.cap = 2e8;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	add_process(&b, 3);
	add_process(&b, 2);
	before = b.r->agent[RP]->flows.caps->cap;
	before[0].free_ns = 99;
	/* another tenant comes first in the file */
	tenants[1] = tenants[0];
	tenants[0] = (struct ccs_agent_tenant){ .name = "new", .identity = 7, .terms.weight = 1 };
	ntenants = 2;
	memcpy(of, (int[]){ 1, 1, 1, 1 }, sizeof(of));
	ccs_agent_reload(b.r->agent[RP]);
	assert_ptr_equal(b.r->agent[RP]->flows.caps->cap, before);
	assert_int_equal(before[0].free_ns, 99);
	assert_cap(&b, 0, 200000000, 1);
	assert_cap(&b, 1, 200000000, 1);
	assert_int_equal(ccs_agent_conn_reply(b.p[0].c.fd, &result, &passed), EAGAIN);
	/* a process that now belongs to another tenant gets its page, without a request */
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	ccs_agent_reload(b.r->agent[RP]);
	assert_cap(&b, 0, 0, 1);
	assert_int_equal(ccs_agent_conn_reply(b.p[0].c.fd, &result, &passed), 0);
	assert_int_equal(result.type, CCS_IPC_CAPS);
	assert_true(passed >= 0);
	close(passed);
	ccs_agent_conn_reply(b.p[1].c.fd, &result, &passed);
	close(passed);
	end(&b);
}

/* Users could otherwise have HELLOs sent without end. */
static void changes_that_do_not_concern_other_hosts_are_not_sent(void **state)
{
	struct bench b;
	uint64_t sent;

	set_tenants(1, (const double[]){ 1 });
	begin(&b, state, true);
	add_process(&b, 2);
	run(&b, 50);
	sent = b.r->agent[RP]->totals.hellos_sent;
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 2e8 }), 0);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_FOREGROUND, (struct ccs_terms){ 0 }), 0);
	assert_int_equal(b.r->agent[RP]->totals.hellos_sent, sent);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_BACKGROUND, (struct ccs_terms){ 0 }), 0);
	assert_int_equal(b.r->agent[RP]->totals.hellos_sent, sent + 1);
	run(&b, 5);
	assert_true(b.r->agent[NP]->port[0].shares.share[0].floor > 0);
	end(&b);
}

static void users_may_lower_the_cap_and_class_of_their_tenant_only(void **state)
{
	const struct ccs_terms low = { .cap = 1e8 }, high = { .cap = 4e8 }, none = { 0 };
	struct bench b;

	set_tenants(2, (const double[]){ 1, 1 });
	tenants[0].terms.cap = 2e8;
	tenants[0].users_may_lower = true;
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	add_process(&b, 2);
	rig_set_standing(b.r, RP, CCS_STANDING_USER);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, high), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, none), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = NAN }), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_WEIGHT, (struct ccs_terms){ .weight = .5 }), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_GUARANTEE, none), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_FOREGROUND, none), EPERM);
	assert_int_equal(set_terms(&b, "t1", CCS_TERM_CAP, low), EPERM);
	assert_int_equal(set_terms(&b, "t9", CCS_TERM_CAP, low), EPERM);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP | CCS_TERM_BACKGROUND, low), 0);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 2e8 }), EPERM);
	/* once in a tick: a user with many flows would stop the agent by many requests */
	run(&b, 200);
	assert_cap(&b, 0, 100000000 | CCS_BACKGROUND, 1);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 9e7 }), 0);
	assert_cap(&b, 0, 100000000 | CCS_BACKGROUND, 1);
	run(&b, 200);
	assert_cap(&b, 0, 90000000 | CCS_BACKGROUND, 1);
	b.r->agent[RP]->flows.tenant[0].users_may_lower = false; /* cgroup and app: several users' */
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 5e7 }), EPERM);
	rig_set_standing(b.r, RP, CCS_STANDING_ADMIN);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_GUARANTEE, low), 0);
	assert_int_equal(set_terms(&b, "t0", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 2e8 }), EINVAL);
	b.r->agent[RP]->config.guarantees = 9e8;
	assert_int_equal(set_terms(&b, "t1", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 9.1e8 }), ERANGE);
	assert_int_equal(set_terms(&b, "t1", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 8e8 }), 0);
	end(&b);
}

/* A process of another tenant may have its ID now. */
static void an_ended_process_has_no_tenant(void **state)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(int);
	struct ccs_shm *shm;
	struct bench b;
	int shm_fd, old;
	pid_t child;

	set_tenants(1, (const double[]){ 1 });
	begin(&b, state, true);
	memcpy(of, (int[]){ 0, 0, 0, 0 }, sizeof(of));
	strcpy(at.sun_path, b.r->config[RP].socket);
	child = fork();
	if (!child)
		_exit(connect(fd, (struct sockaddr *)&at, sizeof(at)));
	assert_int_equal(waitpid(child, NULL, 0), child);
	old = getsockopt(fd, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &(int){ 0 }, &len) && errno == ENOPROTOOPT;
	shm_fd = rig_region(&shm);
	assert_int_equal(rig_hello(b.r, fd, shm_fd), 0);
	for (unsigned i = 0; i < CCS_AGENT_CLIENTS; i++)
		if (b.r->agent[RP]->client[i].source.fd >= 0)
			assert_int_equal(b.r->agent[RP]->client[i].tenant, old);
	rig_hang_up(&(struct rig_client){ .fd = fd, .shm_fd = shm_fd, .shm = shm });
	end(&b);
}

static char *status(struct bench *b, struct ccs_client *viewer, enum ccs_standing standing)
{
	size_t len;

	viewer->standing = standing;
	return ccs_status_text(b->r->agent[RP], viewer, &len);
}

static void users_see_no_names_of_others_tenants(void **state)
{
	struct bench b;
	struct ccs_client other = { .uid = 12345 };
	char *text;

	set_tenants(1, (const double[]){ 2 });
	begin(&b, state, true);
	add_process(&b, 1);
	text = status(&b, &other, CCS_STANDING_USER);
	assert_null(strstr(text, "\"t0\""));
	free(text);
	text = status(&b, &other, CCS_STANDING_ADMIN);
	assert_non_null(strstr(text, "\"t0\""));
	free(text);
	end(&b);
}

/* A status that does not fit into one packet is none. Each host that sends may state 16 tenants. */
static void a_status_lists_few_of_many_shares(void **state)
{
	enum { SHARES = 4000, PACKET = 212992 - 32 }; /* net.core.wmem_default */
	struct ccs_client viewer = { .uid = 0 };
	struct ccs_tenant_share *many;
	struct ccs_port *port;
	struct bench b;
	char *text;

	set_tenants(1, (const double[]){ 2 });
	begin(&b, state, true);
	add_process(&b, 1);
	run(&b, 50);
	port = &b.r->agent[NP]->port[0];
	many = reallocarray(port->shares.share, SHARES, sizeof(*many));
	assert_non_null(many);
	for (unsigned i = 0; i < SHARES; i++)
		many[i] = (struct ccs_tenant_share){ .tenant = i == SHARES - 1 ? 100 : 1000 + i, .weight = 1. / 3, .flows = 7 };
	port->shares.share = many;
	port->shares.max = port->shares.n = SHARES;
	port->shares.unit = 1;
	viewer.standing = CCS_STANDING_ADMIN;
	text = ccs_status_text(b.r->agent[NP], &viewer, &(size_t){ 0 });
	assert_in_range(strlen(text), 1, PACKET);
	assert_non_null(strstr(text, "\"shares_omitted\": 3744"));
	assert_non_null(strstr(text, "\"tenant\": \"t0\",\n          \"weight\": 0.333")); /* the host's own */
	free(text);
	end(&b);
}

static void a_reload_finds_the_tenants_again(void **state)
{
	static const double before[] = { 1, 1 }, after[] = { 3, 1 };
	struct bench b;

	set_tenants(2, before);
	begin(&b, state, true);
	add_process(&b, 4);
	add_process(&b, 8);
	run(&b, 300);
	set_tenants(2, (const double[]){ 2, 6 });
	memcpy(of, (int[]){ 0, 1 }, 2 * sizeof(int));
	ccs_agent_reload(b.r->agent[RP]);
	/* Clients are found from the start of the table, whose last entries are used first. */
	run(&b, 50);
	run(&b, 200);
	assert_shares(&b, 2, after, 0.03);
	end(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(rates_are_in_proportion_to_weights_for_any_number_of_flows),
		TEST(processes_of_a_tenant_share_its_rate),
		TEST(processes_without_a_tenant_are_one_of_weight_1),
		TEST(without_a_key_a_host_has_weight_1),
		TEST(without_a_key_tenants_of_another_host_end_no_equality_of_flows),
		TEST(with_a_key_weights_count_but_not_flows_that_do_not_send),
		TEST(the_lowest_weight_of_a_tenant_counts),
		TEST(a_weight_changes_while_flows_send),
		TEST(a_guarantee_is_in_force_with_the_key_only),
		TEST(background_has_its_floor_beside_others),
		TEST(without_a_key_other_hosts_are_foreground_of_weight_1),
		TEST(processes_of_a_tenant_share_its_cap),
		TEST(a_cap_changes_at_once),
		TEST(a_cap_is_of_each_device_and_port),
		TEST(users_of_a_tenant_divide_its_cap),
		TEST(flows_that_may_not_slow_each_other_have_two_pages),
		TEST(a_process_that_connects_again_gets_the_same_page),
		TEST(pages_of_former_users_are_few_and_released),
		TEST(without_descriptors_to_pass_on_a_process_gets_an_answer),
		TEST(a_reload_leaves_caps_in_force),
		TEST(changes_that_do_not_concern_other_hosts_are_not_sent),
		TEST(users_may_lower_the_cap_and_class_of_their_tenant_only),
		TEST(an_ended_process_has_no_tenant),
		TEST(users_see_no_names_of_others_tenants),
		TEST(a_status_lists_few_of_many_shares),
		TEST(a_reload_finds_the_tenants_again),
	};

	return cmocka_run_group_tests_name("agent_tenants", tests, NULL, NULL);
}
