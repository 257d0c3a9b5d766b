/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify DEVICE DEVICE [ROUNDS [SEED]]: one RC connection between the two, random
 * requests both ways, with random scatter lists and data; every byte of both sides'
 * memory is compared with what the requests mean. Sleeps for each completion.
 */
#include "side.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { SLOTS = 8, SLOT = 256 << 10, SGES = 4, REQUESTS = 2 * SLOTS, ROUNDS = 24 };
/* Nothing but the peer's requests changes TARGET, nothing but own READs LOCAL. */
enum area { SOURCE, LOCAL, TARGET, INBOX, AREAS };
enum { MEMORY = AREAS * SLOTS * SLOT };

struct expected {
	uint64_t wr_id;
	enum ibv_wc_opcode opcode;
	uint32_t len, imm;
	bool has_len, has_imm;
};

struct batch {
	struct side *from, *to;
	struct ibv_send_wr wr[REQUESTS];
	struct ibv_sge sge[REQUESTS][SGES], recv_sge[SLOTS][SGES];
	struct expected done[REQUESTS], sent[REQUESTS], received[SLOTS];
	int n, nsent, nreceived;
};

static uint64_t random_state, requests, bytes;

static uint64_t next(void) /* splitmix64 */
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(next() % n);
}

/* -- requests ---------------------------------------------------------------- */

static size_t at(enum area area, int slot)
{
	return ((size_t)area * SLOTS + (size_t)slot) * SLOT;
}

static void fill(struct side *s, enum area area, int slot)
{
	size_t base = at(area, slot), i;
	uint64_t word;

	for (i = 0; i < SLOT; i += sizeof(word)) {
		word = next();
		memcpy(s->memory + base + i, &word, sizeof(word));
	}
	memcpy(s->want + base, s->memory + base, SLOT);
}

/* Any number of bits is as likely as any other. */
static uint32_t random_len(uint32_t max)
{
	uint32_t len = below(16) ? below(1u << below(20)) : max;

	return len < max ? len : max;
}

/* Pieces in random order, with gaps, that hold len bytes of a slot. */
static int scatter(struct side *s, enum area area, int slot, uint32_t len, struct ibv_sge *sge)
{
	uint64_t base = (uintptr_t)s->memory + at(area, slot);
	uint32_t gap, gaps = SLOT - len;
	int n = len ? 1 + (int)below(SGES) : 0, i, j;
	struct ibv_sge swap;

	if ((uint32_t)n > len)
		n = (int)len;
	for (i = 0; i < n; i++) {
		uint32_t rest = (uint32_t)(n - 1 - i);

		gap = below(gaps + 1);
		gaps -= gap;
		base += gap;
		sge[i].addr = base;
		sge[i].length = rest ? 1 + below(len - rest) : len;
		sge[i].lkey = s->mr->lkey;
		base += sge[i].length;
		len -= sge[i].length;
	}
	for (i = n - 1; i > 0; i--) {
		j = (int)below((uint32_t)i + 1);
		swap = sge[i];
		sge[i] = sge[j];
		sge[j] = swap;
	}
	return n;
}

static uint8_t *wanted(struct side *s, uint64_t addr)
{
	return s->want + (addr - (uintptr_t)s->memory);
}

/* Between a scatter list and a flat range, in what is wanted. */
static void gather(struct side *s, const struct ibv_sge *sge, int n, uint8_t *to)
{
	for (; n--; to += sge++->length)
		memcpy(to, wanted(s, sge->addr), sge->length);
}

static void spread(struct side *s, const struct ibv_sge *sge, const uint8_t *from, uint32_t len)
{
	for (; len; sge++) {
		uint32_t n = sge->length < len ? sge->length : len;

		memcpy(wanted(s, sge->addr), from, n);
		from += n;
		len -= n;
	}
}

static struct ibv_send_wr *add(struct batch *b, enum ibv_wr_opcode opcode, enum ibv_wc_opcode done,
			       enum area area, int slot, uint32_t len)
{
	struct ibv_send_wr *wr = &b->wr[b->n];

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = next();
	wr->opcode = opcode;
	wr->sg_list = b->sge[b->n];
	wr->num_sge = scatter(b->from, area, slot, len, wr->sg_list);
	if (b->n)
		wr[-1].next = wr;
	b->done[b->n++] = (struct expected){
		.wr_id = wr->wr_id, .opcode = done, .len = len, .has_len = opcode == IBV_WR_RDMA_READ,
	};
	requests++;
	bytes += len;
	return wr;
}

