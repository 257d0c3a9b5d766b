/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tenants' shares of a port, by the code of the agents: processes of host RP send to host NP at the
 * rates that they are advised, and 127.0.0.3 sends only HELLOs.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/events.h"
#include "agent/telemetry/shares.h"
#include "tenantrig.h"

#define OTHER "127.0.0.3"

/* Tenants of 4 and of `flows` flows, which send for `ms`. */
static void begin_two(struct tenants_rig *b, void **state, bool key, const double *weight, unsigned flows,
		      unsigned ms)
{
	tenants_set(2, weight);
	tenants_begin(b, state, key);
	tenants_add_process(b, 4);
	tenants_add_process(b, flows);
	tenants_run(b, ms);
}

RIG_TEST(rates_are_in_proportion_to_weights_for_any_number_of_flows)
{
	static const double weight[] = { 1, 2, 4 };
	struct tenants_rig b;

	tenants_set(3, weight);
	tenants_begin(&b, state, true);
	tenants_add_process(&b, 1);
	tenants_add_process(&b, 16);
	tenants_add_process(&b, 64);
	tenants_run(&b, 300);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 3, weight, 0.03);
	tenants_end(&b);
}

/* A tenant's processes share its rate, so more of them gain nothing. */
RIG_TEST(processes_of_a_tenant_share_its_rate)
{
	static const double weight[] = { 1, 3 }, each[] = { 1 / 4., 1 / 4., 1 / 2., 3 };
	struct tenants_rig b;

	tenants_set(2, weight);
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 1 }, sizeof(tenants_of));
	tenants_add_process(&b, 5);
	tenants_add_process(&b, 5);
	tenants_add_process(&b, 10);
	tenants_add_process(&b, 2);
	tenants_run(&b, 300);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 4, each, 0.03);
	tenants_end(&b);
}

RIG_TEST(processes_without_a_tenant_are_one_of_weight_1)
{
	static const double weight[] = { 2 }, each[] = { 2, 1 / 3., 2 / 3. };
	struct tenants_rig b;

	tenants_set(1, weight);
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, -1, -1, -1 }, sizeof(tenants_of));
	tenants_add_process(&b, 3);
	tenants_add_process(&b, 20);
	tenants_add_process(&b, 40);
	tenants_run(&b, 300);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 3, each, 0.03);
	tenants_end(&b);
}

/* -- what other hosts state ------------------------------------------------------------ */

static void claim(struct tenants_rig *b, uint64_t identity, uint32_t weight, uint32_t flows)
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
static double largest(struct tenants_rig *b)
{
	struct ccs_port *port = &b->r->agent[NP]->port[0];
	double most = 0;

	ccs_port_share(b->r->agent[NP], port);
	for (unsigned i = 0; i < port->shares.n; i++)
		most = port->shares.share[i].weight > most ? port->shares.share[i].weight : most;
	return most;
}

RIG_TEST(without_a_key_a_host_has_weight_1)
{
	static const double weight[] = { 4, 4 }, half[] = { 1, 1 };
	struct tenants_rig b;

	begin_two(&b, state, false, weight, 32, 300);
	claim(&b, 7, 10000, 3);
	assert_float_equal(largest(&b), 1, 1e-9);
	tenants_run(&b, 200); /* the other host sends nothing, and takes nothing */
	tenants_assert_shares(&b, 2, half, 0.03);
	tenants_end(&b);
}

/* Where this host has no tenants, a host without a key cannot get a share for its tenants. */
RIG_TEST(without_a_key_tenants_of_another_host_end_no_equality_of_flows)
{
	static const double weight[] = { 4, 4 };
	struct tenants_rig b;

	tenants_set(2, weight);
	tenants_begin(&b, state, false);
	rig_stop(b.r, NP);
	b.r->config[NP].tenants = NULL;
	b.r->config[NP].tenant_of = NULL;
	rig_start(b.r, NP);
	tenants_add_process(&b, 4);
	tenants_add_process(&b, 32);
	tenants_run(&b, 300);
	claim(&b, 7, 10000, 3);
	ccs_port_share(b.r->agent[NP], &b.r->agent[NP]->port[0]);
	assert_int_equal(b.r->agent[NP]->port[0].shares.n, 0);
	assert_float_equal(tenants_advised(&b.p[0]), tenants_advised(&b.p[1]), 1);
	tenants_end(&b);
}

