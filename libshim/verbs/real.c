/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/real.h"

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
 * Where nobody preloaded us, the global scope may lack the library, or not be searched:
 * then the loaded library itself is asked.
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
	dlerror(); /* ours, not the application's */
	return symbol;
}

/* An object pointer is turned into a function pointer, as POSIX's dlsym asks for. */
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
