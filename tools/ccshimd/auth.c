/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshimd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_LIBSODIUM

int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len)
{
	(void)auth;
	snprintf(err, len, "%s: this ccshimd was built without libsodium, and cannot "
		 "authenticate; build it with libsodium-dev", file);
	errno = ENOTSUP;
	return -1;
}

void auth_describe(const struct ccs_agent_auth *auth, char *buf, size_t len)
{
	(void)auth;
	snprintf(buf, len, "none");
}

void auth_close(struct ccs_agent_auth *auth)
{
	(void)auth;
}

#else

#include <sodium.h>

#include "key_file.h"

_Static_assert(KEY_MIN >= crypto_generichash_KEYBYTES_MIN, "BLAKE2b takes it");
_Static_assert(KEY_MAX <= crypto_generichash_KEYBYTES_MAX, "BLAKE2b takes it");
_Static_assert(CCS_WIRE_TAG >= crypto_generichash_BYTES_MIN &&
	       CCS_WIRE_TAG <= crypto_generichash_BYTES_MAX, "BLAKE2b makes it");

enum { SENDING = -1 };

static int compare_address(const void *address, const void *key)
{
	return memcmp(address, ((const struct key *)key)->prefix.address.b, sizeof(struct ccs_address));
}

/* The first key of the longest prefix that covers the peer; NULL: not found. */
static const struct key *first_key(const struct keys *ks, const struct ccs_address *peer)
{
	const struct key *k = bsearch(peer->b, ks->key, ks->hosts, sizeof(*k), compare_address);

	while (k && k > ks->key && ccs_address_equal(&k[-1].prefix.address, peer) && k[-1].prefix.bits == 128)
		k--;
	for (unsigned i = ks->hosts; !k && i < ks->n; i++)
		if (ccs_prefix_covers(&ks->key[i].prefix, peer))
			k = &ks->key[i];
	return k;
}

/* The key of a peer with that id, or the key to send with; NULL: not found. */
static const struct key *find_key(const struct keys *ks, const struct ccs_address *peer, int id)
{
	const struct key *first = first_key(ks, peer);

	for (const struct key *k = first; k && k < ks->key + ks->n && k->prefix.bits == first->prefix.bits &&
	     ccs_address_equal(&k->prefix.address, &first->prefix.address); k++)
		if (id == SENDING ? k->sends : k->id == id)
			return k;
	return NULL;
}

static int select_key(void *arg, const struct ccs_address *peer)
{
	const struct key *k = find_key(arg, peer, SENDING);

	return k ? k->id : -1;
}

static void compute_tag(const struct key *k, const void *message, size_t len,
			uint8_t out[CCS_WIRE_TAG])
{
	crypto_generichash(out, CCS_WIRE_TAG, message, len, k->bytes, k->len);
}

static void tag(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		size_t len, uint8_t out[CCS_WIRE_TAG])
{
	compute_tag(find_key(arg, peer, key), message, len, out);
}

/* The comparison takes constant time. */
static bool check(void *arg, const struct ccs_address *peer, uint8_t key, const void *message,
		  size_t len, const uint8_t given[CCS_WIRE_TAG])
{
	const struct key *k = find_key(arg, peer, key);
	uint8_t right[CCS_WIRE_TAG];

	if (!k)
		return false;
	compute_tag(k, message, len, right);
	return sodium_memcmp(right, given, CCS_WIRE_TAG) == 0;
}

int auth_open(struct ccs_agent_auth *auth, const char *file, char *err, size_t len)
{
	struct keys *ks;

	if (sodium_init() < 0) {
		snprintf(err, len, "%s: libsodium cannot be initialised", file);
		return -1;
	}
	ks = key_file_read(file, err, len);
	if (!ks)
		return -1;
	auth_close(auth);
	*auth = (struct ccs_agent_auth){
		.arg = ks, .select = select_key, .tag = tag, .check = check,
	};
	return 0;
}

static int describe_key(const struct key *k, char *buf, size_t len)
{
	const bool v4 = ccs_address_is_v4(&k->prefix.address);
	char address[INET6_ADDRSTRLEN], peers[INET6_ADDRSTRLEN + 8] = "";

	if (k->prefix.bits)
		snprintf(peers, sizeof(peers), " %s/%u",
			 ccs_address_text(&k->prefix.address, address), k->prefix.bits - (v4 ? 96 : 0));
	return snprintf(buf, len, "%u%s%s", k->id, peers, k->sends ? " send" : "");
}

void auth_describe(const struct ccs_agent_auth *auth, char *buf, size_t len)
{
	const struct keys *ks = auth->arg;
	size_t at = 0;

	*buf = '\0';
	for (unsigned i = 0; i < ks->n && at < len; i++) {
		at += (size_t)snprintf(buf + at, len - at, i ? ", " : "");
		if (at < len)
			at += (size_t)describe_key(&ks->key[i], buf + at, len - at);
	}
}

void auth_close(struct ccs_agent_auth *auth)
{
	sodium_free(auth->arg);
	*auth = (struct ccs_agent_auth){ 0 };
}

#endif