RIG_TEST(with_a_key_weights_count_but_not_flows_that_do_not_send)
{
	static const double weight[] = { 1, 3 };
	struct tenants_rig b;

	begin_two(&b, state, true, weight, 32, 300);
	claim(&b, 7, 10000, 3);
	assert_float_equal(largest(&b), 100, 1e-9);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 2, weight, 0.03);
	tenants_end(&b);
}

/* A host that states a higher weight of another's tenant does not raise it. */
RIG_TEST(the_lowest_weight_of_a_tenant_counts)
{
	static const double weight[] = { 1, 3 };
	struct tenants_rig b;

	begin_two(&b, state, true, weight, 32, 10);
	claim(&b, 100, 10000, 3);
	assert_float_equal(largest(&b), 3, 1e-9);
	tenants_end(&b);
}

/* -- changes ------------------------------------------------------------------------------- */

static int set_weight(struct tenants_rig *b, const char *name, double weight)
{
	struct ccs_ipc_tenant m = { .type = CCS_IPC_TENANT, .set = CCS_TERM_WEIGHT, .weight = weight };

	snprintf(m.name, sizeof(m.name), "%s", name);
	return rig_request(b->r, b->p[0].c.fd, &m, sizeof(m));
}

RIG_TEST(a_weight_changes_while_flows_send)
{
	static const double weight[] = { 1, 1 }, after[] = { 1, 5 };
	struct tenants_rig b;

	begin_two(&b, state, true, weight, 8, 300);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 2, weight, 0.03);
	rig_set_standing(b.r, RP, CCS_STANDING_USER);
	assert_int_equal(set_weight(&b, "t1", 5), EPERM);
	rig_set_standing(b.r, RP, CCS_STANDING_ADMIN);
	assert_int_equal(set_weight(&b, "t9", 5), ENOENT);
	assert_int_equal(set_weight(&b, "t1", 101), EINVAL);
	assert_int_equal(set_weight(&b, "t1", 0), EINVAL);
	assert_int_equal(set_weight(&b, "t1", NAN), EINVAL);
	assert_int_equal(set_weight(&b, "t1", 5), 0);
	tenants_run(&b, 20);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 2, after, 0.03);
	tenants_end(&b);
}

/* -- guarantees and background -------------------------------------------------------------- */

/* Two tenants of weight 1 and .01, the latter with a guarantee of a fifth of the port or background. */
static void run_terms(struct tenants_rig *b, void **state, bool key, struct ccs_terms terms)
{
	tenants_set(2, (const double[]){ 1, .01 });
	tenants_list[1].terms = terms;
	tenants_begin(b, state, key);
	tenants_add_process(b, 63);
	tenants_add_process(b, 1);
	tenants_run(b, 300);
	tenants_run(b, 200);
}

RIG_TEST(a_guarantee_is_in_force_with_the_key_only)
{
	static const double with[] = { .98 - .2, .2 }, without[] = { 1, .01 };
	struct tenants_rig b;

	run_terms(&b, state, true, (struct ccs_terms){ .weight = .01, .guarantee = .2 * (double)GBIT });
	tenants_assert_shares(&b, 2, with, 0.03);
	tenants_end(&b);
	rig_teardown(state);
	rig_setup(state);
	run_terms(&b, state, false, (struct ccs_terms){ .weight = .01, .guarantee = .2 * (double)GBIT });
	tenants_assert_shares(&b, 2, without, 0.1); /* its host's tenants divide its host's share */
	tenants_end(&b);
}

RIG_TEST(background_has_its_floor_beside_others)
{
	static const double floor[] = { .95, .05 };
	struct tenants_rig b;

	run_terms(&b, state, true, (struct ccs_terms){ .weight = 1, .floor = .05 });
	tenants_assert_shares(&b, 2, floor, 0.1);
	tenants_end(&b);
}

