/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_KEY_FILE_H
#define CCS_TOOLS_CCSHIMD_KEY_FILE_H
/*
 * The file of the keys that agents share. It is either one key, with the id 0: 16 to 64 bytes as
 * hexadecimal digits, with optional white space around them, or 16 to 64 bytes of other data, where
 * trailing line breaks do not count. Or its first line is "[keys]", and each other line has a key:
 *
 *   ID HEX [PREFIX] [send]
 *
 * Lines that are empty or begin with # do not count. The keys with the longest prefix that covers a
 * peer's address are for that peer. If several keys have one prefix, one key is marked with send.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"

enum { KEY_MIN = 16, KEY_MAX = 64, KEYS_MAX = 16384 };

struct key {
	uint8_t id;
	bool sends;                      /* messages to peers with that prefix use it */
	struct ccs_prefix prefix;        /* of peers' addresses; 0 bits: all */
	unsigned line;                   /* in the file */
	size_t len;
	unsigned char bytes[KEY_MAX];
};

/* In memory that is not swapped and not included in core dumps. */
struct keys {
	unsigned n;
	unsigned hosts;                  /* the first keys: for one address each, in its order */
	struct key key[];
};

/*
 * Read the keys. NULL, with an error text that includes the remedy, if the file does not exist, users
 * other than its owner and root's group may read it, users other than its owner may write it, its
 * owner is not root and not the caller, or its contents do not match the description above. Release
 * them with sodium_free().
 */
struct keys *key_file_read(const char *file, char *err, size_t len);

#endif
