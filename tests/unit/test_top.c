/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim top: what limits a flow, the order of flows, and the page. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#include "tools/ccshim/top/top.h"

enum { QPS = 40 };

static struct stat_qp qp[QPS];
static struct stat_process process[2];
static struct stat_snapshot snapshot;
static struct top_view view;

/* A flow that sends 4 of 10 Gb/s for two seconds, which is its rate, and waits all the time. */
static const struct ccs_stats_qp limited = {
	.created_ns = 1, .enforced = 1, .bytes = 1000000000, .rate = 4000000000, .line_rate = 10000000000,
	.window = 100000, .inflight = 20000, .segment = 4096, .gated_ns = 2000000000,
	.device = "mlx5_0", .port = 1, .cc = "copa",
	.peer_gid = { [10] = 0xff, [11] = 0xff, [12] = 10, [13] = 7, [14] = 0, [15] = 9 },
};

/* Flows 0 and 1 belong to the first process, "alpha", the others to the second. */
static int setup(void **state)
{
	memset(qp, 0, sizeof(qp));
	for (unsigned i = 0; i < QPS; i++) {
		qp[i].q = limited;
		qp[i].q.lqpn = i;
	}
	process[0] = (struct stat_process){ .h = { .pid = 70, .program = "alpha" }, .qp = qp, .count = 2 };
	process[1] = (struct stat_process){ .h = { .pid = 71, .program = "beta" }, .qp = qp + 2, .count = 2 };
	snapshot = (struct stat_snapshot){ .since_s = 2, .process = process, .count = 2 };
	view = (struct top_view){ .interval_s = 2, .rows = 24, .columns = 80 };
	return 0;
}

/* -- what limits a flow ------------------------------------------------------------------------ */

static enum stat_limit limit_of(struct ccs_stats_qp q)
{
	return stat_limit_of(&(struct stat_qp){ .q = q }, 2);
}

static void flow_that_waits_at_its_rate_is_limited_by_it(void **state)
{
	struct ccs_stats_qp q = limited;

	assert_int_equal(limit_of(q), STAT_RATE);
	q.inflight = q.window; /* at full rate, a window may be full for a moment */
	assert_int_equal(limit_of(q), STAT_RATE);
}

static void flow_that_waits_below_its_rate_with_a_full_window_is_limited_by_that(void **state)
{
	struct ccs_stats_qp q = limited;

	q.bytes /= 2;
	assert_int_equal(limit_of(q), STAT_RATE);
	q.inflight = q.window - q.segment;
	assert_int_equal(limit_of(q), STAT_RATE);
	q.inflight++;
	assert_int_equal(limit_of(q), STAT_WINDOW);
}

static void flow_that_hardly_waits_is_limited_by_its_application(void **state)
{
	struct ccs_stats_qp q = limited;

	q.gated_ns = 199000000;
	q.inflight = q.window;
	assert_int_equal(limit_of(q), STAT_APPLICATION);
	q.gated_ns = 201000000;
	assert_int_equal(limit_of(q), STAT_RATE);
}

static void flow_without_requests_is_idle_and_observed_or_uncontrolled_ones_are_not_limited(void **state)
{
	struct ccs_stats_qp q = limited;

	q.enforced = 0;
	assert_int_equal(limit_of(q), STAT_OBSERVED);
	strcpy(q.uncontrolled, "mode");
	assert_int_equal(limit_of(q), STAT_UNCONTROLLED);
	q = limited;
	q.bytes = 0;
	assert_int_equal(limit_of(q), STAT_RATE); /* its next segment is not due yet */
	q.inflight = 0;
	assert_int_equal(limit_of(q), STAT_IDLE);
	q.queued = 1;
	assert_int_not_equal(limit_of(q), STAT_IDLE);
}

/* -- the order --------------------------------------------------------------------------------- */

/* The flows' numbers in the order of rows. */
static void assert_order(const char *expected)
{
	char found[QPS + 1] = "";
	struct stat_snapshot selected;
	struct top_row *rows;
	size_t n;

	assert_int_equal(stat_copy(&selected, &snapshot), 0);
	assert_int_equal(top_select(&selected, &view), 0);
	n = top_rows(&selected, &view, &rows);
	for (size_t i = 0; i < n; i++)
		found[i] = (char)('0' + rows[i].qp->q.lqpn);
	assert_string_equal(found, expected);
	free(rows);
	stat_free(&selected);
}

