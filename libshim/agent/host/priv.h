/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PRIV_H
#define CCS_AGENT_PRIV_H
/* The structs that the agent's files share. Only the loop's thread accesses them. */
#include <sys/types.h>

#include "agent/agent.h"
#include "base/address.h"
#include "agent/host/gids.h"
#include "agent/host/hash_index.h"
#include "agent/host/netlink.h"
#include "agent/host/nic_counters.h"
#include "agent/host/standing.h"
#include "cc/cap.h"
#include "cc/dcqcn_np.h"
#include "feedback/shm.h"

enum {
	CCS_AGENT_CLIENTS = 1024,
	CCS_AGENT_CLIENTS_PER_UID = 512, /* except CCS_STANDING_ADMIN */
	CCS_AGENT_PEERS_PER_UID = 1024,  /* that its flows needed first; except CCS_STANDING_ADMIN */
	CCS_AGENT_FLOWLESS = 2048,      /* peers that no flow of this host needs */
	CCS_AGENT_NETWORKS = 4096,       /* hash values of networks */
	CCS_AGENT_FLOWS = 262144,        /* limit for all clients */
	CCS_AGENT_FLOWS_PER_UID = 131072, /* except CCS_STANDING_ADMIN */
	CCS_AGENT_SAME_QP = 8,           /* slots of a user for one QP at either end: its number can
	                                  * be reused before the agent has processed the removal */
	CCS_AGENT_USERS = 2 * CCS_AGENT_CLIENTS, /* users whose budgets are known */
	CCS_AGENT_TURN_REQUESTS = 16,    /* a user's, in a turn of the loop */
	CCS_AGENT_TURN_FLOWS = 1024,     /* a user's that a turn scans */
	CCS_AGENT_ADDRESSES = 64,
	CCS_AGENT_PORTS = 64,
	CCS_AGENT_SWITCHES = 16,
	CCS_AGENT_RELAYED = 256,
};

#define CCS_AGENT_TICK_NS CCS_HEARTBEAT_NS
#define CCS_LEASE_MS 3000u
#define CCS_LEASE_MAX_MS 60000u
#define CCS_RENEW_NS 1000000000ull
#define CCS_AGENT_FIRST_RETRY_NS 5000000ull /* first retry of a HELLO before the first lease */
#define CCS_AGENT_IDLE_NS 100000000ull /* a flow without traffic for this long is idle */
#define CCS_AGENT_WARN_NS 3600000000000ull /* between warnings of one kind */
#define CCS_AGENT_STATUS_NS 100000000ull /* between requests of a user for the status, except CCS_STANDING_ADMIN */

/* A descriptor that the loop waits for. */
struct ccs_source {
	int fd;
	void (*ready)(struct ccs_agent *a, struct ccs_source *s);
};

/* Both addresses of a message, as seen from this host. */
struct ccs_ends {
	struct ccs_address local, remote;
	uint32_t ifindex;                /* for link-local addresses; 0 for others */
	uint32_t arrived;                /* interface on which it arrived; 0: unknown */
};

struct ccs_port;

/* Telemetry that flows request. */
struct ccs_demand {
	uint32_t active;                 /* number of the active flows */
	uint32_t period_us;
	uint32_t flags;                  /* enum ccs_peer_flag */
};

/* Tenants' flows, or advised rates, in a message. */
struct ccs_tenant_list {
	uint32_t n;
	struct ccs_wire_tenant tenant[CCS_WIRE_TENANTS];
};

/* Data that a peer sends because flows of this host READ them. */
struct ccs_inbound {
	uint32_t path;                   /* 1 + the index of its record in each region, or 0 */
	uint32_t ifindex;                /* on which the data arrive; 0: unknown */
	struct ccs_port *port;           /* measured for these data, or NULL */
	struct ccs_demand request, scan; /* of all its flows; found since request was renewed */
	uint32_t reported;               /* request.active at the last update */
	uint64_t renew_ns;               /* next renewal of the subscriptions at port and switches */
	bool measurable;                 /* the interface can be measured */
	bool switch_records;             /* the telemetry includes records of switches */
	struct ccs_path_telemetry telemetry;
	struct ccs_tenant_list rates;    /* advised to tenants, instead of that in telemetry */
	uint32_t active[CCS_AGENT_TENANTS]; /* flows of each tenant, part of request.active */
};

/* Telemetry that a peer requests, of its newest HELLO. */
struct ccs_subscription {
	uint32_t requested;              /* enum ccs_peer_flag */
	uint32_t flows;                  /* active flows */
	uint32_t announced;              /* flows that it announced since announced_ns */
	uint64_t announced_ns;
	uint32_t segment;                /* bytes per segment of its flows; 0: unknown */
	uint64_t period_ns;
	double rtt_us;                   /* as measured by the peer */
	struct ccs_tenant_list tenants;  /* that have some of the flows */
};

