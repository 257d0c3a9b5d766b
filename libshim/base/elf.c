/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offset and size of a member, in the file's class. */
#define OFFSET(e, type, member) \
	((e)->wide ? offsetof(Elf64_##type, member) : offsetof(Elf32_##type, member))
#define WIDTH(e, type, member) \
	((e)->wide ? sizeof(((Elf64_##type *)0)->member) : sizeof(((Elf32_##type *)0)->member))
#define SIZE(e, type) ((e)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))
#define GET(e, base, type, member) \
	get(e, base, OFFSET(e, type, member), WIDTH(e, type, member))

/* Bounds on the time that a file made to take long can take. */
enum { LONGEST = 1 << 16, TABLES = 4 };  /* of a string; of tables of symbols */

/* No sum of them overflows, since len is that of a file. */
static bool inside(const struct ccs_elf *e, uint64_t offset, uint64_t size)
{
	return offset <= e->len && size <= e->len - offset;
}

/* A number at base + offset, or 0 beyond the end. */
static uint64_t get(const struct ccs_elf *e, uint64_t base, size_t offset, size_t size)
{
	uint64_t value = 0;

	if (!inside(e, base, offset + size))
		return 0;
	for (size_t i = 0; i < size; i++) {
		const size_t at = e->big ? i : size - 1 - i;

		value = value << 8 | e->at[base + offset + at];
	}
	return value;
}

static const char *text(const struct ccs_elf *e, uint64_t base, uint64_t offset)
{
	uint64_t left;

	if (!inside(e, base, 0) || offset >= e->len - base)
		return NULL;
	left = e->len - base - offset;
	if (!memchr(e->at + base + offset, '\0', left < LONGEST ? left : LONGEST))
		return NULL;
	return (const char *)e->at + base + offset;
}

int ccs_elf_read(struct ccs_elf *e, const void *at, size_t len)
{
	const unsigned char *id = at;

	if (len < sizeof(Elf32_Ehdr) || memcmp(id, ELFMAG, SELFMAG) != 0 ||
	    (id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64) ||
	    (id[EI_DATA] != ELFDATA2LSB && id[EI_DATA] != ELFDATA2MSB))
		return ENOEXEC;
	*e = (struct ccs_elf){ .at = at, .len = len, .wide = id[EI_CLASS] == ELFCLASS64,
			       .big = id[EI_DATA] == ELFDATA2MSB };
	e->type = (uint16_t)GET(e, 0, Ehdr, e_type);
	e->machine = (uint16_t)GET(e, 0, Ehdr, e_machine);
	return 0;
}

int ccs_elf_open(struct ccs_elf *e, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *at = MAP_FAILED;
	int error;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return ENOEXEC;
	error = ccs_elf_read(e, at, (size_t)st.st_size);
	if (error)
		munmap(at, (size_t)st.st_size);
	return error;
}

void ccs_elf_close(struct ccs_elf *e)
{
	munmap((void *)e->at, e->len);
}

bool ccs_elf_alike(const struct ccs_elf *a, const struct ccs_elf *b)
{
	return a->wide == b->wide && a->big == b->big && a->machine == b->machine;
}

/* Where the next segment of that type begins in the table, from *i on; 0: none. */
static uint64_t segment(const struct ccs_elf *e, uint64_t type, unsigned *i)
{
	const uint64_t table = GET(e, 0, Ehdr, e_phoff), count = GET(e, 0, Ehdr, e_phnum);

	for (; *i < count; ++*i) {
		const uint64_t at = table + *i * SIZE(e, Phdr);

		if (table && at > table - 1 && inside(e, at, SIZE(e, Phdr)) &&
		    GET(e, at, Phdr, p_type) == type) {
			++*i;
			return at;
		}
	}
	return 0;
}

const char *ccs_elf_interpreter(const struct ccs_elf *e)
{
	unsigned i = 0;
	const uint64_t at = segment(e, PT_INTERP, &i);

	return at ? text(e, GET(e, at, Phdr, p_offset), 0) : NULL;
}

/* Where an address of the program stands in the file; beyond its end: nowhere. */
static uint64_t file_offset(const struct ccs_elf *e, uint64_t address)
{
	unsigned i = 0;
	uint64_t at;

	while ((at = segment(e, PT_LOAD, &i))) {
		const uint64_t start = GET(e, at, Phdr, p_vaddr);

		if (address >= start && address - start < GET(e, at, Phdr, p_filesz))
			return GET(e, at, Phdr, p_offset) + (address - start);
	}
	return UINT64_MAX;
}

/* The value of the nth entry of that tag. */
static bool dynamic(const struct ccs_elf *e, uint64_t tag, unsigned nth, uint64_t *value)
{
	unsigned i = 0;
	const uint64_t header = segment(e, PT_DYNAMIC, &i);
	uint64_t at = GET(e, header, Phdr, p_offset), found;

	if (!header)
		return false;
	for (; inside(e, at, SIZE(e, Dyn)); at += SIZE(e, Dyn)) {
		found = GET(e, at, Dyn, d_tag);
		if (found == DT_NULL)
			return false;
		if (found == tag && nth-- == 0) {
			*value = GET(e, at, Dyn, d_un);
			return true;
		}
	}
	return false;
}

const char *ccs_elf_dynamic(const struct ccs_elf *e, uint64_t tag, unsigned nth)
{
	uint64_t strings, offset;

	if (!dynamic(e, DT_STRTAB, 0, &strings) || !dynamic(e, tag, nth, &offset))
		return NULL;
	return text(e, file_offset(e, strings), offset);
}

/* Looks through one table of symbols. */
static const char *symbol_of(const struct ccs_elf *e, uint64_t table, uint64_t strings,
			     const char *prefix, bool defined)
{
	const uint64_t base = GET(e, strings, Shdr, sh_offset);
	uint64_t at = GET(e, table, Shdr, sh_offset), left = GET(e, table, Shdr, sh_size);

	for (; left >= SIZE(e, Sym) && inside(e, at, SIZE(e, Sym));
	     at += SIZE(e, Sym), left -= SIZE(e, Sym)) {
		const char *name = text(e, base, GET(e, at, Sym, st_name));

		if (name && strncmp(name, prefix, strlen(prefix)) == 0 &&
		    (GET(e, at, Sym, st_shndx) != SHN_UNDEF) == defined)
			return name;
	}
	return NULL;
}

const char *ccs_elf_symbol(const struct ccs_elf *e, const char *prefix, bool defined)
{
	const uint64_t table = GET(e, 0, Ehdr, e_shoff), count = GET(e, 0, Ehdr, e_shnum);

	unsigned tables = 0;

	for (uint64_t i = 0; i < count && table < e->len && tables < TABLES; i++) {
		const uint64_t at = table + i * SIZE(e, Shdr), type = GET(e, at, Shdr, sh_type);
		const uint64_t link = GET(e, at, Shdr, sh_link);
		const char *name;

		if ((type != SHT_DYNSYM && type != SHT_SYMTAB) || link >= count)
			continue;
		tables++;
		name = symbol_of(e, at, table + link * SIZE(e, Shdr), prefix, defined);
		if (name)
			return name;
	}
	return NULL;
}

bool ccs_elf_holds(const struct ccs_elf *e, const char *what)
{
	return memmem(e->at, e->len, what, strlen(what)) != NULL;
}