static void busy_flows_come_first_in_every_order(void **state)
{
	qp[0].q.bytes = qp[0].q.inflight = 0; /* idle, though it waited long and has the highest rate */
	qp[0].q.rate = 9000000000;
	qp[1].q.gated_ns = 500000000;
	qp[2].q.gated_ns = 1500000000;
	qp[3].q.gated_ns = 1000000000;
	for (view.order = 0; view.order < TOP_ORDERS; view.order++) {
		struct top_row *rows;

		assert_int_equal(top_rows(&snapshot, &view, &rows), 4);
		assert_int_equal(rows[3].qp->q.lqpn, 0);
		free(rows);
	}
	view.order = TOP_BY_GATED;
	assert_order("2310");
}

static void each_order_has_its_key(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		qp[i].q.gated_ns = 2000000000 - 100000000 * i;
		qp[i].q.bytes = 100000000 * (1 + (i + 1) % 4);
		qp[i].q.rate = 1000000000u * (1 + (i + 2) % 4);
		qp[i].rtt.bucket[100 + 8 * ((i + 3) % 4)] = qp[i].rtt.count = 10;
	}
	assert_order("0123");
	view.order = TOP_BY_GOODPUT;
	assert_order("2103");
	view.order = TOP_BY_RATE;
	assert_order("1032");
	view.order = TOP_BY_RTT;
	assert_order("0321");
	view.order = TOP_BY_PROGRAM;
	strcpy(process[0].h.program, "zeta");
	assert_order("2310"); /* of one program, by goodput */
}

static void filter_selects_by_program_peer_or_whole_pid(void **state)
{
	strcpy(view.filter, "ALPH");
	assert_order("01");
	strcpy(view.filter, "71");
	assert_order("23");
	strcpy(view.filter, "7");
	assert_order("0123"); /* 10.7.0.9, but not the processes 70 and 71 */
	qp[3].q.peer_gid[15] = 8;
	strcpy(view.filter, "0.8");
	assert_order("3");
	strcpy(view.filter, "gamma");
	assert_order("");
}

/* -- sums -------------------------------------------------------------------------------------- */

static void sums_have_all_bytes_and_the_longest_wait(void **state)
{
	struct stat_snapshot sums;

	qp[1].q.gated_ns = 1;
	qp[2].q.peer_gid[15] = 8;
	assert_int_equal(stat_copy(&sums, &snapshot), 0);
	assert_int_equal(stat_group(&sums, STAT_BY_PEER), 0);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.process[0].qp->sums, 3);
	assert_int_equal(sums.process[0].qp->q.bytes, 3 * limited.bytes);
	assert_int_equal(sums.process[0].qp->q.gated_ns, limited.gated_ns);
	assert_int_equal(sums.process[0].h.pid, 0);
	assert_string_equal(sums.process[0].h.program, "several");
	assert_string_equal(sums.process[0].qp->q.cc, "copa");
	assert_int_equal(sums.process[1].h.pid, 71);
	assert_int_equal(sums.process[1].qp->sums, 1);
	stat_free(&sums);
}

/* The only group, or the first. Free the snapshot. */
static const struct stat_process *group_by(enum stat_by by, struct stat_snapshot *s)
{
	assert_int_equal(stat_copy(s, &snapshot), 0);
	assert_int_equal(stat_group(s, by), 0);
	return s->process;
}

static void sum_counts_each_queue_pair_once(void **state)
{
	const struct stat_process *sum;
	struct stat_snapshot s;

	for (unsigned i = 0; i < 2; i++) {
		process[i].h.gone.qps = process[i].h.gone.bytes = 7;
		process[i].h.qps = 2, process[i].h.qps_unshown = 9;
		strcpy(process[i].h.uncontrolled[0].name, "srq"), process[i].h.uncontrolled[0].count = 1;
	}
	for (enum stat_by by = STAT_BY_PEER; by <= STAT_BY_HOST; by++) {
		sum = group_by(by, &s);
		assert_int_equal(s.count, 1);
		assert_int_equal(sum->qp->sums, 4);
		assert_int_equal(sum->h.qps, 4);
		assert_int_equal(sum->h.qps_unshown + sum->h.uncontrolled[0].count, 0);
		assert_int_equal(stat_totals(sum).qps, 4);
		assert_int_equal(stat_totals(sum).bytes, sum->qp->q.bytes);
		stat_free(&s);
	}
	sum = group_by(STAT_BY_PROCESS, &s);
	assert_int_equal(s.count, 2);
	assert_int_equal(sum->h.qps, 2);
	assert_int_equal(stat_totals(sum).qps, 7 + 2);
	stat_free(&s);
}

