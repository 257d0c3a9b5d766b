/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/told.h"

const char *const ccs_told_words[CCS_TOLD_KINDS] = {
	[CCS_TOLD_START] = "start", [CCS_TOLD_PATH] = "set", [CCS_TOLD_RATE] = "set",
	[CCS_TOLD_ACK] = "ack", [CCS_TOLD_CNP] = "cnp", [CCS_TOLD_SEND] = "send",
	[CCS_TOLD_LOSS] = "loss", [CCS_TOLD_TICK] = "tick",
};

static void repeat_ack(struct ccs_cc *cc, const struct ccs_told *told)
{
	struct ccs_cc_ack ack = told->ack;

	ack.hops = told->hop;
	cc->ops->on_ack(cc, &ack);
}

void ccs_told_repeat(struct ccs_cc *cc, const struct ccs_told *told)
{
	const double now = told->ack.now_us;

	switch (told->kind) {
	case CCS_TOLD_START:
		ccs_cc_start(cc, cc->spec, &told->path);
		ccs_cc_limit(cc, told->max_rate);
		break;
	case CCS_TOLD_PATH:
		ccs_cc_repath(cc, &told->path);
		ccs_cc_limit(cc, told->max_rate);
		break;
	case CCS_TOLD_RATE:
		ccs_cc_set_rate(cc, told->rate);
		break;
	case CCS_TOLD_ACK:
		repeat_ack(cc, told);
		break;
	case CCS_TOLD_CNP:
		if (cc->ops->on_cnp)
			cc->ops->on_cnp(cc, now);
		break;
	case CCS_TOLD_SEND:
		if (cc->ops->on_send)
			cc->ops->on_send(cc, now, told->ack.bytes);
		break;
	case CCS_TOLD_LOSS:
		if (cc->ops->on_loss)
			cc->ops->on_loss(cc, now);
		break;
	case CCS_TOLD_TICK:
		break;
	}
}
