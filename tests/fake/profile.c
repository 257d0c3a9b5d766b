/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where real devices differ, the provider behaves as the provider that FAKERDMA_PROFILE names. The
 * sources are rdma-core's providers/mlx5 and providers/rxe, and the kernel's drivers/infiniband/
 * sw/rxe. README.md names the functions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

enum { MELLANOX = 0x02c9 };

static const struct fake_profile profiles[] = {
	{ .name = "mlx5", .vendor = MELLANOX, .cleans_cqs = true, .arms_by_index = true,
	  .rounds_up = true, .sets_wr_complete = true, .not_rts = ENOMEM, .too_large = ENOMEM,
	  .batch_too_large = ENOMEM, .hides_sent_imm = true },
	/* libmlx5 before rdma-core 40, and mlx4: WRs that are posted before RTS are queued. */
	{ .name = "mlx5-33", .vendor = MELLANOX, .cleans_cqs = true, .arms_by_index = true,
	  .rounds_up = true, .sets_wr_complete = true, .too_large = ENOMEM,
	  .batch_too_large = ENOMEM, .hides_sent_imm = true },
	{ .name = "rxe", .vendor = FAKE_RXE_VENDOR, .reuses_silently = true,
	  .repeats_last_wqe = true, .clears_bad_wr = true, .checks_atomics = true,
	  .takes_any_opcode = true, .binds_without_sge = true, .not_rts = EINVAL,
	  .keeps_early = true, .too_large = EINVAL, .batch_too_large = ENOSPC },
};

static const struct fake_profile *chosen = profiles;

bool fake_choose_profile(void)
{
	const char *name = getenv("FAKERDMA_PROFILE");

	for (size_t i = 0; i < sizeof(profiles) / sizeof(*profiles); i++) {
		if (name && strcmp(name, profiles[i].name) != 0)
			continue;
		chosen = &profiles[i];
		return true;
	}
	fprintf(stderr, "libfakerdma: unknown profile: %s\n", name);
	return false;
}

const struct fake_profile *fake_profile(void)
{
	return chosen;
}

/* As ConnectX adapters report failures; Soft-RoCE has no codes. */
uint32_t fake_vendor_err(enum ibv_wc_status status)
{
	static const uint8_t mlx5[] = {
		[IBV_WC_WR_FLUSH_ERR] = 0xf9, [IBV_WC_RETRY_EXC_ERR] = 0x81,
		[IBV_WC_RNR_RETRY_EXC_ERR] = 0x87, [IBV_WC_REM_ACCESS_ERR] = 0x88,
		[IBV_WC_REM_OP_ERR] = 0x89, [IBV_WC_REM_INV_REQ_ERR] = 0x8a,
	};

	if (!status || chosen->vendor != MELLANOX)
		return 0;
	return status < sizeof(mlx5) && mlx5[status] ? mlx5[status] : 0x99;
}

/* The layout of mlx5's send WQEs: blocks of 64 bytes, segments of 16, all sizes in bytes. */
enum { BLOCK = 64, SEGMENT = 16, INLINE_HEADER = 4 };

static uint32_t align_to(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* The segments before the data in the longest WQE of these operations. NULL: all of the QP type. */
static uint32_t header_bytes(enum ibv_qp_type type, const uint64_t *ops)
{
	const uint64_t rdma = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			      IBV_QP_EX_WITH_RDMA_READ;
	const uint64_t atomic = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	const uint64_t window = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	const uint64_t used = ops ? *ops : type == IBV_QPT_UD ? 0 : rdma | atomic | window;
	const uint32_t transport = type == IBV_QPT_UD ? 3 * SEGMENT
				 : type == IBV_QPT_XRC_SEND ? SEGMENT : 0;

	return transport + (used & window ? 12 * SEGMENT : used & atomic ? 3 * SEGMENT
			    : used & rdma ? 2 * SEGMENT : SEGMENT);
}

void fake_round_up(struct ibv_qp_cap *cap, enum ibv_qp_type type, const uint64_t *ops)
{
	const uint32_t header = header_bytes(type, ops);
	uint32_t wqe = header + SEGMENT * cap->max_send_sge, inlined = header;

	if (!chosen->rounds_up) {
		/* rxe: one entry of a ring stays free */
		if (cap->max_send_wr)
			cap->max_send_wr = power_of_two(cap->max_send_wr + 1) - 1;
		return;
	}
	if (cap->max_inline_data)
		inlined += align_to(INLINE_HEADER + cap->max_inline_data, SEGMENT);
	wqe = align_to(wqe > inlined ? wqe : inlined, BLOCK);
	if (cap->max_send_wr) {
		cap->max_inline_data = wqe - header - INLINE_HEADER;
		cap->max_send_wr = power_of_two(cap->max_send_wr * wqe) / wqe;
	}
	if (cap->max_recv_wr) {
		cap->max_recv_sge = power_of_two(cap->max_recv_sge ? cap->max_recv_sge : 1);
		cap->max_recv_wr = power_of_two(cap->max_recv_wr);
	}
}
