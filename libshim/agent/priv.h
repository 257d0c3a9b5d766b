/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PRIV_H
#define CCS_AGENT_PRIV_H
/* What the agent's files share. All of it belongs to the loop's thread. */
#include <sys/types.h>

#include "agent/address.h"
#include "agent/agent.h"
#include "agent/counters.h"
#include "agent/index.h"
#include "agent/netlink.h"
#include "cc/dcqcn_np.h"
#include "signal/slot.h"

enum {
	CCS_AGENT_CLIENTS = 1024,
	CCS_AGENT_CLIENTS_PER_UID = 512, /* but root's */
	CCS_AGENT_FLOWS = 262144,        /* of all clients */
	CCS_AGENT_SAME_QP = 8,           /* slots of a client for one QP: the next user's may be early */
	CCS_AGENT_ADDRESSES = 64,
	CCS_AGENT_INTERFACES = 16,
	CCS_AGENT_PORTS = 64,
	CCS_AGENT_SWITCHES = 16,
	CCS_AGENT_HEARD = 256,
};

#define CCS_AGENT_TICK_NS CCS_BEAT_NS
#define CCS_LEASE_MS 3000u
#define CCS_LEASE_MOST_MS 60000u
#define CCS_RENEW_NS 1000000000ull

/* A descriptor that the loop waits for. */
struct ccs_source {
	int fd;
	void (*ready)(struct ccs_agent *a, struct ccs_source *s);
};

/* Both addresses of a message, as seen from here. */
struct ccs_ends {
	struct ccs_address local, remote;
	uint32_t ifindex;                /* of link-local addresses; else 0 */
	uint32_t arrived;                /* interface that it came in by; 0: unknown */
};

struct ccs_port;

/* Data that come from a peer because flows of this host READ them. */
struct ccs_inbound {
	uint32_t record;                 /* 1 + the index of theirs in each page; 0: none yet */
	uint32_t ifindex;                /* by which they come in; 0: unknown */
	struct ccs_port *port;           /* that is measured for them; NULL: none is */
	uint32_t active, period_us;      /* flows, and how often they want telemetry */
	uint32_t asks;                   /* what of it: enum ccs_peer_flag */
	uint32_t counting, wanting_us, wanting; /* of the scan that is under way */
	uint64_t renew_ns;               /* until then the port, and what switches know, is good */
	bool able;                       /* they can be measured */
	bool ports;                      /* there are records of switches */
	struct ccs_path_telemetry telemetry;
};

/* Another agent: one that clients' flows go to, or one that asked for CNPs, or both. */
struct ccs_peer {
	struct ccs_link link;            /* in peers.index, by its ends */
	struct ccs_ends ends;
	uint32_t index;                  /* of its record in each page */
	uint32_t serial;                 /* never used before; 0: no peer is here */
	uint64_t sequence;               /* last one sent */

	uint64_t session;                /* the peer's; 0: unknown */
	uint64_t top, seen;              /* sequence numbers received: highest, and a bit each below */
	uint64_t heard_ns;               /* it last granted a lease; 0: never */
	uint32_t gives;
	bool nic;                        /* the NIC here counts CNPs of flows towards it */

	uint32_t flows;                  /* of clients, towards it */
	unsigned tries;                  /* HELLOs since an answer */
	uint64_t ask_ns;                 /* the next one is due */
	uint64_t asked;                  /* sequence number of the one that is to be answered */

	/* Telemetry from there: what our clients' flows want of it, and the newest. */
	uint32_t active, period_us;      /* as it was last told */
	uint32_t asks;                   /* the same: enum ccs_peer_flag */
	uint32_t segment;                /* the longest of its flows', bytes */
	uint32_t counting, wanting_us, wanting; /* of the scan that is under way */
	uint64_t asked_ns;               /* when the HELLO of `asked` was sent */
	uint64_t rtt_ns;                 /* between the agents; 0: not measured yet */
	uint64_t told;                   /* sequence number of the newest ECHO */
	bool ports;                      /* it had records of switches */
	bool news;                       /* something to tell it at once */
	struct ccs_path_telemetry telemetry;
	struct ccs_inbound inbound;
	uint64_t upstream_ns;            /* a switch's agent: until then its records are wanted, */
	uint32_t up_active, up_period_us;        /* for so many flows to here, and so often */

