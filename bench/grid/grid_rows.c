/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of the grid: not a full product, but every dimension with the dimensions that matter. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "bench/common/collectives.h"
#include "grid.h"

enum { ROWS_MAX = 400, USUAL_MESSAGE = 64 << 10 };

static struct scenario rows[ROWS_MAX];
static unsigned count;

/* -- names ------------------------------------------------------------------------------ */

#define append(s, ...) ccs_append((s)->name, sizeof((s)->name), __VA_ARGS__)

static void append_unit(struct scenario *s, const char *what, double value, enum ccs_unit unit)
{
	char text[CCS_UNIT_LEN];

	if (value > 0)
		append(s, " %s%s", what, ccs_format_unit(value, unit, text, sizeof(text)));
}

static void name(struct scenario *s, double default_rtt)
{
	static const char *const pattern[] = { "incast", "ring", "permutation", "alltoall" };
	static const char *const op[] = { " write ", " read ", " send " };
	char text[CCS_UNIT_LEN];

	append(s, "%s %u", pattern[s->pattern], s->hosts);
	if (s->qps > 1)
		append(s, "x%u", s->qps);
	append_unit(s, "", s->rate, CCS_UNIT_RATE);
	append_unit(s, "nic ", s->nic != s->rate ? s->nic : 0, CCS_UNIT_RATE);
	append_unit(s, "rtt ", s->rtt != default_rtt ? s->rtt : 0, CCS_UNIT_TIME);
	append_unit(s, "far ", s->far, CCS_UNIT_TIME);
	if (s->entries)
		append(s, " entries %u", s->entries);
	append_unit(s, "queue ", s->queue, CCS_UNIT_BYTES);
	if (s->op != FAB_WRITE || s->message != USUAL_MESSAGE)
		append(s, "%s%s", op[s->op], ccs_format_unit(s->message, CCS_UNIT_BYTES, text,
							     sizeof(text)));
	append_unit(s, "jitter ", s->jitter, CCS_UNIT_TIME);
	if (s->loss > 0)
		append(s, " loss %g%%", 100 * s->loss);
	append_unit(s, "slow ", s->slow, CCS_UNIT_RATE);
	if (s->joins)
		append(s, " +%u", s->joins);
	if (s->rivals)
		append(s, " rival %u", s->rivals);
}

static void add(struct scenario s)
{
	const double default_rtt = s.rate >= 5e9 ? 20 : 50;

	if (count == ROWS_MAX)
		return;
	s.nic = s.nic > 0 ? s.nic : s.rate;
	s.qps = s.qps ? s.qps : 1;
	s.message = s.message ? s.message : USUAL_MESSAGE;
	s.rtt = s.rtt > 0 ? s.rtt : default_rtt;
	name(&s, default_rtt);
	rows[count++] = s;
}

