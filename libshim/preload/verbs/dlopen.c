/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications that open libibverbs by dlopen(), or that open modules which bind to it before any
 * preload. For libibverbs, dlopen() returns a handle of libibverbs-ccshim.so: a look-up in it finds
 * the hooks of its dependency libccshim.so, then the functions of its dependency libibverbs. Such
 * modules are opened without RTLD_DEEPBIND.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_needed.h"
#include "observe/log.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/verbs/verbs.h"

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
 * Whether the file is rdma-core's libibverbs. Another library of this name is a wrapper, which will
 * open libibverbs itself. Every rdma-core has verbs_open_device() for its providers.
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

/* The path of libibverbs-ccshim.so, beside this library; NULL if it is not there. */
static const char *path_beside(void)
{
	static char path[PATH_MAX];
	const char *slash;
	Dl_info own;

	if (!dladdr((void *)path_beside, &own) || !(slash = strrchr(own.dli_fname, '/')))
		return NULL;
	snprintf(path, sizeof(path), "%.*s/libibverbs-ccshim.so", (int)(slash - own.dli_fname),
		 own.dli_fname);
	return access(path, R_OK) == 0 ? path : NULL;
}

/* Whether the caller is another preload, whose functions the shim calls: it needs libibverbs. */
static bool is_next(const void *caller)
{
	Dl_info next, by;

	return dladdr((void *)ccs_real()->ibv_open_device, &next) && dladdr(caller, &by) &&
	       next.dli_fbase == by.dli_fbase;
}

static __attribute__((noinline)) const char *redirect(const char *file, int mode, const void *caller)
{
	const char *path;

	if (!is_genuine(file) || !ccs_shim_on() || is_next(caller))
		return file;
	path = path_beside();
	if (!path || (!(mode & RTLD_NOLOAD) && !ccs_real_dlopen()(path, RTLD_NOW))) {
		dlerror(); /* drop our error, which the application must not see */
		ccs_log_once(CCS_LOG_WARN, "traffic of functions from dlopen(\"%s\") is uncontrolled: "
			     "libibverbs-ccshim.so is not beside libccshim.so, or the dynamic linker does "
			     "not find libibverbs.so.1 for it; see LD_LIBRARY_PATH in ld.so(8)", file);
		return file;
	}
	ccs_log(CCS_LOG_INFO, "dlopen(\"%s\") is redirected to %s", file, path);
	return path;
}

/* With RTLD_NOLOAD, libibverbs counts, not libibverbs-ccshim.so. */
static __attribute__((noinline)) int redirected_mode(const char *file, int mode)
{
	void *loaded = mode & RTLD_NOLOAD ? ccs_real_dlopen()(file, mode) : NULL;

	return loaded && !dlclose(loaded) ? mode & ~RTLD_NOLOAD : mode;
}

/* Whether a file needs libibverbs, or contains its name and so may open it. */
static bool reaches_verbs(void *arg, const struct ccs_elf_needed *lib)
{
	bool *yes = arg;

	*yes = is_libibverbs(lib->name) ||
	       (!lib->by && lib->elf && ccs_elf_holds(lib->elf, LIBIBVERBS));
	return *yes;
}

static __attribute__((noinline)) int drop_deepbind(const char *file, int mode)
{
	bool yes = false;

	ccs_elf_needed_walk(file, reaches_verbs, &yes);
	if (!yes || !ccs_shim_on())
		return mode;
	if (ccs_shim()->options.deepbind == CCS_DEEPBIND_KEEP) {
		ccs_real(); /* libibverbs is loaded, and calls our verbs_open_device() */
		return mode;
	}
	ccs_log(CCS_LOG_INFO, "%s is opened without RTLD_DEEPBIND", file);
	return mode & ~RTLD_DEEPBIND;
}

/* gcc 12 does this without the attribute. A local whose address is taken would prevent it. */
#if __has_attribute(musttail)
#define TAIL_CALL __attribute__((musttail))
#else
#define TAIL_CALL
#endif

/*
 * The real function is called last and its result returned unchanged. That is compiled to a jump,
 * so that its return address is in the caller, whose RUNPATH and namespace it uses. dlerror()
 * reports its errors.
 */
HOOK void *dlopen(const char *file, int mode)
{
	if (file && is_libibverbs(file)) {
		mode = redirected_mode(file, mode);
		file = redirect(file, mode, __builtin_return_address(0));
	} else if (file && (mode & RTLD_DEEPBIND)) {
		mode = drop_deepbind(file, mode);
	}
	TAIL_CALL return ccs_real_dlopen()(file, mode);
}

/*
 * AddressSanitizer ends a program if another library precedes its runtime, because that may define
 * functions which the runtime replaces. The shim defines only dlopen(), and calls the runtime's.
 */
const char *__asan_default_options(void);
HOOK const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