	/* Telemetry that it wants of us. */
	struct ccs_port *ingress;        /* by which its data come in; NULL: none is given */
	uint32_t wants, flows_there;     /* of its newest HELLO */
	uint64_t period_ns;
	double rtt_us;                   /* as it measured it */
	uint32_t grain;                  /* bytes that its flows send at once; 0: unknown */
	uint64_t clock_ns, clock_at_ns;  /* its clock, not later than that by ours; 0: unknown */

	uint64_t lease_ns;               /* until then it gets CNPs */
	uint64_t cnps_sent, cnps_received;
};

struct ccs_peers {
	struct ccs_index index;
	struct ccs_peer *peer;           /* CCS_PAGE_PATHS */
	uint32_t *unused, nunused;       /* indexes, a stack */
	uint32_t high;                   /* none is in use from here on */
	uint32_t serial;
};

/* A client's flow. */
struct ccs_agent_flow {
	struct ccs_link link;            /* in flows, by peer and peer_qpn */
	struct ccs_link qp_link;         /* in qps, by device and local_qpn */
	struct ccs_link inbound_link;    /* in inbound, by peer and local_qpn */
	struct ccs_counter_flow counter;
	struct ccs_client *client;
	struct ccs_peer *peer;
	uint32_t slot, port, local_qpn, peer_qpn;
	uint64_t sent, sent_ns;          /* bytes when last looked at, and when they had changed */
	uint64_t read, read_ns;          /* the same of READs */
	bool reads;                      /* it has READ: its slot names the inbound record */
	char device[64];
};

/* A process, or a hook. fd < 0: none. */
struct ccs_client {
	struct ccs_source source;        /* first: the loop hands out this */
	pid_t pid;
	uid_t uid;
	bool greeted;
	struct ccs_page *page;           /* NULL: it has none */
	struct ccs_agent_flow **flow;    /* by slot; room of them */
	uint32_t room, flows;
	uint32_t *paths;                 /* flows of each peer, by its index */
};

/* One receiver's QP, of which CE marks came in. */
struct ccs_np_flow {
	uint64_t key;                    /* the peer's serial number, whose flow, QPN; 0: unused */
	struct ccs_dcqcn_np np;
	uint32_t marked;                 /* since its last CNP */
};

enum ccs_refusal {
	CCS_REFUSED_GARBAGE,
	CCS_REFUSED_VERSION,
	CCS_REFUSED_TYPE,
	CCS_REFUSED_AUTH,                /* wrong or missing authentication */
	CCS_REFUSED_SESSION,             /* not to this agent's session, or from an old one */
	CCS_REFUSED_REPLAYED,
	CCS_REFUSED_PEER,                /* nobody here has to do with that host */
	CCS_REFUSED_FLOW,                /* CNP for a flow that nobody here has */
	CCS_REFUSED_CROWDED,             /* too many strangers, no room */
	CCS_REFUSALS
};

struct ccs_agent_totals {
	uint64_t ce, ce_dropped;         /* CE packets seen, and lost before they were */
	uint64_t ce_unasked;             /* of senders that want no CNPs, or of no data */
	uint64_t ce_cnps;                /* were CNPs themselves */
	uint64_t cnps_sent, cnps_received, cnps_accepted;
	uint64_t cnps_hooked, cnps_counted;      /* by clients, by NICs */
	uint64_t cnps_inbound;           /* for flows here, of data that they READ */
	uint64_t hellos_sent, hellos_received;
	uint64_t echoes_sent, echoes_received;   /* of both types */
	uint64_t samples, samples_late;  /* of links; not taken because the clock was off */
	uint64_t send_failed, messages_marked;
	uint64_t refused[CCS_REFUSALS];
};

/* Kinds of trouble; each is said once. */
enum ccs_trouble {
	CCS_TROUBLE_VERSION, CCS_TROUBLE_AUTH, CCS_TROUBLE_SEND, CCS_TROUBLE_DROPPED,
	CCS_TROUBLE_PAGE, CCS_TROUBLE_CLIENTS, CCS_TROUBLE_PEERS, CCS_TROUBLE_LOCAL_VERSION,
	CCS_TROUBLE_ACCEPT, CCS_TROUBLE_OWNER, CCS_TROUBLE_CAPACITY, CCS_TROUBLE_PORT,
	CCS_TROUBLE_INTERFACE,
};

/* Places whose connections are over, but not closed yet. The last one who uses it frees it. */
struct ccs_closing {
	_Atomic unsigned users;
	_Atomic bool place[CCS_AGENT_CLIENTS];
};

