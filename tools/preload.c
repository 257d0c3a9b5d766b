/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/preload.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
#define OUR_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
#define OUR_CLASS ELFCLASS32
#endif

#define NAME "libccshim.so"

/* The directory above tools/ (or tools/.libs/) that this program was built in, with a slash. */
static bool build_dir(char *dir, size_t len)
{
	static const char *const tails[] = { "/tools/ccshim", "/tools/.libs/ccshim" };
	ssize_t n = readlink("/proc/self/exe", dir, len - 1);

	if (n <= 0)
		return false;
	dir[n] = '\0';
	for (unsigned i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		const size_t tail = strlen(tails[i]);

		if ((size_t)n > tail && strcmp(dir + n - tail, tails[i]) == 0) {
			dir[(size_t)n - tail + 1] = '\0';
			return true;
		}
	}
	return false;
}

int preload_find(char *path, size_t len, char *err, size_t errlen)
{
	const char *given = getenv("CCSHIM_LIB");
	char dir[PATH_MAX], built[PATH_MAX + sizeof("libs/" NAME)], real[PATH_MAX];
	const char *choice = CCS_PKGLIBDIR "/" NAME;

	if (given && *given) {
		choice = given;
	} else if (build_dir(dir, sizeof(dir))) {
		snprintf(built, sizeof(built), "%s.libs/" NAME, dir);
		if (access(built, R_OK) == 0)
			choice = built;
	}
	if (!realpath(choice, real) || access(real, R_OK) != 0) {
		snprintf(err, errlen, "the library %s cannot be read: %m", choice);
		return -1;
	}
	if (strpbrk(real, " :") || strlen(real) >= len) {
		snprintf(err, errlen,
			 "LD_PRELOAD cannot hold '%s': a space or a colon divides names", real);
		return -1;
	}
	strcpy(path, real);
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *preload_which(const char *name, char *buf, size_t len)
{
	const char *dir = getenv("PATH");

	if (strchr(name, '/'))
		return is_program(name) ? name : NULL;
	if (!dir)
		dir = "/bin:/usr/bin"; /* as execvp(3) */
	for (;; dir++) {
		const size_t n = strcspn(dir, ":");

		snprintf(buf, len, "%.*s%s%s", (int)n, dir, n ? "/" : "", name);
		if (*name && is_program(buf))
			return buf;
		dir += n;
		if (!*dir)
			return NULL;
	}
}

static bool has_interpreter(int fd, const elf_header *header)
{
	elf_segment segment;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		const off_t at = (off_t)(header->e_phoff + (size_t)i * header->e_phentsize);

		if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
			return true; /* not ours to judge */
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* The kernel sets AT_SECURE where running the file changes who we are. */
static const char *privilege(int fd, const struct stat *st)
{
	if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
		return "it is setuid";
	if ((st->st_mode & S_ISGID) && st->st_gid != getgid())
		return "it is setgid";
	if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return "it has file capabilities";
	return NULL;
}

static const char *obstacle_of(int fd)
{
	elf_header header;
	struct stat st;

	if (fstat(fd, &st) != 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL; /* a script: its interpreter decides */
	if (header.e_ident[EI_CLASS] != OUR_CLASS)
		return "it is built for another machine";
	if (!has_interpreter(fd, &header))
		return "it is statically linked";
	return privilege(fd, &st);
}

const char *preload_obstacle(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *why;

	if (fd < 0)
		return NULL;
	why = obstacle_of(fd);
	close(fd);
	return why;
}
