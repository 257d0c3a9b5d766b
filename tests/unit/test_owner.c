/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's answers mean, canned: a socket's other end plays the kernel. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "agent/host/kernel_qps.h"
#include "agent/host/standing.h"
#include "seed.h"

enum { QPN = 0x11, PEER = 0x22, PORT = 1, INDEX = 3, OTHER = 4 };

static int kernel;
static struct ccs_kernel_qps owner;
static uid_t user;                       /* that connected */

static int start(void **state)
{
	int end[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, end))
		return -1;
	owner = (struct ccs_kernel_qps){ .netlink = { .fd = end[0], .sequence = 40 } };
	user = getuid();
	kernel = end[1];
	return 0;
}

static int finish(void **state)
{
	close(kernel);
	ccs_netlink_close(&owner.netlink);
	return owner.netlink.fd == -1 ? 0 : -1;
}

/* A packet of messages to come. */
struct packet {
	_Alignas(8) char data[4096];
	size_t len, message;             /* where the last message begins */
};

static struct nlmsghdr *add_message(struct packet *p, unsigned type, unsigned flags, uint32_t seq)
{
	struct nlmsghdr *h = (void *)(p->data + p->len);

	p->message = p->len;
	*h = (struct nlmsghdr){ .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = (uint16_t)type,
		.nlmsg_flags = (uint16_t)flags, .nlmsg_seq = seq };
	p->len += NLMSG_HDRLEN;
	return h;
}

static void add_attr(struct packet *p, unsigned type, const void *data, size_t len)
{
	struct nlmsghdr *h = (void *)(p->data + p->message);
	struct nlattr a = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = (uint16_t)type };

	memset(p->data + p->len, 0, NLA_ALIGN(a.nla_len));
	memcpy(p->data + p->len, &a, sizeof(a));
	memcpy(p->data + p->len + NLA_HDRLEN, data, len);
	p->len += NLA_ALIGN(a.nla_len);
	h->nlmsg_len = (uint32_t)(p->len - p->message);
}

static void add_u32(struct packet *p, unsigned type, uint32_t value)
{
	add_attr(p, type, &value, sizeof(value));
}

static void add_device(struct packet *p, uint32_t index, const char *name)
{
	add_u32(p, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	add_attr(p, RDMA_NLDEV_ATTR_DEV_NAME, name, strlen(name) + 1);
}

static void send_packet(const struct packet *p)
{
	assert_int_equal(send(kernel, p->data, p->len, 0), p->len);
}

static const unsigned get_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
static const unsigned qp_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET);

/* Two parts, the wanted device in the first one. */
static void answer_devices(uint32_t seq)
{
	struct packet p = { .len = 0 };

	add_message(&p, get_type, NLM_F_MULTI, seq);
	add_device(&p, INDEX, "rxe_0");
	add_message(&p, get_type, NLM_F_MULTI, seq);
	add_device(&p, OTHER, "rxe_00");
	send_packet(&p);
	p = (struct packet){ .len = 0 };
	add_message(&p, NLMSG_DONE, NLM_F_MULTI, seq);
	send_packet(&p);
}

/* pid 0: the kernel does not say. */
static struct packet qp_answer(uint32_t seq, uint32_t pid, uint32_t rqpn)
{
	struct packet p = { .len = 0 };

	add_message(&p, qp_type, 0, seq);
	add_device(&p, INDEX, "rxe_0");
	add_u32(&p, RDMA_NLDEV_ATTR_PORT_INDEX, PORT);
	add_u32(&p, RDMA_NLDEV_ATTR_RES_LQPN, QPN);
	if (pid)
		add_u32(&p, RDMA_NLDEV_ATTR_RES_PID, pid);
	add_u32(&p, RDMA_NLDEV_ATTR_RES_RQPN, rqpn);
	return p;
}

static void answer_error(uint32_t seq, int error)
{
	struct packet p = { .len = 0 };
	struct nlmsghdr *h = add_message(&p, NLMSG_ERROR, 0, seq);
	struct nlmsgerr e = { .error = -error };

	memcpy(p.data + p.len, &e, sizeof(e));
	p.len += sizeof(e);
	h->nlmsg_len = (uint32_t)p.len;
	send_packet(&p);
}

static int check(const char *device)
{
	struct ccs_ipc_add qp = { .port = PORT, .local_qpn = QPN, .peer_qpn = PEER };

	strcpy(qp.device, device);
	return ccs_kernel_qps_check_owner(&owner, &qp, getpid(), user);
}

static int check_qp(uint32_t pid, uint32_t rqpn)
{
	struct packet p = qp_answer(owner.netlink.sequence + 2, pid, rqpn);

	answer_devices(owner.netlink.sequence + 1);
	send_packet(&p);
	return check("rxe_0");
}

#define OWNER_TEST(name_) TEST_WITH(name_, start, finish)

OWNER_TEST(the_processes_own_is_accepted)
{
	assert_int_equal(check_qp((uint32_t)getpid(), PEER), 0);
	assert_int_equal(check_qp((uint32_t)getpid(), 0), 0);
}

