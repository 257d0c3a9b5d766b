/* SPDX-License-Identifier: BSD-2-Clause */
#include "parsers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/conf.h"
#include "config/plugin.h"
#include "config/request.h"
#include "config/rules.h"
#include "config/tenant.h"
#include "feedback/wire.h"
#include "tools/ccshim/stat/stat.h"
#include "tools/ccshimd/ccshimd.h"

_Noreturn void fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

/* -- records of telemetry ------------------------------------------------------------ */

/* Decoding and encoding again gives the same bytes. */
static void check_same_again(const struct ccs_wire_message *m)
{
	struct ccs_wire_message copy = *m, again;
	uint8_t data[CCS_WIRE_MAX], other[CCS_WIRE_MAX];
	const size_t len = ccs_wire_encode(&copy, data);

	FUZZ_CHECK(len && len <= CCS_WIRE_MAX);
	FUZZ_CHECK(ccs_wire_decode(data, len, &again) == CCS_WIRE_OK);
	FUZZ_CHECK(ccs_wire_encode(&again, other) == len && memcmp(data, other, len) == 0);
}

/* A body of ECHO, RECORDS or ADVICE after a valid header. */
static void fuzz_records(const uint8_t *bytes, size_t len)
{
	static const uint8_t types[] = { CCS_WIRE_ECHO, CCS_WIRE_RECORDS, CCS_WIRE_ADVICE };
	uint8_t data[CCS_WIRE_MAX] = "CCSW";
	struct ccs_wire_message m;

	if (len < 1)
		return;
	data[4] = CCS_WIRE_VERSION;
	data[5] = types[bytes[0] % 3];
	data[7] = bytes[0] / 3 % 4; /* tenants after the body */
	data[8] = 1; /* the incarnation */
	len -= 1;
	if (len > sizeof(data) - CCS_WIRE_HEADER)
		len = sizeof(data) - CCS_WIRE_HEADER;
	memcpy(data + CCS_WIRE_HEADER, bytes + 1, len);
	if (ccs_wire_decode(data, len + CCS_WIRE_HEADER, &m) == CCS_WIRE_OK)
		check_same_again(&m);
}

/* -- statistics files ------------------------------------------------------------------ */

static bool is_text(const char *text, size_t len)
{
	return memchr(text, 0, len) != NULL;
}

static void check_process(const struct stat_process *p)
{
	const char *refusal = stat_refusal(&p->h);
	const struct ccs_job job = stat_job(&p->h);

	FUZZ_CHECK(p->count <= CCS_STATS_MAX_SLOTS);
	FUZZ_CHECK(!refusal || is_text(refusal, sizeof(p->h.mailbox.answer)));
	FUZZ_CHECK(is_text(job.container, sizeof(job.container)));
	FUZZ_CHECK(is_text(p->h.program, sizeof(p->h.program)));
	for (size_t i = 0; i < p->count; i++) {
		FUZZ_CHECK(is_text(p->qp[i].q.device, sizeof(p->qp[i].q.device)));
		FUZZ_CHECK(p->qp[i].q.nhops <= CCS_STATS_MAX_HOPS);
	}
}

/*
 * A file in memory of exactly its size: a valid header and slots, in which the bytes replace some
 * words: 2 bytes say which one, 8 what it becomes.
 */
static void fuzz_statistics(const uint8_t *bytes, size_t len)
{
	enum { SLOTS = 2, EDIT = 10, SLOT = sizeof(struct ccs_stats_slot) };
	const size_t whole = sizeof(struct ccs_stats_header) + SLOTS * SLOT;
	const size_t size = len ? whole - bytes[0] % 4u * 8 * bytes[0] : 0;
	struct ccs_stats_header h = {
		.magic = CCS_STATS_MAGIC, .major = CCS_STATS_MAJOR, .minor = CCS_STATS_MINOR,
		.header_size = sizeof(h), .slot_size = SLOT, .slots = SLOTS,
	};
	struct stat_process p = { 0 };
	uint8_t *file = malloc(size + !size);

	memset(file, 1, size);
	memcpy(file, &h, size < sizeof(h) ? size : sizeof(h));
	for (size_t at = 1; at + EDIT <= len; at += EDIT) {
		const size_t word = (bytes[at] | bytes[at + 1] << 8) % (size / 8 + 1);

		if (word * 8 + 8 <= size)
			memcpy(file + word * 8, bytes + at + 2, 8);
	}
	if (stat_parse_mapped(file, size, len % 8 == 1, &p)) {
		check_process(&p);
		free(p.qp);
	}
	free(file);
}

