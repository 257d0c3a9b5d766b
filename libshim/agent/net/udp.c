/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * There is one socket per address family, or per address if the agent is restricted to some.
 * A reply is sent from the address to which the request was sent.
 */
#include "agent/net/net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/host/core.h"
#include "base/os.h"

enum { OUTBOX = 32, INBOX = 32, ROUNDS = 8, DATAGRAM = CCS_WIRE_MAX + CCS_WIRE_TAG,
       RCVBUF = 4 << 20 };

union any_address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct datagram {
	struct ccs_ends ends;            /* of a message to be sent */
	union any_address peer;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
					      CMSG_SPACE(sizeof(int))];
	struct iovec iov;
	uint8_t data[DATAGRAM];
};

struct ccs_udp {
	struct ccs_source source;        /* first: the loop passes a pointer to it */
	sa_family_t family;
	bool bound;                      /* to this address */
	struct ccs_address address;
	struct datagram out[OUTBOX];
	unsigned nout;
};

/* -- sockets --------------------------------------------------------------------- */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Both options are optional: a failure is ignored. */
static void raise_limits(int fd)
{
	set_option(fd, SOL_SOCKET, SO_PRIORITY, 6);
	if (set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF))
		set_option(fd, SOL_SOCKET, SO_RCVBUF, RCVBUF);
}

/* Packets have ECT(0), as NICs' CNPs do: a queue that marks drops packets without ECT. */
static int set_options(const struct ccs_udp *u, int dscp)
{
	const int fd = u->source.fd, class = dscp << 2 | 2;

	raise_limits(fd);
	if (u->family == AF_INET)
		return set_option(fd, IPPROTO_IP, IP_PKTINFO, 1) ||
		       set_option(fd, IPPROTO_IP, IP_RECVTOS, 1) ||
		       set_option(fd, IPPROTO_IP, IP_TOS, class);
	return set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
	       set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) ||
	       set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, class);
}

static socklen_t fill_sockaddr(union any_address *to, const struct ccs_address *address,
			       uint16_t port, uint32_t ifindex)
{
	memset(to, 0, sizeof(*to));
	if (ccs_address_is_v4(address)) {
		to->in.sin_family = AF_INET;
		to->in.sin_port = htons(port);
		memcpy(&to->in.sin_addr, address->b + 12, 4);
		return sizeof(to->in);
	}
	to->in6.sin6_family = AF_INET6;
	to->in6.sin6_port = htons(port);
	to->in6.sin6_scope_id = ifindex;
	memcpy(&to->in6.sin6_addr, address->b, 16);
	return sizeof(to->in6);
}

static int bind_socket(const struct ccs_udp *u, const struct sockaddr *at, socklen_t len)
{
	const int fd = socket(u->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || ((u->family == AF_INET || !set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
		       !bind(fd, at, len)))
		return fd;
	ccs_close(fd);
	return -1;
}

/* The socket that the service manager bound, or a new socket. */
static int bound_socket(struct ccs_agent *a, const struct ccs_udp *u)
{
	union any_address at;
	const socklen_t len = fill_sockaddr(&at, &u->address, a->config.port,
					    ccs_udp_scope(&u->address));
	const int fd = ccs_inherited_find(a, SOCK_DGRAM, &at.sa);

	return fd >= 0 ? fd : bind_socket(u, &at.sa, len);
}

/* CE: the message was queued where RoCE packets are queued. */
static bool is_marked(struct msghdr *h)
{
	struct cmsghdr *c;
	int class = 0;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			class = *CMSG_DATA(c);
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			memcpy(&class, CMSG_DATA(c), sizeof(class));
	}
	return (class & 3) == 3;
}

static void udp_ready(struct ccs_agent *a, struct ccs_source *s);

static int open_socket(struct ccs_agent *a, struct ccs_udp *u)
{
	u->family = ccs_address_is_v4(&u->address) ? AF_INET : AF_INET6;
	u->source = (struct ccs_source){ bound_socket(a, u), udp_ready };
	if (u->source.fd < 0 || set_options(u, a->config.dscp))
		return -1;
	return ccs_agent_watch(a, &u->source);
}

static int report_open_error(const struct ccs_agent *a, const struct ccs_address *address,
			     char *err, size_t len)
{
	const sa_family_t family = ccs_address_is_v4(address) ? AF_INET : AF_INET6;
	const int saved = errno;
	char text[INET6_ADDRSTRLEN], who[80] = "";
	unsigned uid;

	if (saved == EADDRINUSE && ccs_inherited_port_user(family, a->config.port, &uid))
		snprintf(who, sizeof(who), "; a process of user %u has it (ss -ulpn); is another agent running?",
			 uid);
	else if (saved == EADDRINUSE)
		snprintf(who, sizeof(who), "; is another agent running?");
	snprintf(err, len, "cannot open UDP port %u of %s: %s%s", a->config.port,
		 ccs_address_text(address, text), strerror(saved), who);
	errno = saved;
	return -1;
}

