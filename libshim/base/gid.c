/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/gid.h"

#include <arpa/inet.h>
#include <string.h>

const char *ccs_gid_text(const uint8_t gid[16], char text[INET6_ADDRSTRLEN])
{
	static const uint8_t none[16], ipv4[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(gid, none, sizeof(none)) == 0)
		return "-";
	if (memcmp(gid, ipv4, sizeof(ipv4)) == 0)
		return inet_ntop(AF_INET, gid + 12, text, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN);
}
