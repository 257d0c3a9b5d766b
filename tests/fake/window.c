/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows: keys to a part of a region, bound by one WQE and invalidated by another. */
#include <stdlib.h>

#include "priv.h"

#define mw_of(ib_) container(ib_, struct fake_mw, ib)

static struct fake_mw *windows;

static struct fake_mw *by_key(uint32_t key)
{
	struct fake_mw *mw = windows;

	while (mw && (!key || mw->key != key))
		mw = mw->next;
	return mw;
}

void *fake_translate_window(uint32_t key, uint64_t addr, uint64_t len, int access)
{
	const struct fake_mw *mw = by_key(key);
	const struct ibv_mw_bind_info *b = mw ? &mw->bound : NULL;

	if (!b || ((int)b->mw_access_flags & access) != access || addr < b->addr ||
	    addr - b->addr > b->length || len > b->length - (addr - b->addr))
		return NULL;
	return fake_translate(b->mr->lkey, addr, len, 0);
}

/* A bind of length 0 unbinds the window. */
void fake_window_bind(const struct fake_wqe *wqe)
{
	struct fake_mw *mw = mw_of(wqe->wr.bind_mw.mw);

	mw->bound = wqe->wr.bind_mw.bind_info;
	mw->key = mw->bound.mr && mw->bound.length ? wqe->wr.bind_mw.rkey : 0;
	mw->ib.rkey = wqe->wr.bind_mw.rkey;
}

void fake_window_invalidate(uint32_t key)
{
	struct fake_mw *mw = by_key(key);

	if (mw)
		mw->key = 0;
}

struct ibv_mw *fake_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct fake_mw *mw = calloc(1, sizeof(*mw));

	if (!mw)
		return NULL;
	mw->ib.context = pd->context;
	mw->ib.pd = pd;
	mw->ib.type = type;
	pthread_mutex_lock(&fake_lock);
	mw->ib.rkey = fake_new_key();
	mw->next = windows;
	windows = mw;
	pthread_mutex_unlock(&fake_lock);
	return &mw->ib;
}

int fake_dealloc_mw(struct ibv_mw *ib)
{
	struct fake_mw *mw = mw_of(ib), **at;

	pthread_mutex_lock(&fake_lock);
	for (at = &windows; *at != mw; at = &(*at)->next)
		;
	*at = mw->next;
	pthread_mutex_unlock(&fake_lock);
	free(mw);
	return 0;
}

/* The caller gets the new key at once. */
int fake_bind_mw(struct ibv_qp *ib, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct fake_qp *qp = container(ib, struct fake_qp, ib);
	const struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = { .mw = mw, .rkey = mw->rkey + 1, .bind_info = bind->bind_info },
	};
	int rc;

	pthread_mutex_lock(&fake_lock);
	fake_ring();
	rc = fake_fault(FAULT_POST);
	if (!rc)
		rc = fake_may_send(qp) ? 0 : fake_profile()->not_rts;
	if (!rc)
		rc = fake_check_send(qp, &wr, 0);
	if (!rc) {
		mw->rkey = wr.bind_mw.rkey;
		fake_enqueue(qp, &wr);
		fake_posted(qp);
	}
	pthread_mutex_unlock(&fake_lock);
	return rc;
}
