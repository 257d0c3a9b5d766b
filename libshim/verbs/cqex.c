/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended CQs. An application polls one in sessions, by functions in the CQ's own
 * structure, which are replaced when it is made. A session merges the real CQ with
 * what is owed of the shadows. The real one's session is within ours: providers hold
 * a lock in it, so it is opened by the first look into the real CQ, and closed as
 * soon as that is empty, for some cannot be asked twice.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/apart.h"
#include "verbs/shim.h"

/* What a completion may be asked for: type, name, where our own records have it. */
#define READERS(X) \
	X(enum ibv_wc_opcode, opcode, wc.opcode) \
	X(uint32_t, vendor_err, wc.vendor_err) \
	X(uint32_t, byte_len, wc.byte_len) \
	X(__be32, imm_data, wc.imm_data) \
	X(uint32_t, qp_num, wc.qp_num) \
	X(uint32_t, src_qp, wc.src_qp) \
	X(unsigned int, wc_flags, wc.wc_flags) \
	X(uint32_t, slid, wc.slid) \
	X(uint8_t, sl, wc.sl) \
	X(uint8_t, dlid_path_bits, wc.dlid_path_bits) \
	X(uint64_t, completion_ts, more.completion_ts) \
	X(__be16, cvlan, more.cvlan) \
	X(uint32_t, flow_tag, more.flow_tag) \
	X(uint64_t, completion_wallclock_ns, more.completion_wallclock_ns)

struct real_ops {
	int (*start_poll)(struct ibv_cq_ex *, struct ibv_poll_cq_attr *);
	int (*next_poll)(struct ibv_cq_ex *);
	void (*end_poll)(struct ibv_cq_ex *);
	void (*read_tm_info)(struct ibv_cq_ex *, struct ibv_wc_tm_info *);
#define MEMBER(type, name, from) type (*read_##name)(struct ibv_cq_ex *);
	READERS(MEMBER)
#undef MEMBER
};

struct cqex {
	struct ibv_cq_ex *app;
	struct real_ops real;
	bool one_thread;                 /* polls it, as the application promised */
	pthread_mutex_t lock;            /* of a session, and all that follows */
	bool open;                       /* the real session is */
	bool owed_turn;                  /* which source is asked first */
	int run;                         /* completions from it since */
	bool spinning;                   /* the application, by the last look at them */
	uint64_t empty_ns;               /* which was just now and found none; or unknown */
	bool ours;                       /* the current completion is, as follows */
	struct ibv_wc wc;
	struct wc_more more;
};

static struct cq *cq_of(struct ibv_cq_ex *ex)
{
	return ccs_cq_find(ibv_cq_ex_to_cq(ex));
}

void ccs_cqex_enter(struct cqex *e)
{
	if (!e->one_thread)
		pthread_mutex_lock(&e->lock);
}

void ccs_cqex_leave(struct cqex *e)
{
	if (!e->one_thread)
		pthread_mutex_unlock(&e->lock);
}

/* hns reads by these functions while it polls, so it must find its own already. */
static int next_real(struct cqex *e, struct ibv_poll_cq_attr *attr)
{
	int rc;

	e->ours = false;
	rc = e->open ? e->real.next_poll(e->app) : e->real.start_poll(e->app, attr);
	if (rc && e->open)
		e->real.end_poll(e->app);
	e->open = !rc;
	return rc;
}

static int next_owed(struct cq *cq)
{
	struct cqex *e = cq->ex;
	const int rc = ccs_cq_take(cq, &e->wc, &e->more, &e->spinning, &e->empty_ns);

	if (rc)
		return rc;
	e->ours = true;
	e->app->wr_id = e->wc.wr_id;
	e->app->status = e->wc.status;
	return 0;
}

/* What the real CQ tells goes behind what the shadows have told by then, as in a poll. */
static int next_behind_owed(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	int rc;

	if (ccs_cq_owes(cq))
		return next_owed(cq);
	rc = next_real(cq->ex, attr);
	return !rc && ccs_cq_put_behind(cq, cq->ex->app) ? next_owed(cq) : rc;
}

static int next_of(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	return cq->ex->owed_turn ? next_owed(cq) : next_behind_owed(cq, attr);
}

static void turn(struct cqex *e)
{
	e->owed_turn = !e->owed_turn;
	e->run = 0;
}

