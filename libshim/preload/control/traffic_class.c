/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traffic class of a QP's packets. A switch marks congestion only on packets with ECT
 * (RFC 3168), and chooses their queue by the DSCP. Queries return the class that the application
 * requested.
 */
#include "preload/control/traffic_class.h"

#include <stddef.h>
#include <string.h>

#include "preload/control/policy.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"

enum { ECN_MASK = 3, ECT_0 = 2 };

/* ECN-capable packets of a flow that does not slow down would only displace other traffic. */
static uint8_t class_of(const struct ccs_policy *policy, uint8_t given)
{
	const int dscp = ccs_dscp(policy->options.dscp);
	unsigned class = given;

	if (policy->options.mode != CCS_MODE_ENFORCE)
		return given;
	if (dscp >= 0)
		class = (unsigned)dscp << 2 | (class & ECN_MASK);
	if (policy->cc.ops->needs & CCS_NEEDS_ECT)
		class = (class & ~(unsigned)ECN_MASK) | ECT_0;
	return (uint8_t)class;
}

int ccs_traffic_class_modify(struct qp *qp, const struct ccs_policy *policy,
			     struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr copy;
	uint8_t given;
	int rc;

	if (!(mask & IBV_QP_AV) || !attr->ah_attr.is_global)
		return ccs_real()->ibv_modify_qp(qp->real, attr, mask);
	/* All members of the structure's oldest version. */
	memcpy(&copy, attr, offsetof(struct ibv_qp_attr, rate_limit));
	if (mask & IBV_QP_RATE_LIMIT)
		copy.rate_limit = attr->rate_limit;
	given = attr->ah_attr.grh.traffic_class;
	copy.ah_attr.grh.traffic_class = class_of(policy, given);
	rc = ccs_real()->ibv_modify_qp(qp->real, &copy, mask);
	if (!rc) {
		ccs_lock(&qp->lock);
		qp->attr.class_given = given;
		qp->attr.class_sent = copy.ah_attr.grh.traffic_class;
		ccs_unlock(&qp->lock);
	}
	return rc;
}

void ccs_traffic_class_restore(struct qp *qp, struct ibv_qp_attr *attr)
{
	uint8_t *class = &attr->ah_attr.grh.traffic_class;
	const bool child = ccs_forked(); /* a thread of the parent may have the lock */

	if (!child)
		ccs_lock(&qp->lock);
	/* Some devices store the DSCP only. */
	if (qp->attr.class_given != qp->attr.class_sent && (*class ^ qp->attr.class_sent) <= ECN_MASK)
		*class = qp->attr.class_given;
	if (!child)
		ccs_unlock(&qp->lock);
}
