/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes topology files in the format of the HPCC simulator. */
#include "topology.h"

#include <stdlib.h>

#include "words.h"

#define FIRST_LINE "NODES SWITCHES LINKS"
#define LINK_LINE "NODE NODE RATE DELAY ERRORS"

static bool read_node(struct words *w, const struct topology *t, const char *what, unsigned *node)
{
	unsigned long long number;

	if (!words_number(w, what, t->nodes, &number))
		return false;
	*node = (unsigned)number;
	return true;
}

/* The share of packets that the link destroys; a line may end before it. */
static bool read_errors(struct words *w)
{
	const char *word = words_next(w);
	char *end;

	return !word || (strtod(word, &end) == 0 && end != word && !*end) ||
	       words_refuse(w, "'%.40s' is not 0: links with errors are not supported", word);
}

static bool read_link(struct words *w, const struct topology *t, struct topology_link *link)
{
	if (!words_line(w, "a link is missing: " LINK_LINE) ||
	    !read_node(w, t, "a node", &link->from) || !read_node(w, t, "a node", &link->to) ||
	    !words_quantity(w, "link's rate, such as 100Gbps", CCS_UNIT_RATE, &link->rate_bps) ||
	    !(topology_rate_is_possible(link->rate_bps) ||
	      words_refuse(w, "the link's rate is not in the range " TOPOLOGY_RATES " bit/s")) ||
	    !words_quantity(w, "link's delay, such as 1000ns", CCS_UNIT_TIME, &link->delay_us) ||
	    !read_errors(w) || !words_end_line(w, LINK_LINE))
		return false;
	return link->from != link->to ||
	       words_refuse(w, "the link connects a node with itself");
}

static bool read_switches(struct words *w, struct topology *t, unsigned n)
{
	unsigned node;

	if (!words_line(w, "the switches are missing"))
		return false;
	while (n--) {
		if (!read_node(w, t, "a switch", &node))
			return false;
		if (t->is_switch[node])
			return words_refuse(w, "switch %u is named twice", node);
		t->is_switch[node] = true;
	}
	return words_end_line(w, "the switches that the first line counts");
}

static bool read_all(struct words *w, struct topology *t)
{
	unsigned long long nodes, switches, links;

	if (!words_line(w, "the file is empty: " FIRST_LINE " is missing") ||
	    !words_number(w, "the number of nodes", TOPOLOGY_NODES_MAX, &nodes) ||
	    !words_number(w, "the number of switches", nodes + 1, &switches) ||
	    !words_number(w, "the number of links", TOPOLOGY_LINKS_MAX, &links) ||
	    !words_end_line(w, FIRST_LINE))
		return false;
	if (!topology_allocate(t, (unsigned)nodes, (unsigned)links))
		return words_refuse(w, "out of memory");
	if (switches && !read_switches(w, t, (unsigned)switches))
		return false;
	for (unsigned i = 0; i < t->links; i++)
		if (!read_link(w, t, &t->link[i]))
			return false;
	return words_end_file(w, "the links that its first line counts");
}

bool topology_allocate(struct topology *t, unsigned nodes, unsigned links)
{
	*t = (struct topology){
		.nodes = nodes, .links = links,
		.is_switch = calloc(nodes + 1, sizeof(*t->is_switch)),
		.link = calloc(links + 1, sizeof(*t->link)),
	};
	return t->is_switch && t->link;
}

bool topology_read(struct topology *t, const char *path, char *err, size_t len)
{
	struct words w;
	bool ok;

	*t = (struct topology){ 0 };
	ok = words_open(&w, path, err, len) && read_all(&w, t);
	words_close(&w);
	if (!ok)
		topology_free(t);
	return ok;
}

void topology_free(struct topology *t)
{
	free(t->is_switch);
	free(t->link);
	*t = (struct topology){ 0 };
}