static uint64_t aim(struct batch *b, struct ibv_send_wr *wr, int slot, uint32_t offset)
{
	wr->wr.rdma.rkey = b->to->mr->rkey;
	wr->wr.rdma.remote_addr = (uintptr_t)b->to->memory + at(TARGET, slot) + offset;
	return wr->wr.rdma.remote_addr;
}

static void add_write(struct batch *b, enum area area, int slot, uint32_t offset, uint32_t len)
{
	struct ibv_send_wr *wr = add(b, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, area, slot, len);

	gather(b->from, wr->sg_list, wr->num_sge, wanted(b->to, aim(b, wr, slot, offset)));
}

static void add_read(struct batch *b, int slot, uint32_t offset, uint32_t len)
{
	struct ibv_send_wr *wr = add(b, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, LOCAL, slot, len);

	spread(b->from, wr->sg_list, wanted(b->to, aim(b, wr, slot, offset)), len);
}

/* What was read is written to another place, behind a fence. */
static void add_copy(struct batch *b, int slot)
{
	uint32_t half = SLOT / 2, len = random_len(half);
	struct ibv_send_wr *read, *write;

	add_read(b, slot, below(half - len + 1), len);
	read = &b->wr[b->n - 1];
	write = add(b, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, LOCAL, slot, len);
	memcpy(write->sg_list, read->sg_list, sizeof(b->sge[0]));
	write->num_sge = read->num_sge;
	write->send_flags |= IBV_SEND_FENCE;
	gather(b->from, write->sg_list, write->num_sge, wanted(b->to, aim(b, write, slot, half)));
}

static void add_atomic(struct batch *b, int slot)
{
	struct ibv_send_wr *wr = add(b, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, LOCAL, slot,
				     0);
	uint64_t addr, value, old;

	bytes += 8;
	wr->sg_list[0].addr = (uintptr_t)b->from->memory + at(LOCAL, slot) + 8 * below(SLOT / 8);
	wr->sg_list[0].length = 8;
	wr->sg_list[0].lkey = b->from->mr->lkey;
	wr->num_sge = 1;
	addr = aim(b, wr, slot, 8 * below(SLOT / 8));
	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.rkey = b->to->mr->rkey;
	wr->wr.atomic.compare_add = value = next();
	memcpy(&old, wanted(b->to, addr), 8);
	memcpy(wanted(b->from, wr->sg_list[0].addr), &old, 8);
	value += old;
	memcpy(wanted(b->to, addr), &value, 8);
}

static void post_recv(struct batch *b, uint32_t room, struct expected *e)
{
	int i = b->nreceived++;
	struct ibv_recv_wr wr = { .wr_id = next(), .sg_list = b->recv_sge[i] }, *bad;

	wr.num_sge = scatter(b->to, INBOX, i, room, wr.sg_list);
	check(!ibv_post_recv(b->to->qp, &wr, &bad), "receive");
	e->wr_id = wr.wr_id;
	b->received[i] = *e;
}

static void add_send(struct batch *b, int slot, uint32_t len)
{
	bool imm = below(2);
	struct ibv_send_wr *wr = add(b, imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, IBV_WC_SEND,
				     SOURCE, slot, len);
	struct expected e = { .opcode = IBV_WC_RECV, .len = len, .has_len = true, .has_imm = imm,
			      .imm = (uint32_t)next() };
	static uint8_t message[SLOT];
	uint32_t room = len + below(SLOT - len + 1);

	wr->imm_data = e.imm;
	gather(b->from, wr->sg_list, wr->num_sge, message);
	post_recv(b, room, &e);
	spread(b->to, b->recv_sge[b->nreceived - 1], message, len);
}

static void add_write_imm(struct batch *b, int slot, uint32_t offset, uint32_t len)
{
	/* With split_imm the length would be the last piece's. */
	struct expected e = { .opcode = IBV_WC_RECV_RDMA_WITH_IMM, .has_imm = true,
			      .imm = (uint32_t)next() };
	struct ibv_send_wr *wr;

	add_write(b, SOURCE, slot, offset, len);
	wr = &b->wr[b->n - 1];
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr->imm_data = e.imm;
	post_recv(b, 0, &e);
}

