/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues as tables of SONiC's config_db, in which all values are strings. */
#include <stdarg.h>
#include <stdio.h>

#include "plan_qos.h"

#define MAP "ccshim" /* the name of all maps and profiles */

static void write_text(struct ccs_json *j, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void write_text(struct ccs_json *j, const char *key, const char *fmt, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ccs_json_str(j, key, text);
}

static void write_dscps(struct ccs_json *j, const struct qos *q)
{
	char dscp[8];

	ccs_json_object(j, "DSCP_TO_TC_MAP");
	ccs_json_object(j, MAP);
	for (unsigned i = 0; i < CCS_QOS_DSCPS; i++) {
		snprintf(dscp, sizeof(dscp), "%u", i);
		write_text(j, dscp, "%u", ccs_qos_inside(&q->map, i));
	}
	ccs_json_end(j);
	ccs_json_end(j);
}

/* A traffic class is its queue, its priority group and its PFC priority. */
static void write_identity(struct ccs_json *j, const char *table)
{
	char queue[8];

	ccs_json_object(j, table);
	ccs_json_object(j, MAP);
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++) {
		snprintf(queue, sizeof(queue), "%u", i);
		ccs_json_str(j, queue, queue);
	}
	ccs_json_end(j);
	ccs_json_end(j);
}

/* SONiC's rates are in bytes/s. */
static void write_schedulers(struct ccs_json *j, const struct qos *q)
{
	char name[32];

	ccs_json_object(j, "SCHEDULER");
	ccs_json_object(j, MAP ".first");
	ccs_json_str(j, "type", "STRICT");
	ccs_json_str(j, "meter_type", "bytes");
	write_text(j, "pir", "%.0f", q->cap_bps / 8);
	ccs_json_end(j);
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++) {
		if (!(q->weight[i] > 0))
			continue;
		snprintf(name, sizeof(name), MAP ".%u", i);
		ccs_json_object(j, name);
		ccs_json_str(j, "type", "DWRR");
		write_text(j, "weight", "%.0f", q->weight[i]);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_marks(struct ccs_json *j, const struct qos *q)
{
	ccs_json_object(j, "WRED_PROFILE");
	ccs_json_object(j, MAP);
	ccs_json_str(j, "ecn", "ecn_all");
	ccs_json_str(j, "wred_green_enable", "true");
	write_text(j, "green_min_threshold", "%.0f", q->red.kmin);
	write_text(j, "green_max_threshold", "%.0f", q->red.kmax);
	write_text(j, "green_drop_probability", "%.0f", q->red.pmax * 100);
	ccs_json_end(j);
	ccs_json_end(j);
}

static void write_queues(struct ccs_json *j, const struct qos *q)
{
	char name[300];

	ccs_json_object(j, "QUEUE");
	for (unsigned i = 0; i < CCS_QOS_QUEUES; i++) {
		if (i != q->first && !(q->weight[i] > 0))
			continue;
		snprintf(name, sizeof(name), "%.250s|%u", q->dev, i);
		ccs_json_object(j, name);
		if (i == q->first)
			ccs_json_str(j, "scheduler", MAP ".first");
		else
			write_text(j, "scheduler", MAP ".%u", i);
		if (i == q->lossless)
			ccs_json_str(j, "wred_profile", MAP);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_port(struct ccs_json *j, const struct qos *q)
{
	ccs_json_object(j, "PORT_QOS_MAP");
	ccs_json_object(j, q->dev);
	ccs_json_str(j, "dscp_to_tc_map", MAP);
	ccs_json_str(j, "tc_to_queue_map", MAP);
	ccs_json_str(j, "tc_to_pg_map", MAP);
	ccs_json_str(j, "pfc_to_queue_map", MAP);
	write_text(j, "pfc_enable", "%u", q->lossless);
	ccs_json_end(j);
	ccs_json_end(j);
}

/* A packet that a rule matches keeps its DSCP; the last rule re-marks all others. */
static void write_rules(struct ccs_json *j, const struct qos *q)
{
	char name[32];

	ccs_json_object(j, "ACL_RULE");
	for (unsigned i = 0; i <= q->map.rules; i++) {
		snprintf(name, sizeof(name), MAP "|RULE_%u", i + 1);
		ccs_json_object(j, name);
		write_text(j, "PRIORITY", "%u", 1000 - i);
		if (i < q->map.rules) {
			ccs_json_str(j, "IP_PROTOCOL", "17");
			write_text(j, "L4_DST_PORT", "%u", q->map.rule[i].udp_dport);
			write_text(j, "DSCP", "%u", q->map.rule[i].dscp);
		}
		write_text(j, "DSCP_ACTION", "%u", i < q->map.rules ? q->map.rule[i].dscp : q->map.remark);
		ccs_json_end(j);
	}
	ccs_json_end(j);
}

static void write_acl(struct ccs_json *j, const struct qos *q)
{
	ccs_json_object(j, "ACL_TABLE");
	ccs_json_object(j, MAP);
	ccs_json_str(j, "type", "UNDERLAY_SET_DSCP");
	ccs_json_str(j, "stage", "ingress");
	ccs_json_array(j, "ports");
	ccs_json_str(j, NULL, q->dev);
	ccs_json_end(j);
	ccs_json_end(j);
	ccs_json_end(j);
	write_rules(j, q);
}

void qos_write_sonic(struct ccs_json *j, const struct qos *q)
{
	write_acl(j, q);
	write_dscps(j, q);
	write_identity(j, "TC_TO_QUEUE_MAP");
	write_identity(j, "TC_TO_PRIORITY_GROUP_MAP");
	write_identity(j, "MAP_PFC_PRIORITY_TO_QUEUE");
	write_schedulers(j, q);
	write_marks(j, q);
	write_queues(j, q);
	write_port(j, q);
}
