/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_FIELDS_H
#define CCS_STATS_FIELDS_H
/*
 * The one table of a queue pair's figures. It makes their names in JSON (the report's and
 * those of `ccshim stat`) and as metrics, what is subtracted, and what can be sorted by.
 */
#include <ccshim/stats.h>

#include "base/json.h"

enum ccs_field_unit {
	CCS_FIELD_COUNT,                 /* a number, or bytes */
	CCS_FIELD_TIME,                  /* ns; in JSON us, as a metric s */
	CCS_FIELD_RATE,                  /* bit/s; as a metric bytes/s */
	CCS_FIELD_RATIO,                 /* a double */
};

struct ccs_stats_field {
	const char *name;                /* in JSON: of time ..._us, of rates ..._bps */
	const char *metric;              /* behind ccshim_qp_; counters with _total */
	const char *doc;                 /* a sentence */
	size_t offset;                   /* in struct ccs_stats_qp */
	enum ccs_field_unit unit;
	bool counter;                    /* only grows */
};

extern const struct ccs_stats_field ccs_stats_fields[];
extern const size_t ccs_stats_field_count;

static inline uint64_t *ccs_stats_field_at(struct ccs_stats_qp *qp, const struct ccs_stats_field *f)
{
	return (uint64_t *)(void *)((char *)qp + f->offset);
}

/* Its value: in JSON's unit; in a metric's. */
double ccs_stats_field_json(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f);
double ccs_stats_field_metric(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f);

/* Into an open object: all that is known of the queue pair but its RTTs. */
void ccs_stats_json_qp(struct ccs_json *j, const struct ccs_stats_qp *qp, uint64_t now_ns);

/* The RTT (ns) that a fraction q of those in the buckets does not exceed, within an eighth;
 * 0: there is none. min_ns and max_ns hold it; 0: they are not known. */
double ccs_stats_percentile(const struct ccs_stats_rtt *rtt, double q);

#endif
