/* SPDX-License-Identifier: BSD-2-Clause */
/* Random work requests, and the two interfaces to post them. */
#include <string.h>

#include "world.h"

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool is_message(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV;
}

bool wr_is_local(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_BIND_MW;
}

static bool takes_receive(enum ibv_wr_opcode op)
{
	return is_message(op) || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void aim(struct end *e, struct ibv_send_wr *wr, uint64_t offset)
{
	const uint64_t addr = (uintptr_t)e->peer->remote + offset;

	if (is_atomic(wr->opcode)) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = w.mr->rkey;
		wr->wr.atomic.compare_add = 1 + offset % 5;
		wr->wr.atomic.swap = offset;
	} else if (!is_message(wr->opcode)) {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = w.mr->rkey;
	}
}

static uint32_t length(enum ibv_wr_opcode op, uint64_t *s)
{
	if (is_message(op))
		return (uint32_t)(next(s) % (SLOT / SGES + 1));
	return (uint32_t)(next(s) % 4 ? next(s) % 300 : next(s) % (AREA / 2 / SGES));
}

/* A bind of no bytes, or the invalidation of a key that no window has. */
static void random_local_wr(struct ibv_send_wr *wr, uint64_t *s)
{
	wr->opcode = next(s) % 2 ? IBV_WR_LOCAL_INV : IBV_WR_BIND_MW;
	wr->send_flags = next(s) % 2 ? IBV_SEND_SIGNALED : IBV_SEND_FENCE;
	wr->num_sge = 0;
	if (wr->opcode == IBV_WR_LOCAL_INV) {
		wr->invalidate_rkey = (uint32_t)next(s) | 1;
		return;
	}
	wr->bind_mw.mw = w.mw;
	wr->bind_mw.rkey = (uint32_t)next(s);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){ .length = 0 };
}

/*
 * Memory that inline data is copied from is never written by READs, as the copy is made when
 * the WR is posted. Fields that an opcode does not use are random.
 */
static void random_wr(struct end *e, struct ibv_send_wr *wr, struct ibv_sge *sge, uint64_t *s)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	};
	static const unsigned flags[] = { 0, IBV_SEND_SIGNALED, IBV_SEND_FENCE,
					  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED };
	const unsigned rare = (unsigned)(*s * 0xd6e8feb86659fd93 >> 58);

	memset(wr, 0xa5, sizeof(*wr));
	if (rare < 2) {
		random_local_wr(wr, s);
		return;
	}
	wr->opcode = rare == 2 ? IBV_WR_SEND_WITH_INV : ops[next(s) % 10];
	if (is_atomic(wr->opcode) && (!w.atomics || !w.sges))
		wr->opcode = IBV_WR_RDMA_WRITE;
	wr->send_flags = flags[next(s) % 4];
	wr->imm_data = (uint32_t)next(s) | 1; /* no key */
	aim(e, wr, INLINE + 8 * (next(s) % (AREA / 16 - INLINE / 8)));
	wr->sg_list = sge;
	wr->num_sge = is_atomic(wr->opcode) ? 1 : (int)(next(s) % (w.sges + 1));
	for (int i = 0; i < wr->num_sge; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)e->local + INLINE + next(s) % (AREA / 2),
			.length = is_atomic(wr->opcode) ? 8 : length(wr->opcode, s),
			.lkey = w.mr->lkey };
	if (is_atomic(wr->opcode) || wr->opcode == IBV_WR_RDMA_READ || next(s) % 4 || !w.sges)
		return;
	wr->send_flags |= IBV_SEND_INLINE;
	wr->num_sge = 1;
	sge[0] = (struct ibv_sge){ .addr = (uintptr_t)e->local, .lkey = 0xdead,
				   .length = (uint32_t)(next(s) % (INLINE + 1)) };
}

static void link_list(struct end *e, struct list *l, unsigned n)
{
	l->n = n;
	for (unsigned i = 0; i < n; i++) {
		l->wr[i].wr_id = wr_id_of(e, e->posted + i, false);
		l->wr[i].next = i + 1 < n ? &l->wr[i + 1] : NULL;
	}
}

void list_random(struct end *e, struct list *l, unsigned n, uint64_t seed)
{
	for (unsigned i = 0; i < n; i++)
		random_wr(e, &l->wr[i], l->sge[i], &seed);
	link_list(e, l, n);
}

