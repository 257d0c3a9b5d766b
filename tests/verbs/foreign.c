/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that programs preload beside the shim; matrix.bats compiles each, and says which:
 * DLSYM, which defines dlsym(), as limiters of GPUs do: RTLD_NEXT is relative to it;
 * LOADER, which defines dlopen() and dl_iterate_phdr(), whose list it keeps from the first call on;
 * CLOCK, whose clock stops, jumps or runs backwards, as FOREIGN_CLOCK says;
 * ENDING, whose functions fail before its constructor and after its destructor;
 * VERBS, another shim, with libibverbs by RTLD_NEXT, or by dlopen() if FOREIGN_VERBS is set;
 * AUDIT, for LD_AUDIT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef DLSYM
typedef void *look_up(void *, const char *);
typedef void *look_up_version(void *, const char *, const char *);

/* Its own definition of dlvsym() is not the C library's, which the dynamic section has. */
void *dlsym(void *handle, const char *name)
{
	static look_up *real;

	if (!real)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (!real)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	return real(handle, name);
}
#endif

#ifdef LOADER
typedef int visit_object(struct dl_phdr_info *info, size_t size, void *arg);

static struct dl_phdr_info objects[256];
static int nobjects;

static int keep(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	objects[nobjects++] = *info;
	return nobjects == 256;
}

int dl_iterate_phdr(visit_object *visit, void *arg)
{
	int (*real)(visit_object *, void *), rc = 0;

	*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (!nobjects)
		real(keep, NULL);
	for (int i = 0; i < nobjects && !rc; i++)
		rc = visit(&objects[i], sizeof(objects[i]), arg);
	return rc;
}

void *dlopen(const char *name, int flags)
{
	void *(*real)(const char *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return real(name, flags);
}
#endif

#ifdef CLOCK
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static _Atomic long calls;
	const char *way = getenv("FOREIGN_CLOCK");
	const long n = ++calls;

	if (strcmp(way, "stops") == 0)
		*ts = (struct timespec){ .tv_sec = 1000000 };
	else if (strcmp(way, "jumps") == 0)
		*ts = (struct timespec){ .tv_sec = n % 2 ? 1000000 : 2000000 };
	else if (strcmp(way, "backwards") == 0)
		*ts = (struct timespec){ .tv_sec = 1000000 - n };
	else
		return (int)syscall(SYS_clock_gettime, clock, ts);
	return 0;
}
#endif

#ifdef ENDING
#define FUNCTIONS(X) \
	X(int, access, (const char *path, int mode), (path, mode)) \
	X(int, clock_gettime, (clockid_t clock, struct timespec *ts), (clock, ts)) \
	X(int, close, (int fd), (fd)) \
	X(int, fclose, (FILE *file), (file)) \
	X(FILE *, fdopen, (int fd, const char *mode), (fd, mode)) \
	X(int, fputs, (const char *text, FILE *file), (text, file)) \
	X(size_t, fwrite, (const void *at, size_t size, size_t n, FILE *file), (at, size, n, file)) \
	X(unsigned long, getauxval, (unsigned long type), (type)) \
	X(pid_t, getpid, (void), ()) \
	X(int, pthread_key_create, (pthread_key_t *key, void (*end)(void *)), (key, end)) \
	X(int, pthread_mutex_lock, (pthread_mutex_t *lock), (lock)) \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *lock), (lock)) \
	X(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value)) \
	X(int, rename, (const char *from, const char *to), (from, to)) \
	X(int, sem_init, (sem_t *sem, int shared, unsigned value), (sem, shared, value)) \
	X(int, sem_post, (sem_t *sem), (sem)) \
	X(int, unlink, (const char *path), (path)) \
	X(ssize_t, write, (int fd, const void *at, size_t n), (fd, at, n))

#define FORWARD(result, name, parameters, arguments) \
	static result (*real_##name) parameters; \
	result name parameters { return real_##name arguments; }
FUNCTIONS(FORWARD)

static void __attribute__((constructor)) begin(void)
{
#define FIND(result, name, parameters, arguments) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
	FUNCTIONS(FIND)
}

static void __attribute__((destructor)) end(void)
{
#define FORGET(result, name, parameters, arguments) real_##name = NULL;
	FUNCTIONS(FORGET)
}
#endif

#ifdef VERBS
static void *next(const char *name)
{
	static void *library;

	if (!getenv("FOREIGN_VERBS"))
		return dlsym(RTLD_NEXT, name);
	if (!library)
		library = dlopen(getenv("FOREIGN_VERBS"), RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, name) : NULL;
}

/* A shim that calls its own function would never return. */
#define VERB(result, name, parameters, arguments) \
	result name parameters \
	{ \
		static result (*real) parameters; \
		static _Thread_local int depth; \
		result value; \
		if (!real) \
			*(void **)&real = next(#name); \
		if (depth++) \
			abort(); \
		value = real arguments; \
		depth--; \
		return value; \
	}
VERB(struct ibv_context *, ibv_open_device, (struct ibv_device *device), (device))
VERB(int, ibv_close_device, (struct ibv_context *context), (context))
VERB(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context *context), (context))
VERB(int, ibv_dealloc_pd, (struct ibv_pd *pd), (pd))
VERB(struct ibv_cq *, ibv_create_cq,
     (struct ibv_context *context, int n, void *arg, struct ibv_comp_channel *channel, int vector),
     (context, n, arg, channel, vector))
VERB(int, ibv_destroy_cq, (struct ibv_cq *cq), (cq))
VERB(struct ibv_qp *, ibv_create_qp, (struct ibv_pd *pd, struct ibv_qp_init_attr *attr), (pd, attr))
VERB(int, ibv_modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask), (qp, attr, mask))
VERB(int, ibv_destroy_qp, (struct ibv_qp *qp), (qp))
#endif

#ifdef AUDIT
unsigned la_version(unsigned version)
{
	return version;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)map, (void)space, (void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
#endif
