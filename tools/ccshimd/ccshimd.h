/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_H
#define CCS_TOOLS_CCSHIMD_H
#include "agent/agent.h"
#include "config/tenant.h"

/* "ccshimd: text" to stderr. */
void agent_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns an exit status: what was printed may not have been written. */
int agent_flush_stdout(void);

/*
 * Authentication between agents that share keys: each message ends with a BLAKE2b tag keyed with
 * one of them (libsodium's crypto_generichash, 32 bytes). The tag does not prevent replay;
 * incarnations and sequence numbers do, see feedback/wire.h.
 *
 * Read the keys of a file (key_file.h) and replace the keys of *auth, which is zeroed at first. 0; -1
 * with an error text if the file is not a key file of this user, or this build has no libsodium
 * (errno ENOTSUP); *auth is then unchanged. It is valid until auth_close().
 */
int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len);

/* The keys' ids, prefixes and marks, as in the file. */
void auth_describe(const struct ccs_agent_auth *auth, char *buf, size_t len);

/* Overwrite the keys. Has no effect on a zeroed *auth. */
void auth_close(struct ccs_agent_auth *auth);

/*
 * Keys per pair of hosts, derived from a site's key. A host that has only its derived keys cannot
 * authenticate messages of one other host to another.
 *
 * The file of hosts has a line for each host with all its addresses. For each key of the site that is
 * for all peers, and each two hosts, the key is BLAKE2b-256, keyed with the site's key, of "ccshim
 * pair" and the first addresses of the two lines as IPv6 addresses, the lower one first.
 *
 * Print the key file of the host that has that address: for each address of another host, a line for
 * each of the site's keys, with the same ID and mark. 0, or -1 with an error text.
 */
int derive_keys(const char *site_file, const char *hosts_file, const char *address, char *err, unsigned long len);

/*
 * A seccomp filter: system calls that a running agent does not make fail with EPERM, and the kernel
 * logs them. The agent is not killed: a C library may try a new call and fall back to an old call,
 * and a refused call does not help an attacker.
 *
 * For all threads, permanently. removes_socket: the agent removes its socket's file at the end.
 * 0, or an errno; ENOTSUP: built without libseccomp, or with a sanitizer.
 */
int filter_system_calls(bool removes_socket);

/* The options that describe links. The strings that they point to are never freed.
 * INTERFACE=RATE. 0, or -1 after an error message. */
int parse_capacity(const char *text, struct ccs_agent_capacity *c);

/* PORT[,to=PREFIX][,from=PREFIX][,hop=N][,rate=RATE]. 0, or -1 after an error message. */
int parse_publication(const char *text, struct ccs_agent_publication *p);

/* The tenants of the configuration file, for the agent. */
struct tenants {
	const char *file;
	bool named;              /* by an option */
	bool has_key;
	char host[64];
	double port;             /* capacity of the fastest, bit/s; 0: unknown */
	struct ccs_tenants now, read;
};

/* Set the agent's callbacks; file: NULL: the system's file. Call before privileges are dropped. */
void tenants_open(struct tenants *t, const char *file, struct ccs_agent_config *config);

#endif