static void sum_of_several_processes_is_of_none(void **state)
{
	const struct stat_process *sum;
	struct stat_snapshot s;

	process[0].inner_pid = 5;
	process[0].h.unattended = process[0].h.mailbox.status = 1, process[0].h.mailbox.answer_gen = 2;
	assert_non_null(stat_refusal(&process[0].h));
	qp[0].q.created_ns = 3, qp[0].q.updated_ns = 4, qp[0].rtt.last_ns = 1;
	qp[1].q.created_ns = 2, qp[1].q.updated_ns = 5, qp[1].rtt.last_ns = 2;
	qp[2].q.rate = UINT64_MAX - 1;
	sum = group_by(STAT_BY_HOST, &s);
	assert_int_equal(sum->h.pid + sum->inner_pid, 0);
	assert_null(stat_refusal(&sum->h));
	assert_string_equal(sum->h.program, "several");
	assert_int_equal(sum->qp->q.created_ns, 1);
	assert_int_equal(sum->qp->q.updated_ns, 5);
	assert_int_equal(sum->qp->rtt.last_ns, 2);
	assert_true(sum->qp->q.rate == UINT64_MAX); /* not a small number */
	stat_free(&s);
}

static void sum_has_the_strongest_limit(void **state)
{
	struct stat_snapshot sums;

	/* One flow waits with a full window, the others are idle with wide windows. */
	qp[0].q.bytes = 1000, qp[0].q.inflight = qp[0].q.window;
	for (unsigned i = 1; i < 4; i++)
		qp[i].q.bytes = qp[i].q.inflight = 0;
	assert_int_equal(stat_copy(&sums, &snapshot), 0);
	assert_int_equal(stat_group(&sums, STAT_BY_HOST), 0);
	assert_int_equal(sums.count, 1);
	assert_int_equal(stat_limit_of(sums.process[0].qp, sums.since_s), STAT_WINDOW);
	stat_free(&sums);
}

static void sum_has_the_line_rate_of_its_ports_and_the_cap_of_its_tenant(void **state)
{
	const struct stat_process *sum;
	struct stat_snapshot s;

	for (unsigned i = 0; i < 4; i++)
		qp[i].q.tenant_cap = 5000000000;
	qp[1].q.port = qp[3].q.port = 2;
	sum = group_by(STAT_BY_HOST, &s);
	assert_int_equal(sum->qp->q.line_rate, 20000000000);
	assert_int_equal(sum->qp->q.tenant_cap, 5000000000);
	assert_float_equal(stat_share(sum->qp, s.since_s), 0.8, 1e-9); /* 16 of 20 Gb/s */
	stat_free(&s);
}

/* -- the page ---------------------------------------------------------------------------------- */

/* The page, which the caller frees. */
static char *page(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	top_page(&snapshot, &view, f);
	fclose(f);
	return text;
}

static size_t count_lines(const char *text, size_t *longest)
{
	size_t lines = 0;

	*longest = 0;
	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		lines++;
		if ((size_t)(end - text) > *longest)
			*longest = (size_t)(end - text);
	}
	assert_string_equal(text, "");
	return lines;
}

static void page_fills_the_screen_and_no_more(void **state)
{
	static const size_t sizes[][2] = { { 24, 80 }, { 24, 200 }, { 10, 40 }, { 4, 20 }, { 60, 120 } };
	size_t longest;

	for (process[1].count = 0; process[1].count < QPS - 2; process[1].count++)
		for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			char *text;

			view.rows = sizes[i][0], view.columns = sizes[i][1];
			text = page();
			assert_int_equal(count_lines(text, &longest), view.rows);
			assert_in_range(longest, 1, view.columns);
			free(text);
		}
}

static void page_without_flows_gives_the_reason_and_a_remedy(void **state)
{
	static const size_t rows[] = { 0, 4, 5, 24 };
	size_t longest;
	char *text;

	snapshot.count = 0;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		view.rows = rows[i];
		text = page();
		assert_int_equal(count_lines(text, &longest), rows[i] ? rows[i] : 4);
		if (rows[i] != 4) /* there is no line for it */
			assert_non_null(strstr(text, "\nno process has statistics; start one with: "
						     "ccshim run -- COMMAND\n"));
		free(text);
	}
	snapshot.count = 1;
	strcpy(view.filter, "gamma");
	text = page();
	assert_non_null(strstr(text, "\nno flow matches the filter\n"));
	free(text);
	view.filter[0] = '\0';
	process[0].count = 0;
	text = page();
	assert_non_null(strstr(text, "\nno process has a queue pair\n"));
	free(text);
}