/* Another agent: the peer of clients' flows, a subscriber to CNPs or telemetry, or both. */
struct ccs_peer {
	struct ccs_hash_node link;       /* in peers.index, by ends */
	struct ccs_ends ends;
	uint32_t index;                  /* of its record in each region */
	uint32_t network;                /* hash of its network, below CCS_AGENT_NETWORKS */
	uint32_t serial;                 /* unique, never reused; 0: entry unused */
	uint64_t sequence;               /* last number sent */

	uint64_t incarnation;            /* the peer's; 0: unknown */
	uint64_t proven;                 /* incarnation that last answered a HELLO of ours */
	struct {
		uint64_t highest;        /* sequence number */
		uint64_t mask;           /* bit n: number highest - n has been received */
	} received;
	uint64_t last_seen_ns;           /* it last granted a lease; 0: never */
	uint32_t capabilities;           /* enum ccs_peer_flag, of its last HELLO_ACK */
	bool nic_counts_cnps;            /* the local NIC counts CNPs of flows towards it */

	uint32_t flows;                  /* of clients, towards it */
	uid_t uid;                       /* the user of the first of these */
	struct {
		unsigned attempts;       /* HELLOs since the last HELLO_ACK */
		bool pending;            /* a changed request is to be sent */
		uint64_t due_ns;         /* next HELLO */
		uint64_t awaited;        /* sequence number of the HELLO without a reply, or 0 */
		uint64_t sent_ns;        /* when that HELLO was sent */
		uint64_t first;          /* the oldest HELLO whose late reply counts */
		uint64_t first_ns;       /* when that HELLO was sent */
		uint64_t echo;           /* the peer's incarnation at that time */
	} hello;

	/* Telemetry that this host's flows request from the peer. */
	struct ccs_demand request, scan; /* of all its flows; found since request was renewed */
	uint32_t segment;                /* largest segment of its flows, bytes */
	uint64_t rtt_ns;                 /* between the agents; 0: not measured yet */
	uint64_t telemetry_sequence;     /* number of the newest ECHO or ADVICE */
	bool switch_records;             /* the telemetry includes records of switches */
	struct ccs_path_telemetry telemetry;
	struct ccs_tenant_list rates;    /* advised to tenants, instead of that in telemetry */
	uint32_t active[CCS_AGENT_TENANTS]; /* flows of each tenant, part of request.active */
	struct ccs_inbound inbound;
	struct {
		uint64_t until_ns;       /* it is a switch's agent; request records until then */
		uint32_t flows, period_us; /* and report these in HELLOs to it */
	} relay;

	/* Telemetry that the peer requests from this host. */
	struct ccs_port *ingress;        /* on which its data arrive; NULL: not measured */
	struct ccs_subscription subscription;
	struct { uint64_t ns, at_ns; } clock; /* its clock was at least ns at at_ns of ours;
	                                       * 0: unknown */

	uint64_t lease_ns;               /* it receives CNPs until then */
	uint64_t asked_ns;               /* its last HELLO that renewed the lease */
	uint64_t cnps_sent, cnps_received;
};

struct ccs_peers {
	struct ccs_index index;
	struct ccs_peer *peer;           /* CCS_SHM_PATHS */
	uint32_t *unused, nunused;       /* indexes, a stack */
	uint32_t high;                   /* lowest index above all used entries */
	uint32_t flowless;               /* entries that no flow of this host needs */
	uint16_t network_flowless[CCS_AGENT_NETWORKS]; /* of them, by network */
	uint32_t serial;
	uint64_t hello_due_ns;           /* no HELLO is due earlier, but to peers wanted since */
	void (*evicted)(struct ccs_agent *a, struct ccs_peer *p);
};

/* A user's part of a tenant's caps, in memory that its processes share with the agent. */
struct ccs_cap_page {
	struct ccs_cap_page *next;
	char name[64];                   /* the tenant's */
	uid_t uid;
	bool admin;                      /* its clients have CCS_STANDING_ADMIN */
	uint32_t clients;
	uint64_t left_ns;                /* when the last of them left, if it has none */
	int fd;
	struct ccs_cap *cap;             /* CCS_CAP_PORTS */
	double rate;                     /* the cap's, bit/s */
	struct {
		char device[64];
		uint32_t number;
	} port[CCS_CAP_PORTS];           /* of each cap in use */
	uint32_t ports;
};

