/* SPDX-License-Identifier: BSD-2-Clause */
/* Look-up of the real functions. */
#include "preload/object/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/loaded.h"

static struct ccs_real real;
static atomic_bool claimed, resolved;

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
static void resolve(struct ccs_real *found)
{
	ccs_real_dlopen()("libibverbs.so.1", RTLD_NOW | RTLD_NODELETE);
/* An object pointer is converted to a function pointer, as POSIX specifies for dlsym(). */
#define CCS_RESOLVE(name, version, result, args) \
	*(void **)&found->name = ccs_loaded_find("libibverbs", #name, version);
	CCS_HOOKS(CCS_RESOLVE)
	CCS_CALLED(CCS_RESOLVE)
#undef CCS_RESOLVE
}

/*
 * No lock is held: the constructor of a library may call a verb while its thread has the dynamic
 * linker's lock, which the look-up needs.
 */
const struct ccs_real *ccs_real(void)
{
	struct ccs_real found;

	if (atomic_load_explicit(&resolved, memory_order_acquire))
		return &real;
	resolve(&found);
	if (!found.ibv_open_device)
		return &real; /* libibverbs may be loaded later */
	if (!atomic_exchange(&claimed, true)) {
		real = found;
		atomic_store_explicit(&resolved, true, memory_order_release);
	}
	while (!atomic_load_explicit(&resolved, memory_order_acquire))
		; /* another thread copies its result */
	return &real;
}

int ccs_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct verbs_context *more = verbs_get_ctx_op(context, query_port);

	memset(attr, 0, sizeof(*attr));
	return more ? more->query_port(context, port, attr, sizeof(*attr))
		    : (ccs_real()->ibv_query_port)(context, port, (void *)attr);
}
