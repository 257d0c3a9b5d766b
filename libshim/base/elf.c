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
	read_number(e, base, OFFSET(e, type, member), WIDTH(e, type, member))

/* Bounds on the time that a malicious file can cost. */
enum { LONGEST = 1 << 16, TABLES = 4 };  /* bytes of a string; number of symbol tables */

/* No sum of these overflows, since len is the length of a file. */
static bool is_in_file(const struct ccs_elf *e, uint64_t offset, uint64_t size)
{
	return offset <= e->len && size <= e->len - offset;
}

/* A number at base + offset, or 0 beyond the end. */
static uint64_t read_number(const struct ccs_elf *e, uint64_t base, size_t offset, size_t size)
{
	uint64_t value = 0;

	if (!is_in_file(e, base, offset + size))
		return 0;
	for (size_t i = 0; i < size; i++) {
		const size_t at = e->big ? i : size - 1 - i;

		value = value << 8 | e->at[base + offset + at];
	}
	return value;
}

static const char *checked_string(const struct ccs_elf *e, uint64_t base, uint64_t offset)
{
	uint64_t left;

	if (!is_in_file(e, base, 0) || offset >= e->len - base)
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

/* The offset of the next program header of that type, from entry *i on; 0 if not found. */
static uint64_t next_header(const struct ccs_elf *e, uint64_t type, unsigned *i)
{
	const uint64_t table = GET(e, 0, Ehdr, e_phoff), count = GET(e, 0, Ehdr, e_phnum);

	for (; *i < count; ++*i) {
		const uint64_t at = table + *i * SIZE(e, Phdr);

		if (table && at > table - 1 && is_in_file(e, at, SIZE(e, Phdr)) &&
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
	const uint64_t at = next_header(e, PT_INTERP, &i);

	return at ? checked_string(e, GET(e, at, Phdr, p_offset), 0) : NULL;
}

/* The offset in the file of an address of the program; UINT64_MAX if no segment contains it. */
static uint64_t file_offset(const struct ccs_elf *e, uint64_t address)
{
	unsigned i = 0;
	uint64_t at;

	while ((at = next_header(e, PT_LOAD, &i))) {
		const uint64_t start = GET(e, at, Phdr, p_vaddr);

		if (address >= start && address - start < GET(e, at, Phdr, p_filesz))
			return GET(e, at, Phdr, p_offset) + (address - start);
	}
	return UINT64_MAX;
}

static bool find_dynamic(const struct ccs_elf *e, uint64_t tag, unsigned nth, uint64_t *value)
{
	unsigned i = 0;
	const uint64_t header = next_header(e, PT_DYNAMIC, &i);
	uint64_t at = GET(e, header, Phdr, p_offset), found;

	if (!header)
		return false;
	for (; is_in_file(e, at, SIZE(e, Dyn)); at += SIZE(e, Dyn)) {
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

	if (!find_dynamic(e, DT_STRTAB, 0, &strings) || !find_dynamic(e, tag, nth, &offset))
		return NULL;
	return checked_string(e, file_offset(e, strings), offset);
}

static const char *find_symbol_in(const struct ccs_elf *e, uint64_t table, uint64_t strings,
			     const char *prefix, bool defined)
{
	const uint64_t base = GET(e, strings, Shdr, sh_offset);
	uint64_t at = GET(e, table, Shdr, sh_offset), left = GET(e, table, Shdr, sh_size);

	for (; left >= SIZE(e, Sym) && is_in_file(e, at, SIZE(e, Sym));
	     at += SIZE(e, Sym), left -= SIZE(e, Sym)) {
		const char *name = checked_string(e, base, GET(e, at, Sym, st_name));

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
		name = find_symbol_in(e, at, table + link * SIZE(e, Shdr), prefix, defined);
		if (name)
			return name;
	}
	return NULL;
}

bool ccs_elf_holds(const struct ccs_elf *e, const char *what)
{
	return memmem(e->at, e->len, what, strlen(what)) != NULL;
}
