/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccshimd.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"

#ifndef HAVE_LIBSODIUM

int derive_keys(const char *site_file, const char *hosts_file, const char *address, char *err, unsigned long len)
{
	(void)hosts_file, (void)address;
	return ccs_refuse(err, len, "%s: this ccshimd was built without libsodium; build it with libsodium-dev",
			  site_file);
}

#else

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "key_file.h"

enum { PAIR_KEY = 32 };

static const char space[] = " \t\r\n";

struct job {
	const struct keys *site;
	struct ccs_address self;         /* first address of the host's line */
	const char *hosts_file;
	char *err;
	size_t err_len;
};

static void compute_key(const struct key *site, const struct ccs_address *a, const struct ccs_address *b,
			unsigned char out[PAIR_KEY])
{
	const bool ordered = memcmp(a->b, b->b, sizeof(a->b)) < 0;
	crypto_generichash_state state;

	crypto_generichash_init(&state, site->bytes, site->len, PAIR_KEY);
	crypto_generichash_update(&state, (const unsigned char *)"ccshim pair", 11);
	crypto_generichash_update(&state, ordered ? a->b : b->b, sizeof(a->b));
	crypto_generichash_update(&state, ordered ? b->b : a->b, sizeof(a->b));
	crypto_generichash_final(&state, out, PAIR_KEY);
	sodium_memzero(&state, sizeof(state));
}

/* Called with the first address of a line and each address of it, in order. Nonzero ends the file. */
typedef int visitor(struct job *job, const struct ccs_address *first, const struct ccs_address *address,
		    void *arg);

static int visit_line(struct job *job, char *line, unsigned number, visitor *visit, void *arg)
{
	struct ccs_address first, address;
	bool has_first = false;
	char *rest;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, space, &rest); word; word = strtok_r(NULL, space, &rest)) {
		if (ccs_address_parse(word, &address))
			return ccs_refuse(job->err, job->err_len, "%s: line %u: '%.60s' is not an address",
					  job->hosts_file, number, word);
		if (!has_first)
			first = address;
		has_first = true;
		if (visit(job, &first, &address, arg))
			return 1;
	}
	return 0;
}

static int visit_hosts(struct job *job, visitor *visit, void *arg)
{
	FILE *f = fopen(job->hosts_file, "re");
	unsigned number = 0;
	char *line = NULL;
	size_t size = 0;
	int rc = 0;

	if (!f)
		return ccs_refuse(job->err, job->err_len, "%s: %s", job->hosts_file, strerror(errno));
	while (!rc && getline(&line, &size, f) >= 0)
		rc = visit_line(job, line, ++number, visit, arg);
	free(line);
	fclose(f);
	return rc;
}

static int find_self(struct job *job, const struct ccs_address *first, const struct ccs_address *address,
		     void *self)
{
	if (!ccs_address_equal(address, self))
		return 0;
	job->self = *first;
	return 1;
}

static int print_peer(struct job *job, const struct ccs_address *first, const struct ccs_address *address,
		      void *arg)
{
	unsigned char key[PAIR_KEY];
	char hex[2 * PAIR_KEY + 1], text[INET6_ADDRSTRLEN];

	(void)arg;
	if (ccs_address_equal(first, &job->self))
		return 0;
	for (const struct key *k = job->site->key; k < job->site->key + job->site->n; k++) {
		compute_key(k, &job->self, first, key);
		printf("%u %s %s/%d%s\n", k->id, sodium_bin2hex(hex, sizeof(hex), key, sizeof(key)),
		       ccs_address_text(address, text), ccs_address_is_v4(address) ? 32 : 128,
		       k->sends ? " send" : "");
	}
	sodium_memzero(key, sizeof(key));
	sodium_memzero(hex, sizeof(hex));
	return 0;
}

int derive_keys(const char *site_file, const char *hosts_file, const char *text, char *err, unsigned long len)
{
	struct job job = { .hosts_file = hosts_file, .err = err, .err_len = len };
	struct ccs_address address;
	struct keys *site;
	int rc;

	if (ccs_address_parse(text, &address))
		return ccs_refuse(err, len, "--derive %s: expected an address of a host in --hosts", text);
	if (sodium_init() < 0 || !(site = key_file_read(site_file, err, len)))
		return -1;
	for (unsigned i = 0; i < site->n; i++)
		if (site->key[i].prefix.bits) {
			sodium_free(site);
			return ccs_refuse(err, len, "%s: a site's keys are for all peers: remove the prefixes",
					  site_file);
		}
	job.site = site;
	rc = visit_hosts(&job, find_self, &address);
	if (rc == 0)
		rc = ccs_refuse(err, len, "%s: no line has the address %s: add the host", hosts_file, text);
	if (rc > 0) {
		printf("[keys]\n# of %s, derived by ccshimd --derive\n", text);
		rc = visit_hosts(&job, print_peer, NULL);
	}
	sodium_free(site);
	return rc;
}

#endif
