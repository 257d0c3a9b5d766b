// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device's clock, and faults that no card offers on demand. A test writes
 * one rule at a time to /sys/module/rdma_rxe/parameters/abi_fault:
 *
 *	drop|delay|duplicate [dev=rxe_1] [qp=17] [at=3] [count=1] [ns=500000]
 *		the CQEs from number `at` on, of successful work requests
 *	error [dev=] [qp=] [at=] [count=] [status=10]
 *		send WQEs complete with that enum ib_wc_status
 *	cq-error dev=rxe_1 cq=2
 *	fatal|port-error|port-active dev=rxe_1
 *		an asynchronous event of that device
 *	clock-jump ns=-5000000 | clock-stop | clock-run
 *	clear	forget all rules
 *
 * The frequency of the clock, its drift and its width are parameters beside it.
 */
#include <linux/string.h>

#include "rxe_abi.h"

enum { ABI_RULES = 8 };

struct abi_rule {
	const struct abi_action *action;
	char	dev[IB_DEVICE_NAME_MAX];
	u64	qp, cq, at, count, status;
	s64	ns;
	u64	seen;
};

struct abi_action {
	const char *name;
	enum abi_fate fate;		/* of a CQE */
	bool wqe;			/* the rule is for WQEs */
	int (*act)(const struct abi_rule *r);	/* at once, instead of a rule */
};

static DEFINE_SPINLOCK(abi_fault_lock);
static struct abi_rule abi_rules[ABI_RULES];

/* -- the clock ------------------------------------------------------------ */

static uint abi_khz = 156250;	/* ConnectX-4 and 5: 6.4 ns */
module_param_named(abi_clock_khz, abi_khz, uint, 0644);
static int abi_ppm;
module_param_named(abi_clock_ppm, abi_ppm, int, 0644);
MODULE_PARM_DESC(abi_clock_ppm, "how much faster the clock is than abi_clock_khz says");
static uint abi_bits = 63;
module_param_named(abi_clock_bits, abi_bits, uint, 0644);

static s64 abi_clock_offset;	/* ns */
static u64 abi_clock_stopped;	/* ktime, or 0 */

u64 abi_clock(void)
{
	u64 ns = abi_clock_stopped ?: ktime_get_ns();

	ns += abi_clock_offset;
	if (abi_ppm)
		ns += div_s64((s64)ns, 1000000) * abi_ppm;
	return mul_u64_u32_div(ns, abi_khz, 1000000) & abi_clock_mask();
}

u64 abi_clock_mask(void)
{
	return GENMASK_ULL(clamp(abi_bits, 8u, 64u) - 1, 0);
}

u32 abi_clock_khz(void)
{
	return abi_khz;
}

static int abi_clock_jump(const struct abi_rule *r)
{
	abi_clock_offset += r->ns;
	return 0;
}

static int abi_clock_stop(const struct abi_rule *r)
{
	abi_clock_stopped = ktime_get_ns();
	return 0;
}

static int abi_clock_run(const struct abi_rule *r)
{
	abi_clock_stopped = 0;
	return 0;
}

/* -- events of a device --------------------------------------------------- */

static int abi_dispatch(const struct abi_rule *r, enum ib_event_type type)
{
	struct ib_event ev = { .event = type, .element.port_num = 1 };

	ev.device = ib_device_get_by_name(r->dev, RDMA_DRIVER_UNKNOWN);
	if (!ev.device)
		return -ENODEV;
	ib_dispatch_event(&ev);
	ib_device_put(ev.device);
	return 0;
}

static int abi_fatal(const struct abi_rule *r)
{
	return abi_dispatch(r, IB_EVENT_DEVICE_FATAL);
}

static int abi_port_error(const struct abi_rule *r)
{
	return abi_dispatch(r, IB_EVENT_PORT_ERR);
}

static int abi_port_active(const struct abi_rule *r)
{
	return abi_dispatch(r, IB_EVENT_PORT_ACTIVE);
}

static int abi_cq_error(const struct abi_rule *r)
{
	struct ib_device *dev = ib_device_get_by_name(r->dev, RDMA_DRIVER_UNKNOWN);
	int err = -ENOENT;
	struct rxe_cq *cq;

	if (!dev)
		return -ENODEV;
	cq = rxe_pool_get_index(&to_rdev(dev)->cq_pool, r->cq);
	if (cq && cq->abi) {
		abi_cq_break(cq->abi);
		err = 0;
	}
	if (cq)
		rxe_put(cq);
	ib_device_put(dev);
	return err;
}

/* -- rules ---------------------------------------------------------------- */