OWNER_TEST(others_are_refused)
{
	assert_int_equal(check_qp((uint32_t)getppid(), PEER), EPERM);
	assert_int_equal(check_qp(0, PEER), EPERM);
	assert_int_equal(check_qp((uint32_t)getpid(), PEER + 1), EPERM);
}

/* The process that connected has ended, and its number is that of another user's process. */
OWNER_TEST(a_process_of_another_user_is_refused)
{
	user = getuid() + 1;
	assert_int_equal(check_qp((uint32_t)getpid(), PEER), EPERM);
	user = 0; /* as root of a container */
	assert_int_equal(check_qp((uint32_t)getpid(), PEER), getuid() ? EPERM : 0);
	user = CCS_ANY_USER;
	assert_int_equal(check_qp((uint32_t)getpid(), PEER), 0);
}

struct thread {
	pid_t tid;
	sem_t started, end;
};

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	t->tid = gettid();
	sem_post(&t->started);
	sem_wait(&t->end);
	return NULL;
}

/* The kernel names the thread that made the QP. */
OWNER_TEST(a_thread_of_the_process_is_the_process)
{
	struct thread t;
	pthread_t id;

	sem_init(&t.started, 0, 0);
	sem_init(&t.end, 0, 0);
	assert_int_equal(pthread_create(&id, NULL, run_thread, &t), 0);
	sem_wait(&t.started);
	assert_int_not_equal(t.tid, getpid());
	assert_int_equal(check_qp((uint32_t)t.tid, PEER), 0);
	sem_post(&t.end);
	pthread_join(id, NULL);
}

static char asked[2][256];

