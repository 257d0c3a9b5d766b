/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_NET_H
#define CCS_AGENT_NET_H
/* Other agents: messages, sockets, and limits. */
#include "agent/host/priv.h"

/* -- the table of other hosts' agents: lookup, eviction, replay window, clock, HELLO renewal -- */

/* evicted is called before an entry is freed. 0, or -1: out of memory. */
int ccs_peers_open(struct ccs_agent *a,
		   void (*evicted)(struct ccs_agent *a, struct ccs_peer *p));
void ccs_peers_close(struct ccs_agent *a);

struct ccs_peer *ccs_peer_find(const struct ccs_agent *a, const struct ccs_ends *ends);
/* Creates the entry if necessary; NULL: the table is full. */
struct ccs_peer *ccs_peer_get(struct ccs_agent *a, const struct ccs_ends *ends);
/* The same for a host that sent a HELLO: such ones leave space for peers of flows of this host, and
 * one network's leave space for others'. */
struct ccs_peer *ccs_peer_get_flowless(struct ccs_agent *a, const struct ccs_ends *ends);
/* The first flow of this host towards it was added, or the last one removed. */
void ccs_peer_set_flowless(struct ccs_agent *a, const struct ccs_peer *p, bool is_flowless);
/* Whether one more peer for flows of that user is too many. */
bool ccs_peers_used_up(const struct ccs_agent *a, uid_t uid);
bool ccs_peer_wanted(const struct ccs_peer *p, uint64_t now_ns);
bool ccs_peer_leased(const struct ccs_peer *p, uint64_t now_ns);
/* Allocates another record of each region, for inbound data: 1 + its index; 0: all are in use. */
uint32_t ccs_peer_record(struct ccs_agent *a);

/* Start a new incarnation of the peer; earlier messages become invalid. */
void ccs_peer_adopt(struct ccs_peer *p, uint64_t incarnation, uint64_t sequence);
/*
 * Whether a number was accepted that the peer has not sent, given its present number. The gap is
 * more than the messages of a second, and more than a second in ns, from which numbers start.
 * Without this check an attacker with knowledge of both incarnations could silence a host.
 */
bool ccs_peer_has_forged_number(const struct ccs_peer *p, uint64_t sequence);
/*
 * The peer's answer to a HELLO shows that it has that incarnation. A message that it sent before the first
 * answer becomes invalid: it may have counted when that incarnation was adopted another time.
 */
void ccs_peer_prove(struct ccs_peer *p, uint64_t incarnation, uint64_t sequence);
/* Whether a message of the current incarnation has not been received before; records it. */
bool ccs_peer_fresh(struct ccs_peer *p, uint64_t sequence);

/*
 * The peer's clock at now_ns of ours, or a little earlier; 0: unknown. A HELLO states the time
 * when it left, and the peer's clock may run slower than ours by up to 122 ppm. The latest
 * estimate of several HELLOs is used: its HELLO had the shortest delay.
 */
uint64_t ccs_peer_clock(const struct ccs_peer *p, uint64_t now_ns);
void ccs_peer_update_clock(struct ccs_peer *p, uint64_t clock_ns, uint64_t now_ns);

void ccs_peers_retry(struct ccs_agent *a, uint64_t now_ns);
/* Send HELLOs that are due, and evict unused peers. */
void ccs_peers_tick(struct ccs_agent *a, uint64_t now_ns);

/* -- messages to other agents; feedback/wire.h defines them --------------------------- */

void ccs_send_hello(struct ccs_agent *a, struct ccs_peer *p);
/* The reply to a HELLO; sets ack->of. p may be NULL if the sender is not verified. */
void ccs_send_hello_ack(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_peer *p,
			const struct ccs_wire_header *hello,
			const struct ccs_wire_hello_ack *ack, const struct ccs_tenant_list *rates);
void ccs_send_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t qpn, uint32_t marked);
/* An ECHO, ADVICE or RECORDS. rates: advised to the peer's tenants */
void ccs_send_telemetry(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m,
			const struct ccs_tenant_list *rates);

/* -- UDP sockets between agents, with batched send and receive ------------------------ */

/* Opens the sockets; a->received is called for each datagram. 0, or -1 with an error text. */
int ccs_udp_open(struct ccs_agent *a, char *err, size_t len);
void ccs_udp_close(struct ccs_agent *a);
/* Queue a message, with authentication if configured; the loop flushes after each source. */
void ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_wire_message *m);
void ccs_udp_flush(struct ccs_agent *a);
/* Datagrams that the sockets dropped because their receive buffers were full. */
uint64_t ccs_udp_dropped(const struct ccs_agent *a);
/* Interface of a link-local address of this host; 0: not link-local, or not found. */
uint32_t ccs_udp_scope(const struct ccs_address *local);

/*
 * Limits the work for hosts whose source address may be forged, by token buckets: for all hosts,
 * for each network and for each address, so that one host's flood does not lock out others. A token
 * is spent only if all three buckets have one.
 */

/* 0, or -1: out of memory. */
int ccs_hello_limit_open(struct ccs_agent *a);
bool ccs_hello_limit_claim(struct ccs_agent *a, const struct ccs_address *remote);

#endif
