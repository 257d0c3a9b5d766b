/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"
#include "base/document.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"

void ccs_document_head(struct ccs_json *j, double time)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	ccs_json_uint(j, "schema", CCS_DOCUMENT_SCHEMA);
	ccs_json_str(j, "version", PACKAGE_VERSION);
	ccs_json_str(j, "host", host);
	ccs_json_num(j, "time", time);
}

double ccs_document_now(void)
{
	return (double)(ccs_clock_ns(CLOCK_REALTIME) / 1000) / 1e6;
}
