/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "agent/telemetry/caps.h"
#include "base/os.h"

enum {
	BUCKETS = 16384, MESSAGE_MAX = 512,
	CONNECTION_REQUESTS = 32,        /* a connection costs as much processor time as these */
};

/* -- the listening socket -------------------------------------------------------- */

static void make_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = '\0';
		if (mkdir(dir, 0755) == 0)
			chmod(dir, 0755); /* independent of the umask */
	}
}

static bool is_listened_at(const struct sockaddr_un *at)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const bool answers = fd >= 0 && (!connect(fd, (const struct sockaddr *)at, sizeof(*at)) ||
					 errno == EAGAIN);

	ccs_close(fd);
	return answers;
}

/*
 * Remove the socket of an agent that has died; no other kind of file, in case the path is wrong. Of
 * two agents that start at the same time, one has not got the UDP port, and does not come here.
 */
static int remove_socket(const struct sockaddr_un *at)
{
	struct stat st;

	if (lstat(at->sun_path, &st))
		return 0;
	if (S_ISSOCK(st.st_mode) && !is_listened_at(at))
		return unlink(at->sun_path);
	errno = S_ISSOCK(st.st_mode) ? EADDRINUSE : ENOTSOCK;
	return -1;
}

static void listener_ready(struct ccs_agent *a, struct ccs_source *s);

static void store_identity(struct ccs_agent *a)
{
	struct stat st;

	if (lstat(a->config.socket, &st))
		return;
	a->listener.dev = st.st_dev;
	a->listener.ino = st.st_ino;
}

static bool has_name(const struct ccs_agent *a)
{
	struct stat st;

	return !lstat(a->config.socket, &st) && st.st_dev == a->listener.dev &&
	       st.st_ino == a->listener.ino;
}

static int bind_listener(struct ccs_agent *a, const struct sockaddr_un *at)
{
	int fd;

	make_directory(at->sun_path);
	if (remove_socket(at))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	a->listener.source.fd = fd;
	if (fd < 0 || bind(fd, (const struct sockaddr *)at, sizeof(*at)))
		return -1;
	store_identity(a);
	return chmod(at->sun_path, 0666) || listen(fd, SOMAXCONN) ? -1 : 0;
}

static int listen_at(struct ccs_agent *a)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const char *path = a->config.socket;

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at.sun_path, path, strlen(path));
	a->listener.source = (struct ccs_source){
		ccs_inherited_find(a, SOCK_SEQPACKET, (const struct sockaddr *)&at), listener_ready,
	};
	if (a->listener.source.fd < 0 && bind_listener(a, &at))
		return -1;
	a->listener.active = true;
	return ccs_agent_watch(a, &a->listener.source);
}

/* -- connections ----------------------------------------------------------------- */

static void end_client(struct ccs_agent *a, struct ccs_client *c, int passed)
{
	const int fd = c->source.fd;
	struct ccs_user *user = c->user;
	const uid_t uid = c->uid;

	if (c->punched)
		ccs_punched_add(a, c);
	c->punched = true; /* the region is not accessed again: the next agent sets what it reads */
	while (c->first)
		ccs_agent_flow_remove(a, c->first);
	ccs_caps_detach(a, c);
	if (c->shm)
		close(c->shm_fd);
	ccs_shm_unmap(c->shm);
	free(c->paths);
	epoll_ctl(a->epoll, EPOLL_CTL_DEL, fd, NULL);
	*c = (struct ccs_client){ .source.fd = -1, .uid = uid };
	ccs_closing_client(a, (unsigned)(c - a->client), fd, passed);
	user->clients--;
	a->nclients--;
}

static void close_client(struct ccs_agent *a, struct ccs_client *c)
{
	end_client(a, c, -1);
}