struct ccs_udp;
struct ccs_tap;
struct ccs_heard;

struct ccs_agent {
	struct ccs_agent_config config;
	uint64_t session;                /* when it started, ns since 1970 */
	uint64_t key[2], salt;           /* random: of its sessions, and of what is hashed */
	uint64_t opened_ns, tick_ns;     /* tick_ns: the next one */
	int epoll;
	struct ccs_source stop;
	bool stopping;
	unsigned said;                   /* a bit per enum ccs_trouble */
	struct ccs_agent_totals totals;

	struct ccs_address address[CCS_AGENT_ADDRESSES]; /* config.naddresses of them */
	struct ccs_udp *udp;
	unsigned nudp;
	struct ccs_tap *tap;
	unsigned ntaps;

	int lock;                        /* of the socket's path */
	struct ccs_source listener;
	bool listening;
	struct ccs_client *client;       /* CCS_AGENT_CLIENTS */
	unsigned nclients;
	struct ccs_closing *closing;
	struct ccs_index flows, qps, inbound;
	uint32_t nflows;
	struct ccs_counters counters;
	uint64_t counters_ns;            /* the next poll */
	struct ccs_peers peers;
	struct ccs_np_flow *np;

	uint64_t activity_ns;            /* when clients' flows are looked at next */
	bool wanted;                     /* one of them wants telemetry */
	uint64_t new_ns;                 /* one that does was registered last */
	struct ccs_port *port;           /* CCS_AGENT_PORTS */
	unsigned nports;
	struct ccs_netlink netlink;      /* asks for qdiscs; fd -1: none */
	struct ccs_address switches[CCS_AGENT_SWITCHES];
	struct ccs_heard *heard;         /* CCS_AGENT_HEARD */

	double strangers;                /* HELLOs of unknown peers that may be answered yet */
	uint64_t strangers_ns;
};

/* loop.c */
/* What it calls its session towards that host, as nobody else can tell. */
uint64_t ccs_agent_session(const struct ccs_agent *a, const struct ccs_ends *ends);
uint64_t ccs_agent_now(const struct ccs_agent *a);
int ccs_agent_watch(struct ccs_agent *a, struct ccs_source *s);
/* Whether that address of this host is one of those that it is restricted to. */
bool ccs_agent_speaks_for(const struct ccs_agent *a, const struct ccs_address *address);
/* What is ready within that time, ns (below 0: for ever), and what is due; tests drive the
 * agent by it. */
void ccs_agent_turn(struct ccs_agent *a, int64_t timeout_ns);
void ccs_agent_say(struct ccs_agent *a, enum ccs_trouble kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* udp.c */
int ccs_udp_open(struct ccs_agent *a, char *err, size_t len);
void ccs_udp_close(struct ccs_agent *a);
/* To the outbox, with the authentication; the loop flushes it after each source. */
void ccs_udp_send(struct ccs_agent *a, const struct ccs_ends *ends, struct ccs_wire_message *m);
void ccs_udp_flush(struct ccs_agent *a);
/* Messages that came too fast to be taken. */
uint64_t ccs_udp_dropped(const struct ccs_agent *a);
/* The interface of a link-local address of this host; 0: another kind, or not there. */
uint32_t ccs_udp_scope(const struct ccs_address *local);

/* message.c */
void ccs_message_arrived(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len);
void ccs_message_hello(struct ccs_agent *a, struct ccs_peer *p);
void ccs_message_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t qpn, uint32_t marked);

void ccs_message_echo(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_echo *m);
void ccs_message_advice(struct ccs_agent *a, struct ccs_peer *p, uint64_t advised,
			uint32_t flows);
void ccs_message_records(struct ccs_agent *a, struct ccs_peer *p,
			 const struct ccs_wire_records *m);

