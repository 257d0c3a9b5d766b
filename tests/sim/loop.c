/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the table of all closed-loop rows: loop [-n SEEDS] [-b] [TEXT]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"

static const char usage[] =
	"usage: loop [-n SEEDS] [-b] [TEXT]\n"
	"Run the set-ups whose name contains TEXT, with seeds 1 to SEEDS (default 1; CCS_SEED\n"
	"gives one); -b prints the series of utilisation, Jain index and queue of each run.\n";

static void print_bins(const struct row *row, uint64_t seed)
{
	static struct sim_result r;
	double width;

	sim_run(&row->conf, seed, &r);
	width = row->conf.bin_us > 0 ? row->conf.bin_us : row->conf.end_us / 100;
	for (unsigned i = 0; i < r.bins; i++)
		printf("%12.3f ms  util %5.3f  Jain %5.3f  queue %9.1f KB\n", (i + 1) * width / 1e3,
		       r.bin[i].util, r.bin[i].jain, r.bin[i].queue / 1e3);
}

static unsigned run_row(const struct row *row, uint64_t first, uint64_t last, bool bins)
{
	double figure[FIGURES];
	unsigned broken = 0;

	for (uint64_t seed = first; seed <= last; seed++) {
		row_figures(row, seed, figure);
		broken += row_print(stdout, "", row, seed, figure);
		fflush(stdout);
		if (bins)
			print_bins(row, seed);
	}
	return broken;
}

int main(int argc, char **argv)
{
	const char *given = getenv("CCS_SEED"), *text = "";
	uint64_t first = 1, last = 1;
	unsigned broken = 0;
	bool bins = false;

	for (int opt; (opt = getopt(argc, argv, "n:bh")) != -1;) {
		if (opt == 'n') {
			last = strtoull(optarg, NULL, 0);
		} else if (opt == 'b') {
			bins = true;
		} else {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt != 'h';
		}
	}
	if (given)
		first = last = strtoull(given, NULL, 0);
	if (optind < argc)
		text = argv[optind];
	row_heading(stdout, "");
	for (const struct group *const *g = sim_groups; *g; g++)
		for (unsigned i = 0; i < (*g)->rows; i++)
			if (strstr((*g)->row[i].name, text))
				broken += run_row(&(*g)->row[i], first, last, bins);
	return broken != 0;
}
