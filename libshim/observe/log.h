/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LOG_H
#define CCS_LOG_H
/*
 * Log messages: to stderr or log_file, never stdout, with one write(2) per line.
 * Thread-safe, without a result to check, errno is preserved. Default level warn.
 */
#include <stdatomic.h>

#include "config/options.h"

/* Until this call, messages of level warn and above go to stderr. Copies file. */
void ccs_log_setup(enum ccs_log_level level, const char *file);
bool ccs_log_on(enum ccs_log_level level);

/* "ccshim: warn: text" at warn and above; host:pid:tid is added when the level is debug. */
void ccs_log(enum ccs_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Once per call site and process, so that each cause is warned about once. */
#define ccs_log_once(level, ...) do { \
	static _Atomic bool logged_; \
	if (!atomic_exchange_explicit(&logged_, true, memory_order_relaxed)) \
		ccs_log(level, __VA_ARGS__); \
} while (0)

#endif