int ccs_clients_open(struct ccs_agent *a, char *err, size_t len)
{
	int saved;

	a->unmapped = ccs_users_unmapped();
	a->client = calloc(CCS_AGENT_CLIENTS, sizeof(*a->client));
	a->user = calloc(CCS_AGENT_USERS, sizeof(*a->user));
	for (unsigned i = 0; a->client && i < CCS_AGENT_CLIENTS; i++)
		a->client[i].source.fd = -1;
	if (a->client && a->user && !ccs_closing_open(a) &&
	    !ccs_index_init(&a->flows.by_peer, BUCKETS, a->salt) &&
	    !ccs_index_init(&a->flows.by_qp, BUCKETS, a->salt) &&
	    !ccs_index_init(&a->flows.by_reader, BUCKETS, a->salt) &&
	    !ccs_index_init(&a->flows.by_slot, BUCKETS, a->salt) && !listen_at(a))
		return 0;
	saved = errno;
	snprintf(err, len, "cannot listen on socket %s: %s", a->config.socket,
		 saved == EADDRINUSE ? "another agent uses it" : strerror(saved));
	errno = saved;
	return -1;
}

void ccs_clients_close(struct ccs_agent *a)
{
	for (unsigned i = 0; a->client && i < CCS_AGENT_CLIENTS; i++)
		if (a->client[i].source.fd >= 0)
			close_client(a, &a->client[i]);
	ccs_caps_close(a);
	if (a->closing && a->refused.fd >= 0)
		ccs_closing_client(a, 0, a->refused.fd, -1);
	ccs_closing_end(a);
	if (a->listener.source.fd >= 0) {
		if (has_name(a))
			unlink(a->config.socket);
		close(a->listener.source.fd);
	}
	free(a->flows.by_peer.bucket);
	free(a->flows.by_qp.bucket);
	free(a->flows.by_reader.bucket);
	free(a->flows.by_slot.bucket);
	free(a->client);
}

static int read_passed(struct msghdr *h)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* One message with its descriptor. Returns its length, or -1. */
static ssize_t receive(int socket, struct msghdr *h, int flags)
{
	return TEMP_FAILURE_RETRY(recvmsg(socket, h, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
}

/*
 * Receive one message. Returns its length; 0: end of connection, message overlong or with more
 * than one descriptor; -1: not received yet. recvmsg() closes the others, which can block. So the
 * message is read while it also stays in the socket, and removed from there only if all fitted:
 * then recvmsg() closes no last reference.
 */
static ssize_t receive_request(int socket, void *data, size_t len, int *passed)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_LEN(sizeof(int))]; /* for one descriptor */
	} control;
	struct iovec iov = { data, len };
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control.bytes),
	};
	const ssize_t n = receive(socket, &h, MSG_PEEK);

	if (n < 0)
		return errno == EAGAIN ? -1 : 0;
	*passed = read_passed(&h);
	if (h.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return 0;
	receive(socket, &(struct msghdr){ 0 }, 0);
	return n;
}

static void ignore(struct ccs_agent *a, const struct ccs_source *s)
{
	epoll_ctl(a->epoll, EPOLL_CTL_DEL, s->fd, NULL);
}

static void charge(const struct ccs_agent *a, const struct ccs_client *c, unsigned requests)
{
	if (c->standing != CCS_STANDING_ADMIN)
		ccs_user_charge(a, c->user, requests);
}

/* Whether the client's next request is handled in this turn. */
static bool claim_request(struct ccs_agent *a, struct ccs_client *c)
{
	struct ccs_share *share = ccs_user_share(a, c->user);

	c->paused = c->standing != CCS_STANDING_ADMIN && !ccs_user_has_budget(a, c->user);
	if (c->paused)
		ignore(a, &c->source);
	else if (share->requests)
		share->requests--;
	else
		return false;
	return !c->paused;
}

static void client_ready(struct ccs_agent *a, struct ccs_source *s)
{
	struct ccs_client *c = (struct ccs_client *)s;
	uint64_t data[MESSAGE_MAX / 8];

	while (claim_request(a, c)) {
		int passed = -1;
		const ssize_t n = receive_request(s->fd, data, sizeof(data), &passed);
		bool stays;

		if (n < 0)
			return;
		charge(a, c, 1);
		stays = n && ccs_ipc_handle(a, c, data, (size_t)n, passed) && !c->punched;
		if (passed >= 0 && ccs_shm_is_closed_quickly(passed)) {
			close(passed);
			passed = -1;
		}
		if (!stays || passed >= 0) {
			end_client(a, c, passed);
			return;
		}
	}
}

