/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_AUTH_H
#define CCS_TOOLS_CCSHIMD_AUTH_H
/*
 * Authentication between agents that share keys: each message ends with a BLAKE2b tag keyed with
 * one of them (libsodium's crypto_generichash, 32 bytes). The tag does not prevent replay;
 * incarnations and sequence numbers do, see feedback/wire.h.
 */
#include "agent/agent.h"

/*
 * Read the keys of a file (key_file.h) and replace the keys of *auth, which is zeroed at first. 0; -1
 * with an error text if the file is not a key file of this user, or this build has no libsodium
 * (errno ENOTSUP); *auth is then unchanged. It is valid until auth_close().
 */
int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len);

/* The keys' ids, prefixes and marks, as in the file. */
void auth_describe(const struct ccs_agent_auth *auth, char *buf, size_t len);

/* Overwrite the keys. Has no effect on a zeroed *auth. */
void auth_close(struct ccs_agent_auth *auth);

#endif
