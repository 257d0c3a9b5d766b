/* SPDX-License-Identifier: BSD-2-Clause */
/* Look-up of the real functions. */
#include "preload/object/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/loaded.h"

static struct ccs_real real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

ccs_dlopen *ccs_real_dlopen(void)
{
	static _Atomic(ccs_dlopen *) found;
	ccs_dlopen *symbol = atomic_load_explicit(&found, memory_order_relaxed);

	if (!symbol) {
		*(void **)&symbol = ccs_loaded_find("libc.so", "dlopen", NULL);
		atomic_store_explicit(&found, symbol, memory_order_relaxed);
	}
	return symbol;
}

/*
 * The shim is not linked to libibverbs, which a process without verbs need not load. It stays
 * loaded, as its functions are called by address.
 */
static void resolve(void)
{
	ccs_real_dlopen()("libibverbs.so.1", RTLD_NOW | RTLD_NODELETE);
/* An object pointer is converted to a function pointer, as POSIX specifies for dlsym(). */
#define CCS_RESOLVE(name, version, result, args) \
	*(void **)&real.name = ccs_loaded_find("libibverbs.so", #name, version);
	CCS_HOOKS(CCS_RESOLVE)
	CCS_CALLED(CCS_RESOLVE)
#undef CCS_RESOLVE
}

const struct ccs_real *ccs_real(void)
{
	pthread_once(&once, resolve);
	return &real;
}

int ccs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct verbs_context *more = verbs_get_ctx_op(context, query_port);

	memset(attr, 0, sizeof(*attr));
	return more ? more->query_port(context, port, attr, sizeof(*attr))
		    : (ccs_real()->ibv_query_port)(context, port, (void *)attr);
}
