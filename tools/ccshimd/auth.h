/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_AUTH_H
#define CCS_TOOLS_CCSHIMD_AUTH_H
/*
 * Authentication between agents that share a key: each message ends with a BLAKE2b tag keyed with
 * it (libsodium's crypto_generichash, 32 bytes). The tag does not prevent replay; incarnations and
 * sequence numbers do, see feedback/wire.h.
 */
#include "agent/agent.h"

/* The file contains a key of 16 to 64 bytes as hexadecimal digits, with optional white space around
 * them, or 16 to 64 bytes of other data, where trailing line breaks do not count. */
enum { AUTH_KEY_MIN = 16, AUTH_KEY_MAX = 64 };

/*
 * Read the key. 0; -1 with an error text if the file does not exist, users other than its owner
 * and root's group may read it, users other than its owner may write it, its owner is neither root
 * nor the caller, the key is too short or too long, or this build has no libsodium (errno
 * ENOTSUP). *auth is valid until auth_close().
 */
int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len);

/* Overwrite the key. Has no effect if auth_open() failed on a zeroed *auth. */
void auth_close(struct ccs_agent_auth *auth);

#endif
