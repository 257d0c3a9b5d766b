/* SPDX-License-Identifier: BSD-2-Clause */
/* Look-up of the real functions. */
#include "preload/object/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

static struct ccs_real real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

ccs_dlopen *ccs_real_dlopen(void)
{
	static _Atomic(ccs_dlopen *) found;
	ccs_dlopen *symbol = atomic_load_explicit(&found, memory_order_relaxed);

	if (!symbol) {
		*(void **)&symbol = dlsym(RTLD_NEXT, "dlopen");
		atomic_store_explicit(&found, symbol, memory_order_relaxed);
	}
	return symbol;
}

static void *look_up(void *handle, const char *name, const char *version)
{
	return version ? dlvsym(handle, name, version) : dlsym(handle, name);
}

/*
 * If the shim is not preloaded, the library may not be in the global scope: then look up the
 * symbol in the loaded library itself.
 */
void *ccs_real_find(const char *library, const char *name, const char *version)
{
	void *symbol = look_up(RTLD_NEXT, name, version), *handle;

	if (symbol)
		return symbol;
	handle = ccs_real_dlopen()(library, RTLD_LAZY | RTLD_NOLOAD);
	if (handle) {
		symbol = look_up(handle, name, version);
		dlclose(handle);
	}
	dlerror(); /* drop our error, which the application must not see */
	return symbol;
}

/* An object pointer is converted to a function pointer, as POSIX specifies for dlsym(). */
static void resolve(void)
{
#define CCS_RESOLVE(name, version, result, args) \
	*(void **)&real.name = ccs_real_find("libibverbs.so.1", #name, version);
	CCS_HOOKS(CCS_RESOLVE)
#undef CCS_RESOLVE
}

const struct ccs_real *ccs_real(void)
{
	pthread_once(&once, resolve);
	return &real;
}
