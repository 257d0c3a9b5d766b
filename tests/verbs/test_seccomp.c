/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a process which permits itself few system calls after connecting works: the calls that
 * libccshim(7) lists under LIMITS, and the fake device's. Any other call ends the process.
 */
#include "rig.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true /* their runtimes make more */
#else
#define SANITIZED false
#endif

enum { K4 = 4096, CALLS_MAX = 64 };

/* The fake device and its thread; the C library's exit(). */
static const int of_the_device[] = {
	SYS_futex, SYS_write, SYS_read, SYS_exit_group,
#ifdef SYS_exit
	SYS_exit,
#endif
};
/* It allocates an event. */
static const int of_its_events[] = { SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk };
/* LIMITS: posts and polls. */
static const int of_the_data_path[] = { SYS_futex, SYS_mmap, SYS_madvise };
/* LIMITS: requests for events. */
static const int of_events[] = {
#ifdef SYS_poll
	SYS_poll,
#else
	SYS_ppoll,
#endif
};
/* LIMITS: in addition, at exit. */
static const int at_exit[] = {
	SYS_getpid,
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
#ifdef SYS_unlink
	SYS_unlink,
#else
	SYS_unlinkat,
#endif
};

/* systemd's @resources, which services often forbid from their start. */
static const int of_resources[] = {
	SYS_ioprio_set, SYS_mbind, SYS_migrate_pages, SYS_move_pages, SYS_sched_setaffinity,
	SYS_sched_setattr, SYS_sched_setparam, SYS_sched_setscheduler, SYS_set_mempolicy,
	SYS_setpriority,
#ifdef SYS_setrlimit
	SYS_setrlimit,
#endif
};

static void add_calls(struct sock_filter *f, unsigned *n, uint32_t action, const int *calls,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		f[(*n)++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)calls[i], 0, 1);
		f[(*n)++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
}

#define ADD_AS(action, calls) add_calls(f, &n, action, calls, sizeof(calls) / sizeof(*(calls)))
#define ADD(calls) ADD_AS(SECCOMP_RET_ALLOW, calls)

static unsigned begin_filter(struct sock_filter *f)
{
	f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					    offsetof(struct seccomp_data, nr));
	return 1;
}

/* For all threads of the process. other: what is done with other calls. */
static void install(struct sock_filter *f, unsigned n, uint32_t other)
{
	const struct sock_fprog program = { .filter = f, .len = (unsigned short)(n + 1) };

	f[n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		exit(2);
}

static void forbid_resources(void)
{
	struct sock_filter f[2 * CALLS_MAX];
	unsigned n = begin_filter(f);

	ADD_AS(SECCOMP_RET_KILL_PROCESS, of_resources);
	install(f, n, SECCOMP_RET_ALLOW);
}

/* A process's verbs after connecting. */
enum { POLLS = 0, EVENTS = 1, EXITS = 2, SERVES = 4 };

static void permit(bool shim, unsigned what)
{
	struct sock_filter f[2 * CALLS_MAX];
	unsigned n = begin_filter(f);

	ADD(of_the_device);
	if (what & EVENTS)
		ADD(of_its_events);
	if (shim)
		ADD(of_the_data_path);
	if (shim && (what & EVENTS))
		ADD(of_events);
	if (shim && (what & EXITS))
		ADD(at_exit);
	install(f, n, SECCOMP_RET_KILL_PROCESS);
}

static bool wait_for_event(struct rig *r)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(r->channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return !ibv_req_notify_cq(r->scq, 0);
}

/* Returns whether it has worked. */
static bool traffic(struct rig *r, bool events)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	for (unsigned i = 0; i < 200; i++) {
		wr = rig_wr(r, &sge, i, IBV_WR_RDMA_WRITE, 0, 40 * K4, IBV_SEND_SIGNALED);
		if (ibv_post_send(r->a, &wr, &bad))
			return false;
		if (i < 8)
			continue;
		while (!ibv_poll_cq(r->scq, 1, &wc))
			if (events && !wait_for_event(r))
				return false;
		if (wc.status || wc.wr_id != i - 8)
			return false;
	}
	return true;
}

/* In a child, which has WRs outstanding at its end. */
static void run(unsigned what)
{
	struct rig r;
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (what & SERVES)
			forbid_resources();
		rig_open(&r, (struct rig_conf){ .channel = what & EVENTS });
		if (r.channel && ibv_req_notify_cq(r.scq, 0))
			exit(3);
		if (!(what & SERVES))
			permit(!rig_is("bare"), what);
		status = traffic(&r, what & EVENTS) ? 0 : 1;
		if (what & EXITS)
			exit(status);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d: strace -f names the system call", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void processes_make_only_the_documented_calls(void **state)
{
	if (SANITIZED)
		skip();
	run(POLLS);
	run(EXITS);
	run(EVENTS | EXITS);
}

/* On all processors, and with an ordinary policy. */
static void services_may_forbid_calls_that_set_resources(void **state)
{
	cpu_set_t cpus;

	if (SANITIZED || sched_getaffinity(0, sizeof(cpus), &cpus) ||
	    CPU_COUNT(&cpus) < sysconf(_SC_NPROCESSORS_ONLN))
		skip();
	run(SERVES | EVENTS | EXITS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_make_only_the_documented_calls),
		cmocka_unit_test(services_may_forbid_calls_that_set_resources),
	};

	return rig_run_modes(argc, argv, "seccomp", tests, sizeof(tests) / sizeof(*tests));
}
