/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PROVIDER_H
#define CCS_PROVIDER_H
/* The differences between providers that libibverbs permits and an application can observe. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum { CCS_MLX5_FLUSHED = 0xf9 };        /* libmlx5's vendor_err of a flushed WQE */

struct ccs_provider {
	const char *library;             /* its file name up to the first '-' or '.' */
	uint32_t vendor;                 /* vendor ID of its devices; 0: several */
	bool purges_on_destroy;          /* ibv_destroy_qp() removes completions not yet polled */
	bool purges_on_reset;            /* a transition to RESET removes them */
	bool arms_by_index;              /* arming raises an event for completions not yet polled */
	bool flushes;                    /* a WQE posted in the error state completes at once */
	bool ignores_in_error;           /* a WQE posted in the error state may not complete */
	bool flushes_without_port;       /* all WRs, when its port goes down; others retry */
	bool reads_send_cq;              /* posting and polling read ibv_qp.send_cq */
	bool remembers_rts;              /* ibv_wr_complete() needs RTS once since the last RESET */
	bool hides_sent_imm;             /* only ibv_poll_cq() flags immediate data of a send */
	bool has_mlx5_codes;             /* vendor_err of failures as libmlx5 reports it */
	bool syscalls;                   /* posting is a system call: a software device */
	bool doubles_rings;              /* doubles a send queue to fit, and grants all entries */
	bool reuses_silently;            /* reuses unsignalled WQEs' entries before a poll */
	int too_large;                   /* error of a post: too many SGEs, too much inline data */
	int batch_too_large;             /* the same of ibv_wr_complete(), and for too many WRs */
};

/*
 * Find the provider by the library that contains poll_cq, a function of its context; for an
 * unknown library, by the vendor ID. Never NULL.
 */
const struct ccs_provider *ccs_provider_find(const void *poll_cq, uint32_t vendor);

#endif
