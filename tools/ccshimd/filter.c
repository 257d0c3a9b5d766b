/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshimd.h"

#include <errno.h>

#ifdef HAVE_LIBSECCOMP

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* By name: a call that this architecture or libseccomp does not have is left out. */
static const char *const allowed[] = {
	/* events and time */
	"epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "poll", "ppoll",
	"clock_gettime", "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64",
	"gettimeofday", "nanosleep", "time", "restart_syscall",
	/* sockets; socket() is below */
	"accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "recv", "recvfrom",
	"recvmmsg", "recvmmsg_time64", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto",
	"setsockopt", "shutdown",
	/* descriptors and files; open() is below */
	"access", "close", "faccessat", "faccessat2", "fcntl", "fcntl64", "fstat", "fstat64",
	"fstatat64", "fstatfs", "fstatfs64", "getdents", "getdents64", "ioctl", "lseek", "_llseek",
	"lstat", "lstat64", "newfstatat", "pread64", "read", "readlink", "readlinkat", "readv",
	"stat", "stat64", "statx", "write", "writev",
	/* memory; mmap() and mprotect() are below */
	"brk", "madvise", "memfd_create", "mincore", "mlock", "mlock2", "mremap", "munlock", "munmap",
	/* threads and signals; clone() and unshare() are below */
	"exit", "exit_group", "futex", "futex_time64", "get_robust_list", "membarrier", "rseq",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sched_getaffinity", "sched_yield",
	"set_robust_list", "sigaltstack", "sigreturn", "tgkill",
	/* the identity of the process */
	"getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getpid", "getrandom",
	"gettid", "getuid", "getuid32", "sysinfo", "uname",
};

/* Allow that call if the bits `mask` of argument n are `value`. */
static int allow_if(scmp_filter_ctx f, const char *name, unsigned n, uint64_t mask, uint64_t value)
{
	const int call = seccomp_syscall_resolve_name(name);

	return call == __NR_SCMP_ERROR ? 0 :
	       seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(n, SCMP_CMP_MASKED_EQ, mask, value));
}

static int allow_plain(scmp_filter_ctx f)
{
	int error = 0;

	for (unsigned i = 0; !error && i < sizeof(allowed) / sizeof(*allowed); i++) {
		const int call = seccomp_syscall_resolve_name(allowed[i]);

		if (call != __NR_SCMP_ERROR)
			error = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);
	}
	return error;
}

/* No file is written or created, and no memory becomes executable. */
static int allow_files_and_memory(scmp_filter_ctx f, bool removes_socket)
{
	const uint64_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
	int error = allow_if(f, "open", 1, writes, O_RDONLY);

	if (!error)
		error = allow_if(f, "openat", 2, writes, O_RDONLY);
	if (!error && removes_socket)
		error = allow_if(f, "unlink", 0, 0, 0);
	if (!error && removes_socket)
		error = allow_if(f, "unlinkat", 2, ~0ull, 0);
	if (!error)
		error = allow_if(f, "mmap", 2, PROT_EXEC, 0);
	if (!error)
		error = allow_if(f, "mmap2", 2, PROT_EXEC, 0);
	return error ? error : allow_if(f, "mprotect", 2, PROT_EXEC, 0);
}

/* Threads, but no processes or namespaces. */
static int allow_threads(scmp_filter_ctx f)
{
	const uint64_t thread = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND;
	int error = allow_if(f, "clone", 0, thread, thread);

	if (!error)
		error = allow_if(f, "clone3", 0, 0, 0); /* refused by refuse_clone3() */
	if (!error)
		error = allow_if(f, "unshare", 0, ~0ull, CLONE_FILES);
	if (!error)
		error = allow_if(f, "prctl", 0, ~0ull, PR_SET_TIMERSLACK);
	if (!error)
		error = allow_if(f, "prctl", 0, ~0ull, PR_SET_NAME);
	return error ? error : allow_if(f, "prlimit64", 2, ~0ull, 0); /* without a new limit */
}

/* Not packet sockets, which the agent has opened already. */
static int allow_sockets(scmp_filter_ctx f)
{
	static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	int error = 0;

	for (unsigned i = 0; !error && i < sizeof(families) / sizeof(*families); i++)
		error = allow_if(f, "socket", 0, ~0ull, (uint64_t)families[i]);
	return error;
}

/* For all threads. A filter that could be loaded for some of them only is not loaded. */
static int load(scmp_filter_ctx f)
{
	const int error = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	return error ? error : seccomp_load(f);
}

/*
 * clone3() passes its flags in memory, which a filter cannot read. If it is refused, the C library
 * uses clone(). It tries clone3() first for each thread, so a separate filter refuses it without a
 * log entry.
 */
static int refuse_clone3(void)
{
	const int call = seccomp_syscall_resolve_name("clone3");
	scmp_filter_ctx f = call == __NR_SCMP_ERROR ? NULL : seccomp_init(SCMP_ACT_ALLOW);
	int error = f || call == __NR_SCMP_ERROR ? 0 : -ENOMEM;

	if (f && !error)
		error = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), call, 0);
	if (f && !error)
		error = load(f);
	if (f)
		seccomp_release(f);
	return error;
}

int filter_system_calls(bool removes_socket)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int error = f ? refuse_clone3() : -ENOMEM;

	if (!error)
		error = allow_plain(f);
	if (!error)
		error = allow_files_and_memory(f, removes_socket);
	if (!error)
		error = allow_threads(f);
	if (!error)
		error = allow_sockets(f);
	if (!error)
		seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, 1); /* since Linux 4.14 */
	if (!error)
		error = load(f);
	if (f)
		seccomp_release(f);
	return -error;
}

#else

int filter_system_calls(bool removes_socket)
{
	(void)removes_socket;
	return ENOTSUP;
}

#endif
