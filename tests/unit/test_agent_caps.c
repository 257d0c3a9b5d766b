/* SPDX-License-Identifier: BSD-2-Clause */
/* Caps of tenants, in pages that the agent passes to their processes. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/telemetry/caps.h"
#include "feedback/agent_conn.h"
#include "tenantrig.h"

/* Each flow of the process has that cap, bit/s, and shares it by the same entry of the page. */
static void assert_cap(const struct tenants_rig *b, unsigned process, uint64_t cap, uint32_t entry)
{
	for (unsigned i = 0; i < b->p[process].flows; i++) {
		assert_int_equal(atomic_load(&b->p[process].c.shm->slot[i].limit), cap);
		assert_int_equal(atomic_load(&b->p[process].c.shm->slot[i].cap), entry);
	}
}

/* Connect another process of tenant tenants_of[]. Returns the page that it gets with the answer, or NULL. */
static struct ccs_cap *connect_process(struct tenants_rig *b, int *fd)
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

RIG_TEST(processes_of_a_tenant_share_its_cap)
{
	struct ccs_cap *caps[4];
	struct tenants_rig b;
	int fd[4];

	tenants_set(2, (const double[]){ 1, 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 1, -1 }, sizeof(tenants_of));
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
	tenants_end(&b);
}

RIG_TEST(a_cap_changes_at_once)
{
	struct ccs_cap_page *page;
	struct tenants_rig b;

	tenants_set(2, (const double[]){ 1, 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 1 }, sizeof(tenants_of));
	tenants_add_process(&b, 8);
	tenants_add_process(&b, 4);
	tenants_add_process(&b, 20);
	tenants_add_process(&b, 2);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 200000000, 1);
	assert_cap(&b, 3, 0, 1);
	/* what flows have reserved at another rate does not delay them; a process may write anything */
	for (page = b.r->agent[RP]->flows.caps; strcmp(page->name, "t0") != 0; page = page->next)
		;
	page->cap[0].free_ns = UINT64_MAX;
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 1e8 }), 0);
	assert_int_equal(page->cap[0].free_ns, b.r->now_ns);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 100000000, 1);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 0 }), 0);
	assert_int_equal(tenants_set_terms(&b, "t1", CCS_TERM_CAP, (struct ccs_terms){ .cap = 3e8 }), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 0, 1);
	assert_cap(&b, 3, 300000000, 1);
	assert_int_equal(tenants_set_terms(&b, "t1", CCS_TERM_BACKGROUND, (struct ccs_terms){ 0 }), 0);
	assert_cap(&b, 3, 300000000 | CCS_BACKGROUND, 1);
	/* a tenant that is no longer configured leaves no limit */
	tenants_n = 0;
	ccs_agent_reload(b.r->agent[RP]);
	assert_cap(&b, 3, 0, 0);
	tenants_end(&b);
}

static const struct ccs_cap_page *page_of(const struct tenants_rig *b, uid_t uid)
{
	const struct ccs_cap_page *p = b->r->agent[RP]->flows.caps;

	while (p && p->uid != uid)
		p = p->next;
	return p;
}

/* A process may write any time into its page, and so keep all that share it from sending. */
RIG_TEST(users_of_a_tenant_divide_its_cap)
{
	const uid_t own = geteuid(), other = own + 1;
	struct ccs_agent *a;
	struct tenants_rig b;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	a = b.r->agent[RP];
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
	tenants_add_process(&b, 3);
	tenants_add_process(&b, 2);
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++)
		if (c->source.fd >= 0 && c->flows == 2)
			rig_set_user(a, c, other);
	ccs_agent_reload(a);
	assert_cap(&b, 1, 100000000, 1);
	assert_ptr_not_equal(page_of(&b, own), NULL);
	assert_ptr_not_equal(page_of(&b, other), NULL);
	page_of(&b, other)->cap[0].free_ns = UINT64_MAX;
	assert_int_equal(page_of(&b, own)->cap[0].free_ns, b.r->now_ns); /* of the change of its rate */
	tenants_run(&b, 200);
	assert_cap(&b, 0, 100000000, 1);
	rig_hang_up(&b.p[1].c);
	b.processes = 1;
	tenants_run(&b, 200);
	assert_int_equal(page_of(&b, other)->clients, 0);
	assert_cap(&b, 0, 200000000, 1);
	tenants_end(&b);
}

