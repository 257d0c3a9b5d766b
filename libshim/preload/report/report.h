/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_REPORT_H
#define CCS_REPORT_H
/* The JSON report at exit, and counters of uncontrolled QPs and calls. */
#include "preload/object/shim.h"

void ccs_report_add(struct qp *qp);
void ccs_report_remove(struct qp *qp);  /* qp->lock is held */
void ccs_report_write(void);

/* Write a document to the file of an option, whose name has escapes. A regular file is replaced, with
 * a warning if another process wrote it, unless `again`. False: it was logged that it cannot. */
typedef bool ccs_document(FILE *file);
bool ccs_report_to_file(const char *option, const char *asked, ccs_document *document, bool again);

/* Count something that is left uncontrolled and is no known QP. */
void ccs_uncontrolled_count(enum ccs_uncontrolled reason);
/* Count an uncontrolled QP, and log it at level info; the first failure as a warning. */
void ccs_uncontrolled_qp(enum ccs_uncontrolled reason, const struct ibv_qp *qp);

#endif
