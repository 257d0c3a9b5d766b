/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/real.h"

#include <dlfcn.h>
#include <pthread.h>

static struct ccs_real real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* An object pointer is turned into a function pointer, as POSIX's dlsym asks for. */
static void resolve(void)
{
#define CCS_RESOLVE(name, version, result, args) \
	*(void **)&real.name = dlvsym(RTLD_NEXT, #name, version);
	CCS_HOOKS(CCS_RESOLVE)
#undef CCS_RESOLVE
}

const struct ccs_real *ccs_real(void)
{
	pthread_once(&once, resolve);
	return &real;
}
