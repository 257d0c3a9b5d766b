/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of `ccshim set`: parsing of untrusted text, and applying the settings. */
#include "test.h"

#include <string.h>

#include "config/request.h"
#include "config/rules.h"
#include "seed.h"

static char err[512];

static int parse(struct ccs_request *r, const char *text)
{
	char full[CCS_REQUEST_LEN] = "";

	snprintf(full, sizeof(full), "%s", text);
	*err = '\0';
	return ccs_request_parse(r, full, err, sizeof(err));
}

/* Apply the request to the options; on failure err has the reason. */
static int apply(struct ccs_options *o, const char *text)
{
	struct ccs_request r;

	assert_int_equal(parse(&r, text), 0);
	return ccs_request_apply(&r, o, err, sizeof(err));
}

TEST(first_line_selects_queue_pairs)
{
	struct ccs_request r;

	assert_int_equal(parse(&r, "all\n"), 0);
	assert_true(!r.one && !r.only_new && !r.match.keys && !r.count);
	assert_int_equal(parse(&r, "qp 17\nmax_inflight=1m"), 0);
	assert_true(r.one && r.lqpn == 17 && r.count == 1);
	assert_string_equal(r.setting[0].name, "max_inflight");
	assert_string_equal(r.setting[0].value, "1m");
	assert_int_equal(parse(&r, "new\n"), 0);
	assert_true(r.only_new);
	assert_int_equal(parse(&r, "new peer 10.0.0.0/8\na=b=c\n\nd=\n"), 0);
	assert_true(r.only_new && r.match.keys == CCS_MATCH_PEER && r.match.peer.bits == 104);
	assert_string_equal(r.setting[0].value, "b=c");
	assert_string_equal(r.setting[1].value, "");
}

static const struct { const char *text, *part; } unreadable[] = {
	{ "", "is not all, qp, peer or new" },
	{ "all of them\n", "is not all, qp, peer or new" },
	{ "new all\n", "is not all, qp, peer or new" },
	{ "new qp 3\n", "is not all, qp, peer or new" },
	{ "qp\n", "is not all, qp, peer or new" },
	{ "qp x\n", "is not a queue pair number" },
	{ "qp 0x11\n", "is not a queue pair number" },
	{ "qp 16777216\n", "is not a queue pair number" },
	{ "peer\n", "is not all, qp, peer or new" },
	{ "peer 10.0.0\n", "is not an address" },
	{ "all\nmax_inflight\n", "'max_inflight' is not NAME=VALUE" },
	{ "all\n=1m\n", "is not NAME=VALUE" },
};

TEST(malformed_requests_are_reported)
{
	char full[CCS_REQUEST_LEN], many[CCS_REQUEST_LEN] = "all\n";
	struct ccs_request r;

	for (size_t i = 0; i < sizeof(unreadable) / sizeof(*unreadable); i++)
		if (!parse(&r, unreadable[i].text) || !strstr(err, unreadable[i].part))
			fail_msg("%s: %s", unreadable[i].text, err);
	memset(full, 'a', sizeof(full));
	assert_int_equal(ccs_request_parse(&r, full, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "longer than"));
	for (int i = 0; i <= CCS_REQUEST_MAX; i++)
		strcat(many, "max_inflight=1m\n");
	assert_int_equal(parse(&r, many), -1);
	assert_non_null(strstr(err, "more than 32 settings"));
}

static const struct { const char *before, *asked, *after; } params[] = {
	{ "timely", "beta=0.5", "timely:beta=0.5" },
	{ "timely:beta=0.1", "beta=0.5", "timely:beta=0.5" },
	{ "timely:beta=0.1,alpha=0.3", "beta=0.5", "timely:alpha=0.3,beta=0.5" },
	{ "timely:alpha=0.3,beta=0.1", "beta=0.5", "timely:alpha=0.3,beta=0.5" },
	{ "timely:t_low=9us,beta=0.1,alpha=0.3", "beta=0.5\nt_low=8us",
	  "timely:alpha=0.3,beta=0.5,t_low=8us" },
	{ "timely:beta=0.1", "cc=dcqcn\nrate_ai=40m", "dcqcn:rate_ai=40m" },
	{ "timely", "cc=timely:beta=0.3\nalpha=0.4", "timely:beta=0.3,alpha=0.4" },
};

