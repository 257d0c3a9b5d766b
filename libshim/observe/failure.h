/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_FAILURE_H
#define CCS_FAILURE_H
/*
 * Failures of queue pairs: the facts about one, the verdict on them, and the document that has both
 * (option failures, docs/schemas/failures.json). The preload collects the facts when a queue pair
 * fails, from the process's statistics file; `ccshim doctor` reads them from documents.
 */
#include <stdbool.h>
#include <stdint.h>

#include <ccshim/stats.h>

#include "base/json.h"

/* Values of enum ibv_wc_status, and of enum ibv_event_type plus 1. */
enum ccs_wc_status {
	CCS_WC_LOC_LEN = 1, CCS_WC_LOC_QP_OP = 2, CCS_WC_LOC_PROT = 4, CCS_WC_FLUSH = 5, CCS_WC_MW_BIND = 6,
	CCS_WC_BAD_RESP = 7, CCS_WC_LOC_ACCESS = 8, CCS_WC_REM_INV_REQ = 9, CCS_WC_REM_ACCESS = 10,
	CCS_WC_REM_OP = 11, CCS_WC_RETRY_EXC = 12, CCS_WC_RNR_RETRY_EXC = 13, CCS_WC_REM_ABORT = 16,
};
enum ccs_failure_event {
	CCS_FAILED_QP_FATAL = 2, CCS_FAILED_QP_REQ = 3, CCS_FAILED_QP_ACCESS = 4, CCS_FAILED_DEVICE = 9,
	CCS_FAILED_PORT = 11,
};
const char *ccs_wc_status_text(double status); /* any number */

/* The queue pair of the other end, by the file of its process. */
enum ccs_other_end {
	CCS_OTHER_UNKNOWN,
	CCS_OTHER_ENDED_FIRST,           /* the application ended it before the retries began */
	CCS_OTHER_ENDED_DURING,          /* while they went on */
	CCS_OTHER_LIVES,                 /* or ended afterwards */
	CCS_OTHER_FAILED,                /* for another reason than a missing answer */
	CCS_OTHER_UNANSWERED,                /* it got no answer either */
};

/*
 * Numbers only, each with its name in the document. rtt_us: RTT before the last completion, the least of
 * the newest moments' longest RTTs, of two at most (rtt_moments), so that a pause of the host does not
 * count; 0: unknown. base_rtt_us: 0 if it was not measured. unanswered_us: since the last completion; 0:
 * unknown. retry_us: the least time that the device tried. peer_* and others_*: numbers of other queue
 * pairs to the same peer, and to other peers: healthy (completed a segment in the second half of the
 * retries), unanswered (posted before and did not), failed. losses, peer_losses: retransmission timeouts
 * of the second before, of this queue pair and of the others to the same peer; past_losses: of all of
 * these since they began (modulo 65536 each).
 */
#define CCS_FAILURE_FACTS(X) \
	X(status) X(vendor_err) X(event) X(port_down) X(answered) X(unanswered_us) X(retry_us) \
	X(rtt_us) X(rtt_moments) X(base_rtt_us) X(cnps) X(losses) X(peer_healthy) X(peer_unanswered) X(peer_failed) \
	X(peer_idle) X(peer_answered) X(others_healthy) X(others_unanswered) X(others_failed) \
	X(peer_losses) X(past_losses)
#define CCS_FAILURE_MEMBER(name) double name;
struct ccs_failure_facts {
	CCS_FAILURE_FACTS(CCS_FAILURE_MEMBER)
	enum ccs_other_end other;
};
#undef CCS_FAILURE_MEMBER

/* Each has a name that does not change between versions. */
#define CCS_FAILURE_CAUSES(X) \
	X(UNKNOWN, "unknown") X(CONGESTION, "congestion") X(PATH, "path") X(PEER, "peer") X(HOST, "host") \
	X(NO_RECEIVES, "no-receives") X(NO_ANSWER, "no-answer") X(PEER_QP, "peer-qp") X(REFUSED, "refused") \
	X(LOCAL, "local") X(PORT, "port") X(DEVICE, "device") X(DESTROYED, "destroyed")
#define CCS_FAILURE_CAUSE(id, name) CCS_FAILURE_##id,
enum ccs_failure_cause { CCS_FAILURE_CAUSES(CCS_FAILURE_CAUSE) CCS_FAILURE_CAUSE_COUNT };
#undef CCS_FAILURE_CAUSE
extern const char *const ccs_failure_names[CCS_FAILURE_CAUSE_COUNT];

struct ccs_verdict {
	enum ccs_failure_cause cause;
	char text[200];                  /* without a full stop */
};

/* failure_judge.c. Pure. */
void ccs_failure_judge(const struct ccs_failure_facts *f, struct ccs_verdict *v);

enum ccs_condition { CCS_QP_IDLE, CCS_QP_HEALTHY, CCS_QP_UNANSWERED, CCS_QP_FAILED };

struct ccs_failure_qp {
	struct ccs_stats_qp q;
	struct ccs_stats_moment history[CCS_STATS_MOMENTS];
	unsigned moments;
	enum ccs_condition condition;
};

enum { CCS_FAILURE_QPS = 8 };

/* The ends of a connection when it failed, or was ended. */
struct ccs_ends {
	double time;                     /* seconds since 1970 */
	uint64_t lqpn, rqpn;
	uint8_t peer[16], local[16];     /* local: zeroes: unknown */
	const char *how;                 /* the application ended it so */
};

/* A group: a queue pair that failed, and others to the same peer that failed later or are fine. */
struct ccs_failure {
	struct ccs_failure_facts facts;
	struct ccs_verdict verdict;
	struct ccs_ends ends;
	uint64_t more;                   /* queue pairs of the group that failed afterwards */
	uint16_t udp_port;               /* source port; 0: unknown */
	unsigned opcode;                 /* enum ibv_wc_opcode, if the device states it */
	struct ccs_failure_qp qp[CCS_FAILURE_QPS + 1]; /* the first failed; the last is scratch memory */
	unsigned qps;
};

/* Set facts that follow from the queue pair's own statistics; f->qp[0] and facts.retry_us are set. */
void ccs_failure_own_facts(struct ccs_failure *f, uint64_t now_ns);
/* Add the other queue pairs of a statistics file, or of a part of one. */
void ccs_failure_add_others(struct ccs_failure *f, const struct ccs_stats_layout *l, uint64_t history_offset,
			    uint64_t now_ns);
/* Copy a queue pair of this version's file; false: the slot is free, or is being written. */
bool ccs_failure_read_qp(struct ccs_failure_qp *out, const struct ccs_stats_layout *l,
			 uint64_t history_offset, uint64_t slot);

/* failure_json.c. Start a document, which then has an open array of failures. */
struct ccs_job;
void ccs_failure_json_start(struct ccs_json *j, FILE *f, const char *program, uint64_t pid,
			    const struct ccs_job *job);
void ccs_failure_json(struct ccs_json *j, const struct ccs_failure *f);
void ccs_failure_json_qp(struct ccs_json *j, const struct ccs_failure_qp *qp);
void ccs_failure_json_end(struct ccs_json *j, const struct ccs_ends *e);

#endif
