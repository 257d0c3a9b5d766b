/* SPDX-License-Identifier: BSD-2-Clause */
/* Imitates a shim with one defect each: what the driver must find and shrink. */
#include <string.h>

#include "world.h"

static const char *const names[] = {
	"", "drop", "twice", "swap", "status", "length", "opcode", "wr_id", "vendor", "unasked",
	"bad_wr", "event", "unarmed",
};
enum { NONE, DROP, TWICE, SWAP, STATUS, LENGTH, OPCODE, WR_ID, VENDOR, UNASKED, BAD_WR, EVENT,
       UNARMED };
static unsigned kind;

void mutant_choose(const char *name)
{
	for (kind = 0; kind < sizeof(names) / sizeof(*names) && strcmp(names[kind], name); kind++)
		;
}

/* Affects one of many completions, of a WR that shrinking may remove. */
static bool hit(const struct ibv_wc *wc)
{
	return !(wc->wr_id >> 56 & 1) && wc->opcode == IBV_WC_FETCH_ADD;
}

static void change(struct ibv_wc *wc)
{
	if (kind == STATUS && wc->status == IBV_WC_REM_ACCESS_ERR)
		wc->status = IBV_WC_WR_FLUSH_ERR;
	if (kind == VENDOR && wc->status == IBV_WC_WR_FLUSH_ERR)
		wc->vendor_err ^= 1;
	if (kind == LENGTH && !wc->status && wc->byte_len > 1000)
		wc->byte_len -= 256;
	if (kind == OPCODE && !wc->status && hit(wc))
		wc->opcode = IBV_WC_COMP_SWAP;
	if (kind == WR_ID && !wc->status && hit(wc))
		wc->wr_id ^= 1ull << 40;
}

int mutate(struct ibv_wc *wc, int n, int max)
{
	struct ibv_wc one;

	for (int i = 0; i < n; i++) {
		change(&wc[i]);
		if (kind == SWAP && i && wc[i].qp_num == wc[i - 1].qp_num && hit(&wc[i])) {
			one = wc[i];
			wc[i] = wc[i - 1];
			wc[i - 1] = one;
		} else if (kind == DROP && hit(&wc[i])) {
			memmove(&wc[i], &wc[i + 1], (size_t)(--n - i) * sizeof(*wc));
			i--;
		} else if (kind == TWICE && hit(&wc[i]) && n < max) {
			memmove(&wc[i + 1], &wc[i], (size_t)(n++ - i) * sizeof(*wc));
			i++;
		} else if (kind == UNASKED && hit(&wc[i]) && n < max && i) {
			wc[i - 1].wr_id++;
		}
	}
	return n;
}

int mutate_bad(int bad)
{
	return kind == BAD_WR && bad > 0 ? bad - 1 : bad;
}

unsigned mutate_events(void)
{
	return kind == EVENT ? 2 : 1;
}

bool mutate_arm(void)
{
	return kind != UNARMED;
}
