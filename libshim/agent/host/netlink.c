/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/os.h"

enum { PART = 16384 };                   /* the kernel sends dumps in parts of at most 8 KB */

int ccs_netlink_open(struct ccs_netlink *n, int protocol)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int err;

	*n = (struct ccs_netlink){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol) };
	if (n->fd < 0)
		return errno;
	/* Messages from other processes are not received. */
	if (connect(n->fd, (const struct sockaddr *)&kernel, sizeof(kernel)) == 0)
		return 0;
	err = errno;
	ccs_netlink_close(n);
	return err;
}

void ccs_netlink_close(struct ccs_netlink *n)
{
	ccs_close(n->fd);
	n->fd = -1;
}

void ccs_netlink_begin(struct ccs_netlink *n, struct ccs_netlink_request *r, unsigned type,
		       unsigned flags)
{
	*r = (struct ccs_netlink_request){ .header = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = (uint16_t)type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = ++n->sequence,
	} };
}

/* Append len bytes; returns where. */
static char *extend(struct ccs_netlink_request *r, size_t len)
{
	char *at = (char *)r + NLMSG_ALIGN(r->header.nlmsg_len);

	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + (uint32_t)NLMSG_ALIGN(len);
	return at;
}

void ccs_netlink_put_header(struct ccs_netlink_request *r, const void *header, size_t len)
{
	memcpy(extend(r, len), header, len);
}

void ccs_netlink_put_u32(struct ccs_netlink_request *r, unsigned type, uint32_t value)
{
	const struct nlattr a = { .nla_len = NLA_HDRLEN + sizeof(value), .nla_type = (uint16_t)type };
	char *at = extend(r, a.nla_len);

	memcpy(at, &a, sizeof(a));
	memcpy(at + NLA_HDRLEN, &value, sizeof(value));
}

static int error_in(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);

	return h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) || e->error >= 0 ? EIO : -e->error;
}

int ccs_netlink_ask(struct ccs_netlink *n, const struct ccs_netlink_request *r,
		    void (*handle)(void *, const struct nlmsghdr *), void *arg)
{
	char part[PART] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *h;
	ssize_t len;

	if (send(n->fd, r, r->header.nlmsg_len, MSG_NOSIGNAL) < 0)
		return errno;
	for (;;) {
		len = recv(n->fd, part, sizeof(part), MSG_DONTWAIT | MSG_TRUNC);
		if (len <= 0 || len > PART)
			return len < 0 && errno != EAGAIN ? errno : EIO;
		for (h = (void *)part; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_seq != n->sequence)
				continue; /* a reply to an earlier, abandoned request */
			if (h->nlmsg_type == NLMSG_ERROR)
				return error_in(h);
			if (h->nlmsg_type != NLMSG_DONE)
				handle(arg, h);
			if (h->nlmsg_type == NLMSG_DONE || !(h->nlmsg_flags & NLM_F_MULTI))
				return 0;
		}
	}
}

struct ccs_netlink_attrs ccs_netlink_attrs(const struct nlmsghdr *h, size_t header)
{
	const size_t skip = NLMSG_HDRLEN + NLMSG_ALIGN(header);
	const char *begin = (const char *)h;

	return (struct ccs_netlink_attrs){
		begin + (skip < h->nlmsg_len ? skip : h->nlmsg_len), begin + h->nlmsg_len,
	};
}

struct ccs_netlink_attrs ccs_netlink_nested(const struct ccs_netlink_attr *a)
{
	return (struct ccs_netlink_attrs){ a->data, a->data + a->len };
}

bool ccs_netlink_next(struct ccs_netlink_attrs *in, struct ccs_netlink_attr *a)
{
	struct nlattr head;
	size_t whole;

	if (in->end - in->at < NLA_HDRLEN)
		return false;
	memcpy(&head, in->at, sizeof(head));
	if (head.nla_len < NLA_HDRLEN || head.nla_len > in->end - in->at)
		return false;
	*a = (struct ccs_netlink_attr){ head.nla_type & NLA_TYPE_MASK, in->at + NLA_HDRLEN,
					head.nla_len - (size_t)NLA_HDRLEN };
	whole = NLA_ALIGN(head.nla_len); /* the last attribute may lack its padding */
	in->at += whole < (size_t)(in->end - in->at) ? whole : (size_t)(in->end - in->at);
	return true;
}

void ccs_netlink_copy(const struct ccs_netlink_attr *a, void *to, size_t size)
{
	memset(to, 0, size);
	if (a->len)
		memcpy(to, a->data, a->len < size ? a->len : size);
}
