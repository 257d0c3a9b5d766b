/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_STATS_FIELDS_H
#define CCS_STATS_FIELDS_H
/*
 * The table of a queue pair's statistics. It defines their names in JSON (in the report and in
 * `ccshim stat`) and as metrics, which of them are subtracted, and the keys to sort by.
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
	const char *name;                /* in JSON; times end in _us, rates in _bps */
	const char *metric;              /* without the prefix ccshim_qp_; counters end in _total */
	const char *doc;                 /* a sentence */
	size_t offset;                   /* in struct ccs_stats_qp */
	enum ccs_field_unit unit;
	bool counter;                    /* only increases */
};

extern const struct ccs_stats_field ccs_stats_fields[];
extern const size_t ccs_stats_field_count;

static inline uint64_t *ccs_stats_field_at(struct ccs_stats_qp *qp, const struct ccs_stats_field *f)
{
	return (uint64_t *)(void *)((char *)qp + f->offset);
}

/* The value in the units of JSON and of metrics. */
double ccs_stats_field_json(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f);
double ccs_stats_field_metric(const struct ccs_stats_qp *qp, const struct ccs_stats_field *f);

/* Write all statistics of the queue pair except its RTTs into an open object. */
void ccs_stats_json_qp(struct ccs_json *j, const struct ccs_stats_qp *qp, uint64_t now_ns);

/* The q-quantile of the RTTs in the buckets, in ns, exact to an eighth and limited to min_ns and
 * max_ns (0: unknown). 0 if the buckets are empty. */
double ccs_stats_percentile(const struct ccs_stats_rtt *rtt, double q);

#endif
