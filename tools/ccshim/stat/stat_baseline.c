/* SPDX-License-Identifier: BSD-2-Clause */
/* Baselines: a file with the time, then for each process a length and its statistics file. */
#include "stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/common/gnuplot.h"

static const uint64_t magic = 0x31455341424d4343ull; /* "CCMBASE1" */

struct lead {
	uint64_t magic, unix_ns, processes;
};

static bool write_process(const struct stat_process *p, FILE *f)
{
	struct ccs_stats_header h = p->h;
	const uint64_t size = sizeof(h) + p->count * sizeof(struct ccs_stats_slot);

	h.header_size = sizeof(h);
	h.slot_size = sizeof(struct ccs_stats_slot);
	h.slots = p->count;
	if (fwrite(&size, sizeof(size), 1, f) != 1 || fwrite(&h, sizeof(h), 1, f) != 1)
		return false;
	for (size_t i = 0; i < p->count; i++) {
		const struct ccs_stats_qp *q = &p->qp[i].q;
		const struct ccs_stats_slot slot = {
			.live = { 0, q->posts, q->completions, q->segments, q->bytes, q->sent,
				  q->internal_completions, q->gated_ns },
			.rtt = p->qp[i].rtt,
			.qp = *q,
		};

		if (fwrite(&slot, sizeof(slot), 1, f) != 1)
			return false;
	}
	return true;
}

static bool write_snapshot(const struct stat_snapshot *s, FILE *f)
{
	const struct lead lead = { .magic = magic, .unix_ns = s->unix_ns, .processes = s->count };

	if (fwrite(&lead, sizeof(lead), 1, f) != 1)
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (!write_process(&s->process[i], f))
			return false;
	return true;
}

int stat_save(const struct stat_snapshot *s, const char *file)
{
	struct new_file to;

	if (!new_file_open(&to, file, 0600))
		return errno;
	errno = EIO;
	return new_file_close(&to, write_snapshot(s, to.file) ? 0 : errno);
}

static bool read_process(struct stat_snapshot *s, FILE *f)
{
	uint64_t size;
	void *image;
	bool ok;

	if (!CCS_GROW(s->process, s->count))
		return false;
	s->process[s->count] = (struct stat_process){ 0 };
	if (fread(&size, sizeof(size), 1, f) != 1 || size > 1u << 30)
		return false;
	image = malloc(size + 8);
	ok = image && fread(image, size, 1, f) == 1 && stat_parse(image, size, &s->process[s->count]);
	s->count += ok;
	free(image);
	return ok;
}

int stat_load(struct stat_snapshot *s, const char *file)
{
	FILE *f = fopen(file, "re");
	struct lead lead;
	bool ok;

	*s = (struct stat_snapshot){ 0 };
	if (!f)
		return errno;
	ok = fread(&lead, sizeof(lead), 1, f) == 1 && lead.magic == magic;
	for (uint64_t i = 0; ok && i < lead.processes; i++)
		ok = read_process(s, f);
	fclose(f);
	s->unix_ns = ok ? lead.unix_ns : 0;
	if (ok)
		return 0;
	stat_free(s);
	return EBADMSG;
}
