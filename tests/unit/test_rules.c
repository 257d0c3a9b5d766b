/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections: which subjects a header matches, and which setting applies to a queue pair. */
#include "test.h"

#include <arpa/inet.h>
#include <fnmatch.h>
#include <string.h>

#include "config/job.h"
#include "config/rules.h"
#include "seed.h"

static struct ccs_match_subject make_subject(const char *peer)
{
	struct ccs_match_subject subject = { .known = CCS_MATCH_PROCESS | CCS_MATCH_QP, .app = "ib_write_bw",
			       .place = 12.5, .device = "mlx5_1", .port = 2, .dscp = 26, .sl = 3 };

	if (inet_pton(AF_INET, peer, subject.peer + 12) == 1)
		memset(subject.peer + 10, 0xff, 2);
	else
		assert_int_equal(inet_pton(AF_INET6, peer, subject.peer), 1);
	return subject;
}

static const struct { const char *head, *peer; bool matches; } heads[] = {
	{ "[app \"ib_*\"]", "::", true },
	{ "[ app  ib_* ] # of perftest", "::", true },
	{ "[app \"ib_read*\"]", "::", false },
	{ "[peer 10.1.2.0/24]", "10.1.2.255", true },
	{ "[peer 10.1.2.77/24]", "10.1.2.255", true },
	{ "[peer 10.1.2.0/24]", "10.1.3.0", false },
	{ "[peer 10.1.2.0/23]", "10.1.3.0", true },
	{ "[peer 10.1.2.3]", "10.1.2.3", true },
	{ "[peer 10.1.2.3]", "10.1.2.2", false },
	{ "[peer 0.0.0.0/0]", "10.1.2.2", true },
	{ "[peer 0.0.0.0/0]", "fe80::1", false },
	{ "[peer ::ffff:10.0.0.0/104]", "10.1.2.2", true },
	{ "[peer ::/0]", "10.1.2.2", true },
	{ "[peer fe80::/10]", "febf::1", true },
	{ "[peer fe80::/10]", "fec0::1", false },
	{ "[peer 2001:db8::1]", "2001:db8::1", true },
	{ "[device mlx5_?]", "::", true },
	{ "[device mlx5_0]", "::", false },
	{ "[port 2]", "::", true },
	{ "[port 1]", "::", false },
	{ "[dscp 26]", "::", true },
	{ "[dscp 0]", "::", false },
	{ "[sl 3]", "::", true },
	{ "[sl 0]", "::", false },
	{ "[device mlx5_1 port 2 dscp 26]", "::", true },
	{ "[device mlx5_1 port 2 dscp 27]", "::", false },
	{ "[app \"ib_*\" peer fe80::/10]", "fe80::1", true },
	{ "[app \"x\" peer fe80::/10]", "fe80::1", false },
	{ "[share 12.5%]", "::", true },
	{ "[share 12.4%]", "::", false },
	{ "[app ib_* share 100%]", "::", true },
};

TEST(header_matches_the_subjects_it_names)
{
	struct ccs_match m;
	char err[256];

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		const struct ccs_match_subject subject = make_subject(heads[i].peer);

		if (ccs_match_parse(&m, heads[i].head, err, sizeof(err)))
			fail_msg("%s: %s", heads[i].head, err);
		if (ccs_match_matches(&m, &subject) != heads[i].matches)
			fail_msg("%s of %s", heads[i].head, heads[i].peer);
	}
	assert_int_equal(ccs_match_parse(&m, "[ app  ib_* ] # of perftest", err, sizeof(err)), 0);
	assert_string_equal(m.text, "[ app  ib_* ]");
}

/* The peer address of a process, or of a queue pair without a GRH, is unknown. */
TEST(unknown_keys_do_not_match)
{
	struct ccs_match_subject subject = make_subject("::");
	struct ccs_match m;
	char err[256];

	assert_int_equal(ccs_match_parse(&m, "[peer ::/0]", err, sizeof(err)), 0);
	assert_true(ccs_match_matches(&m, &subject));
	subject.known &= ~(unsigned)CCS_MATCH_PEER;
	assert_false(ccs_match_matches(&m, &subject));
}

TEST(wrong_shares_are_refused)
{
	static const char *const wrong[] = {
		"10", "0%", "-1%", "100.1%", "1e3%", "%", "ten%", "10%%", "nan%", "inf%"
	};
	struct ccs_match m;
	char head[32], err[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(head, sizeof(head), "[share %s]", wrong[i]);
		if (ccs_match_parse(&m, head, err, sizeof(err)) == 0)
			fail_msg("%s is accepted", head);
		assert_non_null(strstr(err, "is not a percentage such as 10%"));
	}
}