/* Add a row; the arguments are members of struct scenario. */
#define ROW(...) add((struct scenario){ __VA_ARGS__ })
#define EACH(type, v, ...) \
	for (const type v##_all[] = { __VA_ARGS__ }, *v = v##_all; \
	     v < v##_all + sizeof(v##_all) / sizeof(*v##_all); v++)

/* -- families --------------------------------------------------------------------------- */

/* A deep queue, hosts as fast as the port, and faster; no link beyond 400 Gb/s. */
static void links(void)
{
	EACH(double, rate, 100e6, 1e9, 10e9, 25e9, 100e9, 400e9)
		EACH(double, ratio, 1, 4, 10)
			EACH(unsigned, n, 2, 8, 31)
				if (*rate * *ratio <= 400e9)
					ROW(.hosts = *n, .rate = *rate, .nic = *rate * *ratio);
	EACH(unsigned, n, 2, 8, 31)
		ROW(.hosts = *n, .rate = 40e9, .nic = 400e9);
}

static void many_flows(void)
{
	EACH(unsigned, n, 1, 16, 64, 128, 256, 1000)
		EACH(double, nic, 10e9, 40e9)
			ROW(.hosts = *n, .rate = 10e9, .nic = *nic);
	EACH(unsigned, n, 1, 64, 256)
		EACH(double, rate, 1e9, 100e9)
			ROW(.hosts = *n, .rate = *rate);
	ROW(.hosts = 64, .rate = 100e6);
	EACH(double, rate, 1e9, 10e9, 100e9) {
		ROW(.hosts = 1, .qps = 8, .rate = *rate);
		ROW(.hosts = 8, .qps = 8, .rate = *rate);
		ROW(.hosts = 4, .qps = 64, .rate = *rate);
		ROW(.hosts = 4, .qps = 16, .rate = *rate, .nic = 4 * *rate);
	}
}

static void distances(void)
{
	EACH(double, rtt, 10, 100, 1000)
		EACH(double, rate, 1e9, 10e9, 100e9)
			EACH(unsigned, n, 2, 12)
				ROW(.hosts = *n, .rate = *rate, .rtt = *rtt);
	ROW(.hosts = 2, .rate = 100e6, .rtt = 1000, .queue = 256 << 10);
	EACH(double, rate, 500e6, 1e9, 10e9, 100e9)
		ROW(.hosts = 8, .rate = *rate, .rtt = 20, .far = 400);
	EACH(double, rate, 10e9, 100e9) {
		ROW(.hosts = 8, .rate = *rate, .rtt = 10, .far = 1000);
		EACH(double, rtt, 200, 1000)
			ROW(.hosts = 1, .rate = *rate, .rtt = *rtt, .entries = 31);
		ROW(.hosts = 8, .rate = *rate, .rtt = 1000, .entries = 31);
		ROW(.hosts = 1, .rate = *rate, .rtt = 1000, .op = FAB_READ, .message = 1 << 20);
		ROW(.hosts = 8, .rate = *rate, .rtt = 200, .message = 1 << 10);
	}
}

static void queues(void)
{
	EACH(double, queue, 32 << 10, 128 << 10, 1 << 20) {
		EACH(double, rate, 100e6, 1e9, 10e9)
			ROW(.hosts = 6, .rate = *rate, .queue = *queue);
		ROW(.hosts = 5, .rate = 1e9, .nic = 4e9, .queue = *queue);
		ROW(.hosts = 12, .rate = 1e9, .nic = 10e9, .queue = *queue);
		ROW(.hosts = 31, .rate = 10e9, .nic = 100e9, .queue = *queue);
	}
	ROW(.hosts = 8, .rate = 200e6, .nic = 1e9, .queue = 256 << 10);
	ROW(.hosts = 24, .rate = 2.5e9, .nic = 10e9, .queue = 1 << 20);
	ROW(.hosts = 31, .rate = 2.5e9, .nic = 10e9, .queue = 1 << 20);
	ROW(.hosts = 39, .rate = 1e9, .queue = 1 << 20);
	ROW(.hosts = 5, .rate = 500e6, .nic = 5e9, .queue = 512 << 10);
	ROW(.hosts = 4, .qps = 16, .rate = 10e9, .queue = 4 << 20);
	EACH(double, queue, 1 << 20, 4 << 20)
		ROW(.hosts = 6, .rate = 100e9, .queue = *queue);
}

static void messages(void)
{
	EACH(double, rate, 1e9, 10e9) {
		EACH(uint32_t, size, 64, 1 << 10, 16 << 10, 1 << 20, 4 << 20)
			ROW(.hosts = 8, .rate = *rate, .message = *size);
		EACH(uint32_t, size, 64, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 4 << 20) {
			ROW(.hosts = 8, .rate = *rate, .op = FAB_SEND, .message = *size);
			ROW(.hosts = 8, .rate = *rate, .op = FAB_READ, .message = *size);
		}
		EACH(uint32_t, size, 64 << 10, 4 << 20)
			ROW(.hosts = 2, .rate = *rate, .op = FAB_SEND, .message = *size);
		ROW(.hosts = 8, .rate = *rate, .nic = 4 * *rate, .op = FAB_SEND, .message = 64 << 10);
		ROW(.hosts = 8, .rate = *rate, .nic = 4 * *rate, .op = FAB_READ, .message = 1 << 20);
	}
	EACH(uint32_t, size, 64 << 10, 1 << 20) {
		ROW(.hosts = 8, .rate = 100e9, .op = FAB_SEND, .message = *size);
		ROW(.hosts = 8, .rate = 100e9, .op = FAB_READ, .message = *size);
	}
	ROW(.hosts = 12, .rate = 1e9, .queue = 1 << 20, .op = FAB_SEND, .message = 256 << 10);
	ROW(.hosts = 2, .rate = 40e9, .entries = 16, .message = 2 << 10);
	ROW(.hosts = 8, .rate = 1e9, .nic = 4e9, .entries = 8, .op = FAB_READ, .message = 16 << 10);
}

static void two_ways(void)
{
	EACH(double, rate, 1e9, 10e9, 25e9, 100e9) {
		ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate);
		ROW(.pattern = SIM_RING, .hosts = 8, .qps = 4, .rate = *rate);
		ROW(.pattern = SIM_PERMUTATION, .hosts = 8, .rate = *rate);
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 6, .qps = 5, .rate = *rate);
	}
	ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 16, .qps = 15, .rate = 10e9);
	EACH(double, rate, 1e9, 10e9, 25e9)
		EACH(double, jitter, 10, 50) {
			ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate, .jitter = *jitter);
			ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 6, .qps = 5, .rate = *rate,
			    .jitter = *jitter);
		}
	EACH(double, rate, 80e9, 200e9)
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 7, .qps = 12, .rate = *rate);
	EACH(double, rate, 1e9, 10e9) {
		ROW(.pattern = SIM_RING, .hosts = 6, .qps = 12, .rate = *rate, .nic = 3 * *rate);
		ROW(.pattern = SIM_PERMUTATION, .hosts = 8, .qps = 2, .rate = *rate, .nic = 3 * *rate);
		ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate, .entries = 8);
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 6, .qps = 5, .rate = *rate, .entries = 12);
		ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate, .nic = 4 * *rate);
		ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate, .op = FAB_SEND, .message = 64 << 10);
		ROW(.pattern = SIM_RING, .hosts = 6, .rate = *rate, .op = FAB_READ);
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 6, .qps = 5, .rate = *rate, .op = FAB_SEND,
		    .message = 64 << 10);
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 6, .qps = 5, .rate = *rate, .op = FAB_READ);
		ROW(.pattern = SIM_ALL_TO_ALL, .hosts = 8, .qps = 7, .rate = *rate, .queue = 256 << 10);
	}
}