/* A client's flow. */
struct ccs_agent_flow {
	struct ccs_hash_node link;       /* in flows.by_peer, with peer_qpn */
	struct ccs_hash_node qp_link;    /* in flows.by_qp, with its device */
	struct ccs_hash_node inbound_link; /* in flows.by_reader: peer, local_qpn */
	struct ccs_hash_node slot_link;  /* in flows.by_slot, with its client */
	struct ccs_agent_flow *next, **at; /* list of the client's flows; pointer to this flow */
	struct ccs_nic_counter_flow counter;
	struct ccs_client *client;
	struct ccs_peer *peer;
	uint32_t slot, port, local_qpn, peer_qpn;
	uint64_t sent, sent_ns;          /* slot->sent at the last scan; when it last changed */
	uint64_t read, read_ns;          /* the same for slot->read */
	bool sends_now, reads_now;       /* counted as active in the requests of its peer */
	bool reads;                      /* it has READ: its slot names the inbound record */
	char device[64];
};

/* The flow whose member is at that address. */
#define CCS_FLOW_OF(node, member) \
	((struct ccs_agent_flow *)((char *)(node) - offsetof(struct ccs_agent_flow, member)))

/* The rest of a user's share of a turn of the loop. */
struct ccs_share {
	uint64_t turn;                   /* in which it is valid */
	unsigned requests, flows;        /* to handle, and to scan */
};

struct ccs_user {
	bool known;                      /* false: entry unused */
	uid_t uid;                       /* CCS_NO_USER: unknown */
	uint32_t clients, flows;
	uint64_t paid_ns;                /* when all its requests will have been paid for */
	uint64_t status_ns;              /* when its next request for the status is answered */
	uint64_t regions_ns;             /* end of the refusal of its regions; except CCS_STANDING_ADMIN */
	struct ccs_share share;
};

/* A connected process. fd < 0: entry unused. */
struct ccs_client {
	struct ccs_source source;        /* first: the loop passes a pointer to it */
	pid_t pid;
	uid_t uid;                       /* CCS_NO_USER: unknown */
	struct ccs_user *user;
	enum ccs_standing standing;
	uint32_t tenant;                 /* 1 + its index in agent.flows.tenant; 0: it has none */
	struct ccs_cap_page *caps;       /* of its tenant and user, or NULL */
	bool paused;                     /* the loop does not wait for it until its user has a budget */
	bool hello_done;
	struct ccs_shm *shm;             /* NULL: the client shares no region */
	int shm_fd;                      /* the region's */
	bool punched;                    /* it has released memory of the region: to be closed */
	struct ccs_agent_flow *first;    /* of its flows */
	uint32_t flows;
	struct {
		uint64_t due_ns;         /* next scan of its flows */
		uint64_t began_ns;       /* the last scan */
		uint64_t newest_ns;      /* when the last flow that requests telemetry was added */
		struct ccs_agent_flow *next; /* the scan continues with it; NULL: none is in progress */
		bool found;              /* a flow that wants telemetry, by the scan in progress */
		bool wanted;             /* telemetry, by one of its flows at the last scan */
		bool done;               /* scanned since the peers' requests were last renewed */
	} scan;
	uint32_t *paths;                 /* number of flows per peer, by the peer's index */
};

/* One receiving QP whose packets arrived with CE marks. */
struct ccs_np_flow {
	uint64_t key;                    /* the peer's serial, direction, QPN; 0: unused */
	struct ccs_dcqcn_np np;
	uint32_t marked;                 /* since its last CNP */
	bool refused;                    /* no such QP, or it is connected to another peer */
	uint64_t check_ns;               /* when that is to be checked again */
};

enum ccs_refusal {
	CCS_REFUSED_PORT,                /* not from the port of agents */
	CCS_REFUSED_ADDRESS,             /* not to an address of an RDMA device */
	CCS_REFUSED_GARBAGE,
	CCS_REFUSED_VERSION,
	CCS_REFUSED_TYPE,
	CCS_REFUSED_AUTH,                /* wrong or missing authentication */
	CCS_REFUSED_INCARNATION,         /* an old or wrong incarnation */
	CCS_REFUSED_REPLAYED,
	CCS_REFUSED_PEER,                /* no flow, lease or subscription for that host */
	CCS_REFUSED_FLOW,                /* CNP for an unknown flow */
	CCS_REFUSED_LIMIT,               /* too many unverified HELLOs, or no free peer entry */
	CCS_REFUSALS
};

/* Counts in the status, in its order: CE-marked packets seen; dropped before; from senders without a
 * lease, or without data; for a QP that no flow of their sender has; that were CNPs themselves. CNPs,
 * among them those fed by clients, counted by NICs, and for data that flows here READ. Answers that
 * came after a further HELLO, and counted; ECHO, ADVICE and RECORDS; samples of links, and those
 * discarded because their time is uncertain; messages. */
#define CCS_AGENT_TOTALS(X) \
	X(ce_packets) X(ce_dropped) X(ce_unasked) X(ce_no_qp) X(ce_cnps) \
	X(cnps_sent) X(cnps_received) X(cnps_accepted) X(cnps_hooked) X(cnps_counted) X(cnps_inbound) \
	X(hellos_sent) X(hellos_received) X(answers_late) X(echoes_sent) X(echoes_received) \
	X(samples) X(samples_late) X(send_failed) X(messages_dropped) X(messages_marked)

