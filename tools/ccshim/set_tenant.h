/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_SET_TENANT_H
#define CCS_TOOLS_SET_TENANT_H
/* Handle `ccshim set tenant`: the arguments after it. Returns the exit status. */
int set_tenant(int argc, char **argv);

#endif
