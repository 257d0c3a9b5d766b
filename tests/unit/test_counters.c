/* SPDX-License-Identifier: BSD-2-Clause */
/* CNP counters of a port, in a tree of files that stands for sysfs. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#include "agent/host/nic_counters.h"
#include "seed.h"
#include "tree.h"

enum { FLOWS = 16 };
#define S 1000000000ull

static char root[] = "/tmp/test_counters.XXXXXX";

struct fixture {
	struct ccs_nic_counters c;
	struct ccs_nic_counter_flow flow[FLOWS];
	_Atomic uint64_t rate[FLOWS];
	uint64_t given[FLOWS];
	uint64_t now;
};

static void counter_path(char *path, size_t len, const char *device, const char *name)
{
	snprintf(path, len, "%s/class/infiniband/%s/ports/1/hw_counters/%s", root, device, name);
}

/* Written in place, as an open sysfs file shows new values. */
static void put(const char *device, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	counter_path(path, sizeof(path), device, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_value(const char *device, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	put(device, name, text);
}

static void take_away(const char *device, const char *name)
{
	char path[256];

	counter_path(path, sizeof(path), device, name);
	assert_int_equal(unlink(path), 0);
}

static void give(void *arg, struct ccs_nic_counter_flow *flow, uint32_t cnps)
{
	struct fixture *f = arg;

	assert_true(cnps > 0);
	f->given[flow - f->flow] += cnps;
}

static void poll_now(struct fixture *f)
{
	f->now += CCS_COUNTERS_PERIOD_NS;
	ccs_nic_counters_poll(&f->c, f->now, give, f);
}

static int join(struct fixture *f, unsigned i, const char *device, uint64_t rate)
{
	f->rate[i] = rate;
	return ccs_nic_counters_join(&f->c, device, 1, &f->flow[i], &f->rate[i]);
}

static uint64_t total(const struct fixture *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FLOWS; i++)
		sum += f->given[i];
	return sum;
}

/* mlx5_0 with counts from before any flow. */
static struct fixture start(void)
{
	put("mlx5_0", "rp_cnp_handled", "1000\n");
	put("mlx5_0", "rp_cnp_ignored", "7\n");
	return (struct fixture){ .c = { .sysfs = root } };
}

static void finish(struct fixture *f)
{
	for (unsigned i = 0; i < FLOWS; i++)
		ccs_nic_counters_leave(&f->c, &f->flow[i]);
	assert_null(f->c.ports);
}

TEST(new_events_go_to_the_flow)
{
	struct fixture f = start();

	assert_int_equal(join(&f, 0, "mlx5_0", 1), 0);
	assert_true(ccs_nic_counters_alive(&f.flow[0]));
	poll_now(&f);
	assert_int_equal(total(&f), 0);
	put("mlx5_0", "rp_cnp_handled", "1003\n");
	put("mlx5_0", "rp_cnp_ignored", "9\n");
	poll_now(&f);
	assert_int_equal(f.given[0], 5);
	poll_now(&f);
	assert_int_equal(f.given[0], 5);
	finish(&f);
}

TEST(other_drivers_have_other_names)
{
	struct fixture f = start();

	put("irdma0", "cnpHandled", "1");
	put("irdma0", "cnpIgnored", "1");
	put("bnxt_re0", "rx_cnp_pkts", "1");
	assert_int_equal(join(&f, 0, "irdma0", 1), 0);
	assert_int_equal(join(&f, 1, "bnxt_re0", 1), 0);
	put("irdma0", "cnpIgnored", "3");
	put("bnxt_re0", "rx_cnp_pkts", "4");
	poll_now(&f);
	assert_int_equal(f.given[0], 2);
	assert_int_equal(f.given[1], 3);
	finish(&f);
}

TEST(devices_without_counters_are_refused)
{
	static const char *const evil[] = { "", ".", "..", "../mlx5_0", "a/b",
		"a_name_of_sixty_four_letters____________________________________" };
	struct fixture f = start();

	put("rxe_0", "sent_pkts", "1");
	put("odd", "rp_cnp_handled", "none\n");
	put("odd", "rp_cnp_ignored", "1\n");
	assert_int_equal(join(&f, 0, "rxe_0", 1), ENOENT);
	assert_int_equal(join(&f, 0, "odd", 1), ENOENT);
	assert_int_equal(join(&f, 0, "mlx5_9", 1), ENOENT);
	for (unsigned i = 0; i < sizeof(evil) / sizeof(*evil); i++)
		assert_int_equal(join(&f, 0, evil[i], 1), EINVAL);
	assert_int_equal(ccs_nic_counters_join(&f.c, "mlx5_0", 2, &f.flow[0], &f.rate[0]), ENOENT);
	assert_false(ccs_nic_counters_alive(&f.flow[0]));
	finish(&f);
}

TEST(a_counter_that_falls_was_reset_or_wrapped)
{
	struct fixture f = start();

	put_value("mlx5_0", "rp_cnp_handled", UINT32_MAX - 1);
	assert_int_equal(join(&f, 0, "mlx5_0", 1), 0);
	put("mlx5_0", "rp_cnp_handled", "3\n");
	poll_now(&f);
	assert_int_equal(f.given[0], 5);
	put("mlx5_0", "rp_cnp_handled", "1\n");
	poll_now(&f);
	assert_int_equal(f.given[0], 5);
	put("mlx5_0", "rp_cnp_handled", "2\n");
	poll_now(&f);
	assert_int_equal(f.given[0], 6);
	put_value("mlx5_0", "rp_cnp_handled", UINT64_C(1) << 40);
	poll_now(&f);
	assert_int_equal(f.given[0], 6 + (uint64_t)UINT32_MAX); /* the largest step at once */
	put("mlx5_0", "rp_cnp_handled", "0\n");
	poll_now(&f);
	assert_int_equal(f.given[0], 6 + (uint64_t)UINT32_MAX);
	finish(&f);
}

/* A device that is being removed has empty files. */
TEST(a_device_may_vanish_and_come_back)
{
	struct fixture f = start();

	assert_int_equal(join(&f, 0, "mlx5_0", 1), 0);
	put("mlx5_0", "rp_cnp_ignored", "");
	take_away("mlx5_0", "rp_cnp_handled");
	poll_now(&f);
	assert_false(ccs_nic_counters_alive(&f.flow[0]));
	assert_int_equal(join(&f, 1, "mlx5_0", 1), 0);
	put("mlx5_0", "rp_cnp_handled", "500\n");
	put("mlx5_0", "rp_cnp_ignored", "0\n");
	poll_now(&f);
	assert_false(ccs_nic_counters_alive(&f.flow[0]));
	f.now += S;
	poll_now(&f);
	assert_true(ccs_nic_counters_alive(&f.flow[0]));
	assert_int_equal(total(&f), 0);
	put("mlx5_0", "rp_cnp_handled", "502\n");
	poll_now(&f);
	assert_int_equal(total(&f), 2);
	finish(&f);
}

TEST(idle_flows_get_no_cnps)
{
	struct fixture f = start();

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(join(&f, i, "mlx5_0", i == 2 ? 1000 : 0), 0);
	put("mlx5_0", "rp_cnp_handled", "1100\n");
	poll_now(&f);
	assert_int_equal(f.given[2], 100);
	f.rate[2] = 0; /* some flow must have caused them */
	put("mlx5_0", "rp_cnp_handled", "1200\n");
	poll_now(&f);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(f.given[i], i == 2 ? 125 : 25);
	finish(&f);
}

/* Within a poll the error of a flow is less than one event; over many polls, a few. */
TEST(shares_are_by_rate)
{
	uint64_t value = 1000, before[FLOWS], n, sum = 0;
	double due[FLOWS] = { 0 }, share;
	struct fixture f = start();

	seed_start("shares_are_by_rate");
	for (unsigned i = 0; i < FLOWS; i++) {
		assert_int_equal(join(&f, i, "mlx5_0", 1 + seed_below(UINT64_C(1) << (2 * i))), 0);
		sum += f.rate[i];
	}
	for (unsigned round = 0; round < 1000; round++) {
		memcpy(before, f.given, sizeof(before));
		n = seed_below(2) ? 1 : seed_below(50);
		put_value("mlx5_0", "rp_cnp_handled", value += n);
		poll_now(&f);
		assert_int_equal(total(&f), value - 1000);
		for (unsigned i = 0; i < FLOWS; i++) {
			share = (double)n * (double)f.rate[i] / (double)sum;
			due[i] += share;
			assert_true((double)(f.given[i] - before[i]) > share - 1 - 1e-6);
			assert_true((double)(f.given[i] - before[i]) < share + 1 + 1e-6);
		}
	}
	for (unsigned i = 0; i < FLOWS; i++) {
		assert_true((double)f.given[i] > due[i] - 60);
		assert_true((double)f.given[i] < due[i] + 60);
	}
	finish(&f);
}

/* One event a poll: what each has got stays within a few of its due, however long. */
TEST(single_events_are_spread)
{
	struct fixture f = start();

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(join(&f, i, "mlx5_0", i + 1), 0);
	for (unsigned n = 1; n <= 1000; n++) {
		put_value("mlx5_0", "rp_cnp_handled", 1000 + n);
		poll_now(&f);
		for (unsigned i = 0; i < 4; i++) {
			assert_true((double)f.given[i] > 0.1 * (i + 1) * n - 4);
			assert_true((double)f.given[i] < 0.1 * (i + 1) * n + 4);
		}
	}
	finish(&f);
}

TEST(flows_come_and_go)
{
	struct fixture f = start();
	uint64_t value = 1000;
	unsigned joined;

	seed_start("flows_come_and_go");
	for (unsigned round = 0; round < 1000; round++) {
		const unsigned i = (unsigned)seed_below(FLOWS);

		if (f.flow[i].port)
			ccs_nic_counters_leave(&f.c, &f.flow[i]);
		else
			assert_int_equal(join(&f, i, "mlx5_0", seed_below(3)), 0);
		joined = 0;
		for (unsigned k = 0; k < FLOWS; k++)
			joined += f.flow[k].port != NULL;
		memset(f.given, 0, sizeof(f.given));
		put_value("mlx5_0", "rp_cnp_handled", value += 5);
		poll_now(&f);
		assert_int_equal(total(&f), joined ? 5 : 0);
		for (unsigned k = 0; k < FLOWS; k++)
			assert_true(f.flow[k].port || !f.given[k]);
	}
	finish(&f);
}

TREE_GROUP(root)

int main(void)
{
	return test_run(make_root, remove_root);
}