/* On a host without IPv6 there is one socket. */
int ccs_udp_open(struct ccs_agent *a, char *err, size_t len)
{
	const struct ccs_address any[2] = { ccs_address_of_v4("\0\0\0\0") };
	const struct ccs_address *address = a->config.naddresses ? a->address : any;
	const unsigned n = a->config.naddresses ? a->config.naddresses : 2;

	a->udp = calloc(n, sizeof(*a->udp));
	if (!a->udp)
		return report_open_error(a, address, err, len);
	for (unsigned i = 0; i < n; i++) {
		struct ccs_udp *u = &a->udp[a->nudp];

		u->address = address[i];
		u->bound = address != any;
		if (open_socket(a, u) == 0) {
			a->nudp++;
			continue;
		}
		ccs_close(u->source.fd);
		if (address == any && i && errno != EADDRINUSE)
			break;
		return report_open_error(a, &address[i], err, len);
	}
	return 0;
}

void ccs_udp_close(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->nudp; i++)
		close(a->udp[i].source.fd);
	free(a->udp);
}

uint64_t ccs_udp_dropped(const struct ccs_agent *a)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < a->nudp; i++) {
		uint32_t info[SK_MEMINFO_VARS] = { 0 };
		socklen_t len = sizeof(info);

		getsockopt(a->udp[i].source.fd, SOL_SOCKET, SO_MEMINFO, info, &len);
		sum += info[SK_MEMINFO_DROPS];
	}
	return sum;
}

uint32_t ccs_udp_scope(const struct ccs_address *local)
{
	struct ifaddrs *all, *i;
	uint32_t scope = 0;

	if (!ccs_address_is_link_local(local) || getifaddrs(&all))
		return 0;
	for (i = all; i && !scope; i = i->ifa_next) {
		const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;

		if (in6 && in6->sin6_family == AF_INET6 &&
		    memcmp(&in6->sin6_addr, local->b, sizeof(local->b)) == 0)
			scope = in6->sin6_scope_id;
	}
	freeifaddrs(all);
	return scope;
}

/* -- send ------------------------------------------------------------------------ */

static void put_control(struct msghdr *h, int level, int type, const void *info, size_t len)
{
	struct cmsghdr *c = h->msg_control;

	h->msg_controllen = CMSG_SPACE(len);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), info, len);
}

static void put_source(struct msghdr *h, const struct ccs_ends *ends)
{
	struct in6_pktinfo v6 = { .ipi6_ifindex = ends->ifindex };
	struct in_pktinfo v4 = { 0 };

	if (ccs_address_is_v4(&ends->local)) {
		memcpy(&v4.ipi_spec_dst, ends->local.b + 12, 4);
		put_control(h, IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
	} else {
		memcpy(&v6.ipi6_addr, ends->local.b, 16);
		put_control(h, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
	}
}

static struct ccs_udp *socket_for(struct ccs_agent *a, const struct ccs_address *local)
{
	const sa_family_t family = ccs_address_is_v4(local) ? AF_INET : AF_INET6;

	for (unsigned i = 0; i < a->nudp; i++)
		if (a->udp[i].family == family &&
		    (!a->udp[i].bound || ccs_address_equal(&a->udp[i].address, local)))
			return &a->udp[i];
	return NULL;
}

static void count_send_error(struct ccs_agent *a, const struct datagram *l)
{
	const int saved = errno;
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];

	a->totals.send_failed++;
	if (!ccs_agent_warning_due(a, CCS_AGENT_WARN_SEND))
		return;
	ccs_address_text(&l->ends.local, local);
	ccs_address_text(&l->ends.remote, remote);
	ccs_agent_warn(a, CCS_AGENT_WARN_SEND,
		       "cannot send from %s to the agent at %s: %s; check that an interface which is "
		       "up has the first address (ip address), the route (ip route get %s from %s), "
		       "and firewall rules", local, remote, strerror(saved), remote, local);
}

/* An error concerns one datagram only: continue with the next datagram. */
static void flush_socket(struct ccs_agent *a, struct ccs_udp *u)
{
	struct mmsghdr h[OUTBOX] = { 0 };
	unsigned done = 0;

	for (unsigned i = 0; i < u->nout; i++) {
		struct datagram *l = &u->out[i];
		const struct cmsghdr *c = (const struct cmsghdr *)l->control;

		h[i].msg_hdr = (struct msghdr){
			.msg_name = &l->peer,
			.msg_namelen = u->family == AF_INET ? sizeof(l->peer.in) : sizeof(l->peer.in6),
			.msg_iov = &l->iov, .msg_iovlen = 1,
			.msg_control = l->control,
			.msg_controllen = CMSG_ALIGN(c->cmsg_len),
		};
	}
	while (done < u->nout) {
		const int n = sendmmsg(u->source.fd, h + done, u->nout - done, MSG_NOSIGNAL);

		if (n > 0) {
			done += (unsigned)n;
		} else if (errno != EINTR) {
			count_send_error(a, &u->out[done]);
			done++;
		}
	}
	u->nout = 0;
}

void ccs_udp_flush(struct ccs_agent *a)
{
	for (unsigned i = 0; i < a->nudp; i++)
		if (a->udp[i].nout)
			flush_socket(a, &a->udp[i]);
}

/* False: no key is for that peer. */
static bool select_key(struct ccs_agent *a, const struct ccs_address *peer,
		       struct ccs_wire_message *m)
{
	const struct ccs_agent_auth *auth = a->config.auth;
	const int id = auth ? auth->select(auth->arg, peer) : 0;
	char text[INET6_ADDRSTRLEN];

	m->header.key = (uint8_t)id;
	if (id < 0)
		ccs_agent_warn(a, CCS_AGENT_WARN_AUTH,
			       "sent nothing to %s: no key is for its address", ccs_address_text(peer, text));
	return id >= 0;
}

void ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_wire_message *m)
{
	const struct ccs_agent_auth *auth = a->config.auth;
	struct ccs_udp *u = socket_for(a, &ends->local);
	struct msghdr h = { 0 };
	struct datagram *l;
	size_t len;

	if (!u || !select_key(a, &ends->remote, m)) {
		a->totals.send_failed++;
		return;
	}
	if (u->nout == OUTBOX)
		flush_socket(a, u);
	l = &u->out[u->nout++];
	len = ccs_wire_encode(m, l->data);
	if (auth) {
		auth->tag(auth->arg, &ends->remote, m->header.key, l->data, len, l->data + len);
		len += CCS_WIRE_TAG;
	}
	l->iov = (struct iovec){ l->data, len };
	l->ends = *ends;
	memset(l->control, 0, sizeof(l->control));
	h.msg_control = l->control;
	put_source(&h, ends);
	fill_sockaddr(&l->peer, &ends->remote, a->config.port, ends->ifindex);
}

