/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PROVIDER_H
#define CCS_PROVIDER_H
/* The differences between providers that libibverbs permits and an application can observe. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct ccs_provider {
	const char *library;             /* its file name up to the first '-' or '.' */
	uint32_t vendor;                 /* vendor ID of its devices; 0: several */
	/* ibv_destroy_qp() removes the QP's completions that were not polled. */
	bool purges_on_destroy;
	/* A transition to RESET removes them. */
	bool purges_on_reset;
	/* Arming a CQ raises an event for completions that were not polled. */
	bool arms_by_index;
	/* A WQE that is posted to a QP in the error state is flushed: it completes with an error. */
	bool flushes;
	/* Such a WQE may get no completion. */
	bool ignores_in_error;
	/* Posting and polling read ibv_qp.send_cq. */
	bool reads_send_cq;
	/* ibv_wr_complete() on a QP that was not in RTS since its last RESET is EINVAL. */
	bool remembers_rts;
	/* ibv_poll_cq() flags the completion of a send with immediate data; ibv_cq_ex does not. */
	bool hides_sent_imm;
	/* Posting is a system call: a software device. */
	bool syscalls;
	/* A send queue is doubled until it is large enough, and all entries are granted. */
	bool doubles_rings;
	/* The entry of an unsignalled WQE is reused without a later completion being polled. */
	bool reuses_silently;
	/* errno of ibv_post_send() for too many SGEs or too much inline data */
	int too_large;
	/* errno of ibv_wr_complete() for the same, and for too many WRs */
	int batch_too_large;
};

/*
 * Find the provider by the library that contains poll_cq, a function of its context; for an
 * unknown library, by the vendor ID. Never NULL.
 */
const struct ccs_provider *ccs_provider_find(const void *poll_cq, uint32_t vendor);

#endif
