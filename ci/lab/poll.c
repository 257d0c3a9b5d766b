/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Preloaded into the programs of a lab in virtual time: empty polls of a CQ take time. CPU takes
 * none there, so that a program that polls without sleeping would stop the clock.
 *
 * The kernel of the lab (kernel/uml.patch) knows the argument of sched_yield(), and lets the caller
 * sleep until the next event, unless it sleeps between its polls anyway. Functions of libibverbs
 * that only providers call are interposed, so that the order of this library and libccshim.so does
 * not matter.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Also in the C libraries of older Debians, which --root may have. */
#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
#endif

#define LAB_POLL 0x6c6162
#define FREE_POLLS 16 /* event-driven programs poll a few times between sleeps */

typedef void any_function(void);

/* Replaced functions by the address of their pointer. */
static struct {
    _Atomic(any_function **) place;
    _Atomic(any_function *) real;
} replaced[1 << 14];
static pthread_mutex_t replacing = PTHREAD_MUTEX_INITIALIZER;

enum { PLACES = sizeof(replaced) / sizeof(*replaced) };

/* The index of the place, of a free entry, or PLACES if it is not there and all are in use. */
static unsigned int find(any_function **place)
{
    unsigned int i, at = ((uintptr_t)place >> 4) * 2654435761u;

    for (i = 0; i < PLACES; i++) {
        any_function **there = atomic_load(&replaced[(at + i) % PLACES].place);

        if (!there || there == place)
            return (at + i) % PLACES;
    }
    return PLACES;
}

static any_function *real_of(void *place)
{
    unsigned int at = find(place);

    return at < PLACES ? atomic_load(&replaced[at].real) : NULL;
}

static void replace(void *pointer, any_function *ours)
{
    any_function **place = pointer;
    unsigned int at;

    if (!*place || *place == ours)
        return;
    pthread_mutex_lock(&replacing);
    at = find(place);
    if (at < PLACES) {
        atomic_store(&replaced[at].real, *place);
        atomic_store(&replaced[at].place, place);
        *place = ours;
    }
    pthread_mutex_unlock(&replacing);
}

/* Called after each poll. */
static void polled(int empty)
{
    static __thread unsigned int empties;
    int saved = errno;

    empties = empty ? empties + 1 : 0;
    if (empties <= FREE_POLLS)
        return;
    /* 0: another kernel than the lab's. */
    if (!syscall(SYS_sched_yield, LAB_POLL, empties == FREE_POLLS + 1))
        nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
    errno = saved;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    int got = ((typeof(&poll_cq))real_of(&cq->context->ops.poll_cq))(cq, n, wc);

    polled(!got && n > 0);
    return got;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    int status = ((typeof(&start_poll))real_of(&cq->start_poll))(cq, attr);

    polled(status == ENOENT);
    return status;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
    any_function *real = real_of(&verbs_get_ctx(context)->create_cq_ex);
    struct ibv_cq_ex *cq = ((typeof(&create_cq_ex))real)(context, attr);

    if (cq)
        replace(&cq->start_poll, (any_function *)start_poll);
    return cq;
}

/* A function of libibverbs, which is local to a module if that was opened by dlopen(). */
static void *libibverbs(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    return found ? found : dlsym(dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD), name);
}

/* A provider sets its functions when a device is opened. */
void verbs_set_ops(struct verbs_context *vctx, const void *ops)
{
    void (*real)(struct verbs_context *, const void *);
    unsigned int at = find((any_function **)&vctx->create_cq_ex);

    *(void **)&real = libibverbs("verbs_set_ops");
    real(vctx, ops);
    replace(&vctx->context.ops.poll_cq, (any_function *)poll_cq);
    if (at < PLACES)
        atomic_store(&replaced[at].real, NULL);
}

/* libibverbs sets create_cq_ex after verbs_set_ops(). Programs have a PD before they have a CQ. */
int ibv_cmd_alloc_pd(struct ibv_context *context, void *pd, void *cmd, size_t cmd_size, void *resp,
                     size_t resp_size)
{
    struct verbs_context *vctx = verbs_get_ctx_op(context, create_cq_ex);
    typeof(&ibv_cmd_alloc_pd) real;

    /* Only once: libccshim.so may have replaced our function by its own, which calls ours. */
    if (vctx && !real_of(&vctx->create_cq_ex))
        replace(&vctx->create_cq_ex, (any_function *)create_cq_ex);
    *(void **)&real = libibverbs("ibv_cmd_alloc_pd");
    return real(context, pd, cmd, cmd_size, resp, resp_size);
}