/* A guarantee or class that a host without the key states has no effect on others. */
RIG_TEST(without_a_key_other_hosts_are_foreground_of_weight_1)
{
	struct ccs_ends ends;
	struct ccs_port *port;
	struct tenants_rig b;

	for (unsigned key = 0; key < 2; key++) {
		struct ccs_wire_message m = {
			.header = { .type = CCS_WIRE_HELLO, .incarnation = 5, .sequence = 1, .tenants = 2 },
			.hello = { .lease_ms = 3000, .requested = CCS_PEER_ADVICE, .period_us = 1000,
				   .flows = 2, .segment = 4096 },
			.tenant = { { .tenant = 7, .weight = 1, .flows = 1, .guarantee = 900 },
				    { .tenant = 8, .weight = 1, .flows = 1, .floor = 100 } },
		};

		tenants_set(1, (const double[]){ 1 });
		tenants_begin(&b, state, key);
		tenants_add_process(&b, 4);
		tenants_run(&b, 10);
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
		tenants_end(&b);
		rig_teardown(state);
		rig_setup(state);
	}
}

/* Users could otherwise have HELLOs sent without end. */
RIG_TEST(changes_that_do_not_concern_other_hosts_are_not_sent)
{
	struct tenants_rig b;
	uint64_t sent;

	tenants_set(1, (const double[]){ 1 });
	tenants_begin(&b, state, true);
	tenants_add_process(&b, 2);
	tenants_run(&b, 50);
	sent = b.r->agent[RP]->totals.hellos_sent;
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 2e8 }), 0);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_FOREGROUND, (struct ccs_terms){ 0 }), 0);
	assert_int_equal(b.r->agent[RP]->totals.hellos_sent, sent);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_BACKGROUND, (struct ccs_terms){ 0 }), 0);
	assert_int_equal(b.r->agent[RP]->totals.hellos_sent, sent + 1);
	tenants_run(&b, 5);
	assert_true(b.r->agent[NP]->port[0].shares.share[0].floor > 0);
	tenants_end(&b);
}

/* A process of another tenant may have its ID now. */
RIG_TEST(an_ended_process_has_no_tenant)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(int);
	struct ccs_shm *shm;
	struct tenants_rig b;
	int shm_fd, old;
	pid_t child;

	tenants_set(1, (const double[]){ 1 });
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
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
	tenants_end(&b);
}

static char *status(struct tenants_rig *b, struct ccs_client *viewer, enum ccs_standing standing)
{
	size_t len;

	viewer->standing = standing;
	return ccs_status_text(b->r->agent[RP], viewer, &len);
}

RIG_TEST(users_see_no_names_of_others_tenants)
{
	struct tenants_rig b;
	struct ccs_client other = { .uid = 12345 };
	char *text;

	tenants_set(1, (const double[]){ 2 });
	tenants_begin(&b, state, true);
	tenants_add_process(&b, 1);
	text = status(&b, &other, CCS_STANDING_USER);
	assert_null(strstr(text, "\"t0\""));
	free(text);
	text = status(&b, &other, CCS_STANDING_ADMIN);
	assert_non_null(strstr(text, "\"t0\""));
	free(text);
	tenants_end(&b);
}

/* A status that does not fit into one packet is none. Each host that sends may state 16 tenants. */
RIG_TEST(a_status_lists_few_of_many_shares)
{
	enum { SHARES = 4000, PACKET = 212992 - 32 }; /* net.core.wmem_default */
	struct ccs_client viewer = { .uid = 0 };
	struct ccs_tenant_share *many;
	struct ccs_port *port;
	struct tenants_rig b;
	char *text;

	tenants_set(1, (const double[]){ 2 });
	tenants_begin(&b, state, true);
	tenants_add_process(&b, 1);
	tenants_run(&b, 50);
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
	tenants_end(&b);
}

RIG_TEST(a_reload_finds_the_tenants_again)
{
	static const double before[] = { 1, 1 }, after[] = { 3, 1 };
	struct tenants_rig b;

	begin_two(&b, state, true, before, 8, 300);
	tenants_set(2, (const double[]){ 2, 6 });
	memcpy(tenants_of, (int[]){ 0, 1 }, 2 * sizeof(int));
	ccs_agent_reload(b.r->agent[RP]);
	/* Clients are tenants_found from the start of the table, whose last entries are used first. */
	tenants_run(&b, 50);
	tenants_run(&b, 200);
	tenants_assert_shares(&b, 2, after, 0.03);
	tenants_end(&b);
}

int main(void)
{
	return test_run(NULL, NULL);
}
