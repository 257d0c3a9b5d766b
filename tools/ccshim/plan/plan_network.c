/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds networks of switches. */
#include "plan_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "tools/common/topology.h"

#define NO_TIER UINT32_MAX

void plan_free_network(struct plan_network *n)
{
	free(n->link);
	free(n->tier);
	free(n->name);
	*n = (struct plan_network){ 0 };
}

static bool allocate(struct plan *p, const char *option, struct plan_network *n)
{
	n->link = calloc(n->net.links + 1, sizeof(*n->link));
	n->tier = calloc(n->net.switches + 1, sizeof(*n->tier));
	n->name = calloc(n->net.switches + 1, sizeof(*n->name));
	n->net.link = n->link;
	n->net.tier = n->tier;
	if (n->net.links > PLAN_LINKS_MAX)
		plan_refuse(p, option, "more than %d links between switches", PLAN_LINKS_MAX);
	else if (!n->link || !n->tier || !n->name)
		plan_refuse(p, option, "out of memory");
	return !p->failed;
}

static bool build_clos(struct plan *p, struct plan_network *n)
{
	static const char letters[] = "tac"; /* ToR, aggregate, core */
	const char *text = plan_text(p, "clos");
	unsigned size[3] = { 0 }, links = 0, first = 0;
	char tail;
	const int sizes = sscanf(text, "%4ux%4ux%4u%c", &size[0], &size[1], &size[2], &tail);

	if (sizes < 2 || sizes > 3 || !size[0] || !size[1] || strspn(text, "0123456789x") < strlen(text) ||
	    text[strlen(text) - 1] == 'x') {
		plan_refuse(p, "clos", "'%s' is not TORSxAGGREGATES or TORSxAGGREGATESxCORES, such as 4x4x2",
			    text);
		return false;
	}
	n->net.switches = size[0] + size[1] + size[2];
	n->net.links = size[0] * size[1] + size[1] * size[2];
	if (!allocate(p, "clos", n))
		return false;
	for (unsigned t = 0; t < size[0]; t++)
		for (unsigned a = 0; a < size[1]; a++)
			n->link[links++] = (struct ccs_cbd_link){ t, size[0] + a };
	for (unsigned a = 0; a < size[1]; a++)
		for (unsigned c = 0; c < size[2]; c++)
			n->link[links++] = (struct ccs_cbd_link){ size[0] + a, size[0] + size[1] + c };
	for (unsigned tier = 0; tier < 3; first += size[tier++])
		for (unsigned i = 0; i < size[tier]; i++) {
			n->tier[first + i] = tier;
			snprintf(n->name[first + i], PLAN_NAME_LEN, "%c%u", letters[tier], i);
		}
	return true;
}

/* The tier of a switch is its distance to the nearest switch with hosts. */
static void find_tiers(struct plan_network *n)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (unsigned l = 0; l < n->net.links; l++) {
			unsigned *a = &n->tier[n->link[l].a], *b = &n->tier[n->link[l].b];

			if (*a != NO_TIER && (*b == NO_TIER || *b > *a + 1)) {
				*b = *a + 1;
				changed = true;
			} else if (*b != NO_TIER && (*a == NO_TIER || *a > *b + 1)) {
				*a = *b + 1;
				changed = true;
			}
		}
	}
}

static void name_switches(const struct topology *t, struct plan_network *n, unsigned *number)
{
	for (unsigned i = 0, next = 0; i < t->nodes; i++) {
		if (!t->is_switch[i])
			continue;
		number[i] = next;
		n->tier[next] = NO_TIER;
		snprintf(n->name[next++], PLAN_NAME_LEN, "s%u", i);
	}
}

static void add_links(const struct topology *t, struct plan_network *n, const unsigned *number)
{
	unsigned links = 0;

	for (unsigned l = 0; l < t->links; l++) {
		const unsigned a = t->link[l].from, b = t->link[l].to;

		if (t->is_switch[a] && t->is_switch[b])
			n->link[links++] = (struct ccs_cbd_link){ number[a], number[b] };
		else if (t->is_switch[a] || t->is_switch[b])
			n->tier[number[t->is_switch[a] ? a : b]] = 0;
	}
}

static bool build_topology(struct plan *p, struct plan_network *n)
{
	struct topology t;
	unsigned *number, edges = 0;

	if (!plan_topology(p, "topology", &t))
		return false;
	for (unsigned i = 0; i < t.nodes; i++)
		n->net.switches += t.is_switch[i];
	for (unsigned l = 0; l < t.links; l++)
		n->net.links += t.is_switch[t.link[l].from] && t.is_switch[t.link[l].to];
	number = calloc(t.nodes + 1, sizeof(*number));
	if (number && allocate(p, "topology", n)) {
		name_switches(&t, n, number);
		add_links(&t, n, number);
		for (unsigned i = 0; i < n->net.switches; i++)
			edges += n->tier[i] == 0;
		find_tiers(n);
		if (!edges)
			plan_refuse(p, "topology", "%s: no switch has a host", plan_text(p, "topology"));
	}
	free(number);
	topology_free(&t);
	return !p->failed;
}

bool plan_read_network(struct plan *p, struct plan_network *n)
{
	*n = (struct plan_network){ 0 };
	if (plan_text(p, "topology") ? build_topology(p, n) : build_clos(p, n))
		return true;
	plan_free_network(n);
	return false;
}
