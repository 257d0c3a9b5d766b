/* SPDX-License-Identifier: BSD-2-Clause */
#include "agents.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void bench_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

void bench_check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

void bench_own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		bench_fail("cannot create a network namespace: run it as root");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bench_check(ioctl(fd, SIOCSIFFLAGS, &lo) == 0, "lo");
	close(fd);
}

static void await_result(int fd)
{
	struct ccs_ipc_result r;

	bench_check(recv(fd, &r, sizeof(r), 0) == (ssize_t)sizeof(r), "recv");
	if (r.error)
		bench_fail(strerror(r.error));
}

/* Sends the HELLO with a new region. */
static struct ccs_shm *send_region(int fd)
{
	struct ccs_ipc_hello m = { CCS_IPC_HELLO, CCS_IPC_VERSION };
	struct iovec iov = { &m, sizeof(m) };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	const int memory = memfd_create("bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ccs_shm *shm;

	bench_check(ftruncate(memory, sizeof(*shm)) == 0, "ftruncate");
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	bench_check(shm != MAP_FAILED, "mmap");
	shm->magic = CCS_SHM_MAGIC;
	shm->version = CCS_SHM_VERSION;
	shm->slots = CCS_SHM_SLOTS;
	shm->paths = CCS_SHM_PATHS;
	ccs_shm_touch(shm, 0, sizeof(*shm));
	bench_check(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0, "fcntl");
	CMSG_FIRSTHDR(&h)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&h)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&h)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&h)), &memory, sizeof(memory));
	bench_check(sendmsg(fd, &h, 0) == (ssize_t)sizeof(m), "sendmsg");
	close(memory);
	return shm;
}

int bench_connect(const char *path, struct ccs_shm **shm)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(to.sun_path, path, sizeof(to.sun_path) - 1);
	bench_check(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0, "connect");
	*shm = send_region(fd);
	await_result(fd);
	return fd;
}

void bench_add(int fd, const char *local, const char *peer, uint32_t slot)
{
	struct ccs_ipc_add m = { .type = CCS_IPC_ADD, .device = "bench0", .port = 1, .slot = slot,
				 .local_qpn = slot + 1, .peer_qpn = slot + 1 };
	struct ccs_address from, to;

	ccs_address_parse(local, &from);
	ccs_address_parse(peer, &to);
	memcpy(m.local_gid, from.b, 16);
	memcpy(m.peer_gid, to.b, 16);
	bench_check(send(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m), "send");
	await_result(fd);
}