static int abi_clear(const struct abi_rule *r)
{
	memset(abi_rules, 0, sizeof(abi_rules));
	return 0;
}

static const struct abi_action abi_actions[] = {
	{ "drop", ABI_DROP },
	{ "delay", ABI_DELAY },
	{ "duplicate", ABI_DUPLICATE },
	{ "error", .wqe = true },
	{ "cq-error", .act = abi_cq_error },
	{ "fatal", .act = abi_fatal },
	{ "port-error", .act = abi_port_error },
	{ "port-active", .act = abi_port_active },
	{ "clock-jump", .act = abi_clock_jump },
	{ "clock-stop", .act = abi_clock_stop },
	{ "clock-run", .act = abi_clock_run },
	{ "clear", .act = abi_clear },
};

/* Count the QP's CQE or WQE; the rule whose turn it is, or NULL. */
static const struct abi_rule *abi_due(const struct ib_qp *qp, bool wqe)
{
	struct abi_rule *r;

	for (r = abi_rules; r < abi_rules + ABI_RULES; r++) {
		if (!r->action || r->action->wqe != wqe ||
		    (r->qp && r->qp != qp->qp_num) ||
		    (r->dev[0] && strcmp(r->dev, dev_name(&qp->device->dev))))
			continue;
		r->seen++;
		if (r->seen >= r->at && r->seen - r->at < r->count)
			return r;
	}
	return NULL;
}

enum abi_fate abi_fault_cqe(struct ib_wc *wc, u64 *delay_ns)
{
	enum abi_fate fate = ABI_KEEP;
	const struct abi_rule *r;
	unsigned long flags;

	if (wc->status != IB_WC_SUCCESS)
		return ABI_KEEP;
	spin_lock_irqsave(&abi_fault_lock, flags);
	r = abi_due(wc->qp, false);
	if (r) {
		fate = r->action->fate;
		*delay_ns = r->ns;
	}
	spin_unlock_irqrestore(&abi_fault_lock, flags);
	return fate;
}

enum ib_wc_status abi_fault_wqe(struct rxe_qp *qp)
{
	enum ib_wc_status status = IB_WC_SUCCESS;
	const struct abi_rule *r;
	unsigned long flags;

	spin_lock_irqsave(&abi_fault_lock, flags);
	r = abi_due(&qp->ibqp, true);
	if (r)
		status = r->status;
	spin_unlock_irqrestore(&abi_fault_lock, flags);
	return status;
}

static int abi_parse_word(struct abi_rule *r, char *word)
{
	char *value = strchr(word, '=');
	size_t i;
	const struct { const char *name; u64 *to; } numbers[] = {
		{ "qp", &r->qp }, { "cq", &r->cq }, { "at", &r->at },
		{ "count", &r->count }, { "status", &r->status },
	};

	if (!value)
		return -EINVAL;
	*value++ = 0;
	if (!strcmp(word, "dev"))
		return strscpy(r->dev, value, sizeof(r->dev)) < 0 ? -EINVAL : 0;
	if (!strcmp(word, "ns"))
		return kstrtos64(value, 0, &r->ns);
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(word, numbers[i].name))
			return kstrtou64(value, 0, numbers[i].to);
	return -EINVAL;
}

static int abi_parse_rule(struct abi_rule *r, char *text)
{
	char *word = strsep(&text, " ");
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(abi_actions); i++)
		if (!strcmp(word, abi_actions[i].name))
			r->action = &abi_actions[i];
	if (!r->action)
		return -EINVAL;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		err = abi_parse_word(r, word);
		if (err)
			return err;
	}
	return 0;
}

static int abi_add_rule(const struct abi_rule *r)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&abi_fault_lock, flags);
	for (i = 0; i < ABI_RULES && abi_rules[i].action; i++)
		;
	if (i < ABI_RULES)
		abi_rules[i] = *r;
	spin_unlock_irqrestore(&abi_fault_lock, flags);
	return i < ABI_RULES ? 0 : -ENOSPC;
}

static int abi_fault_set(const char *value, const struct kernel_param *kp)
{
	struct abi_rule r = { .at = 1, .count = 1, .status = IB_WC_GENERAL_ERR };
	char text[128];
	int err;

	if (strscpy(text, value, sizeof(text)) < 0)
		return -E2BIG;
	err = abi_parse_rule(&r, strim(text));
	if (err)
		return err;
	return r.action->act ? r.action->act(&r) : abi_add_rule(&r);
}

static const struct kernel_param_ops abi_fault_ops = { .set = abi_fault_set };
module_param_cb(abi_fault, &abi_fault_ops, NULL, 0200);
MODULE_PARM_DESC(abi_fault, "one fault to inject");
