/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files of every class and byte order, broken ones, and the libraries of this program. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/elf_needed.h"
#include "seed.h"

/* -- a small file, made by hand ------------------------------------------------ */

enum {
	SEGMENTS = 0x40, DYNAMIC = 0x100, STRINGS = 0x180, SYMBOLS = 0x200, SECTIONS = 0x280,
	SIZE = 0x400, BASE = 0x10000,
};

static unsigned char image[SIZE];
static bool wide, big;

static void put(size_t base, size_t offset, size_t size, uint64_t value)
{
	for (size_t i = 0; i < size; i++)
		image[base + offset + (big ? size - 1 - i : i)] = (unsigned char)(value >> 8 * i);
}

#define PUT(base, type, member, value) put(base, \
	wide ? offsetof(Elf64_##type, member) : offsetof(Elf32_##type, member), \
	wide ? sizeof(((Elf64_##type *)0)->member) : sizeof(((Elf32_##type *)0)->member), value)
#define STEP(type) (wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

static void put_segment(unsigned i, uint32_t type, uint64_t offset, uint64_t size)
{
	const size_t at = SEGMENTS + i * STEP(Phdr);

	PUT(at, Phdr, p_type, type);
	PUT(at, Phdr, p_offset, offset);
	PUT(at, Phdr, p_vaddr, BASE + offset);
	PUT(at, Phdr, p_filesz, size);
}

static void put_dynamic(unsigned i, uint64_t tag, uint64_t value)
{
	PUT(DYNAMIC + i * STEP(Dyn), Dyn, d_tag, tag);
	PUT(DYNAMIC + i * STEP(Dyn), Dyn, d_un, value);
}

static void put_section(unsigned i, uint32_t type, uint64_t offset, uint64_t size, uint32_t link)
{
	const size_t at = SECTIONS + i * STEP(Shdr);

	PUT(at, Shdr, sh_type, type);
	PUT(at, Shdr, sh_offset, offset);
	PUT(at, Shdr, sh_size, size);
	PUT(at, Shdr, sh_link, link);
}

static void make(bool is_wide, bool is_big)
{
	static const char strings[] = "\0liba.so\0libb.so.1\0/x:$ORIGIN\0foo_use\0foo_def\0/ld.so";

	wide = is_wide;
	big = is_big;
	memset(image, 0, sizeof(image));
	memcpy(image, ELFMAG, SELFMAG);
	image[EI_CLASS] = wide ? ELFCLASS64 : ELFCLASS32;
	image[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	memcpy(image + STRINGS, strings, sizeof(strings));
	PUT(0, Ehdr, e_type, ET_DYN);
	PUT(0, Ehdr, e_machine, EM_PPC64);
	PUT(0, Ehdr, e_phoff, SEGMENTS);
	PUT(0, Ehdr, e_phnum, 3);
	PUT(0, Ehdr, e_shoff, SECTIONS);
	PUT(0, Ehdr, e_shnum, 3);
	put_segment(0, PT_INTERP, STRINGS + 46, 7);
	put_segment(1, PT_LOAD, 0, SIZE);
	put_segment(2, PT_DYNAMIC, DYNAMIC, 5 * STEP(Dyn));
	put_dynamic(0, DT_NEEDED, 1);
	put_dynamic(1, DT_STRTAB, BASE + STRINGS);
	put_dynamic(2, DT_NEEDED, 9);
	put_dynamic(3, DT_RUNPATH, 19);
	put_section(1, SHT_DYNSYM, SYMBOLS, 3 * STEP(Sym), 2);
	put_section(2, SHT_STRTAB, STRINGS, sizeof(strings), 0);
	PUT(SYMBOLS + STEP(Sym), Sym, st_name, 30);
	PUT(SYMBOLS + 2 * STEP(Sym), Sym, st_name, 38);
	PUT(SYMBOLS + 2 * STEP(Sym), Sym, st_shndx, 7);
}

TEST(well_formed_files_are_read)
{
	struct ccs_elf e;

	for (int i = 0; i < 4; i++) {
		make(i & 1, i & 2);
		assert_int_equal(ccs_elf_read(&e, image, sizeof(image)), 0);
		assert_int_equal(e.wide, wide);
		assert_int_equal(e.big, big);
		assert_int_equal(e.type, ET_DYN);
		assert_int_equal(e.machine, EM_PPC64);
		assert_string_equal(ccs_elf_interpreter(&e), "/ld.so");
		assert_string_equal(ccs_elf_dynamic(&e, DT_NEEDED, 0), "liba.so");
		assert_string_equal(ccs_elf_dynamic(&e, DT_NEEDED, 1), "libb.so.1");
		assert_null(ccs_elf_dynamic(&e, DT_NEEDED, 2));
		assert_string_equal(ccs_elf_dynamic(&e, DT_RUNPATH, 0), "/x:$ORIGIN");
		assert_null(ccs_elf_dynamic(&e, DT_RPATH, 0));
		assert_string_equal(ccs_elf_symbol(&e, "foo", false), "foo_use");
		assert_string_equal(ccs_elf_symbol(&e, "foo", true), "foo_def");
		assert_null(ccs_elf_symbol(&e, "foo_def", false));
		assert_true(ccs_elf_holds(&e, "$ORIGIN"));
		assert_false(ccs_elf_holds(&e, "$LIB"));
	}
}

TEST(only_files_of_one_machine_are_alike)
{
	struct ccs_elf a, b;
	unsigned char other[SIZE];

	make(true, false);
	memcpy(other, image, sizeof(other));
	assert_int_equal(ccs_elf_read(&a, other, sizeof(other)), 0);
	assert_int_equal(ccs_elf_read(&b, image, sizeof(image)), 0);
	assert_true(ccs_elf_alike(&a, &b));
	make(true, true);
	assert_int_equal(ccs_elf_read(&b, image, sizeof(image)), 0);
	assert_false(ccs_elf_alike(&a, &b));
	make(false, false);
	assert_int_equal(ccs_elf_read(&b, image, sizeof(image)), 0);
	assert_false(ccs_elf_alike(&a, &b));
}

TEST(other_files_are_refused)
{
	struct ccs_elf e;

	assert_int_equal(ccs_elf_read(&e, "", 0), ENOEXEC);
	assert_int_equal(ccs_elf_read(&e, "#!/bin/sh\n", 10), ENOEXEC);
	make(true, false);
	assert_int_equal(ccs_elf_read(&e, image, 51), ENOEXEC);
	image[EI_CLASS] = 3;
	assert_int_equal(ccs_elf_read(&e, image, sizeof(image)), ENOEXEC);
	image[EI_CLASS] = ELFCLASS64;
	image[EI_DATA] = 0;
	assert_int_equal(ccs_elf_read(&e, image, sizeof(image)), ENOEXEC);
	assert_int_equal(ccs_elf_open(&e, "/nowhere/x"), ENOENT);
	assert_int_equal(ccs_elf_open(&e, "/"), ENOEXEC);
	assert_int_equal(ccs_elf_open(&e, "/dev/null"), ENOEXEC);
}

/* -- broken files ------------------------------------------------------------------ */

/* All results lie in the file, their ends included. */
static void check_string(const struct ccs_elf *e, const char *s)
{
	const char *start = (const char *)e->at;

	if (s) {
		assert_true(s >= start && s < start + e->len);
		assert_true(s + strlen(s) < start + e->len);
	}
}

/* In memory of exactly that size, so that a sanitizer detects each access beyond it. */
static void query_everything(const unsigned char *bytes, size_t len)
{
	unsigned char *copy = malloc(len ? len : 1);
	struct ccs_elf e;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	if (ccs_elf_read(&e, copy, len) == 0) {
		check_string(&e, ccs_elf_interpreter(&e));
		for (unsigned n = 0; n < 3; n++)
			check_string(&e, ccs_elf_dynamic(&e, DT_NEEDED, n));
		check_string(&e, ccs_elf_dynamic(&e, DT_RUNPATH, 0));
		check_string(&e, ccs_elf_symbol(&e, "foo_d", true));
		check_string(&e, ccs_elf_symbol(&e, "no such symbol", false));
	}
	free(copy);
}

TEST(truncated_files_give_no_results_beyond_their_end)
{
	for (int i = 0; i < 4; i++) {
		make(i & 1, i & 2);
		for (size_t len = 0; len <= sizeof(image); len++)
			query_everything(image, len);
	}
}

TEST(garbage_gives_no_results_outside_the_file)
{
	static const uint64_t extremes[] = { 0, 1, SIZE - 1, SIZE, 1u << 31, UINT32_MAX,
					     1ull << 63, UINT64_MAX, UINT64_MAX - 63 };

	seed_start("garbage");
	for (int run = 0; run < 20000; run++) {
		make(seed_below(2), seed_below(2));
		for (uint64_t n = 1 + seed_below(8); n; n--) {
			const size_t size = 1u << seed_below(4);
			const uint64_t value = seed_below(2) ? seed_next()
				: extremes[seed_below(sizeof(extremes) / sizeof(*extremes))];

			put(SELFMAG + 2 + seed_below(SIZE - 16), 0, size, value);
		}
		query_everything(image, seed_below(4) ? SIZE : seed_below(SIZE));
	}
}

/* -- libraries --------------------------------------------------------------------- */

struct seen {
	unsigned count, found;
	const char *stop;
	char names[64][64], path[512], by[64];
};

static bool see(void *arg, const struct ccs_elf_needed *lib)
{
	struct seen *s = arg;

	for (unsigned i = 0; i < s->count; i++)
		assert_string_not_equal(s->names[i], lib->name);
	assert_true(s->count < 64);
	snprintf(s->names[s->count++], 64, "%s", lib->name);
	s->found += lib->path != NULL;
	assert_true(!lib->path == !lib->elf);
	if (!s->stop || strcmp(lib->name, s->stop) != 0)
		return false;
	snprintf(s->path, sizeof(s->path), "%s", lib->path ? lib->path : "");
	snprintf(s->by, sizeof(s->by), "%s", lib->by ? lib->by : "");
	return true;
}

TEST(libraries_of_this_program_are_found)
{
	struct seen all = { 0 }, libc = { .stop = "libc.so.6" };

	assert_int_equal(ccs_elf_needed_walk("/proc/self/exe", see, &all), 0);
	assert_string_equal(all.names[0], "/proc/self/exe");
	assert_true(all.count > 1 && all.found == all.count);
	assert_int_equal(ccs_elf_needed_walk("/proc/self/exe", see, &libc), 0);
	assert_int_equal(access(libc.path, R_OK), 0);
	assert_string_not_equal(libc.by, "");
	assert_int_equal(ccs_elf_needed_walk("/etc/passwd", see, &(struct seen){ 0 }), ENOEXEC);
	assert_int_equal(ccs_elf_needed_walk("libno-such.so", see, &(struct seen){ 0 }), ENOEXEC);
}

/* Files of these bytes in a directory of their own. */
static void write_image(const char *dir, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(image, 1, sizeof(image), file), sizeof(image));
	assert_int_equal(fclose(file), 0);
}

static void clean(const char *dir)
{
	static const char *const names[] = { "prog", "liba.so", "libb.so.1" };
	char path[512];

	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

TEST(libraries_are_searched_in_the_order_of_ld_so)
{
	char dir[] = "/tmp/test_elf.XXXXXX", prog[64], want[64];
	struct seen here = { .stop = "libb.so.1" }, all = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(prog, sizeof(prog), "%s/prog", dir);
	snprintf(want, sizeof(want), "%s/libb.so.1", dir);
	make(true, true);
	write_image(dir, "prog");
	write_image(dir, "libb.so.1");
	make(true, false);
	write_image(dir, "liba.so"); /* for another machine: not found */
	assert_int_equal(ccs_elf_needed_walk(prog, see, &here), 0);
	assert_string_equal(here.path, want);
	assert_string_equal(here.by, prog);
	assert_int_equal(ccs_elf_needed_walk(prog, see, &all), 0);
	assert_int_equal(all.count, 3);
	assert_int_equal(all.found, 2);
	clean(dir);
}
