/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/address.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "agent/host/hash_index.h"

bool ccs_address_is_unicast(const struct ccs_address *a)
{
	static const struct ccs_address any;

	if (ccs_address_is_v4(a))
		return a->b[12] != 0 && a->b[12] < 224;
	return a->b[0] != 0xff && !ccs_address_equal(a, &any);
}

int ccs_address_parse(const char *text, struct ccs_address *a)
{
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1)
		*a = ccs_address_of_v4(v4);
	else if (inet_pton(AF_INET6, text, a->b) != 1)
		return -1;
	return ccs_address_is_unicast(a) ? 0 : -1;
}

int ccs_prefix_parse(const char *text, struct ccs_prefix *p)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN] = "", *end = NULL;
	unsigned long n;
	uint8_t v4[4];
	unsigned all;

	memcpy(address, text, strnlen(text, sizeof(address) - 1));
	address[strcspn(address, "/")] = '\0';
	if (inet_pton(AF_INET, address, v4) == 1)
		p->address = ccs_address_of_v4(v4);
	else if (inet_pton(AF_INET6, address, p->address.b) != 1)
		return -1;
	all = ccs_address_is_v4(&p->address) ? 32 : 128;
	n = slash ? strtoul(slash + 1, &end, 10) : all;
	p->bits = (unsigned)n + 128 - all;
	return slash && (slash[1] < '0' || slash[1] > '9' || *end || n > all) ? -1 : 0;
}

bool ccs_prefix_covers(const struct ccs_prefix *p, const struct ccs_address *a)
{
	const unsigned bytes = p->bits / 8, rest = p->bits % 8;

	return memcmp(p->address.b, a->b, bytes) == 0 &&
	       (!rest || !((p->address.b[bytes] ^ a->b[bytes]) >> (8 - rest)));
}

uint64_t ccs_address_hash(const struct ccs_address *a, unsigned bits, uint64_t salt)
{
	uint64_t hash = salt ^ bits;

	for (unsigned i = 0; i < sizeof(a->b) && bits; i++) {
		const unsigned n = bits < 8 ? bits : 8;

		hash = ccs_mix(hash ^ a->b[i] >> (8 - n));
		bits -= n;
	}
	return hash;
}

const char *ccs_address_text(const struct ccs_address *a, char *buf)
{
	if (ccs_address_is_v4(a))
		return inet_ntop(AF_INET, a->b + 12, buf, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, a->b, buf, INET6_ADDRSTRLEN);
}