/* peers.c */
int ccs_peers_open(struct ccs_agent *a);
void ccs_peers_close(struct ccs_agent *a);
struct ccs_peer *ccs_peer_find(const struct ccs_agent *a, const struct ccs_ends *ends);
/* Made if there is none; NULL if there is no room. */
struct ccs_peer *ccs_peer_get(struct ccs_agent *a, const struct ccs_ends *ends);
/* Whether its agent is to be asked for anything. */
bool ccs_peer_wanted(const struct ccs_peer *p, uint64_t now_ns);
bool ccs_peer_leased(const struct ccs_peer *p, uint64_t now_ns);
/* Another record of each page, for its inbound data: 1 + the index; 0: none is left. */
uint32_t ccs_peer_record(struct ccs_agent *a);
/* Takes the next session of the peer, whose messages so far are old. */
void ccs_peer_adopt(struct ccs_peer *p, uint64_t session, uint64_t sequence);
/* Whether that message of its session is new; notes it. */
bool ccs_peer_fresh(struct ccs_peer *p, uint64_t sequence);
/*
 * That moment of ours by the peer's clock, or a little earlier; 0: unknown. What a HELLO said
 * was so when it left, and the peer's clock may be as much slower than ours as 122 ppm. Of
 * several HELLOs the one counts that says the latest: it was under way the least.
 */
uint64_t ccs_peer_clock(const struct ccs_peer *p, uint64_t now_ns);
void ccs_peer_hear_clock(struct ccs_peer *p, uint64_t clock_ns, uint64_t now_ns);
void ccs_peers_tick(struct ccs_agent *a, uint64_t now_ns);

/* flows.c */
int ccs_agent_flow_add(struct ccs_agent *a, struct ccs_client *c, const struct ccs_local_add *m);
void ccs_agent_flow_remove(struct ccs_agent *a, struct ccs_agent_flow *f);
/* How many flows had that CNP for them. */
unsigned ccs_agent_flow_cnp(struct ccs_agent *a, struct ccs_peer *p, uint32_t peer_qpn);
/* n CNPs for it, seen by whomever. */
void ccs_agent_flow_deliver(struct ccs_agent_flow *f, uint64_t n, uint64_t now_ns);
/* What is known of its peer, to its client; or to all clients with flows towards that peer. */
void ccs_agent_flow_tell(const struct ccs_agent_flow *f);
void ccs_agent_flow_heard(struct ccs_agent *a, const struct ccs_peer *p);