/* Empty is only what both sources are; neither waits for the other to run dry. */
static int next(struct cq *cq, struct ibv_poll_cq_attr *attr)
{
	struct cqex *e = cq->ex;
	int rc;

	e->empty_ns = CCS_TIME_UNKNOWN;
	if (e->run++ == CCS_BATCH)
		turn(e);
	rc = next_of(cq, attr);
	if (rc == ENOENT) {
		turn(e);
		rc = next_of(cq, attr);
	}
	if (!rc) /* there is no telling when the application goes on */
		e->empty_ns = CCS_TIME_UNKNOWN;
	return rc;
}

static void leave(struct cq *cq)
{
	const bool spinning = cq->ex->spinning;
	const uint64_t now_ns = cq->ex->empty_ns;

	ccs_cqex_leave(cq->ex);
	ccs_helper_polled(cq, now_ns, spinning);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct cq *cq = cq_of(ex);
	struct cqex *e = cq->ex;
	int rc;

	if (ccs_forked())
		return e->real.start_poll(ex, attr);
	ccs_cqex_enter(e);
	turn(e);
	if (attr->comp_mask)
		e->owed_turn = false; /* the provider judges it */
	rc = next(cq, attr);
	if (rc)
		leave(cq);
	return rc;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct cq *cq = cq_of(ex);

	return ccs_forked() ? cq->ex->real.next_poll(ex) : next(cq, &attr);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct cq *cq = cq_of(ex);
	struct cqex *e = cq->ex;

	if (ccs_forked() || e->open)
		e->real.end_poll(ex);
	if (ccs_forked())
		return;
	e->open = false;
	e->ours = false;
	leave(cq);
}

#define READ(type, name, from) \
	static type read_##name(struct ibv_cq_ex *ex) \
	{ \
		const struct cqex *e = cq_of(ex)->ex; \
		return e->ours ? (type)e->from : e->real.read_##name(ex); \
	}
READERS(READ)
#undef READ

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	const struct cqex *e = cq_of(ex)->ex;

	if (e->ours)
		*info = e->more.tm_info;
	else
		e->real.read_tm_info(ex, info);
}

/* What a CQ cannot tell stays NULL. */
static void replace(struct cqex *e)
{
	struct ibv_cq_ex *ex = e->app;

#define REPLACE(name) \
	do { \
		e->real.name = ex->name; \
		if (ex->name) \
			ex->name = name; \
	} while (0)
#define REPLACE_READER(type, name, from) REPLACE(read_##name);
	REPLACE(start_poll);
	REPLACE(next_poll);
	REPLACE(end_poll);
	REPLACE(read_tm_info);
	READERS(REPLACE_READER)
#undef REPLACE_READER
#undef REPLACE
}

static uint32_t flags_of(const struct ibv_cq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
}

static bool strange(const struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	const uint32_t flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
			       IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	const uint64_t values = 2 * (uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK - 1;

	return (attr->comp_mask & ~masks) || (flags_of(attr) & ~flags) ||
	       (attr->wc_flags & ~values);
}

/* NULL without memory: then the CQ is not touched, and its QPs pass. */
static struct cq *adopt(struct ibv_cq_ex *ex, const struct ibv_cq_init_attr_ex *attr)
{
	struct cqex *e = ccs_calloc_apart(1, sizeof(*e));
	struct cq *cq = e ? ccs_cq_new(ibv_cq_ex_to_cq(ex), attr->channel, attr->cq_context,
				       (int)attr->comp_vector) : NULL;

	if (!e)
		ccs_cq_not_followed();
	if (!cq) {
		free(e);
		return NULL;
	}
	e->app = ex;
	e->one_thread = flags_of(attr) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	e->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cq->ex = e;
	cq->wc_flags = attr->wc_flags;
	cq->strange = strange(attr);
	return cq;
}

struct ibv_cq_ex *ccs_cqex_create(struct ctx *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *ex = ctx->create_cq_ex(ctx->context, attr);
	struct cq *cq = ex ? adopt(ex, attr) : NULL;

	if (cq && ccs_cq_track(cq) && !cq->strange)
		replace(cq->ex);
	return ex;
}

void ccs_cqex_free(struct cqex *e)
{
	if (!e)
		return;
	pthread_mutex_destroy(&e->lock);
	free(e);
}
