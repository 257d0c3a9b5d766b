/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An example for libccshim_feed: it delivers CNPs to a queue pair of this host, as an external
 * notification point would for each congested interval that it detects.
 *
 *	cc -O2 -o cnp cnp.c $(pkg-config --cflags --libs ccshim_feed)
 *	rdma res show qp                    # lqpn, in decimal
 *	./cnp mlx5_0 418
 */
#include <ccshim/feed.h>
#include <stdio.h>
#include <stdlib.h>

/* A number >= least and the end of the text, or exit. */
static uint32_t number(const char *text, unsigned long least)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 0);

	if (end == text || *end || value < least || value > UINT32_MAX) {
		fprintf(stderr, "cnp: '%s' is no number >= %lu\n", text, least);
		exit(2);
	}
	return (uint32_t)value;
}

int main(int argc, char **argv)
{
	struct ccs_feed *h;
	uint32_t qpn, count;

	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: cnp DEVICE QPN [COUNT [SOCKET]]\n");
		return 2;
	}
	qpn = number(argv[2], 0);
	count = argc > 3 ? number(argv[3], 1) : 1;
	h = ccs_feed_open(argc > 4 ? argv[4] : NULL);
	if (!h) {
		perror("cnp: the host agent");
		return 1;
	}
	if (ccs_feed_cnp(h, argv[1], qpn, count)) {
		perror("cnp: not delivered");
		ccs_feed_close(h);
		return 1;
	}
	ccs_feed_close(h);
	return 0;
}
