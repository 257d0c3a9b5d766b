/* SPDX-License-Identifier: BSD-2-Clause */
/* Set-up of a flow, and changes of its settings. */
#include "base/pool.h"
#include "cc/minmax.h"
#include "flow/cc_events.h"
#include "flow/limits.h"
#include "flow/rtt.h"
#include "flow/send_queue.h"

#define DEFAULT_BASE_RTT_US 50.0 /* until it was measured */

/* Forget the path, and start the algorithm. */
static void restart(struct ccs_flow *f, const struct ccs_cc_spec *spec, struct ccs_cc_path path,
		    uint64_t now_ns)
{
	ccs_rtt_restart(f, now_ns);
	if (!f->user.base_rtt)
		path.base_rtt_us = DEFAULT_BASE_RTT_US;
	f->message.len = f->message.longest = f->message.shorter = 0;
	f->learned.losses = 0;
	/* Without enforcement there is no window to grow. */
	ccs_slow_start_begin(&f->slow_start, f->user.enforce);
	ccs_flow_derive_limits(f, &path);
	ccs_flow_cc_start(f, spec, &path, now_ns);
}

/* Automatic settings of conf leave path unchanged. */
static void apply_settings(struct ccs_flow *f, const struct ccs_flow_config *conf,
			   struct ccs_cc_path *path)
{
	f->events.epoch_ns = conf->epoch_ns;
	f->user.clock_cost_ns = (uint16_t)ccs_min(1e3 * conf->clock_cost_us, UINT16_MAX);
	f->user.max_rate = conf->max_rate;
	f->user.split = conf->split;
	f->user.enforce = conf->enforce;
	f->user.base_rtt = conf->base_rtt_us > 0;
	f->user.segment = conf->segment > 0;
	f->user.max_inflight = conf->max_inflight > 0;
	if (f->user.base_rtt)
		path->base_rtt_us = conf->base_rtt_us;
	if (f->user.segment)
		f->segments.len = (uint32_t)ccs_min(conf->segment, UINT32_MAX);
	if (f->user.max_inflight)
		f->gate.max_inflight = (uint64_t)conf->max_inflight;
	path->line_rate = conf->line_rate;
	path->rtt_jitter_us = conf->rtt_jitter_us;
}

int ccs_flow_init(struct ccs_flow *f, const struct ccs_flow_config *conf,
		  const struct ccs_cc_spec *spec, uint32_t wr_limit, uint32_t seg_limit,
		  uint64_t now_ns)
{
	struct ccs_cc_path path = { .flows = 1 };

	if (ccs_send_queue_init(f, wr_limit, seg_limit))
		return -1;
	ccs_pacing_seed(&f->gate.pacing, conf->seed);
	apply_settings(f, conf, &path);
	f->events.sink = conf->sink;
	restart(f, spec, path, now_ns);
	return 0;
}

void ccs_flow_destroy(struct ccs_flow *f)
{
	ccs_send_queue_destroy(f);
	if (f->gate.cap)
		ccs_pool_free(f->gate.cap, 1, sizeof(*f->gate.cap));
	f->gate.cap = NULL;
	if (f->rtt.owns_stats)
		ccs_pool_free(f->rtt.stats, 1, sizeof(*f->rtt.stats));
	f->rtt.stats = NULL;
	f->rtt.owns_stats = false;
}

/* Slow start ends with a change to mode observe; it does not start a second time. */
void ccs_flow_configure(struct ccs_flow *f, const struct ccs_flow_config *conf,
			const struct ccs_cc_spec *spec, uint64_t now_ns)
{
	const bool base_given = f->user.base_rtt;
	struct ccs_cc_path path = f->cc.path;

	apply_settings(f, conf, &path);
	if (!f->sent || path.line_rate != f->cc.path.line_rate || f->user.base_rtt < base_given) {
		restart(f, spec, path, now_ns);
		return;
	}
	if (f->user.base_rtt)
		f->learned.base_samples = CCS_RTT_BASE_SAMPLES;
	if (!f->user.enforce)
		ccs_slow_start_end(&f->slow_start, (double)f->gate.max_inflight);
	ccs_flow_derive_limits(f, &path);
	ccs_flow_cc_fire_timers(f, now_ns);
	ccs_flow_cc_repath(f, &path);
	ccs_flow_cc_pace(f, now_ns);
	if (spec != f->cc.spec)
		ccs_flow_switch(f, spec, now_ns);
}

void ccs_flow_set_line(struct ccs_flow *f, double line_rate, uint64_t now_ns)
{
	struct ccs_cc_path path = f->cc.path;

	path.line_rate = line_rate;
	restart(f, f->cc.spec, path, now_ns);
}
