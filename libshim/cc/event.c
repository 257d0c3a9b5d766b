/* SPDX-License-Identifier: BSD-2-Clause */
#include "cc/event.h"

const char *const ccs_cc_event_names[CCS_CC_EVENT_KINDS] = {
	[CCS_CC_EVENT_START] = "start", [CCS_CC_EVENT_PATH] = "set", [CCS_CC_EVENT_RATE] = "set",
	[CCS_CC_EVENT_ACK] = "ack", [CCS_CC_EVENT_CNP] = "cnp", [CCS_CC_EVENT_SEND] = "send",
	[CCS_CC_EVENT_LOSS] = "loss", [CCS_CC_EVENT_TICK] = "tick",
};

static void repeat_ack(struct ccs_cc *cc, const struct ccs_cc_event *event)
{
	struct ccs_cc_ack ack = event->ack;

	ack.hops = event->hop;
	cc->ops->on_ack(cc, &ack);
}

void ccs_cc_event_replay(struct ccs_cc *cc, const struct ccs_cc_event *event)
{
	const double now = event->ack.now_us;

	switch (event->kind) {
	case CCS_CC_EVENT_START:
		ccs_cc_start(cc, cc->spec, &event->path);
		ccs_cc_limit(cc, event->max_rate);
		break;
	case CCS_CC_EVENT_PATH:
		ccs_cc_repath(cc, &event->path);
		ccs_cc_limit(cc, event->max_rate);
		break;
	case CCS_CC_EVENT_RATE:
		ccs_cc_set_rate(cc, event->rate);
		break;
	case CCS_CC_EVENT_ACK:
		repeat_ack(cc, event);
		break;
	case CCS_CC_EVENT_CNP:
		if (cc->ops->on_cnp)
			cc->ops->on_cnp(cc, now);
		break;
	case CCS_CC_EVENT_SEND:
		if (cc->ops->on_send)
			cc->ops->on_send(cc, now, event->ack.bytes);
		break;
	case CCS_CC_EVENT_LOSS:
		if (cc->ops->on_loss)
			cc->ops->on_loss(cc, now);
		break;
	case CCS_CC_EVENT_TICK:
		break;
	}
}
