/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/tools/forbidden_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long run_program(void) { return execl("/bin/true", "true", NULL); }
static long make_process(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static long be_traced(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL); }
static long open_to_write(void) { return open("/dev/null", O_WRONLY); }
static long open_to_read_and_write(void) { return openat(AT_FDCWD, "/dev/null", O_RDWR); }
static long create_file(void) { return open(FORBIDDEN_FILE, O_RDONLY | O_CREAT, 0600); }
static long rename_file(void) { return rename(FORBIDDEN_FILE, FORBIDDEN_FILE); }
static long remove_directory(void) { return unlinkat(AT_FDCWD, FORBIDDEN_FILE, AT_REMOVEDIR); }
static long end_process(void) { return kill(getpid(), 0); }
static long change_user(void) { return syscall(SYS_setuid, getuid()); }
static long capture(void) { return socket(AF_PACKET, SOCK_DGRAM, 0); }
static long open_other_family(void) { return socket(AF_ALG, SOCK_SEQPACKET, 0); }
static long leave_namespace(void) { return syscall(SYS_unshare, CLONE_NEWUSER); }

static long run_descriptor(void)
{
	char *const argv[] = { "true", NULL };

	return syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0);
}

static long map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED ? -1 : 0;
}

static long write_memory_of_process(void)
{
	char byte = 0;
	struct iovec own = { &byte, 1 };

	return process_vm_writev(getpid(), &own, 1, &own, 1, 0);
}

const struct forbidden_call forbidden_calls[] = {
	{ "execveat", run_descriptor, false }, { "fork", make_process, false },
	{ "open to write", open_to_write, false },
	{ "open to read and write", open_to_read_and_write, false },
	{ "create", create_file, false }, { "rename", rename_file, false },
	{ "rmdir", remove_directory, false },
	{ "kill", end_process, false }, { "setuid", change_user, false },
	{ "packet socket", capture, true }, { "other socket", open_other_family, false },
	{ "namespace", leave_namespace, true }, { "executable memory", map_code, false },
	{ "process_vm_writev", write_memory_of_process, false },
	{ "ptrace", be_traced, false }, { "execve", run_program, false },
};
const unsigned nforbidden_calls = sizeof(forbidden_calls) / sizeof(*forbidden_calls);