static void changes(void)
{
	EACH(double, rate, 1e9, 10e9, 100e9) {
		ROW(.hosts = 1, .joins = 16, .rate = *rate);
		ROW(.hosts = 8, .joins = 8, .rate = *rate, .nic = 4 * *rate);
		ROW(.hosts = 6, .rate = *rate, .slow = *rate / 4, .queue = 4 << 20);
	}
	EACH(double, rate, 100e6, 250e6) {
		ROW(.hosts = 1, .joins = 2, .rate = *rate);
		ROW(.hosts = 3, .joins = 5, .rate = *rate, .nic = 4 * *rate);
	}
	ROW(.hosts = 1, .qps = 20, .rate = 100e9, .slow = 20e9, .queue = 4 << 20);
	ROW(.hosts = 4, .joins = 16, .rate = 500e6);
	ROW(.hosts = 2, .joins = 62, .rate = 10e9);
}

static void disturbances(void)
{
	EACH(double, rate, 500e6, 10e9, 100e9)
		EACH(unsigned, n, 4, 12)
			ROW(.hosts = *n, .rate = *rate, .loss = 0.001);
	EACH(double, rate, 1e9, 10e9, 100e9)
		EACH(double, jitter, 5, 20, 200) {
			ROW(.hosts = 1, .rate = *rate, .jitter = *jitter);
			ROW(.hosts = 8, .rate = *rate, .jitter = *jitter);
		}
	EACH(double, rate, 1e9, 10e9)
		EACH(double, queue, 0, 1 << 20)
			ROW(.hosts = 4, .rivals = 1, .rate = *rate, .queue = *queue);
}

/* A row whose name is the preset and the text. */
static void add_preset(struct scenario s, const char *text)
{
	s.nic = s.rate;
	s.qps = 1;
	s.message = USUAL_MESSAGE;
	s.rtt = 20;
	append(&s, "%s %s", s.preset, text);
	if (count < ROWS_MAX)
		rows[count++] = s;
}

#define PRESET(text, ...) add_preset((struct scenario){ __VA_ARGS__ }, text)

static const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Kept until the end of the program. */
static const char *text(const char *format, ...)
{
	va_list args;
	char *s;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		abort();
	va_end(args);
	return s;
}

static void add_collective(enum collective c, unsigned n, double rate, unsigned data,
			   unsigned operations, const char *pause)
{
	const char *kind = collective_name(c);

	PRESET(text("%s %u %gg %um %s", kind, n, rate / 1e9, data >> 20, pause),
	       .preset = "collective", .hosts = n, .rate = rate, .data = data,
	       .topology = text("star:%u@%.0fg", n, rate / 1e9),
	       .flows = text("allreduce-%s:%u,%u,%s", kind, data, operations, pause));
}

static void add_trunk(unsigned n, double rate)
{
	PRESET(text("%u %gg", n, rate / 1e9), .preset = "trunk", .hosts = n, .rate = rate,
	       .topology = text("chain:2x8@%.0fg:%.0fg", rate / 1e9, rate / 1e9),
	       .flows = text("pairs:0-%u,8-%u,1g+kv:7,15,64,64,100000,%s", n - 1, n + 7,
			     rate < 100e9 ? "100us" : "20us"));
}

