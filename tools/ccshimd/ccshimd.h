/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_H
#define CCS_TOOLS_CCSHIMD_H

/* "ccshimd: text" to stderr. */
void agent_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns an exit status: what was printed may not have been written. */
int agent_flush_stdout(void);

#endif