TEST(share_has_its_percentage_of_the_processes)
{
	static const double shares[] = { 1, 10, 50, 100 };
	struct ccs_job job = { .host = "node17" };
	unsigned in[4] = { 0 };
	double place = 0;

	for (int pid = 1; pid <= 40000; pid++) {
		place = ccs_share_place(&job, pid);
		assert_true(place > 0 && place <= 100);
		for (unsigned i = 0; i < 4; i++)
			in[i] += place <= shares[i];
	}
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(in[i], (uintmax_t)(360 * shares[i]), (uintmax_t)(440 * shares[i]));
	strcpy(job.host, "node18");
	assert_true(ccs_share_place(&job, 40000) != place);
}

TEST(processes_of_a_job_have_one_place)
{
	struct ccs_job job = { .host = "node17", .id = "4711", .rank = "0" };
	const double place = ccs_share_place(&job, 1);

	strcpy(job.host, "node18");
	strcpy(job.rank, "1");
	assert_true(ccs_share_place(&job, 2) == place);
	strcpy(job.id, "4712");
	assert_true(ccs_share_place(&job, 2) != place);
}

TEST(random_headers_are_refused_or_matched)
{
	static const char letters[] = "[] \"#apperdvicotls0123456789/.:*";
	const struct ccs_match_subject subject = make_subject("10.0.0.1");
	unsigned good = 0;
	struct ccs_match m;
	char text[200], err[256];

	seed_start("heads of sections");
	for (unsigned i = 0; i < 100000; i++) {
		static const char *const words[] = { "app", "peer", "port", "dscp", "sl", " ", " ",
						     "\"", "]", "3", "10.0.0.0/8", "[", "x" };
		size_t at = 1;

		strcpy(text, "[");
		if (i % 2)
			seed_garbage(text + 1, sizeof(text) - 1, letters, sizeof(letters) - 1);
		for (unsigned n = i % 2 ? 0 : (unsigned)seed_below(10); n; n--)
			at += (size_t)sprintf(text + at, "%s", words[seed_below(13)]);
		*err = '\0';
		if (ccs_match_parse(&m, text, err, sizeof(err))) {
			assert_true(strlen(err) > 10);
			continue;
		}
		good++;
		assert_true(m.keys != 0 && m.text[0] == '[' && m.text[strlen(m.text) - 1] == ']');
		ccs_match_matches(&m, &subject);
	}
	assert_true(good > 0);
}

/* -- the rules against a naive model of them -------------------------------------- */

enum { MODEL = 24 };

struct line {
	char head[96];
	unsigned section;
	enum ccs_opt_origin source;
	char value[8];
	unsigned app, bits, dscp;        /* 0: absent; bits, dscp: value + 1 */
	uint32_t net;
};

static const char *const apps[] = { "ib_*", "rping" };

/* A section with the same number and source has the same header. */
static void random_line(struct line *l, const struct line *before)
{
	char address[INET_ADDRSTRLEN];
	uint32_t net;

	*l = (struct line){ .source = before->source, .section = before->section };
	if (!seed_below(6) && l->source < CCS_FROM_USER_FILE) {
		l->source++;
		l->section = 0;
	}
	snprintf(l->value, sizeof(l->value), "%u", 256 + (unsigned)seed_below(100));
	if (seed_below(2) && (l->section || seed_below(2))) {
		l->app = (unsigned)seed_below(3);
		l->bits = (unsigned)seed_below(2) ? 1 + (unsigned)seed_below(33) : 0;
		l->net = (uint32_t)(0x0a000000 | seed_below(4) << 22 | seed_below(8));
		l->dscp = (unsigned)seed_below(4);
	}
	if (!l->app && !l->bits && !l->dscp)
		return;
	l->section++;
	net = htonl(l->net);
	inet_ntop(AF_INET, &net, address, sizeof(address));
	strcpy(l->head, "[");
	if (l->app)
		sprintf(l->head + strlen(l->head), " app \"%s\"", apps[l->app - 1]);
	if (l->bits)
		sprintf(l->head + strlen(l->head), " peer %s/%u", address, l->bits - 1);
	if (l->dscp)
		sprintf(l->head + strlen(l->head), " dscp %u", l->dscp - 1);
	strcat(l->head, "]");
}

static bool model_matches(const struct line *l, const struct ccs_match_subject *subject, uint32_t peer)
{
	const uint64_t size = l->bits ? 1ull << (32 - (l->bits - 1)) : 1;

	if (l->app && fnmatch(apps[l->app - 1], subject->app, 0))
		return false;
	if (l->bits && (!(subject->known & CCS_MATCH_PEER) || peer / size != l->net / size))
		return false;
	return !l->dscp || ((subject->known & CCS_MATCH_DSCP) && subject->dscp == l->dscp - 1);
}