/* Requests of a batch meet in memory only where the order among them is defined. */
static void compose(struct batch *b, struct side *from, struct side *to)
{
	int slot;

	b->from = from;
	b->to = to;
	b->n = b->nsent = b->nreceived = 0;
	for (slot = 0; slot < SLOTS; slot++) {
		uint32_t len = random_len(SLOT), offset = below(SLOT - len + 1);

		fill(from, SOURCE, slot);
		switch (below(7)) {
		case 0:
			add_write(b, SOURCE, slot, offset, len);
			break;
		case 1:
			add_read(b, slot, offset, len);
			break;
		case 2: /* sees what was written */
			add_write(b, SOURCE, slot, offset, len);
			add_read(b, slot, offset, len);
			break;
		case 3:
			add_copy(b, slot);
			break;
		case 4:
			add_atomic(b, slot);
			break;
		case 5:
			add_send(b, slot, len);
			break;
		case 6:
			add_write_imm(b, slot, offset, len);
			break;
		}
	}
	for (slot = 0; slot < b->n; slot++)
		if (slot == b->n - 1 || below(2)) {
			b->wr[slot].send_flags |= IBV_SEND_SIGNALED;
			b->sent[b->nsent++] = b->done[slot];
		}
}

/* In one list, one by one, or in pieces. */
static void post(struct batch *b)
{
	struct ibv_send_wr *bad;
	int i, j;

	for (i = 0; i < b->n; i = j) {
		j = i + 1 + (int)below((uint32_t)(b->n - i));
		b->wr[j - 1].next = NULL;
		check(!ibv_post_send(b->from->qp, &b->wr[i], &bad), "request %d of %d", i, b->n);
	}
}

/* -- completions ------------------------------------------------------------- */

static void compare(const struct ibv_wc *wc, const struct expected *e)
{
	check(wc->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc->status));
	check(wc->wr_id == e->wr_id, "another request's completion");
	check(wc->opcode == e->opcode, "opcode %d, not %d", wc->opcode, e->opcode);
	check(!e->has_len || wc->byte_len == e->len, "%u bytes, not %u", wc->byte_len, e->len);
	check(!e->has_imm || wc->wc_flags & IBV_WC_WITH_IMM, "no immediate data");
	check(!e->has_imm || wc->imm_data == e->imm, "other immediate data");
}

/* The completions that are expected, in that order, and then none. */
static void collect(struct side *s, struct ibv_cq *cq, const struct expected *e, int n)
{
	struct ibv_wc wc;
	int i = 0, got;

	while (i < n) {
		check(!ibv_req_notify_cq(cq, 0), "arming");
		while ((got = ibv_poll_cq(cq, 1, &wc)) > 0) {
			check(i < n, "a completion too many");
			compare(&wc, &e[i++]);
		}
		check(!got, "polling");
		if (i == n)
			break;
		side_sleep(s);
	}
	check(ibv_poll_cq(cq, 1, &wc) == 0, "a completion too many");
}

static void same(const struct side *s, const char *which)
{
	size_t i;

	if (!memcmp(s->memory, s->want, MEMORY))
		return;
	for (i = 0; s->memory[i] == s->want[i]; i++)
		;
	check(false, "%s: area %zu, slot %zu differs from byte %zu on", which,
	      i / (SLOTS * SLOT), i / SLOT % SLOTS, i % SLOT);
}

int main(int argc, char **argv)
{
	static const struct ibv_qp_cap cap = { .max_send_wr = REQUESTS, .max_recv_wr = SLOTS,
					       .max_send_sge = SGES, .max_recv_sge = SGES };
	static struct side side[2];
	static struct batch batch;
	int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS, i, k;

	if (argc < 3) {
		fprintf(stderr, "usage: verify DEVICE DEVICE [ROUNDS [SEED]]\n");
		return 2;
	}
	random_state = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
	for (i = 0; i < 2; i++) {
		side_open(&side[i], argv[1 + i], MEMORY);
		side[i].want = calloc(1, MEMORY);
		check(side[i].want, "memory");
		side_make(&side[i], &cap);
		for (k = 0; k < SLOTS; k++)
			fill(&side[i], TARGET, k);
	}
	for (i = 0; i < 2; i++)
		side_connect(&side[i], &side[!i]);
	for (i = 0; i < rounds; i++) {
		compose(&batch, &side[i & 1], &side[!(i & 1)]);
		post(&batch);
		collect(batch.to, batch.to->rcq, batch.received, batch.nreceived);
		collect(batch.from, batch.from->scq, batch.sent, batch.nsent);
		same(batch.from, "requester");
		same(batch.to, "responder");
	}
	printf("%" PRIu64 " requests, %" PRIu64 " bytes\n", requests, bytes);
	for (i = 0; i < 2; i++) {
		side_unmake(&side[i]);
		side_close(&side[i]);
		free(side[i].want);
	}
	return 0;
}