TEST(parameters_are_set_in_the_current_algorithm)
{
	char text[256];

	for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++) {
		struct ccs_options o;

		ccs_options_default(&o);
		strcpy(o.cc, params[i].before);
		snprintf(text, sizeof(text), "all\n%s\n", params[i].asked);
		if (apply(&o, text) || strcmp(o.cc, params[i].after) != 0)
			fail_msg("%s, %s: %s %s", params[i].before, params[i].asked, o.cc, err);
	}
}

static const struct { const char *asked, *part; } refused[] = {
	{ "max_rate=fast", "max_rate: 'fast' is not a rate such as 10g" },
	{ "mode=of", "did you mean 'off'?" },
	{ "cc=timly", "cc: there is no algorithm 'timly'; did you mean 'timely'?" },
	{ "cc=timely:betta=1", "did you mean 'beta'?" },
	{ "betta=1", "'betta' is neither an option nor a parameter of timely; did you mean 'beta'?" },
	{ "max_rat=1g", "neither an option nor a parameter of timely; did you mean 'max_rate'?" },
	{ "beta=2000", "beta" },
	{ "beta=0.1,alpha=1", "beta: '0.1,alpha=1' has a comma" },
	{ "report=/tmp/x", "report applies to the whole process and cannot be changed while it runs" },
	{ "agent=/x", "agent applies to the whole process" },
	{ "segment=64k\nmax_inflight=4k", "max_inflight: it is smaller than one segment of 64k" },
	{ "split=n\nsplit_imm=y", "split_imm: y requires split=y" },
	{ "cc=/tmp/mine.so", "a plug-in is loaded only when a process starts" },
	{ "max_rate=1g\nmax_inflight=1", "max_inflight: '1' is out of range" },
};

TEST(invalid_settings_are_reported)
{
	char text[256];

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct ccs_options o;

		ccs_options_default(&o);
		snprintf(o.cc, sizeof(o.cc), "timely");
		snprintf(text, sizeof(text), "all\n%s\n", refused[i].asked);
		if (!apply(&o, text) || !strstr(err, refused[i].part))
			fail_msg("%s: %s", refused[i].asked, err);
	}
}

TEST(request_knows_which_options_it_sets)
{
	struct ccs_request r;

	assert_int_equal(parse(&r, "all\nbeta=0.5\nmax_inflight=1m"), 0);
	assert_true(ccs_request_sets(&r, ccs_opt_find("max_inflight")));
	assert_true(ccs_request_sets(&r, ccs_opt_find("cc")));
	assert_false(ccs_request_sets(&r, ccs_opt_find("mode")));
}

/* A request is untrusted: it is refused, or it yields valid options. */
TEST(random_requests_are_refused_or_valid)
{
	static const char letters[] = "all\nqp 17\nnew peer 10.0.0.0/8::\nmode=off\ncc=timely:beta=,"
				      "max_rate=1g\nsegment=4k\n\n\n==";
	static const char *const words[] = {
		"all\n", "qp 3\n", "new peer ::/0\n", "mode=observe\n", "cc=", "timely", "dcqcn",
		":beta=0.5", ",alpha=1", "\n", "beta=0.2\n", "max_inflight=1m\n", "segment=", "64k", "/x.so",
		"max_rate=1g\n", "=", "\xff", "a" };
	unsigned good = 0;

	seed_start("requests");
	for (unsigned i = 0; i < 30000; i++) {
		char text[CCS_REQUEST_LEN] = "all\n", again[512];
		struct ccs_options o;
		struct ccs_request r;
		size_t at = 4;

		if (i % 4 == 0)
			for (size_t k = 0; k < sizeof(text); k++)
				text[k] = (char)seed_next();
		else if (i % 4 == 1)
			seed_garbage(text, sizeof(text), letters, sizeof(letters) - 1);
		for (unsigned n = i % 4 < 2 ? 0 : (unsigned)seed_below(20); n; n--)
			at += (size_t)sprintf(text + at, "%s", words[seed_below(19)]);
		ccs_options_default(&o);
		*err = '\0';
		if (ccs_request_parse(&r, text, err, sizeof(err)) ||
		    ccs_request_apply(&r, &o, err, sizeof(err))) {
			assert_true(*err);
			continue;
		}
		good += r.count > 0;
		assert_null(ccs_options_conflict(&o, err, sizeof(err)));
		for (size_t k = 0; k < ccs_opt_count; k++) {
			ccs_options_format(&o, &ccs_opt_table[k], again, sizeof(again));
			assert_int_equal(ccs_opt_set(&o, &ccs_opt_table[k], again, err, sizeof(err)),
					 0);
		}
	}
	assert_true(good > 100);
}