static void row_has_all_columns_in_80(void **state)
{
	char *text;

	snapshot.count = process[0].count = 1;
	text = page();
	assert_non_null(strstr(text, "    PID PROGRAM        PEER                 RATE   GOODPUT RTT P99 GATED LIMIT\n"
				     "     70 alpha          10.7.0.9           4 Gb/s    4 Gb/s       - 100 % rate\n"));
	free(text);
	view.columns = 130;
	text = page();
	assert_non_null(strstr(text, " LIMIT  RTT P50 ALGORITHM"));
	assert_non_null(strstr(text, " copa "));
	free(text);
}

static void sums_have_no_number_of_a_queue_pair(void **state)
{
	char *text;

	view.by = STAT_BY_PROCESS;
	view.columns = 150;
	text = page();
	assert_non_null(strstr(text, " PROGRAM        QPS "));
	assert_non_null(strstr(text, "     70 alpha          2 "));
	assert_non_null(strstr(text, "       - mlx5_0/1\n"));
	free(text);
}

static void tenants_have_their_share_and_terms(void **state)
{
	char *text;

	for (unsigned i = 0; i < 2; i++) {
		strcpy(process[i].tenant, i ? "kv" : "backup");
		process[i].terms = (struct ccs_terms){ .weight = 2.5, .cap = i * 6e9, .floor = i ? 0 : .01 };
	}
	view.by = STAT_BY_TENANT;
	view.columns = 120;
	text = page();
	assert_non_null(strstr(text, "  SHARE TENANT "));
	assert_non_null(strstr(text, " TERMS\n"));
	assert_non_null(strstr(text, " 80.0 % kv "));
	assert_non_null(strstr(text, " weight=2.5 cap=6g\n"));
	assert_non_null(strstr(text, " weight=2.5 background\n"));
	free(text);
}

static void page_has_no_control_characters_but_its_own(void **state)
{
	char *text;

	strcpy(process[0].h.program, "a\033[2Jb\tc\377");
	text = page();
	assert_non_null(strstr(text, "a?[2Jb?c?"));
	assert_null(strchr(text, '\033'));
	free(text);
	view.colour = true;
	text = page();
	assert_non_null(strstr(text, "\033[7m    PID"));
	assert_non_null(strstr(text, "a?[2Jb?c?"));
	free(text);
}

static void long_addresses_keep_both_ends(void **state)
{
	char *text;

	memcpy(qp[0].q.peer_gid, "\xfe\x80\0\0\0\0\0\0\x12\x34\x56\x78\x9a\xbc\xde\xf0", 16);
	text = page();
	assert_non_null(strstr(text, " fe80::1~bc:def0 "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(flow_that_waits_at_its_rate_is_limited_by_it, setup),
		cmocka_unit_test_setup(flow_that_waits_below_its_rate_with_a_full_window_is_limited_by_that, setup),
		cmocka_unit_test_setup(flow_that_hardly_waits_is_limited_by_its_application, setup),
		cmocka_unit_test_setup(flow_without_requests_is_idle_and_observed_or_uncontrolled_ones_are_not_limited, setup),
		cmocka_unit_test_setup(busy_flows_come_first_in_every_order, setup),
		cmocka_unit_test_setup(each_order_has_its_key, setup),
		cmocka_unit_test_setup(filter_selects_by_program_peer_or_whole_pid, setup),
		cmocka_unit_test_setup(sum_has_the_strongest_limit, setup),
		cmocka_unit_test_setup(sums_have_all_bytes_and_the_longest_wait, setup),
		cmocka_unit_test_setup(page_fills_the_screen_and_no_more, setup),
		cmocka_unit_test_setup(page_without_flows_gives_the_reason_and_a_remedy, setup),
		cmocka_unit_test_setup(row_has_all_columns_in_80, setup),
		cmocka_unit_test_setup(sums_have_no_number_of_a_queue_pair, setup),
		cmocka_unit_test_setup(sum_has_the_line_rate_of_its_ports_and_the_cap_of_its_tenant, setup),
		cmocka_unit_test_setup(tenants_have_their_share_and_terms, setup),
		cmocka_unit_test_setup(sum_counts_each_queue_pair_once, setup),
		cmocka_unit_test_setup(sum_of_several_processes_is_of_none, setup),
		cmocka_unit_test_setup(page_has_no_control_characters_but_its_own, setup),
		cmocka_unit_test_setup(long_addresses_keep_both_ends, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
