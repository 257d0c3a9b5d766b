/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of uncontrolled QPs and calls, in the statistics file and the log. */
#include "preload/report/uncontrolled.h"

#include <inttypes.h>

#include "base/probe.h"
#include "observe/log.h"
#include "observe/stats.h"
#include "preload/object/shim.h"
#include "preload/report/publish.h"

static void count_uncontrolled(enum ccs_uncontrolled reason, uint32_t qp_num)
{
	struct ccs_stats_header *file = ccs_publish_file();
	const char *text = ccs_uncontrolled_names[reason];

	atomic_fetch_add_explicit(&ccs_shim()->uncontrolled[reason], 1, memory_order_relaxed);
	if (file)
		__atomic_fetch_add(&file->uncontrolled[reason].count, 1, __ATOMIC_RELAXED);
	CCS_PROBE2(pass, qp_num, text);
}

void ccs_uncontrolled_count(enum ccs_uncontrolled reason)
{
	count_uncontrolled(reason, 0);
}

/* It could have been controlled, and no setting prevented it. */
static bool is_failure(enum ccs_uncontrolled reason)
{
	return reason == CCS_UNCONTROLLED_SHADOW_CQ || reason == CCS_UNCONTROLLED_NO_MEMORY ||
	       reason == CCS_UNCONTROLLED_REFUSED;
}

void ccs_uncontrolled_qp(enum ccs_uncontrolled reason, const struct ibv_qp *qp)
{
	count_uncontrolled(reason, qp ? qp->qp_num : 0);
	if (is_failure(reason))
		ccs_log_once(CCS_LOG_WARN, "QP %" PRIu32 " is uncontrolled: %s",
			     qp ? qp->qp_num : 0, ccs_uncontrolled_names[reason]);
	ccs_log(CCS_LOG_INFO, "QP %" PRIu32 " is uncontrolled: %s", qp ? qp->qp_num : 0,
		ccs_uncontrolled_names[reason]);
}