/* -- configuration ------------------------------------------------------------------------ */

/* Replaces the function of plugin.c: bytes by chance load no code. */
const struct ccs_cc_ops *__wrap_ccs_plugin_load(const char *path, char *err, size_t errlen);
const struct ccs_cc_ops *__wrap_ccs_plugin_load(const char *path, char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: no plug-ins here", path);
	return NULL;
}

static void ignore_complaint(void *arg, const char *sentence)
{
	FUZZ_CHECK(*sentence);
	++*(int *)arg;
}

static void fuzz_config(const uint8_t *bytes, size_t len)
{
	const struct ccs_match_subject subject = { .device = "mlx5_0", .port = 1 };
	const char *file = fuzz_file(bytes, len);
	static struct ccs_tenants tenants;
	struct ccs_options o;
	struct ccs_rules r;
	int complaints = 0;

	if (!ccs_tenants_read(&tenants, file, ignore_complaint, &complaints))
		ccs_tenants_check_guarantees(&tenants, 10e9, ignore_complaint, &complaints);
	FUZZ_CHECK(tenants.n <= CCS_TENANTS_MOST);
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	setenv("CCSHIM_CONFIG", file, 1);
	if (ccs_rules_load(&r, &(struct ccs_match_subject){ .known = CCS_MATCH_APP, .app = "app" }, ignore_complaint, &complaints) < 0)
		return;
	ccs_rules_resolve(&r, &subject, &o, NULL, ignore_complaint, &complaints);
	ccs_rules_free(&r);
}

static void fuzz_set_request(const uint8_t *bytes, size_t len)
{
	char text[CCS_REQUEST_LEN] = "", err[512];
	struct ccs_request r;
	struct ccs_options o;

	memcpy(text, bytes, len < sizeof(text) ? len : sizeof(text));
	if (ccs_request_parse(&r, text, err, sizeof(err))) {
		FUZZ_CHECK(is_text(err, sizeof(err)));
		return;
	}
	FUZZ_CHECK(r.count <= CCS_REQUEST_MAX);
	ccs_options_default(&o);
	ccs_request_apply(&r, &o, err, sizeof(err));
	for (size_t i = 0; i < ccs_opt_count; i++)
		if (ccs_request_sets(&r, &ccs_opt_table[i]))
			FUZZ_CHECK(r.count);
}

/* -- keys ------------------------------------------------------------------------------- */

static void fuzz_key(const uint8_t *bytes, size_t len)
{
	const struct ccs_address peer = ccs_address_of_v4("\1\0\0\1");
	struct ccs_agent_auth auth = { 0 };
	uint8_t tag[CCS_WIRE_TAG];
	char err[512] = "";
	int key;

	if (auth_open(&auth, fuzz_file(bytes, len), err, sizeof(err))) {
		FUZZ_CHECK(*err);
		return;
	}
	key = auth.select(auth.arg, &peer);
	if (key >= 0) {
		auth.tag(auth.arg, &peer, (uint8_t)key, bytes, len, tag);
		FUZZ_CHECK(auth.check(auth.arg, &peer, (uint8_t)key, bytes, len, tag));
		tag[len % CCS_WIRE_TAG] ^= 1;
		FUZZ_CHECK(!auth.check(auth.arg, &peer, (uint8_t)key, bytes, len, tag));
	}
	auth_close(&auth);
}

const struct fuzz_target fuzz_targets[FUZZ_TARGETS] = {
	{ "messages of agents", fuzz_messages },
	{ "requests of processes", fuzz_requests },
	{ "telemetry records", fuzz_records },
	{ "statistics files", fuzz_statistics },
	{ "configuration files", fuzz_config },
	{ "requests of ccshim set", fuzz_set_request },
	{ "key files", fuzz_key },
	{ "topologies", fuzz_topology },
	{ "JSON", fuzz_json },
	{ "traces", fuzz_trace },
	{ "recordings", fuzz_recording },
	{ "plots of traces", fuzz_plot },
	{ "ELF files", fuzz_elf },
	{ "needed libraries", fuzz_needed },
	{ "baselines", fuzz_baseline },
};

void fuzz_parsers(const uint8_t *bytes, size_t len)
{
	if (len)
		fuzz_targets[bytes[0] % FUZZ_TARGETS].run(bytes + 1, len - 1);
}
