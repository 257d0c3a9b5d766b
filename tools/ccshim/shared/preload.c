/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the library to preload, and the obstacles in a program's file. */
#include "preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/text.h"
#include "tools/common/installed.h"

#define NAME "libccshim.so"

/* The build tree that contains this program, with a slash at its end; false: it is installed. */
static bool find_build_dir(char *dir, size_t len)
{
	static const char *const tails[] = { "/tools/ccshim/ccshim", "/tools/ccshim/.libs/ccshim" };
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
	} else if (find_build_dir(dir, sizeof(dir))) {
		snprintf(built, sizeof(built), "%s.libs/" NAME, dir);
		if (access(built, R_OK) == 0)
			choice = built;
	} else {
		choice = installed_path(choice, built, sizeof(built));
	}
	if (!realpath(choice, real) || access(real, R_OK) != 0)
		return ccs_refuse(err, errlen, "the library %s cannot be read: %m", choice);
	if (strpbrk(real, " :") || strlen(real) >= len) {
		snprintf(err, errlen,
			 "LD_PRELOAD cannot hold '%s': spaces and colons separate its names; "
			 "install ccshim elsewhere", real);
		return -1;
	}
	strcpy(path, real);
	return 0;
}

void preload_libexec(const char *name, char *path, size_t len)
{
	char dir[PATH_MAX], moved[PATH_MAX];

	if (find_build_dir(dir, sizeof(dir)))
		snprintf(path, len, "%stools/ccshim/%s", dir, name);
	else
		snprintf(path, len, "%s/%s", installed_path(CCS_PKGLIBEXECDIR, moved, sizeof(moved)), name);
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

/* The kernel sets AT_SECURE if running the file changes the user, group or capabilities. */
static enum preload_obstacle find_privilege(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return PRELOAD_FREE;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return PRELOAD_SETUID;
	if ((st.st_mode & S_ISGID) && st.st_gid != getgid())
		return PRELOAD_SETGID;
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return PRELOAD_CAPABILITIES;
	return PRELOAD_FREE;
}

/* A C library is known by its dynamic linker's name; the directory differs between systems. */
static enum preload_obstacle compare(const struct ccs_elf *e, const struct ccs_elf *own)
{
	const char *linker = ccs_elf_interpreter(e), *own_linker = ccs_elf_interpreter(own);

	if (!ccs_elf_alike(e, own))
		return PRELOAD_FOREIGN;
	if (!linker)
		return PRELOAD_STATIC;
	if (own_linker && strcmp(basename(linker), basename(own_linker)) != 0)
		return PRELOAD_LIBC;
	return ccs_elf_symbol(e, "__msan_init", true) ? PRELOAD_MSAN : PRELOAD_FREE;
}

enum preload_obstacle preload_obstacle(const char *path)
{
	enum preload_obstacle obstacle = PRELOAD_FREE;
	struct ccs_elf e, own;

	if (ccs_elf_open(&e, path))
		return PRELOAD_FREE; /* a script: the interpreter's file matters */
	if (ccs_elf_open(&own, "/proc/self/exe") == 0) {
		obstacle = compare(&e, &own);
		ccs_elf_close(&own);
	}
	ccs_elf_close(&e);
	return obstacle ? obstacle : find_privilege(path);
}

const struct preload_obstacle_text preload_obstacle_texts[] = {
	[PRELOAD_FOREIGN] = { "it is built for another architecture",
			      "build ccshim for that architecture too" },
	[PRELOAD_STATIC] = { "it is statically linked", "link it dynamically" },
	[PRELOAD_LIBC] = { "it is built for another C library than glibc",
			   "build it for glibc, or accept that it runs uncontrolled" },
	[PRELOAD_MSAN] = { "it has MemorySanitizer, which accepts no library without it",
			   "use another build of it" },
	[PRELOAD_SETUID] = { "it is setuid", "run it as its owner, from a copy that is not setuid" },
	[PRELOAD_SETGID] = { "it is setgid", "run it in its group, from a copy that is not setgid" },
	[PRELOAD_CAPABILITIES] = { "it has file capabilities",
				   "run it as root, or grant them through a service manager instead" },
};
