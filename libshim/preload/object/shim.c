/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the process. */
#include "preload/object/shim.h"

struct ccs_shim ccs_shim_state = {
	.contexts = CCS_PTRMAP_INIT,
	.cqs = CCS_PTRMAP_INIT,
	.qps = CCS_PTRMAP_INIT,
	.parent_domains = CCS_PTRMAP_INIT,
	.mrs = CCS_PTRMAP_INIT,
};

const char *const ccs_uncontrolled_names[] = {
#define TEXT(id, text) text,
	CCS_UNCONTROLLED_REASONS(TEXT)
#undef TEXT
};
