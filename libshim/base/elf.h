/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_ELF_H
#define CCS_BASE_ELF_H
/*
 * What an ELF file says of itself, of either class and byte order. Every look is
 * bounded by the file: garbage and truncated files say less, and do no harm.
 * Strings point into the mapping and live until it is closed.
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

/* 0; or an errno value, ENOEXEC if it is no ELF file, and nothing to close. */
int ccs_elf_open(struct ccs_elf *e, const char *path);
/* The same of bytes that stay the caller's and are not closed. */
int ccs_elf_read(struct ccs_elf *e, const void *at, size_t len);
void ccs_elf_close(struct ccs_elf *e);

/* Whether both are for the same machine. */
bool ccs_elf_alike(const struct ccs_elf *a, const struct ccs_elf *b);

/* The dynamic linker that it asks for; NULL: none, it is static or a library. */
const char *ccs_elf_interpreter(const struct ccs_elf *e);

/* The nth string of the dynamic section under DT_NEEDED, DT_RUNPATH...; or NULL. */
const char *ccs_elf_dynamic(const struct ccs_elf *e, uint64_t tag, unsigned nth);

/* A symbol that is defined (or not: imported) and whose name begins so; or NULL. */
const char *ccs_elf_symbol(const struct ccs_elf *e, const char *prefix, bool defined);

/* Whether these characters occur anywhere in the file. */
bool ccs_elf_holds(const struct ccs_elf *e, const char *text);

#endif
