/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the sections of tenants: what is refused, with its place, and which process is whose. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "config/tenant.h"

static struct ccs_tenants t;
static char said[4096];

static void keep(void *arg, const char *sentence)
{
	(void)arg;
	strncat(said, sentence, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

/* The number of mistakes in a file with that text. */
static unsigned read_text(const char *text)
{
	char path[] = "/tmp/tenantXXXXXX";
	const int fd = mkstemp(path);
	unsigned mistakes;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	*said = '\0';
	mistakes = ccs_tenants_read(&t, path, keep, NULL);
	unlink(path);
	return mistakes;
}

TEST(tenants_are_read_and_other_sections_ignored)
{
	assert_int_equal(read_text("mode = nonsense\n# c\n[app \"x\"]\ncc = copa\nbroken line\n[bad\n"
				   "[tenant training] # a comment\nmatch = job:4711\nweight = 4\n"
				   "[ tenant kv ]\nweight=.25\nmatch=\"cgroup:*kv-pod*\"\n"
				   "[tenant u]\nmatch = uid:7\n[device x]\nnonsense = 1\n"), 0);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.tenant[0].name, "training");
	assert_int_equal(t.tenant[0].kind, CCS_TENANT_JOB);
	assert_float_equal(t.tenant[0].terms.weight, 4, 0);
	assert_string_equal(t.tenant[1].pattern, "*kv-pod*");
	assert_float_equal(t.tenant[1].terms.weight, .25, 0);
	assert_float_equal(t.tenant[2].terms.weight, 1, 0);
	assert_int_equal(ccs_tenants_read(&t, "/nonexistent/file", keep, NULL), 0);
	assert_int_equal(t.n, 0);
}

TEST(mistakes_are_reported_with_their_line)
{
	static const struct { const char *text, *wanted; } cases[] = {
		{ "[tenant a]\nmatch = uid:1\ncap = fast\n", ":3: cap: 'fast' is not a rate from 1m to 1000t, such as 10g, or none" },
		{ "[tenant a]\nmatch = uid:1\ncap = 1e16\n", ":3: cap: '1e16' is not a rate from 1m to 1000t" },
		{ "[tenant a]\nmatch = uid:1\ncap = inf\n", ":3: cap: 'inf' is not" },
		{ "[tenant a]\nmatch = uid:1\ncap = -1g\n", ":3: cap: '-1g' is not" },
		{ "[tenant a]\nmatch = uid:1\ncap = 1g\ncap = 2g\n", ":4: cap is set twice" },
		{ "[tenant a]\nmatch = uid:1\nguarantee = 1k\n", ":3: guarantee: '1k' is not a rate" },
		{ "[tenant a]\nmatch = uid:1\nclass = backgruond\n", ":3: class: 'backgruond' is not foreground" },
		{ "[tenant a]\nmatch = uid:1\nclass = background\nclass = foreground\n", ":4: class is set twice" },
		{ "[tenant a]\nmatch = uid:1\nfloor = 1%\n", ":1: tenant a: a floor needs class = background" },
		{ "[tenant a]\nmatch = uid:1\nclass = background\nfloor = 1\n", ":4: floor: '1' is not a percentage" },
		{ "[tenant a]\nmatch = uid:1\nclass = background\nfloor = 21%\n", ":4: floor: '21%' is not" },
		{ "[tenant a]\nmatch = uid:1\ncap = 1g\nguarantee = 2g\n", ":1: tenant a: the cap is below" },
		{ "[tenant a]\nmatch = uid:1\nclass = background\nguarantee = 2g\n", ":1: tenant a: class background" },
		{ "[tenant a]\nmatch = uid:1\nwieght = 2\n", "did you mean 'weight'" },
		{ "[tenant a]\nmatch = uid:1\nweight = 0\n", ":3: weight: '0' is not a number from 0.01 to 100" },
		{ "[tenant a]\nmatch = uid:1\nweight = 100.5\n", ":3: weight: '100.5'" },
		{ "[tenant a]\nmatch = uid:1\nweight = nan\n", ":3: weight: 'nan'" },
		{ "[tenant a]\nmatch = uid:1\nweight = \n", ":3: weight: ''" },
		{ "[tenant a]\nmatch = uid:1\nweight = 1\nweight = 2\n", ":4: weight is set twice" },
		{ "[tenant a]\nmatch = uid:1\nmatch = uid:2\n", ":3: match is set twice" },
		{ "[tenant a]\n", ":1: tenant a has no valid match" },
		{ "[tenant a]\nmatch = process\n", ":2: match: 'process' is not job:ID" },
		{ "[tenant a]\nmatch = uid:root\n", ":2: match: 'root' is not a user ID" },
		{ "[tenant a]\nmatch = job:\n", ":2: match: 'job:' is not" },
		{ "[tenant a]\nmatch = job:47*\n", ":2: match: '47*' is not a job's number" },
		{ "[tenant a]\nmatch = job:4711_3\n", ":2: match: '4711_3' is not a job's number" },
		{ "[tenant a]\nmatch = cgroup:backup.slice/*\n", ":2: match: 'backup.slice/*' matches no control group" },
		{ "[tenant a]\nmatch = cgroup:/backup.slice/\n", ":2: match: '/backup.slice/' matches no control group" },
		{ "[tenant a]\nmatch = app:ib_write_bw_longer*\n", ":2: match: 'ib_write_bw_longer*' matches no program" },
		{ "[tenant a]\nmatch = uid:7\n[tenant b]\nmatch = uid:007\n", ":3: tenant b matches processes of" },
		{ "[Tenant a]\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenants a]\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenant:a]\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenant a]\nmatch = uid:1\nnonsense\n", ":3: malformed line" },
		{ "[tenant]\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenant a\nmatch = uid:1\n", ":1: the section has no ]" },
		{ "[tenant a b]\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenant a] x\nmatch = uid:1\n", ":1: expected [tenant NAME]" },
		{ "[tenant a]\nmatch = uid:1\n[tenant a]\nmatch = uid:2\n", ":3: tenant a is defined at " },
		{ "[tenant a]\nmatch = uid:1\n[tenant b]\nmatch = uid:1\n", ":3: tenant b matches processes of" },
		{ "[tenant a]\nmatch = app:ib_*\n[tenant b]\nmatch = app:ib_write_bw\n", ":3: tenant b matches" },
		{ "[tenant a]\nmatch = cgroup:/a/b\n[tenant b]\nmatch = cgroup:*\n", ":3: tenant b matches" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(read_text(cases[i].text) > 0);
		if (!strstr(said, cases[i].wanted))
			print_error("wanted: %s, said: %s", cases[i].wanted, said);
		assert_non_null(strstr(said, cases[i].wanted));
	}
	assert_int_equal(read_text("[tenant a]\nmatch = uid:1\n[tenant b]\nmatch = app:*\n"), 0);
}

/* Otherwise the tenant would be listed, and have no processes. */
TEST(a_match_that_is_accepted_can_match)
{
	const char *slurm = "0::/system.slice/slurmstepd.scope/job_4711/step_0\n";

	assert_int_equal(read_text("[tenant a]\nmatch = uid:007\n"), 0);
	assert_int_equal(ccs_tenants_match(&t, "", "x", 7), 0);
	assert_int_equal(read_text("[tenant a]\nmatch = job:04711\n"), 0);
	assert_int_equal(ccs_tenants_match(&t, slurm, "x", 7), 0);
	assert_int_equal(read_text("[tenant a]\nmatch = app:*[abc]_23456789[]x]bc\\d*\n"), 0);
	assert_int_equal(ccs_tenants_match(&t, "", "a_23456789]bcd", 7), 0);
	assert_int_equal(read_text("\xef\xbb\xbf[tenant a]\nmatch = uid:7\n"), 0); /* as some editors begin a file */
	assert_int_equal(t.n, 1);
}

TEST(more_tenants_than_fit_are_refused)
{
	char text[CCS_TENANTS_MOST * 64] = "";

	for (unsigned i = 0; i < CCS_TENANTS_MOST; i++)
		sprintf(text + strlen(text), "[tenant t%u]\nmatch=uid:%u\n", i, i);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(t.n, CCS_TENANTS_MOST);
	strcat(text, "[tenant x]\nmatch=uid:9999\n");
	assert_int_equal(read_text(text), 1);
	assert_non_null(strstr(said, "more than 64 tenants"));
}

TEST(a_process_belongs_to_the_first_kind_that_matches)
{
	char name[17] = "", text[256];

	prctl(PR_GET_NAME, name);
	snprintf(text, sizeof(text), "[tenant a]\nmatch = app:%.6s*\n[tenant u]\nmatch = uid:12345\n", name);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(ccs_tenants_of(&t, getpid(), 1), 0);
	assert_int_equal(ccs_tenants_of(&t, getpid(), 12345), 1);
	assert_int_equal(read_text("[tenant c]\nmatch = cgroup:/*\n[tenant u]\nmatch = uid:12345\n"), 0);
	assert_int_equal(ccs_tenants_of(&t, getpid(), 12345), 0);
	assert_int_equal(ccs_tenants_of(&t, 0, 12345), 1); /* a process that the reader does not see */
	assert_int_equal(ccs_tenants_of(&t, 0, 1), -1);
	assert_int_equal(read_text("[tenant j]\nmatch = job:1\n"), 0);
	assert_int_equal(ccs_tenants_of(&t, getpid(), 1), -1);
}

/* Users can create groups below their own instance of systemd. */
TEST(names_of_users_groups_choose_no_tenant)
{
	static const struct {
		const char *match, *cgroups;
		int index;
	} cases[] = {
		{ "job:7", "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", 0 },
		{ "job:7", "0::/system.slice/node1_slurmstepd.scope/job_7\n", 0 },
		{ "job:7", "5:cpuset:/slurm/uid_1000/job_7/step_0\n0::/\n", 0 },
		{ "job:7", "4:memory:/slurm_node1/uid_1000/job_7\n", 0 },
		{ "job:7", "0::/system.slice/slurmstepd.scope/job_77\n", -1 },
		{ "job:7", "0::/system.slice/slurmstepd.scope/job_8/job_7\n", -1 },
		{ "job:7", "0::/user.slice/user-1.slice/user@1.service/job_7\n", -1 },
		{ "job:7", "0::/user.slice/user-1.slice/user@1.service/slurm/job_7\n", -1 },
		{ "job:7", "0::/job_7\n", 0 },
		{ "cgroup:*kv-pod*", "0::/kubepods.slice/kv-pod1.slice/cri\n", 0 },
		{ "cgroup:*kv-pod*", "0::/user.slice/user-1.slice/user@1.service/kv-pod1\n", -1 },
		{ "cgroup:*user-1.*", "0::/user.slice/user-1.slice/user@1.service/x\n", 0 },
		{ "cgroup:/user.slice/*/x", "0::/user.slice/user-1.slice/user@1.service/x\n", 0 },
	};
	char text[128];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), "[tenant a]\nmatch = %s\n", cases[i].match);
		assert_int_equal(read_text(text), 0);
		if (ccs_tenants_match(&t, cases[i].cgroups, "x", 1) != cases[i].index)
			print_error("%s, %s", cases[i].match, cases[i].cgroups);
		assert_int_equal(ccs_tenants_match(&t, cases[i].cgroups, "x", 1), cases[i].index);
	}
}

TEST(a_job_is_the_same_tenant_on_all_hosts)
{
	assert_int_equal(read_text("[tenant a]\nmatch = job:4711\n[tenant b]\nmatch = uid:1\n"), 0);
	assert_true(ccs_tenant_identity(&t.tenant[0], "x") == ccs_tenant_identity(&t.tenant[0], "y"));
	assert_true(ccs_tenant_identity(&t.tenant[1], "x") != ccs_tenant_identity(&t.tenant[1], "y"));
	assert_true(ccs_tenant_identity(&t.tenant[0], "x") != ccs_tenant_identity(&t.tenant[1], "x"));
}