struct ccs_agent_totals {
#define CCS_AGENT_TOTAL(name) uint64_t name;
	CCS_AGENT_TOTALS(CCS_AGENT_TOTAL)
#undef CCS_AGENT_TOTAL
	uint64_t refused[CCS_REFUSALS];
};

/* Kinds of warnings. */
enum ccs_agent_warning {
	CCS_AGENT_WARN_VERSION, CCS_AGENT_WARN_AUTH, CCS_AGENT_WARN_SEND, CCS_AGENT_WARN_DROPPED,
	CCS_AGENT_WARN_REGION, CCS_AGENT_WARN_CLIENTS, CCS_AGENT_WARN_PEERS,
	CCS_AGENT_WARN_IPC_VERSION, CCS_AGENT_WARN_ACCEPT, CCS_AGENT_WARN_OWNER,
	CCS_AGENT_WARN_CAPACITY, CCS_AGENT_WARN_PORT,
	CCS_AGENT_WARN_FLOWS, CCS_AGENT_WARN_QPS, CCS_AGENT_WARN_INHERITED,
	CCS_AGENT_WARN_SHARED_PORT, CCS_AGENT_WARN_PUNCHED,
	CCS_AGENT_WARNINGS
};

struct ccs_closing;
struct ccs_udp;
struct ccs_capture;
struct ccs_relayed;
struct ccs_hello_limit;

struct ccs_agent {
	struct ccs_agent_config config;
	uint64_t incarnation;            /* when it started, ns since 1970 */
	uint64_t key[2], salt;           /* random: for incarnations, and for hash tables */
	uint64_t opened_ns;
	struct {
		uint64_t tick_ns;
		uint64_t alive_ns;       /* call of config.alive */
		uint64_t counters_ns;    /* poll of the NICs' counters */
		uint64_t demand_ns;      /* scan of clients' flows */
	} due;                           /* when each is done next */
	int epoll;
	uint64_t turn;                   /* number of the present turn of the loop */
	struct ccs_source stop;
	bool stopping;
	struct {
		uint64_t next_ns[CCS_AGENT_WARNINGS]; /* when that kind may be issued next */
		uint32_t unreported[CCS_AGENT_WARNINGS];
	} warning;
	struct ccs_agent_totals totals;

	struct ccs_address address[CCS_AGENT_ADDRESSES]; /* config.naddresses of them */
	struct ccs_udp *udp;
	unsigned nudp;
	struct ccs_gids gids;
	void (*received)(struct ccs_agent *a, const struct ccs_ends *ends, const void *data,
			 size_t len);    /* called for each datagram */
	struct ccs_capture *capture;
	unsigned ncaptures;

	unsigned inherited_used;         /* of config.inherited */
	struct {
		struct ccs_source source;
		bool active;             /* the loop waits for it */
		dev_t dev;               /* of the socket file that the agent bound; 0: none */
		ino_t ino;
	} listener;
	struct {
		int fd;                  /* a connection for which it has no place, or -1 */
		uid_t uid;               /* the user of that connection */
	} refused;
	uid_t unmapped;                  /* as ccs_users_unmapped() */
	struct ccs_client *client;       /* CCS_AGENT_CLIENTS */
	unsigned nclients;
	struct ccs_user *user;           /* CCS_AGENT_USERS */
	struct ccs_closing *closing;
	struct {
		struct ccs_index by_peer, by_qp, by_reader, by_slot;
		uint32_t n, users;       /* flows; users that have some */
		struct ccs_agent_tenant tenant[CCS_AGENT_TENANTS];
		unsigned tenants;
		struct ccs_cap_page *caps; /* a list */
		uint64_t caps_due;       /* bit n: flows of tenant n get its cap at the next tick */
	} flows;
	struct ccs_nic_counters counters;
	struct ccs_peers peers;
	struct ccs_np_flow *np;
	uint64_t qp_checks_ns;           /* later by a fixed time with each check of a QP */

	struct {
		uint32_t n;              /* as the kernel counts them */
		uint64_t counted_ns;     /* when they were counted; 0: never */
	} host_qps;
	struct {
		bool wanted;             /* telemetry, by at least one flow */
	} demand;
	struct ccs_port *port;           /* CCS_AGENT_PORTS */
	unsigned nports;                 /* published ones, the first entries */
	struct ccs_netlink netlink;      /* for qdisc queries; fd -1: closed */
	struct ccs_address switches[CCS_AGENT_SWITCHES];
	struct ccs_relayed *relayed;     /* CCS_AGENT_RELAYED */

	struct ccs_hello_limit *hello_limit;
};

#endif
