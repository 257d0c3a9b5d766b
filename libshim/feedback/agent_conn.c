/* SPDX-License-Identifier: BSD-2-Clause */
#include "feedback/agent_conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/os.h"

int ccs_ipc_send(int fd, const void *message, size_t len, int passed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (passed >= 0) {
		memcpy(CMSG_DATA(&control.head), &passed, sizeof(passed));
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
	}
	return TEMP_FAILURE_RETRY(sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 ? errno : 0;
}

int ccs_agent_conn_open(const char *path, int shm_fd)
{
	const struct ccs_ipc_hello hello = { .type = CCS_IPC_HELLO, .version = CCS_IPC_VERSION };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? errno : 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (!error && connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		error = errno;
	if (!error)
		error = ccs_ipc_send(fd, &hello, sizeof(hello), shm_fd);
	if (!error)
		return fd;
	ccs_close(fd);
	errno = error;
	return -1;
}

int ccs_agent_conn_add(int fd, uint32_t slot, const struct ccs_feedback_flow *flow)
{
	struct ccs_ipc_add m = {
		.type = CCS_IPC_ADD, .slot = slot, .port = flow->port,
		.local_qpn = flow->local_qpn, .peer_qpn = flow->peer_qpn,
	};

	snprintf(m.device, sizeof(m.device), "%.63s", flow->device);
	memcpy(m.local_gid, flow->local_gid, sizeof(m.local_gid));
	memcpy(m.peer_gid, flow->peer_gid, sizeof(m.peer_gid));
	return ccs_ipc_send(fd, &m, sizeof(m), -1);
}

int ccs_agent_conn_remove(int fd, uint32_t slot)
{
	struct ccs_ipc_remove m = { .type = CCS_IPC_REMOVE, .slot = slot };

	return ccs_ipc_send(fd, &m, sizeof(m), -1);
}

int ccs_agent_conn_reply(int fd, struct ccs_ipc_result *result, int *passed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_LEN(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = result, .iov_len = sizeof(*result) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	const ssize_t n = TEMP_FAILURE_RETRY(recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));

	*passed = -1;
	if (n < 0)
		return errno;
	if (m.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS)
		memcpy(passed, CMSG_DATA(&control.head), sizeof(*passed));
	return n == sizeof(*result) && (result->type == CCS_IPC_RESULT || result->type == CCS_IPC_CAPS)
	       ? 0 : EPROTO;
}
