/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/address.h"

#include <arpa/inet.h>

#include "base/hash.h"
#include "base/number.h"

bool ccs_address_is_unicast(const struct ccs_address *a)
{
	static const struct ccs_address any;

	if (ccs_address_is_v4(a))
		return a->b[12] != 0 && a->b[12] < 224;
	return a->b[0] != 0xff && !ccs_address_equal(a, &any);
}

/* *all: how many bits the text states. */
static int parse_any(const char *text, struct ccs_address *a, unsigned *all)
{
	uint8_t v4[4];

	*all = 128;
	if (inet_pton(AF_INET, text, v4) != 1)
		return inet_pton(AF_INET6, text, a->b) == 1 ? 0 : -1;
	*all = 32;
	*a = ccs_address_of_v4(v4);
	return 0;
}

int ccs_address_parse(const char *text, struct ccs_address *a)
{
	unsigned all;

	return parse_any(text, a, &all) || !ccs_address_is_unicast(a) ? -1 : 0;
}

int ccs_prefix_parse(const char *text, struct ccs_prefix *p)
{
	const size_t len = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN] = "";
	unsigned all, bits;

	if (len >= sizeof(address))
		return -1;
	memcpy(address, text, len);
	if (parse_any(address, &p->address, &all))
		return -1;
	bits = all;
	if (text[len] && ccs_parse_digits(text + len + 1, all, &bits))
		return -1;
	p->bits = bits + 128 - all;
	return 0;
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

const char *ccs_gid_text(const uint8_t gid[16], char text[INET6_ADDRSTRLEN])
{
	const struct ccs_address a = ccs_address_of(gid);

	return ccs_gid_is_set(gid) ? ccs_address_text(&a, text) : "-";
}