static void collectives(void)
{
	EACH(enum collective, kind, COLLECTIVE_HALVING, COLLECTIVE_TREE, COLLECTIVE_RING)
		EACH(unsigned, n, 8, 32)
			EACH(double, rate, 10e9, 100e9)
				add_collective(*kind, *n, *rate, 1 << 20, 10, "1ms");
	EACH(enum collective, kind, COLLECTIVE_HALVING, COLLECTIVE_TREE, COLLECTIVE_RING) {
		add_collective(*kind, 8, 100e9, 1 << 20, 5, "100ms");
		add_collective(*kind, 8, 100e9, 25 << 20, 4, "10ms");
	}
	EACH(double, rate, 200e9, 400e9)
		add_collective(COLLECTIVE_HALVING, 8, *rate, 25 << 20, 4, "10ms");
	add_collective(COLLECTIVE_HALVING, 128, 100e9, 1 << 20, 3, "1ms");
}

/* The trunk, or the port, has N flows; its agent does not exist, or counts more. */
static void shared_links(void)
{
	EACH(unsigned, n, 2, 7)
		EACH(double, rate, 10e9, 100e9, 400e9)
			add_trunk(*n, *rate);
	PRESET("512 10g", .preset = "claims", .hosts = 4, .rate = 10e9, .topology = "star:7@10g",
	       .flows = "claims:512,5,0+incast:4,1g@20ms+kv:6,0,64,64,100000,100us@20ms");
	PRESET("256 1g", .preset = "claims", .hosts = 1, .rate = 1e9, .topology = "star:4@1g",
	       .flows = "claims:256,2,0+incast:1,1g@20ms+kv:3,0,64,64,100000,500us@20ms");
	PRESET("8 10g", .preset = "kv", .hosts = 8, .rate = 10e9, .topology = "star:9@10g",
	       .flows = "incast:8,1g+kv:1-8,0,256,4k,100000,200us");
	PRESET("8 100g", .preset = "kv", .hosts = 8, .rate = 100e9, .topology = "star:9@100g",
	       .flows = "incast:8,1g+kv:1-8,0,256,4k,100000,100us");
	PRESET("16 beside 4 100g", .preset = "kv", .hosts = 4, .rate = 100e9, .topology = "star:21@100g",
	       .flows = "incast:4,1g+kv:5-20,0,256,16k,100000,50us");
}

const struct scenario *grid_scenarios(unsigned *n)
{
	if (!count) {
		links();
		many_flows();
		distances();
		queues();
		messages();
		two_ways();
		changes();
		disturbances();
		collectives();
		shared_links();
	}
	*n = count;
	return rows;
}

/* -- the sample ------------------------------------------------------------------------- */

/* Short rows of each family. */
static const char *const sample[] = {
	"incast 8 100m", "incast 8 1g", "incast 31 1g nic 4g", "incast 8 10g nic 100g",
	"incast 8 25g", "incast 8 100g", "incast 1 10g", "incast 64 10g", "incast 8x8 1g",
	"incast 2 10g rtt 1ms", "incast 1 10g rtt 1ms entries 31",
	"incast 8 1g rtt 20us far 400us", "incast 6 10g queue 32k",
	"incast 8 200m nic 1g queue 256k", "incast 31 2.5g nic 10g queue 1m",
	"incast 8 1g write 1k", "incast 8 1g send 64k", "incast 8 10g send 256k",
	"incast 8 1g read 64k", "ring 6 1g", "ring 6 10g", "permutation 8 10g",
	"alltoall 6x5 10g", "ring 6 10g jitter 10us", "ring 6 10g send 64k", "incast 1 10g +16",
	"incast 6 1g queue 4m slow 250m", "incast 4 500m loss 0.1%", "incast 8 10g jitter 20us",
	"incast 4 1g queue 1m rival 1", "collective halving 8 100g 1m 1ms",
	"collective halving 8 100g 25m 10ms", "collective halving 32 10g 1m 1ms",
	"collective ring 8 100g 1m 100ms", "kv 16 beside 4 100g",
};

unsigned grid_sample_size(void)
{
	return sizeof(sample) / sizeof(*sample);
}

bool grid_in_sample(const struct scenario *s)
{
	for (unsigned i = 0; i < grid_sample_size(); i++)
		if (strcmp(sample[i], s->name) == 0)
			return true;
	return false;
}