/* -- receive --------------------------------------------------------------------- */

struct inbox {
	struct datagram datagram[INBOX];
	struct mmsghdr h[INBOX];
};

static int receive_batch(int fd, struct inbox *in)
{
	for (unsigned i = 0; i < INBOX; i++) {
		struct datagram *l = &in->datagram[i];

		l->iov = (struct iovec){ l->data, sizeof(l->data) };
		in->h[i].msg_hdr = (struct msghdr){
			.msg_name = &l->peer, .msg_namelen = sizeof(l->peer),
			.msg_iov = &l->iov, .msg_iovlen = 1,
			.msg_control = l->control, .msg_controllen = sizeof(l->control),
		};
	}
	return recvmmsg(fd, in->h, INBOX, MSG_DONTWAIT, NULL);
}

/* False if the kernel does not report the destination address. */
static bool read_ends(const struct msghdr *h, const union any_address *from,
		      struct ccs_ends *ends)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(h);
	struct in6_pktinfo v6;
	struct in_pktinfo v4;

	memset(ends, 0, sizeof(*ends));
	if (!c)
		return false;
	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		memcpy(&v4, CMSG_DATA(c), sizeof(v4));
		ends->local = ccs_address_of_v4(&v4.ipi_addr);
		ends->remote = ccs_address_of_v4(&from->in.sin_addr);
		ends->arrived = (uint32_t)v4.ipi_ifindex;
		return true;
	}
	if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO)
		return false;
	memcpy(&v6, CMSG_DATA(c), sizeof(v6));
	ends->local = ccs_address_of(&v6.ipi6_addr);
	ends->remote = ccs_address_of(&from->in6.sin6_addr);
	ends->ifindex = from->in6.sin6_scope_id;
	ends->arrived = (uint32_t)v6.ipi6_ifindex;
	return true;
}

/* An agent sends from the port that it has: so no user of its host can send in its place. A key
 * proves more, also of a message whose port NAT has changed. */
static bool is_from_agent(struct ccs_agent *a, const union any_address *from)
{
	const uint16_t port = from->sa.sa_family == AF_INET ? from->in.sin_port
							    : from->in6.sin6_port;

	if (port == htons(a->config.port) || a->config.auth)
		return true;
	a->totals.refused[CCS_REFUSED_PORT]++;
	return false;
}

/* Without a key the agent does not answer networks without RDMA: peers send nothing to them. The
 * agent of a switch reports from any of its addresses. */
static bool is_for_rdma(struct ccs_agent *a, const struct ccs_address *local)
{
	if (a->config.auth || a->config.naddresses || a->config.npublications ||
	    ccs_gids_admit(&a->gids, a->counters.sysfs, local, ccs_agent_now(a)))
		return true;
	a->totals.refused[CCS_REFUSED_ADDRESS]++;
	return false;
}

static void udp_ready(struct ccs_agent *a, struct ccs_source *s)
{
	struct ccs_ends ends;
	struct inbox in;
	int n = INBOX;

	for (int round = 0; round < ROUNDS && n == INBOX; round++) {
		n = receive_batch(s->fd, &in);
		for (int i = 0; i < n; i++) {
			a->totals.messages_marked += is_marked(&in.h[i].msg_hdr);
			if (is_from_agent(a, &in.datagram[i].peer) &&
			    read_ends(&in.h[i].msg_hdr, &in.datagram[i].peer, &ends) &&
			    ccs_address_is_unicast(&ends.local) && is_for_rdma(a, &ends.local))
				a->received(a, &ends, in.datagram[i].data, in.h[i].msg_len);
		}
	}
}
