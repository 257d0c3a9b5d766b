/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_ELF_H
#define CCS_BASE_ELF_H
/*
 * Reads ELF files of either class and byte order. Every access is bounded by the file: malformed
 * and truncated files give fewer results, and do no harm. Strings point into the mapping and are
 * valid until it is closed.
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ccs_elf {
	const unsigned char *at;        /* the file, mapped */
	uint64_t len;
	bool wide, big;                 /* 64 bits, big-endian */
	uint16_t type, machine;         /* ET_*, EM_* */
};

/* 0; or an errno value, ENOEXEC if it is not an ELF file. After an error the caller does not
 * close it. */
int ccs_elf_open(struct ccs_elf *e, const char *path);
/* The same for a file in memory, which the caller owns; do not close it. */
int ccs_elf_read(struct ccs_elf *e, const void *at, size_t len);
void ccs_elf_close(struct ccs_elf *e);

bool ccs_elf_alike(const struct ccs_elf *a, const struct ccs_elf *b);

/* The dynamic linker that it requests; NULL for a static program or a library. */
const char *ccs_elf_interpreter(const struct ccs_elf *e);

/* The nth string of the dynamic section under DT_NEEDED, DT_RUNPATH...; or NULL. */
const char *ccs_elf_dynamic(const struct ccs_elf *e, uint64_t tag, unsigned nth);

/* A defined (or else imported) symbol whose name begins with prefix; or NULL. */
const char *ccs_elf_symbol(const struct ccs_elf *e, const char *prefix, bool defined);

bool ccs_elf_holds(const struct ccs_elf *e, const char *text);

#endif