/* Otherwise a process that connects again and again, and keeps what it gets, uses up the agent's memory. */
RIG_TEST(a_process_that_connects_again_gets_the_same_page)
{
	struct ccs_cap *caps[2];
	struct tenants_rig b;
	int fd;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
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
	tenants_run(&b, 200);
	assert_null(page_of(&b, geteuid()));
	tenants_end(&b);
}

/* A user with many user IDs could otherwise connect again and again until the agent has no descriptors left, and
 * keep its memory in use by keeping the pages. */
RIG_TEST(pages_of_former_users_are_few_and_released)
{
	struct ccs_client c = { .tenant = 1 };
	struct ccs_agent *a;
	unsigned pages = 0;
	struct stat st;
	struct tenants_rig b;
	int kept;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
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
	tenants_run(&b, 200);
	assert_null(a->flows.caps);
	assert_int_equal(fstat(kept, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	close(kept);
	assert_true(ccs_caps_attach(a, &c));
	ccs_caps_detach(a, &c);
	munmap(c.shm, sizeof(*c.shm));
	tenants_end(&b);
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
RIG_TEST(without_descriptors_to_pass_on_a_process_gets_an_answer)
{
	struct tenants_rig b;
	pid_t child;
	int status;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
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
	tenants_end(&b);
}

static struct ccs_client *client_of(const struct tenants_rig *b, uint32_t flows)
{
	struct ccs_client *c = b->r->agent[RP]->client;

	while (c->source.fd < 0 || c->flows != flows)
		c++;
	return c;
}

/* Root of a container is another user than root, and users without a number may not slow each other. */
RIG_TEST(flows_that_may_not_slow_each_other_have_two_pages)
{
	struct ccs_client *c[3];
	struct tenants_rig b;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2.4e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
	for (unsigned i = 0; i < 3; i++) {
		tenants_add_process(&b, 1 + i);
		c[i] = client_of(&b, 1 + i);
		c[i]->standing = CCS_STANDING_USER;
	}
	c[0]->standing = CCS_STANDING_ADMIN;
	ccs_agent_reload(b.r->agent[RP]);
	tenants_run(&b, 200);
	assert_ptr_not_equal(c[0]->caps, c[1]->caps);
	assert_ptr_equal(c[1]->caps, c[2]->caps);
	for (unsigned i = 0; i < 3; i++)
		assert_cap(&b, i, 120000000, 1);
	for (unsigned i = 1; i < 3; i++)
		rig_set_user(b.r->agent[RP], c[i], CCS_NO_USER);
	ccs_agent_reload(b.r->agent[RP]);
	tenants_run(&b, 200);
	assert_ptr_not_equal(c[1]->caps, c[2]->caps);
	assert_cap(&b, 0, 120000000, 1);
	assert_cap(&b, 1, 60000000, 1); /* they are one user */
	assert_cap(&b, 2, 60000000, 1);
	tenants_end(&b);
}

/* If there are more ports than entries in a page, the last ports share one entry, and so one cap. */
RIG_TEST(a_cap_is_of_each_device_and_port)
{
	struct ccs_ipc_add m;
	struct tenants_rig b;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	tenants_add_process(&b, 1);
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
	tenants_end(&b);
}

/* Slurm's prolog reloads the tenants for each job. A cap that is in force must stay as it is. */
RIG_TEST(a_reload_leaves_caps_in_force)
{
	struct ccs_ipc_result result;
	struct ccs_cap *before;
	struct tenants_rig b;
	int passed;

	tenants_set(1, (const double[]){ 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
	tenants_add_process(&b, 3);
	tenants_add_process(&b, 2);
	before = b.r->agent[RP]->flows.caps->cap;
	before[0].free_ns = 99;
	/* another tenant comes first in the file */
	tenants_list[1] = tenants_list[0];
	tenants_list[0] = (struct ccs_agent_tenant){ .name = "new", .identity = 7, .terms.weight = 1 };
	tenants_n = 2;
	memcpy(tenants_of, (int[]){ 1, 1, 1, 1 }, sizeof(tenants_of));
	ccs_agent_reload(b.r->agent[RP]);
	assert_ptr_equal(b.r->agent[RP]->flows.caps->cap, before);
	assert_int_equal(before[0].free_ns, 99);
	assert_cap(&b, 0, 200000000, 1);
	assert_cap(&b, 1, 200000000, 1);
	assert_int_equal(ccs_agent_conn_reply(b.p[0].c.fd, &result, &passed), EAGAIN);
	/* a process that now belongs to another tenant gets its page, without a request */
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
	ccs_agent_reload(b.r->agent[RP]);
	assert_cap(&b, 0, 0, 1);
	assert_int_equal(ccs_agent_conn_reply(b.p[0].c.fd, &result, &passed), 0);
	assert_int_equal(result.type, CCS_IPC_CAPS);
	assert_true(passed >= 0);
	close(passed);
	ccs_agent_conn_reply(b.p[1].c.fd, &result, &passed);
	close(passed);
	tenants_end(&b);
}

RIG_TEST(users_may_lower_the_cap_and_class_of_their_tenant_only)
{
	const struct ccs_terms low = { .cap = 1e8 }, high = { .cap = 4e8 }, none = { 0 };
	struct tenants_rig b;

	tenants_set(2, (const double[]){ 1, 1 });
	tenants_list[0].terms.cap = 2e8;
	tenants_list[0].users_may_lower = true;
	tenants_begin(&b, state, true);
	memcpy(tenants_of, (int[]){ 0, 0, 0, 0 }, sizeof(tenants_of));
	tenants_add_process(&b, 2);
	rig_set_standing(b.r, RP, CCS_STANDING_USER);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, high), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, none), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = NAN }), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_WEIGHT, (struct ccs_terms){ .weight = .5 }), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_GUARANTEE, none), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_FOREGROUND, none), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t1", CCS_TERM_CAP, low), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t9", CCS_TERM_CAP, low), EPERM);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP | CCS_TERM_BACKGROUND, low), 0);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 2e8 }), EPERM);
	/* once in a tick: a user with many flows would stop the agent by many requests */
	tenants_run(&b, 200);
	assert_cap(&b, 0, 100000000 | CCS_BACKGROUND, 1);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 9e7 }), 0);
	assert_cap(&b, 0, 100000000 | CCS_BACKGROUND, 1);
	tenants_run(&b, 200);
	assert_cap(&b, 0, 90000000 | CCS_BACKGROUND, 1);
	b.r->agent[RP]->flows.tenant[0].users_may_lower = false; /* cgroup and app: several users' */
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_CAP, (struct ccs_terms){ .cap = 5e7 }), EPERM);
	rig_set_standing(b.r, RP, CCS_STANDING_ADMIN);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_GUARANTEE, low), 0);
	assert_int_equal(tenants_set_terms(&b, "t0", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 2e8 }), EINVAL);
	b.r->agent[RP]->config.guarantees = 9e8;
	assert_int_equal(tenants_set_terms(&b, "t1", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 9.1e8 }), ERANGE);
	assert_int_equal(tenants_set_terms(&b, "t1", CCS_TERM_GUARANTEE, (struct ccs_terms){ .guarantee = 8e8 }), 0);
	tenants_end(&b);
}

int main(void)
{
	return test_run(NULL, NULL);
}
