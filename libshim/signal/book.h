/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BOOK_H
#define CCS_BOOK_H
/*
 * The book that a process keeps of its slots: whose each is, what the agent has been told
 * and has answered, and from that whether the flow's signals can be relied on. No clock,
 * socket or lock in it: whoever calls has them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "signal/slot.h"

/* A queue pair by its device, and the connection by its ends; IPv4 as ::ffff:a.b.c.d. */
struct ccs_signal_flow {
	char device[64];
	uint32_t port;
	uint32_t local_qpn, peer_qpn;
	uint8_t local_gid[16], peer_gid[16];
	uint32_t wants;                  /* enum ccs_peer_flag that it lives on */
	uint32_t period_us;              /* telemetry is wanted that often; 0: none is */
	bool optional;                   /* an agent is welcome; no process is to become one for it */
};

enum ccs_entry_state {
	CCS_ENTRY_FREE,
	CCS_ENTRY_NEW,                   /* to be told to an agent, once there is one */
	CCS_ENTRY_ASKED,
	CCS_ENTRY_TAKEN,
	CCS_ENTRY_REFUSED,
	CCS_ENTRY_LEAVING,               /* the flow is gone; an agent may not know it yet */
};

struct ccs_entry {
	struct ccs_signal_flow flow;
	uint64_t since_ns;               /* in this state */
	uint32_t next;                   /* in the list that it is in */
	uint32_t awaited;                /* answers to come for this slot */
	struct ccs_progress {
		uint64_t bytes;          /* of its slot, when it was judged last */
		uint64_t since_ns;       /* they have changed ever since; 0: they do not */
	} sends, reads;
	uint8_t state;                   /* enum ccs_entry_state */
	bool queued;
	bool told;                       /* this agent has heard of the flow */
	bool refused;                    /* by the last answer */
};

struct ccs_slots {                       /* a list, oldest first */
	uint32_t first, last, count;
};

struct ccs_book {
	struct ccs_page *page;
	struct ccs_entry *entry;         /* CCS_PAGE_SLOTS */
	uint32_t top;                    /* slots that were ever used */
	uint32_t flows;                  /* that have one */
	struct ccs_slots unused, todo;

	/* The agent. */
	bool sought;                     /* at least once */
	bool open;                       /* it listens */
	bool refuses;                    /* the last one turned the whole process away */
	uint64_t open_ns;                /* since then, or it was lost then; 0: there was none */
	uint32_t awaited;                /* answers to come */
	bool held_up;                    /* the last look came late */
};

/* On a page that is all zeroes. 0, or -1 without memory. */
int ccs_book_init(struct ccs_book *b, struct ccs_page *page);
void ccs_book_destroy(struct ccs_book *b);

/* A slot for a flow; NULL: all are taken. */
struct ccs_slot *ccs_book_take(struct ccs_book *b, const struct ccs_signal_flow *flow,
			       uint64_t now_ns);
/* The flow is gone, and does not look at its slot any more. */
void ccs_book_leave(struct ccs_book *b, const struct ccs_slot *slot, uint64_t now_ns);

/* An agent listens, which knows of nothing yet. There is none; one that was is gone, with
 * all that it knew. */
void ccs_book_open(struct ccs_book *b, uint64_t now_ns);
void ccs_book_close(struct ccs_book *b, uint64_t now_ns);

/* What the agent has to hear next: the slot, and whether a flow came or left. */
bool ccs_book_next(struct ccs_book *b, uint32_t *slot, bool *came);
/* It was told so of that one; the flow may have left meanwhile. */
void ccs_book_told(struct ccs_book *b, bool came, uint64_t now_ns);
/* It has answered: 0 or an errno. -1: nobody had asked. */
int ccs_book_answer(struct ccs_book *b, uint32_t slot, int error, uint64_t now_ns);

/* The record of the path to that slot's peer, or of the one from there; NULL: there is none yet. */
const struct ccs_path *ccs_book_path(const struct ccs_page *page, const struct ccs_slot *slot);
const struct ccs_path *ccs_book_inbound(const struct ccs_page *page, const struct ccs_slot *slot);

/*
 * A look that was due at due_ns (UINT64_MAX: none was) and comes so late that whoever is overdue
 * now may have been held up as we were: by a host that stood still, or had no time for either.
 * Judge at the next one. Two late ones in a row are no excuse.
 */
bool ccs_book_held_up(struct ccs_book *b, uint64_t due_ns, uint64_t now_ns);

/* Sets both verdicts of n slots from that one on; the slot behind them, 0 at the end. */
uint32_t ccs_book_judge(struct ccs_book *b, uint32_t slot, uint32_t n, uint64_t now_ns);

#endif