/* An unused entry; NULL if all are in use or the user has too many. */
static struct ccs_client *find_unused(struct ccs_agent *a, uid_t uid, enum ccs_standing standing)
{
	struct ccs_client *unused = NULL;
	unsigned same = 0;

	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++) {
		const bool used = c->source.fd >= 0 || atomic_load(&a->closing->entry[c - a->client]);

		if (!used)
			unused = c;
		same += used && c->uid == uid;
	}
	return standing != CCS_STANDING_ADMIN && same >= CCS_AGENT_CLIENTS_PER_UID ? NULL : unused;
}

static void stop_listening(struct ccs_agent *a)
{
	ignore(a, &a->listener.source);
	a->listener.active = false;
}

/* Descriptors that were sent before the connection was accepted are closed with it, so a refused
 * connection is closed like the others. While too many are being closed, connections wait. */
static void refuse(struct ccs_agent *a, uid_t uid, int fd)
{
	ccs_agent_warn(a, CCS_AGENT_WARN_CLIENTS,
			    "too many connections: further processes get no feedback");
	if (ccs_refused_close(a, uid, fd))
		return;
	a->refused.fd = fd;
	a->refused.uid = uid;
	stop_listening(a);
}

static void add_client(struct ccs_agent *a, int fd)
{
	struct ucred peer = { .uid = CCS_NO_USER };
	enum ccs_standing standing;
	socklen_t len = sizeof(peer);
	struct ccs_client *c;
	struct ccs_user *user;
	bool may;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	if (peer.uid == a->unmapped)
		peer.uid = CCS_NO_USER;
	user = ccs_user_of(a, peer.uid);
	may = ccs_user_has_budget(a, user);
	standing = may || !peer.uid ? ccs_standing_of(fd, &peer) : CCS_STANDING_USER;
	c = may || standing == CCS_STANDING_ADMIN ? find_unused(a, peer.uid, standing) : NULL;
	if (!c) {
		refuse(a, peer.uid, fd);
		return;
	}
	*c = (struct ccs_client){
		.source = { fd, client_ready }, .pid = peer.pid, .uid = peer.uid, .user = user,
		.standing = standing,
	};
	user->clients++;
	charge(a, c, CONNECTION_REQUESTS);
	a->nclients++;
	if (ccs_agent_watch(a, &c->source))
		close_client(a, c);
}

/* While no descriptor is free, pending connections would wake the loop in vain: stop listening
 * until the next tick. */
static void listener_ready(struct ccs_agent *a, struct ccs_source *s)
{
	const int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		add_client(a, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		ccs_agent_warn(a, CCS_AGENT_WARN_ACCEPT, "cannot accept a connection: %s",
				    strerror(errno));
		stop_listening(a);
	}
}

void ccs_clients_retry_refused(struct ccs_agent *a)
{
	if (a->refused.fd < 0 || !ccs_refused_close(a, a->refused.uid, a->refused.fd))
		return;
	a->refused.fd = -1;
	a->listener.active = ccs_agent_watch(a, &a->listener.source) == 0;
}

void ccs_clients_tick(struct ccs_agent *a, uint64_t now_ns)
{
	if (!a->listener.active && a->refused.fd < 0)
		a->listener.active = ccs_agent_watch(a, &a->listener.source) == 0;
	for (struct ccs_client *c = a->client; c < a->client + CCS_AGENT_CLIENTS; c++) {
		if (c->paused && ccs_user_has_budget(a, c->user))
			c->paused = ccs_agent_watch(a, &c->source) != 0;
		if (c->shm && ccs_client_has_head(c))
			atomic_store_explicit(&c->shm->heartbeat_ns, now_ns, memory_order_release);
		else if (c->shm)
			close_client(a, c);
	}
	ccs_caps_tick(a);
}
