/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/address.h"

#include <arpa/inet.h>

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

const char *ccs_address_text(const struct ccs_address *a, char *buf)
{
	if (ccs_address_is_v4(a))
		return inet_ntop(AF_INET, a->b + 12, buf, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, a->b, buf, INET6_ADDRSTRLEN);
}