/* Sources from the last to the first; in each the first section that matches, then no section. */
static const char *model_find(const struct line *lines, const struct ccs_match_subject *subject, uint32_t peer)
{
	for (int source = CCS_FROM_USER_FILE; source >= CCS_FROM_SYSTEM_FILE; source--) {
		for (unsigned i = 0; i < MODEL; i++)
			if ((int)lines[i].source == source && *lines[i].head &&
			    model_matches(&lines[i], subject, peer))
				return lines[i].value;
		for (unsigned i = 0; i < MODEL; i++)
			if ((int)lines[i].source == source && !*lines[i].head)
				return lines[i].value;
	}
	return NULL;
}

static void add_line(struct ccs_rules *r, const struct line *l)
{
	struct ccs_setting s = { .opt = ccs_opt_find("max_inflight"), .source = l->source, .where = "x:1",
				 .section = *l->head ? l->section : 0, .value = l->value };
	char err[256];

	if (*l->head && ccs_match_parse(&s.match, l->head, err, sizeof(err)))
		fail_msg("%s: %s", l->head, err);
	assert_int_equal(ccs_rules_add(r, &s, false), 0);
}

static void compare_with_model(const struct ccs_rules *r, const struct line *lines)
{
	const uint32_t peer = (uint32_t)(0x0a000000 | seed_below(4) << 22 | seed_below(8));
	const uint32_t net = htonl(peer);
	struct ccs_match_subject subject = { .known = CCS_MATCH_APP, .app = seed_below(2) ? "ib_x" : "rping",
			       .dscp = (unsigned)seed_below(3), .device = "d" };
	const struct ccs_setting *found;
	const char *wanted;

	if (seed_below(4))
		subject.known |= CCS_MATCH_QP;
	memset(subject.peer + 10, 0xff, 2);
	memcpy(subject.peer + 12, &net, 4);
	found = ccs_rules_find(r, ccs_opt_find("max_inflight"), &subject);
	wanted = model_find(lines, &subject, peer);
	assert_true(!found == !wanted);
	if (wanted)
		assert_string_equal(found->value, wanted);
}

TEST(first_match_of_the_last_source_is_used)
{
	seed_start("first match wins");
	for (unsigned i = 0; i < 3000; i++) {
		struct line lines[MODEL], before = { .source = CCS_FROM_SYSTEM_FILE };
		struct ccs_rules r = { 0 };

		for (unsigned k = 0; k < MODEL; k++) {
			random_line(&lines[k], k ? &lines[k - 1] : &before);
			add_line(&r, &lines[k]);
		}
		for (unsigned k = 0; k < 20; k++)
			compare_with_model(&r, lines);
		ccs_rules_free(&r);
		assert_null(r.first);
	}
}

/* The latest request comes first, and requests take precedence over the environment. */
TEST(requests_take_precedence_latest_first)
{
	const struct ccs_match_subject subject = make_subject("10.0.0.1");
	struct ccs_setting s = { .opt = ccs_opt_find("max_inflight"), .where = "", .value = "1k" };
	struct ccs_rules r = { 0 };

	s.source = CCS_FROM_ENV;
	assert_int_equal(ccs_rules_add(&r, &s, false), 0);
	s.source = CCS_FROM_REQUEST;
	s.value = "2k";
	assert_int_equal(ccs_rules_add(&r, &s, true), 0);
	assert_string_equal(ccs_rules_find(&r, s.opt, &subject)->value, "2k");
	s.value = "3k";
	assert_int_equal(ccs_rules_add(&r, &s, true), 0);
	assert_string_equal(ccs_rules_find(&r, s.opt, &subject)->value, "3k");
	ccs_rules_free(&r);
}

/* A section can set a value for one queue pair that conflicts with another line. */
TEST(conflicts_are_resolved_per_queue_pair)
{
	struct ccs_setting s = { .opt = ccs_opt_find("segment"), .where = "", .value = "64k",
				 .source = CCS_FROM_USER_FILE };
	const struct ccs_match_subject process = { .known = CCS_MATCH_APP, .app = "x" };
	const struct ccs_match_subject qp = make_subject("10.0.0.1");
	const struct ccs_setting *from[CCS_OPT_MAX];
	struct ccs_rules r = { 0 };
	struct ccs_options o;
	char err[256];

	assert_int_equal(ccs_rules_add(&r, &s, false), 0);
	assert_false(ccs_rules_by_qp(&r));
	s.opt = ccs_opt_find("max_inflight");
	s.value = "4k";
	s.section = 1;
	assert_int_equal(ccs_match_parse(&s.match, "[dscp 26]", err, sizeof(err)), 0);
	assert_int_equal(ccs_rules_add(&r, &s, false), 0);
	assert_true(ccs_rules_by_qp(&r));
	assert_int_equal(ccs_rules_resolve(&r, &process, &o, from, NULL, NULL), 0);
	assert_true(o.segment == 65536 && o.max_inflight == 0);
	assert_int_equal(ccs_rules_resolve(&r, &qp, &o, from, NULL, NULL), 1);
	assert_true(o.segment == 65536 && o.max_inflight == 0);
	assert_null(from[s.opt - ccs_opt_table]);
	ccs_rules_free(&r);
}
