/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_FUZZ_PARSERS_H
#define CCS_TESTS_FUZZ_PARSERS_H
/*
 * Targets for bytes from outside that need no socket, file system or thread, so that a process runs
 * thousands of inputs a second. The first byte of an input selects the target. A target aborts
 * where a property does not hold; the same bytes do the same.
 */
#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
	const char *name;
	void (*run)(const uint8_t *bytes, size_t len);
};

enum { FUZZ_TARGETS = 15, FUZZ_INPUT_MAX = 1024 };

extern const struct fuzz_target fuzz_targets[FUZZ_TARGETS];

void fuzz_parsers(const uint8_t *bytes, size_t len);

/* Messages of other agents and of local processes to an agent without sockets. */
void fuzz_messages(const uint8_t *bytes, size_t len);
void fuzz_requests(const uint8_t *bytes, size_t len);
/* Files that tools read. */
void fuzz_topology(const uint8_t *bytes, size_t len);
void fuzz_json(const uint8_t *bytes, size_t len);
void fuzz_trace(const uint8_t *bytes, size_t len);
void fuzz_recording(const uint8_t *bytes, size_t len);
void fuzz_plot(const uint8_t *bytes, size_t len);
void fuzz_elf(const uint8_t *bytes, size_t len);
void fuzz_needed(const uint8_t *bytes, size_t len);
void fuzz_baseline(const uint8_t *bytes, size_t len);
/* A file with these contents, in memory; its path. */
const char *fuzz_file(const uint8_t *bytes, size_t len);
/* How many messages and requests these have processed. */
extern uint64_t fuzz_processed;

#define FUZZ_CHECK(x) do { if (!(x)) fuzz_fail(__FILE__, __LINE__, #x); } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *what);

#endif
