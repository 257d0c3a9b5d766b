/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_FLOAT_ENV_H
#define CCS_BASE_FLOAT_ENV_H
/*
 * The floating-point environment belongs to the application: it may trap exceptions (gfortran's
 * -ffpe-trap), or test their flags. Our arithmetic is between these two, in the default
 * environment. On x86-64 it uses only SSE, and writing MXCSR is faster than fesetenv().
 */
#ifdef __x86_64__
#include <xmmintrin.h>

struct ccs_float_env { unsigned int csr; };

enum { CCS_FLOAT_DEFAULT = 0x1f80 };

static inline void ccs_float_begin(struct ccs_float_env *env)
{
	env->csr = _mm_getcsr();
	_mm_setcsr(CCS_FLOAT_DEFAULT);
	__asm__ volatile("" ::: "memory"); /* no arithmetic is moved across */
}

static inline void ccs_float_end(const struct ccs_float_env *env)
{
	__asm__ volatile("" ::: "memory");
	_mm_setcsr(env->csr);
}
#else
#include <fenv.h>

struct ccs_float_env { fenv_t env; };

static inline void ccs_float_begin(struct ccs_float_env *env)
{
	fegetenv(&env->env);
	fesetenv(FE_DFL_ENV);
}

static inline void ccs_float_end(const struct ccs_float_env *env)
{
	fesetenv(&env->env);
}
#endif
#endif