/* What was asked for, byte by byte. */
OWNER_TEST(requests_are_what_the_kernel_expects)
{
	const struct nlmsghdr *h = (const void *)asked[0];
	struct packet p = { .len = 0 };
	ssize_t n;

	assert_int_equal(check_qp((uint32_t)getpid(), PEER), 0);
	assert_int_equal(recv(kernel, asked[0], sizeof(asked[0]), MSG_DONTWAIT), NLMSG_HDRLEN);
	assert_int_equal(h->nlmsg_type, get_type);
	assert_int_equal(h->nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
	n = recv(kernel, asked[1], sizeof(asked[1]), MSG_DONTWAIT);
	add_message(&p, qp_type, NLM_F_REQUEST, owner.netlink.sequence);
	add_u32(&p, RDMA_NLDEV_ATTR_DEV_INDEX, INDEX);
	add_u32(&p, RDMA_NLDEV_ATTR_PORT_INDEX, PORT);
	add_u32(&p, RDMA_NLDEV_ATTR_RES_LQPN, QPN);
	assert_int_equal(n, p.len);
	assert_memory_equal(asked[1], p.data, p.len);
}

OWNER_TEST(missing_objects_are_reported)
{
	answer_devices(owner.netlink.sequence + 1);
	assert_int_equal(check("rxe_1"), ENODEV);
	answer_devices(owner.netlink.sequence + 1);
	answer_error(owner.netlink.sequence + 2, ENOENT);
	assert_int_equal(check("rxe_0"), ENOENT);
	answer_error(owner.netlink.sequence + 1, EOPNOTSUPP);
	assert_int_equal(check("rxe_0"), EOPNOTSUPP);
	assert_int_equal(check("rxe_0"), EIO); /* silence */
}

/* An index may be given to another device between the two requests. */
OWNER_TEST(the_answer_must_be_for_what_was_asked)
{
	struct packet p = { .len = 0 };

	answer_devices(owner.netlink.sequence + 1);
	add_message(&p, qp_type, 0, owner.netlink.sequence + 2);
	add_device(&p, INDEX, "rxe_5");
	add_u32(&p, RDMA_NLDEV_ATTR_RES_LQPN, QPN);
	add_u32(&p, RDMA_NLDEV_ATTR_RES_PID, (uint32_t)getpid());
	send_packet(&p);
	assert_int_equal(check("rxe_0"), ENOENT);
}

OWNER_TEST(late_answers_are_passed_over)
{
	struct packet p = qp_answer(owner.netlink.sequence, (uint32_t)getppid(), PEER);

	send_packet(&p);
	assert_int_equal(check_qp((uint32_t)getpid(), PEER), 0);
}

OWNER_TEST(garbage_is_no_consent)
{
	seed_start("garbage_is_no_consent");
	for (unsigned round = 0; round < 5000; round++) {
		/* A pid that no few flips make ours. */
		struct packet p = qp_answer(owner.netlink.sequence + 2, ~(uint32_t)getpid(), PEER);
		const unsigned flips = (unsigned)seed_below(8);

		p.len -= seed_below(p.len - 1);
		for (unsigned i = 0; i < flips; i++)
			p.data[seed_below(p.len)] = (char)seed_next();
		answer_devices(owner.netlink.sequence + 1);
		send_packet(&p);
		assert_int_not_equal(check("rxe_0"), 0);
		while (recv(kernel, p.data, sizeof(p.data), MSG_DONTWAIT) > 0)
			;
		while (recv(owner.netlink.fd, p.data, sizeof(p.data), MSG_DONTWAIT) > 0)
			;
	}
}

/* -- which numbers are in use --------------------------------------------------------------- */

static void answer_device_ports(uint32_t seq)
{
	struct packet p = { .len = 0 };

	add_message(&p, get_type, NLM_F_MULTI, seq);
	add_device(&p, INDEX, "rxe_0");
	add_u32(&p, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	add_message(&p, get_type, NLM_F_MULTI, seq);
	add_device(&p, OTHER, "rxe_1");
	add_u32(&p, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	add_message(&p, NLMSG_DONE, NLM_F_MULTI, seq);
	send_packet(&p);
}

static void answer_state(uint32_t seq, uint32_t qpn, uint8_t state)
{
	struct packet p = { .len = 0 };

	add_message(&p, qp_type, 0, seq);
	add_u32(&p, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	add_attr(&p, RDMA_NLDEV_ATTR_RES_STATE, &state, sizeof(state));
	send_packet(&p);
}

/* The first device has two ports, and no such QP; the second one answers with that state. */
static int check_live(uint8_t state, char device[64])
{
	const uint32_t seq = owner.netlink.sequence;

	owner.n = 0;
	answer_device_ports(seq + 1);
	answer_error(seq + 2, ENOENT);
	answer_error(seq + 3, ENOENT);
	answer_state(seq + 4, QPN, state);
	return ccs_kernel_qps_check(&owner, QPN, device);
}

static size_t begin_nest(struct packet *p, unsigned type)
{
	const size_t at = p->len;

	add_attr(p, type | NLA_F_NESTED, "", 0);
	return at;
}

static void end_nest(struct packet *p, size_t at)
{
	const uint16_t len = (uint16_t)(p->len - at);

	memcpy(p->data + at, &len, sizeof(len));
}

static void add_entry(struct packet *p, const char *name, uint64_t value)
{
	const size_t at = begin_nest(p, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	add_attr(p, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name, strlen(name) + 1);
	add_attr(p, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, &value, sizeof(value));
	end_nest(p, at);
}

static void add_summary(struct packet *p, uint32_t seq, uint32_t index, const char *name,
			uint64_t qps)
{
	size_t at;

	add_message(p, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET), NLM_F_MULTI, seq);
	add_device(p, index, name);
	at = begin_nest(p, RDMA_NLDEV_ATTR_RES_SUMMARY);
	add_entry(p, "pd", 77);
	add_entry(p, "qp", qps);
	add_entry(p, "cm_id", 99);
	end_nest(p, at);
}

OWNER_TEST(qps_of_all_devices_are_counted)
{
	const uint32_t seq = owner.netlink.sequence;
	struct packet p = { .len = 0 };
	uint32_t n = 0;

	add_summary(&p, seq + 1, INDEX, "rxe_0", 300);
	add_summary(&p, seq + 1, OTHER, "rxe_1", 41);
	add_message(&p, NLMSG_DONE, NLM_F_MULTI, seq + 1);
	send_packet(&p);
	assert_int_equal(ccs_kernel_qps_count(&owner, &n), 0);
	assert_int_equal(n, 341);
	answer_error(seq + 2, EOPNOTSUPP);
	assert_int_equal(ccs_kernel_qps_count(&owner, &n), EOPNOTSUPP);
}

/* RESET to ERR are 0 to 6. */
OWNER_TEST(a_qp_that_can_receive_is_found_on_any_device)
{
	char device[64];

	for (uint8_t qp_state = 0; qp_state <= 6; qp_state++) {
		strcpy(device, "");
		assert_int_equal(check_live(qp_state, device),
				 qp_state >= 2 && qp_state <= 5 ? 0 : ENOENT);
		assert_string_equal(device, qp_state >= 2 && qp_state <= 5 ? "rxe_1" : "");
	}
}

OWNER_TEST(a_number_that_two_devices_use_names_none)
{
	const uint32_t seq = owner.netlink.sequence;
	char device[64];

	answer_device_ports(seq + 1);
	answer_state(seq + 2, QPN, 3);
	answer_error(seq + 3, EAGAIN);
	answer_state(seq + 4, QPN, 3);
	assert_int_equal(ccs_kernel_qps_check(&owner, QPN, device), 0);
	assert_string_equal(device, "");
}

OWNER_TEST(a_table_that_cannot_be_read_is_no_absence)
{
	const uint32_t seq = owner.netlink.sequence;
	char device[64];

	answer_error(seq + 1, EOPNOTSUPP);
	assert_int_equal(ccs_kernel_qps_check(&owner, QPN, device), EOPNOTSUPP);
	answer_device_ports(seq + 2);
	answer_error(seq + 3, EINVAL);
	assert_int_equal(ccs_kernel_qps_check(&owner, QPN, device), EINVAL);
}
