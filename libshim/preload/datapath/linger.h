/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_LINGER_H
#define CCS_LINGER_H
/* The last WRs of a QP. */
#include "preload/object/qp_record.h"

/* The application is about to destroy the QP, or to move it to ERR or RESET. No lock is held. */
void ccs_linger(struct qp *qp);
/* The same for all QPs: the process ends. */
void ccs_linger_at_exit(void);

#endif
