/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that tools read: topologies, JSON, traces, recordings, ELF files and baselines. */
#include "parsers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/elf_needed.h"
#include "input.h"
#include "tools/ccshim/plot/plot.h"
#include "tools/ccshim/replay/replay.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/ccshim/stat/stat.h"
#include "tools/common/json_read.h"
#include "tools/common/topology.h"

const char *fuzz_file(const uint8_t *bytes, size_t len)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		FUZZ_CHECK(fd >= 0 && fchmod(fd, 0600) == 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, len, 0) == (ssize_t)len);
	return path;
}

/* Replaces the function of message.c, which prints. */
void tool_error(const char *cmd, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	(void)cmd;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	FUZZ_CHECK(*text);
}

static FILE *nowhere(void)
{
	static FILE *f;

	if (!f)
		f = fopen("/dev/null", "w");
	FUZZ_CHECK(f);
	return f;
}

void fuzz_topology(const uint8_t *bytes, size_t len)
{
	struct topology t;
	char err[512] = "";

	if (!topology_read(&t, fuzz_file(bytes, len), err, sizeof(err))) {
		FUZZ_CHECK(*err);
		return;
	}
	for (unsigned i = 0; i < t.links; i++)
		FUZZ_CHECK(t.link[i].from < t.nodes && t.link[i].to < t.nodes &&
			   topology_rate_is_possible(t.link[i].rate_bps));
	topology_free(&t);
}

/* -- JSON --------------------------------------------------------------------------------- */

static bool read_member(struct json_read *j, const char *key, void *arg);

/* Any value, by the function for its type, or a function for another type. */
static bool read_value(struct json_read *j, void *arg)
{
	struct input *in = arg;
	char text[16];
	double value;

	switch (take_below(in, 5)) {
	case 0:
		return json_number(j, &value);
	case 1:
		return json_string(j, text, sizeof(text)) && memchr(text, 0, sizeof(text));
	case 2:
		return json_object(j, read_member, arg);
	case 3:
		return json_array(j, read_value, arg);
	default:
		return json_skip(j);
	}
}

static bool read_member(struct json_read *j, const char *key, void *arg)
{
	FUZZ_CHECK(strlen(key) < 1000);
	return read_value(j, arg);
}

/* The first byte is the number of bytes that choose functions; the text follows these. */
void fuzz_json(const uint8_t *bytes, size_t len)
{
	const size_t choices = len ? bytes[0] % len : 0;
	struct input in = { bytes + (len != 0), choices };
	char *text = strndup((const char *)bytes + choices + (choices < len), len - choices - (choices < len));
	struct json_read j = { .text = text, .at = text };

	if (json_skip(&j))
		json_end(&j);
	FUZZ_CHECK(j.at >= text && j.at <= text + strlen(text));
	j = (struct json_read){ .text = text, .at = text };
	read_value(&j, &in);
	FUZZ_CHECK(j.at >= text && j.at <= text + strlen(text));
	free(text);
}

/* -- traces and recordings --------------------------------------------------------------------- */

static void ignore_peer(void *arg, unsigned process, uint32_t qp, const char *address)
{
	(void)process, (void)qp;
	FUZZ_CHECK(strlen(address) < 46);
	++*(unsigned *)arg;
}

void fuzz_trace(const uint8_t *bytes, size_t len)
{
	static struct replay_file f;
	struct replay_row row;
	unsigned peers = 0;

	if (!len)
		return;
	f = (struct replay_file){
		.cmd = "replay", .needs = bytes[0] & 15, .segment = 4096, .whole_lines = bytes[0] & 16,
		.handle_peer = ignore_peer, .arg = &peers,
	};
	if (replay_open(&f, fuzz_file(bytes + 1, len - 1)) == 0)
		while (replay_next(&f, &row) == 1)
			FUZZ_CHECK(row.ev.ack.now_us >= 0 && row.ev.ack.nhops <= CCS_CC_MAX_HOPS &&
				   row.process < f.processes);
	replay_close(&f);
}

/* As two files of equal content. */
static bool read_sources(plot_reader *read, struct plot *p, const char *file)
{
	return read(p, 0, file) == 0 && read(p, 1, file) == 0;
}

/* As ccshim plot does: two passes, then the commands for gnuplot. */
static void plot_file(plot_reader *read, const uint8_t *bytes, size_t len)
{
	struct plot p = { .out = "x.png", .title = "`\"\\" };
	const char *file;

	if (!len)
		return;
	p.cdf = bytes[0] % (PLOT_WHATS + 1) - 1;
	p.most = 1 + bytes[0] / 16;
	p.qp = bytes[0] & 8 ? 0 : PLOT_ANY_QP;
	file = fuzz_file(bytes + 1, len - 1);
	if (read_sources(read, &p, file) && plot_choose(&p)) {
		p.values = true;
		if (read_sources(read, &p, file))
			plot_draw(&p, nowhere());
	}
	plot_free(&p);
}