void list_plain(struct end *e, struct list *l, unsigned n, unsigned flags)
{
	for (unsigned i = 0; i < n; i++) {
		l->sge[i][0] = (struct ibv_sge){ .addr = (uintptr_t)e->local + 8 * i,
						 .length = 8, .lkey = w.mr->lkey };
		l->wr[i] = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE, .num_sge = w.sges > 0,
						 .sg_list = l->sge[i], .send_flags = flags };
		aim(e, &l->wr[i], 8 * i);
	}
	link_list(e, l, n);
}

/* -- posting ----------------------------------------------------------------- */

static void build(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				      wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(ex, wr->invalidate_rkey);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(ex, wr->invalidate_rkey);
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(ex, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		break;
	default:
		ibv_wr_send(ex);
		break;
	}
}

static void attach(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	const struct ibv_sge *s = wr->sg_list;

	if (wr_is_local(wr))
		return;
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, (void *)(uintptr_t)s->addr, s->length);
	else if (wr->num_sge == 1)
		ibv_wr_set_sge(ex, s->lkey, s->addr, s->length);
	else
		ibv_wr_set_sge_list(ex, (size_t)wr->num_sge, s);
}

/* A batch is posted completely or not at all, so no WR is the first refused. */
static int post_built(struct end *e, const struct list *l, int *bad)
{
	int rc;

	ibv_wr_start(e->ex);
	for (unsigned i = 0; i < l->n; i++) {
		build(e->ex, &l->wr[i]);
		attach(e->ex, &l->wr[i]);
	}
	rc = CALL(ibv_wr_complete(e->ex));
	*bad = rc ? 0 : -1;
	return rc;
}

int list_post(struct end *e, struct list *l, bool builders, int *bad)
{
	struct ibv_send_wr *refused = NULL;
	int rc;

	if (builders && e->ex)
		return post_built(e, l, bad);
	rc = CALL(ibv_post_send(e->qp, l->wr, &refused));
	*bad = mutate_bad(rc && refused ? (int)(refused - l->wr) : -1);
	return rc;
}

void list_account(struct end *e, const struct list *l, unsigned n)
{
	for (unsigned i = 0; i < n; i++, e->posted++) {
		e->visible[e->posted % KNOWN] = w.sig_all ||
						(l->wr[i].send_flags & IBV_SEND_SIGNALED);
		e->peer->needed += takes_receive(l->wr[i].opcode);
		e->arrives[e->posted % KNOWN] = takes_receive(l->wr[i].opcode) ? e->peer->needed
									: 0;
	}
}

static void explain(const struct end *e, const struct list *l, bool builders)
{
	static const char *const names[] = { "WRITE", "WRITE_IMM", "SEND", "SEND_IMM", "READ",
					     "CMP_SWP", "FETCH_ADD" };

	for (unsigned i = 0; i < l->n; i++) {
		const struct ibv_send_wr *wr = &l->wr[i];
		uint64_t len = 0;

		for (int k = 0; !wr_is_local(wr) && k < wr->num_sge && k <= SGES; k++)
			len += wr->sg_list[k].length;
		trace_step("  %c posts %u: %s, %llu bytes in %d pieces%s%s%s%s%s", 'A' + (int)e->place,
		     e->posted + i, wr->opcode < 7 ? names[wr->opcode] : "another",
		     (unsigned long long)len, wr->num_sge,
		     wr->send_flags & IBV_SEND_SIGNALED ? ", signalled" : "",
		     wr->send_flags & IBV_SEND_FENCE ? ", fence" : "",
		     wr->send_flags & IBV_SEND_SOLICITED ? ", solicited" : "",
		     wr->send_flags & IBV_SEND_INLINE ? ", inline" : "",
		     builders && e->ex ? ", built" : "");
	}
}

void list_submit(struct end *e, struct list *l, bool builders)
{
	int bad, rc;

	explain(e, l, builders);
	rc = list_post(e, l, builders, &bad);
	trace_step("  -> %d, %d", rc, bad);
	append(&e->calls, "post %u: %d %d%s\n", l->n, rc, bad, w.set_errno ? " errno" : "");
	list_account(e, l, rc ? bad < 0 ? 0 : (unsigned)bad : l->n);
	memset(l, 0xa5, sizeof(*l)); /* overwrite the list: the shim must not depend on it */
}
