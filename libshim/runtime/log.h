/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LOG_H
#define CCS_LOG_H
/*
 * Speech: to stderr or log_file, never stdout, one write(2) a line, safe from
 * any thread, never fails the caller, keeps errno. Default level warn.
 */
#include <stdatomic.h>

#include "runtime/options.h"

/* Before this call messages of level warn and above go to stderr. Copies file. */
void ccs_log_setup(enum ccs_log_level level, const char *file);
bool ccs_log_on(enum ccs_log_level level);

/* "ccshim: warn: text" at warn and above; host:pid:tid is added when the level is debug. */
void ccs_log(enum ccs_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Once per call site, whatever the thread: for the one warning per cause. */
#define ccs_log_once(level, ...) do { \
	static _Atomic bool said_; \
	if (!atomic_exchange_explicit(&said_, true, memory_order_relaxed)) \
		ccs_log(level, __VA_ARGS__); \
} while (0)

#endif