void fuzz_recording(const uint8_t *bytes, size_t len)
{
	plot_file(memmem(bytes, len, "runs", 4) ? plot_read_bench : plot_read_stat, bytes, len);
}

void fuzz_plot(const uint8_t *bytes, size_t len)
{
	plot_file(plot_read_trace, bytes, len);
}

/* -- ELF --------------------------------------------------------------------------------------- */

void fuzz_elf(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* of its exact size, for the sanitizer */
	struct ccs_elf e;
	const char *s;

	memcpy(copy, bytes, len);
	if (ccs_elf_read(&e, copy, len) == 0) {
		FUZZ_CHECK(ccs_elf_alike(&e, &e));
		if ((s = ccs_elf_interpreter(&e)))
			FUZZ_CHECK(strlen(s) < len);
		for (unsigned tag = 0; tag < 32; tag++)
			for (unsigned n = 0; n < 3 && (s = ccs_elf_dynamic(&e, tag, n)); n++)
				FUZZ_CHECK(strlen(s) < len);
		for (unsigned defined = 0; defined < 2; defined++)
			if ((s = ccs_elf_symbol(&e, "ibv_", defined)))
				FUZZ_CHECK(strncmp(s, "ibv_", 4) == 0);
		ccs_elf_holds(&e, "ibverbs");
	}
	free(copy);
}

static bool count_library(void *arg, const struct ccs_elf_needed *lib)
{
	FUZZ_CHECK(lib->name && !lib->path == !lib->elf);
	return ++*(unsigned *)arg > 20;
}

/* The file may need itself and libraries of this system. */
void fuzz_needed(const uint8_t *bytes, size_t len)
{
	unsigned n = 0;

	setenv("LD_LIBRARY_PATH", "/nonexistent:$ORIGIN", 1);
	ccs_elf_needed_walk(fuzz_file(bytes, len), count_library, &n);
	FUZZ_CHECK(n <= 21);
}

/* -- baselines --------------------------------------------------------------------------------- */

void stat_free(struct stat_snapshot *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->process[i].qp);
	free(s->process);
	*s = (struct stat_snapshot){ 0 };
}

/* A baseline of one process, as stat_save() writes it. */
static size_t read_valid(uint8_t *file, size_t size)
{
	static struct stat_qp qp = { .q = { .created_ns = 1, .generation = 2 } };
	static struct stat_process process = { .count = 1, .qp = &qp };
	const struct stat_snapshot s = { .unix_ns = 1, .count = 1, .process = &process };
	char name[] = "/tmp/ccshim-fuzz-XXXXXX";
	const int fd = mkstemp(name);
	FILE *f;
	size_t n;

	process.h = (struct ccs_stats_header){ .magic = CCS_STATS_MAGIC, .major = CCS_STATS_MAJOR,
					       .minor = CCS_STATS_MINOR };
	FUZZ_CHECK(fd >= 0 && stat_save(&s, name) == 0 && stat_save(&s, "/nonexistent/x") != 0);
	close(fd);
	f = fopen(name, "r");
	FUZZ_CHECK(f);
	n = fread(file, 1, size, f);
	fclose(f);
	remove(name);
	FUZZ_CHECK(n < size);
	return n;
}

/* Two bytes say which word of the file is replaced, eight by which; the first byte cuts the file. */
void fuzz_baseline(const uint8_t *bytes, size_t len)
{
	enum { EDIT = 10 };
	static uint8_t valid[32768], file[sizeof(valid)];
	static size_t whole;
	struct stat_snapshot s;
	size_t size;

	if (!whole)
		whole = read_valid(valid, sizeof(valid));
	memcpy(file, valid, whole);
	size = len ? whole - bytes[0] % 8u * whole / 8 : 0;
	for (size_t at = 1; at + EDIT <= len; at += EDIT)
		memcpy(file + (bytes[at] | bytes[at + 1] << 8) % (whole / 8) * 8, bytes + at + 2, 8);
	if (stat_load(&s, fuzz_file(file, size)))
		return;
	for (size_t i = 0; i < s.count; i++)
		FUZZ_CHECK(memchr(s.process[i].h.program, 0, sizeof(s.process[i].h.program)));
	stat_free(&s);
}
