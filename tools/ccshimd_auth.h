/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_AUTH_H
#define CCS_TOOLS_CCSHIMD_AUTH_H
/*
 * Agents that share a key: what they send each other ends in a BLAKE2b tag keyed with it
 * (libsodium's crypto_generichash, 32 bytes). A tag tells who wrote a message, not that
 * it is new; for that there are sessions and sequence numbers, see signal/wire.h.
 */
#include "agent/agent.h"

/* The file's format: a key of 16 to 64 bytes as hexadecimal digits, white space around
 * them; or 16 to 64 bytes of anything else, and line breaks at the end that do not count. */
enum { AUTH_KEY_MIN = 16, AUTH_KEY_MAX = 64 };

/*
 * Reads the key. 0; else -1, and a sentence: the file is not there, others than its owner
 * and root's group may read it, or others than its owner write it, its owner is neither root nor the caller, the key is too short or
 * too long, or this build has no libsodium (errno ENOTSUP). *auth serves until auth_close().
 */
int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len);

/* Overwrites the key. Harmless where auth_open() failed on a zeroed *auth. */
void auth_close(struct ccs_agent_auth *auth);

#endif
