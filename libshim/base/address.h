/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_ADDRESS_H
#define CCS_BASE_ADDRESS_H
/* IP addresses in the form of RoCEv2 GIDs: 16 bytes, IPv4 as ::ffff:a.b.c.d. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ccs_address {
	uint8_t b[16];
};

static inline bool ccs_address_equal(const struct ccs_address *a, const struct ccs_address *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The GID is known: it is not all zeroes. */
static inline bool ccs_gid_is_set(const uint8_t gid[16])
{
	static const uint8_t unknown[16];

	return memcmp(gid, unknown, sizeof(unknown)) != 0;
}

static inline bool ccs_address_is_v4(const struct ccs_address *a)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(a->b, prefix, sizeof(prefix)) == 0;
}

static inline bool ccs_address_is_link_local(const struct ccs_address *a)
{
	return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

/* bytes: 4 bytes in network order. */
static inline struct ccs_address ccs_address_of_v4(const void *bytes)
{
	struct ccs_address a = { .b = { [10] = 0xff, [11] = 0xff } };

	memcpy(a.b + 12, bytes, 4);
	return a;
}

static inline struct ccs_address ccs_address_of(const void *bytes)
{
	struct ccs_address a;

	memcpy(a.b, bytes, sizeof(a.b));
	return a;
}

/* False for the unspecified address and multicast. */
bool ccs_address_is_unicast(const struct ccs_address *a);

/* 0, or -1 if the text is not a unicast address. */
int ccs_address_parse(const char *text, struct ccs_address *a);

/* An address prefix. All zero: it covers every address. */
struct ccs_prefix {
	struct ccs_address address;
	unsigned bits;                   /* 0 to 128; an IPv4 prefix's /n is 96 + n */
};

/* Text: ADDRESS or ADDRESS/N. 0, or -1 if it is invalid. */
int ccs_prefix_parse(const char *text, struct ccs_prefix *p);
bool ccs_prefix_covers(const struct ccs_prefix *p, const struct ccs_address *a);

/* Length of the prefix that usually is one network's: an IPv4 /24, and the /56 that an end site
 * gets of IPv6. Routers that check source addresses let their hosts forge within one at most. */
static inline unsigned ccs_address_network_bits(const struct ccs_address *a)
{
	return ccs_address_is_v4(a) ? 96 + 24 : 56;
}

/* A hash of the first bits of an address. */
uint64_t ccs_address_hash(const struct ccs_address *a, unsigned bits, uint64_t salt);

/* The address as text; buf has INET6_ADDRSTRLEN bytes. */
const char *ccs_address_text(const struct ccs_address *a, char *buf);
/* The same, but "-" if the GID is all zero, which means unknown. */
const char *ccs_gid_text(const uint8_t gid[16], char text[INET6_ADDRSTRLEN]);

#endif
