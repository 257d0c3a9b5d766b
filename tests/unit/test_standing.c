/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connected processes may do more than their user, with real processes and namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "test.h"

#include "agent/host/standing.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum kind { PLAIN, WITHOUT, ADMIN, OTHER_PID_NS, OTHER_USER_NS, ENDED, GAINS };

static bool keep_capability(int capability)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	d[0].effective = d[0].permitted = 1u << capability;
	return syscall(SYS_capset, &h, d) == 0;
}

/* A copy of cat whose file has the capability. */
static char program[] = "/tmp/standingXXXXXX";

static bool make_program(void)
{
	const struct vfs_cap_data capability = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data = { { .permitted = 1u << CAP_NET_ADMIN } },
	};
	const int from = open("/bin/cat", O_RDONLY | O_CLOEXEC), to = mkstemp(program);
	struct stat st;
	bool ok = from >= 0 && to >= 0 && fstat(from, &st) == 0 && fchmod(to, 0755) == 0;

	for (ssize_t n = ok ? st.st_size : 0, more = 0; ok && n; n -= more)
		ok = (more = sendfile(to, from, NULL, (size_t)n)) > 0;
	close(from);
	close(to);
	return ok && !setxattr(program, "security.capability", &capability, sizeof(capability), 0);
}

static bool become(enum kind kind)
{
	switch (kind) {
	case WITHOUT: return keep_capability(CAP_NET_RAW);
	case ADMIN: return keep_capability(CAP_NET_ADMIN);
	case OTHER_PID_NS: return unshare(CLONE_NEWPID) == 0;
	case OTHER_USER_NS: return unshare(CLONE_NEWUSER) == 0;
	case GAINS: return setresgid(4242, 4242, 4242) == 0 && setresuid(4242, 4242, 4242) == 0;
	default: return true;
	}
}

/* A socketpair's ends have the credentials of the process that made it. Pass one end and stay. */
static _Noreturn void run_client(enum kind kind, int channel)
{
	union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control = {
		.head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS },
	};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	const struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int end[2];

	if (!become(kind) || (kind == OTHER_PID_NS && fork()) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end))
		_exit(1);
	*(int *)(void *)CMSG_DATA(&control.head) = end[0];
	if (sendmsg(channel, &h, 0) == 1 && kind == GAINS && dup2(channel, 0) == 0 && dup2(channel, 1) == 1)
		execl(program, "cat", NULL);
	if (kind != ENDED)
		while (read(channel, &byte, 1) > 0)
			;
	_exit(0);
}

/* -1: the client could not become that. */
static int receive_end(int channel)
{
	union { struct cmsghdr head; char bytes[CMSG_SPACE(sizeof(int))]; } control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	return recvmsg(channel, &h, MSG_CMSG_CLOEXEC) == 1 ? *(int *)(void *)CMSG_DATA(&control.head) : -1;
}

static enum ccs_standing standing_of(enum kind kind)
{
	enum ccs_standing standing;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	siginfo_t ended;
	int channel[2], fd;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
	pid = fork();
	if (pid == 0) {
		close(channel[0]);
		run_client(kind, channel[1]);
	}
	close(channel[1]);
	fd = receive_end(channel[0]);
	if (fd < 0)
		skip();
	if (kind == GAINS) { /* the program answers */
		assert_int_equal(write(channel[0], "x", 1), 1);
		assert_int_equal(read(channel[0], &(char){ 0 }, 1), 1);
	}
	if (kind == ENDED) /* it stays a zombie, with its ID */
		assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	standing = ccs_standing_of(fd, &peer);
	close(channel[0]);
	close(fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return standing;
}

TEST(net_admin_is_an_admin)
{
	assert_int_equal(standing_of(ADMIN), CCS_STANDING_ADMIN);
}

TEST(a_user_id_is_no_privilege)
{
	assert_int_equal(standing_of(WITHOUT), geteuid() ? CCS_STANDING_AGENT : CCS_STANDING_USER);
}

TEST(admins_of_other_namespaces_are_users)
{
	assert_int_equal(standing_of(OTHER_PID_NS), CCS_STANDING_USER);
	assert_int_equal(standing_of(OTHER_USER_NS), CCS_STANDING_USER);
}

/* Its user connects, and becomes a program of the system, such as dumpcap, before the agent accepts. */
TEST(a_user_gains_nothing_by_a_program_with_capabilities)
{
	if (geteuid() || !make_program()) {
		unlink(program);
		skip();
	}
	assert_int_equal(standing_of(GAINS), CCS_STANDING_USER);
	unlink(program);
}

/* Its ID may be another's by now. */
TEST(an_ended_process_is_a_user)
{
	int fd, end[2];
	socklen_t len = sizeof(fd);

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, end), 0);
	if (getsockopt(end[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		skip();
	assert_int_equal(standing_of(ENDED), CCS_STANDING_USER);
}
