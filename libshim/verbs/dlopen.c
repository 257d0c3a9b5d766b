/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications that open libibverbs themselves, or open modules that bind to it ahead
 * of any preload. The first get our own handle: a look-up in it finds our hooks, then
 * what our own dependency, libibverbs, has. The others are opened without RTLD_DEEPBIND.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/needed.h"
#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"

#define LIBIBVERBS "libibverbs.so"

static bool is_libibverbs(const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
	const size_t len = sizeof(LIBIBVERBS) - 1;

	return strncmp(base, LIBIBVERBS, len) == 0 &&
	       (!base[len] || strcmp(base + len, ".1") == 0 ||
		strncmp(base + len, ".1.", 3) == 0);
}

/*
 * A path may lead to what only bears the name: a wrapper, which will come to libibverbs
 * by itself. Every rdma-core has this function for its providers.
 */
static bool is_genuine(const char *file)
{
	struct ccs_elf e;
	bool yes;

	if (!strchr(file, '/'))
		return true;
	if (ccs_elf_open(&e, file))
		return false;
	yes = ccs_elf_symbol(&e, "verbs_open_device", true) != NULL;
	ccs_elf_close(&e);
	return yes;
}

/* Our own name, which the dynamic linker knows: it need not look for the file. */
static __attribute__((noinline)) const char *redirect(const char *file)
{
	Dl_info own;

	if (!is_genuine(file) || !ccs_shim_on() || !dladdr((void *)redirect, &own))
		return file;
	ccs_log(CCS_LOG_INFO, "dlopen(\"%s\") is answered with %s", file, own.dli_fname);
	return own.dli_fname;
}

/* By its libraries, or because it will open libibverbs itself. */
static bool reaches_verbs(void *arg, const struct ccs_needed *lib)
{
	bool *yes = arg;

	*yes = is_libibverbs(lib->name) ||
	       (!lib->by && lib->elf && ccs_elf_holds(lib->elf, LIBIBVERBS));
	return *yes;
}

static __attribute__((noinline)) int without_deepbind(const char *file, int mode)
{
	bool yes = false;

	ccs_needed_walk(file, reaches_verbs, &yes);
	if (!yes || !ccs_shim_on() || ccs_shim()->options.deepbind == CCS_DEEPBIND_KEEP)
		return mode;
	ccs_log(CCS_LOG_INFO, "%s is opened without RTLD_DEEPBIND", file);
	return mode & ~RTLD_DEEPBIND;
}

/* As gcc 12 optimizes, it does so by itself. Locals whose address is taken would forbid it. */
#if __has_attribute(musttail)
#define TAIL_CALL __attribute__((musttail))
#else
#define TAIL_CALL
#endif

/*
 * The real one is called last and its result returned as it is: compiled to a jump, so
 * that it sees who called, by whose RUNPATH and namespace it goes. dlerror() is its own.
 */
HOOK void *dlopen(const char *file, int mode)
{
	if (file && is_libibverbs(file))
		file = redirect(file);
	else if (file && (mode & RTLD_DEEPBIND))
		mode = without_deepbind(file, mode);
	TAIL_CALL return ccs_real_dlopen()(file, mode);
}
