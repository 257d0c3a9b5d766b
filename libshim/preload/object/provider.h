/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PROVIDER_H
#define CCS_PROVIDER_H
/* What libibverbs leaves to the provider and applications can see. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct ccs_provider {
	const char *library;             /* its file name up to the first '-' or '.' */
	uint32_t vendor;                 /* of its devices; 0: several */
	/* The completions of a QP that the application has not polled are removed */
	bool purges_on_destroy;          /* by ibv_destroy_qp() */
	bool purges_on_reset;            /* by a transition to RESET */
	/* An event is raised for completions that were not polled when the CQ is armed. */
	bool arms_by_index;
	bool flushes;                    /* a WQE that is posted to a QP in the error state */
	/* While it posts or polls, it reads ibv_qp.send_cq. */
	bool reads_send_cq;
	/* ibv_wr_complete() of a QP that has not been in RTS since its last RESET is EINVAL. */
	bool remembers_rts;
	/* A send's flags say by ibv_poll_cq(), but not by a reader, that it has immediate data. */
	bool hides_sent_imm;
};

/* Of the function that polls a device's CQs; for an unknown library, by the device's vendor. */
const struct ccs_provider *ccs_provider_find(const void *poll_cq, uint32_t vendor);

#endif