/* hook.c */
void ccs_hook_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_hook_detach(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Whether that client has that QP in as many slots as it may: each CNP goes to all of them. */
bool ccs_hook_has_enough(const struct ccs_agent *a, const struct ccs_client *c,
			 const struct ccs_local_add *m);
/* 0; ENOENT: no such flow; EPERM: its process is another user's, and c is not root; EINVAL */
int ccs_hook_cnp(struct ccs_agent *a, const struct ccs_client *c, const struct ccs_local_cnp *m);

/* inbound.c */
void ccs_inbound_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_inbound_detach(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Whether a flow here has that queue pair, connected to that peer. */
bool ccs_inbound_has(const struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
/* A CNP for its flows. */
void ccs_inbound_cnp(struct ccs_agent *a, const struct ccs_peer *p, uint32_t local_qpn);
/* A scan of the clients' flows finds that this one READs; at its end, what all of a peer want. */
void ccs_inbound_count(struct ccs_agent *a, struct ccs_agent_flow *f, uint32_t period_us,
		       uint32_t wants);
void ccs_inbound_update(struct ccs_agent *a, struct ccs_peer *p, uint64_t now_ns);
/* The port by which that peer's data come in was measured: to the readers' pages. */
void ccs_inbound_report(struct ccs_agent *a, const struct ccs_port *port, struct ccs_peer *p,
			uint32_t flows);

/* nic.c */
void ccs_nic_attach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_nic_detach(struct ccs_agent *a, struct ccs_agent_flow *f);
void ccs_nic_poll(struct ccs_agent *a, uint64_t now_ns);
void ccs_nic_tick(struct ccs_agent *a, uint64_t now_ns);

/* activity.c */
/* Its flow may be the first one to want telemetry of the peer. */
void ccs_activity_join(struct ccs_agent *a, struct ccs_agent_flow *f);
/* Looks at clients' flows if it is time, and tells peers what is new. */
void ccs_activity_look(struct ccs_agent *a, uint64_t now_ns);

/* echo.c */
/* What came for our clients' flows; its records get into order. */
void ccs_echo_take(struct ccs_agent *a, struct ccs_peer *p, struct ccs_wire_message *m);
/* What n records of a path, which get into order, are to flows; and that into each page that
 * has flows on the path of that index. */
void ccs_echo_convert(struct ccs_path_telemetry *t, struct ccs_record *r, unsigned n,
		      uint32_t flows, uint64_t now_ns);
void ccs_echo_publish(struct ccs_agent *a, uint32_t index, const struct ccs_path_telemetry *t);
/* How many flows its agent counts, and what it advises them now; 0: nothing new. */
void ccs_echo_advice(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_wire_advice *m);

/* ports.c */
int ccs_ports_open(struct ccs_agent *a, char *err, size_t len);
void ccs_ports_close(struct ccs_agent *a);
/* What telemetry that host can have: bits of enum ccs_peer_flag. */
uint32_t ccs_ports_give(struct ccs_agent *a, const struct ccs_ends *ends);
/* As its newest HELLO wants it. */
void ccs_ports_subscribe(struct ccs_agent *a, struct ccs_peer *p, const struct ccs_ends *ends,
			 const struct ccs_wire_hello *m);
void ccs_ports_forget(struct ccs_agent *a, struct ccs_peer *p);
/* The port of an interface is measured, or no longer, for flows here that READ from that peer;
 * whether it can be. */
bool ccs_ports_read(struct ccs_agent *a, struct ccs_peer *p);
/* Whether data that come in by that interface can be measured. */
bool ccs_ports_can_read(struct ccs_agent *a, uint32_t ifindex);
/* The rate to advise to flows of that peer that send here, bit/s; 0: none. */
uint64_t ccs_ports_advised(const struct ccs_agent *a, struct ccs_peer *p);
/* Active flows by the port of that peer; 0: unknown. */
uint32_t ccs_port_flows(const struct ccs_port *port);
/* A CE mark on a packet of that peer. */
void ccs_port_marked(struct ccs_port *port);
/* When the next sample is due; UINT64_MAX: nobody wants any. */
uint64_t ccs_ports_due(const struct ccs_agent *a);
void ccs_ports_run(struct ccs_agent *a);
/* The record of its link's other end came by that interface: its own is best of the same time. */
void ccs_ports_heard(struct ccs_agent *a, uint32_t ifindex);

/* heard.c: records of ports that are not this host's */
int ccs_heard_open(struct ccs_agent *a, char *err, size_t len);
/* Asks the switches for what they know of links to that address. */
void ccs_heard_ask(struct ccs_agent *a, const struct ccs_address *local, uint32_t flows,
		   uint32_t period_us);
/* Whether there are records of the port that is nearest to this host, of those that tell. */
bool ccs_heard_take(struct ccs_agent *a, const struct ccs_peer *p,
		    const struct ccs_wire_records *m);
int ccs_heard_hook(struct ccs_agent *a, const struct ccs_client *c,
		   const struct ccs_local_record *m);
/* The records for that peer's flows, at most n, covers_ns by our clock; their number. */
unsigned ccs_heard_for(const struct ccs_agent *a, const struct ccs_peer *p, uint64_t now_ns,
		       struct ccs_record *r, unsigned n);

/* clients.c */
int ccs_clients_open(struct ccs_agent *a, char *err, size_t len);
void ccs_clients_close(struct ccs_agent *a);
void ccs_client_close(struct ccs_agent *a, struct ccs_client *c);
void ccs_clients_tick(struct ccs_agent *a, uint64_t now_ns);

/* local.c. fd: the page's, or -1; the caller's. False: the client is to be closed. */
bool ccs_local_arrived(struct ccs_agent *a, struct ccs_client *c, const void *data, size_t len,
		       int fd);

/* page.c. NULL, and why. */
/* Whether it is a file in memory, to close which takes no time. */
bool ccs_agent_page_is_memory(int fd);
struct ccs_page *ccs_agent_page_map(int fd, const char **why);
void ccs_agent_page_unmap(struct ccs_page *page);

/* np.c */
int ccs_np_open(struct ccs_agent *a);
/* A CE mark on a packet of that opcode (InfiniBand, 9.2.1) to that QP of this host. */
void ccs_np_mark(struct ccs_agent *a, const struct ccs_ends *ends, uint8_t opcode, uint32_t qpn);

/* capture.c */
int ccs_capture_open(struct ccs_agent *a, char *err, size_t len);
void ccs_capture_close(struct ccs_agent *a);
void ccs_capture_tick(struct ccs_agent *a);
/* Adds what the kernel has dropped meanwhile. */
void ccs_capture_count(struct ccs_agent *a);

/* status.c. malloc()ed text; NULL without memory. */
char *ccs_status_text(struct ccs_agent *a, size_t *len);

#endif
