/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SHIM_H
#define CCS_SHIM_H
/*
 * The state of the process. Before its set-up (preload/verbs/setup.c) the maps are empty, so that
 * every interposed function finds no record and calls the real one.
 */
#include <errno.h>
#include <pthread.h>

#include "config/options.h"
#include "observe/stats.h"
#include "preload/object/ptrmap.h"
#include "preload/object/qp_record.h"

/* Why a QP is left uncontrolled, as reports name it. */
#define CCS_UNCONTROLLED_REASONS(X) \
	X(NOT_RC, "not-rc") \
	X(IWARP, "iwarp") \
	X(NO_SEND_QUEUE, "no-send-queue") \
	X(CREATE_QP_EX, "create-qp-ex") \
	X(SEND_OPS, "send-ops") \
	X(PARENT_DOMAIN, "parent-domain") \
	X(UNKNOWN_CQ, "unknown-cq") \
	X(CQ_FEATURES, "cq-features") \
	X(SHADOW_CQ, "no-shadow-cq") \
	X(NO_MEMORY, "no-memory") \
	X(NO_THREAD, "no-thread") \
	X(REFUSED, "device-refused") \
	X(DIRECT, "direct-verbs") \
	X(BYPASS, "bypassed")
#define CCS_UNCONTROLLED_MEMBER(id, text) CCS_UNCONTROLLED_##id,
enum ccs_uncontrolled { CCS_UNCONTROLLED_REASONS(CCS_UNCONTROLLED_MEMBER) CCS_UNCONTROLLED_COUNT };
#undef CCS_UNCONTROLLED_MEMBER
extern const char *const ccs_uncontrolled_names[];

struct ccs_shim {
	struct ccs_options options;      /* the process's; a QP's are in its policy */
	uint64_t started_ns;             /* time of the set-up */
	double clock_cost_us;            /* one reading of the clock */
	bool off;                        /* mode=off, or the configuration was refused */
	atomic_bool ready;               /* set-up is complete */
	atomic_bool forked;              /* this is a child: all records are the parent's */
	struct ccs_ptrmap contexts, cqs, qps, parent_domains, mrs;
	atomic_uint_fast64_t uncontrolled[CCS_UNCONTROLLED_COUNT];
	/* Handles a request of `ccshim set`. A pointer, as set_request.c calls the data path. */
	void (*handle_request)(struct ccs_stats_mailbox *box, uint64_t request);
};

extern struct ccs_shim ccs_shim_state;

static inline struct ccs_shim *ccs_shim(void)
{
	return &ccs_shim_state;
}

static inline struct ctx *ccs_context_find(struct ibv_context *context)
{
	return ccs_ptrmap_get(&ccs_shim()->contexts, context);
}

/* A child may not take any lock of ours: a thread that it does not have may hold it. */
static inline bool ccs_forked(void)
{
	return atomic_load_explicit(&ccs_shim()->forked, memory_order_relaxed);
}

/*
 * errno belongs to the application. A verb that succeeds leaves it unchanged; a verb that fails
 * leaves the errno of the device.
 */
static inline int ccs_posted(int saved, int rc)
{
	if (!rc)
		errno = saved;
	return rc;
}

/*
 * The same for verbs off the data path. They read files and call libibverbs with our locks held,
 * which a cancelled thread would never release: a cancellation waits until the verb returns.
 */
struct ccs_saved {
	int error, cancel_state;
};

static inline struct ccs_saved ccs_save(void)
{
	struct ccs_saved saved = { .error = errno };

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved.cancel_state);
	return saved;
}

static inline int ccs_done(struct ccs_saved saved, int rc)
{
	pthread_setcancelstate(saved.cancel_state, NULL);
	return ccs_posted(saved.error, rc);
}

static inline void *ccs_made(struct ccs_saved saved, void *object)
{
	ccs_done(saved, object ? 0 : -1);
	return object;
}

#endif
