/* SPDX-License-Identifier: BSD-2-Clause */
/* What Slurm's plug-in does to the environment of a task. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "tools/slurm/task_policy.h"

enum { ROUNDS = 2000, VARIABLES = 16 };

#define LIB "/proc/self/exe"             /* any file that can be read */

static struct variable {
	char name[32], value[512];
} variables[VARIABLES];
static bool refuse;                      /* each change of a variable fails */

static struct variable *find(const char *name)
{
	for (unsigned i = 0; i < VARIABLES; i++)
		if (strcmp(variables[i].name, name) == 0)
			return &variables[i];
	return NULL;
}

static const char *value_of(const char *name)
{
	const struct variable *v = find(name);

	return v ? v->value : NULL;
}

static char *get(void *arg, const char *name)
{
	assert_ptr_equal(arg, variables);
	return value_of(name) ? strdup(value_of(name)) : NULL;
}

static int set(void *arg, const char *name, const char *value)
{
	struct variable *v = find(name);

	assert_ptr_equal(arg, variables);
	if (refuse)
		return -1;
	if (!v)
		v = find("");
	assert_non_null(v);
	snprintf(v->name, sizeof(v->name), "%s", name);
	snprintf(v->value, sizeof(v->value), "%s", value);
	return 0;
}

static int unset(void *arg, const char *name)
{
	struct variable *v = find(name);

	assert_ptr_equal(arg, variables);
	if (v)
		*v = (struct variable){ .name = "" };
	return 0;
}

static const struct task_env env = { get, set, unset, variables };

static int clear(void **state)
{
	memset(variables, 0, sizeof(variables));
	refuse = false;
	return 0;
}

/* The policy of plugstack.conf's arguments, separated by spaces. */
static struct task_policy parse(const char *arguments)
{
	static char text[512];
	char err[1024] = "", *argv[16], *rest = text;
	struct task_policy p;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", arguments);
	while ((argv[argc] = strsep(&rest, " ")))
		argc += *argv[argc] != '\0';
	if (task_policy_parse(&p, argc, argv, err, sizeof(err)))
		fail_msg("%s: %s", arguments, err);
	return p;
}

static void apply(const char *arguments, const char *asked)
{
	const struct task_policy p = parse(arguments);
	char err[1024] = "";

	if (task_policy_apply(&p, asked, &env, err, sizeof(err)))
		fail_msg("%s", err);
}

static unsigned count(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < VARIABLES; i++)
		n += *variables[i].name != '\0';
	return n;
}

TEST_WITH(a_job_without_the_option_is_not_changed, clear, NULL)
{
	apply("", NULL);
	apply("lib=/nowhere/libccshim.so report=/tmp/%j.json default=off", NULL);
	assert_int_equal(count(), 0);
}

TEST_WITH(the_library_and_the_algorithm_are_set, clear, NULL)
{
	apply("lib=" LIB, "timely:beta=0.5");
	assert_string_equal(value_of("CCSHIM_CC"), "timely:beta=0.5");
	assert_string_equal(value_of("LD_PRELOAD"), LIB);
	assert_int_equal(count(), 2);
}

TEST_WITH(an_existing_preload_is_kept_behind_the_library, clear, NULL)
{
	set(variables, "LD_PRELOAD", "/usr/lib/liba.so libb.so");
	apply("lib=" LIB, "auto");
	assert_string_equal(value_of("LD_PRELOAD"), LIB ":/usr/lib/liba.so libb.so");
	apply("lib=" LIB, "auto");
	assert_string_equal(value_of("LD_PRELOAD"), LIB ":/usr/lib/liba.so libb.so");
	set(variables, "LD_PRELOAD", "libb.so " LIB);
	apply("lib=" LIB, "auto");
	assert_string_equal(value_of("LD_PRELOAD"), "libb.so " LIB);
}

TEST_WITH(sanitizers_that_come_first_stay_first, clear, NULL)
{
	static const char *const cases[][2] = {
		{ "libasan.so.8", "libasan.so.8:" LIB },
		{ " /usr/lib/libtsan.so.2 ", " /usr/lib/libtsan.so.2 " LIB },
		{ "/x/libclang_rt.asan-x86_64.so:libubsan.so.1 libm.so.6",
		  "/x/libclang_rt.asan-x86_64.so:libubsan.so.1 " LIB ":libm.so.6" },
		{ "libjemalloc.so.2:libasan.so.8", LIB ":libjemalloc.so.2:libasan.so.8" },
		{ "/libasan.so/libm.so.6", LIB ":/libasan.so/libm.so.6" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set(variables, "LD_PRELOAD", cases[i][0]);
		apply("lib=" LIB, "auto");
		assert_string_equal(value_of("LD_PRELOAD"), cases[i][1]);
	}
}

TEST_WITH(the_default_is_for_jobs_without_the_option, clear, NULL)
{
	apply("lib=" LIB " default=copa mode=observe", NULL);
	assert_string_equal(value_of("CCSHIM_CC"), "copa");
	assert_string_equal(value_of("CCSHIM_MODE"), "observe");
	assert_string_equal(value_of("LD_PRELOAD"), LIB);
	apply("lib=" LIB " default=copa mode=observe", "swift");
	assert_string_equal(value_of("CCSHIM_CC"), "swift");
}

TEST_WITH(variables_of_the_job_precede_those_of_the_site, clear, NULL)
{
	set(variables, "CCSHIM_REPORT", "mine");
	set(variables, "CCSHIM_CC", "hpcc");
	apply("lib=" LIB " default=copa report=/tmp/%j.json max_rate=10g", NULL);
	assert_string_equal(value_of("CCSHIM_REPORT"), "mine");
	assert_string_equal(value_of("CCSHIM_CC"), "hpcc");
	assert_string_equal(value_of("CCSHIM_MAX_RATE"), "10g");
	apply("lib=" LIB, "auto"); /* an option of the command line */
	assert_string_equal(value_of("CCSHIM_CC"), "auto");
}

TEST_WITH(off_also_holds_where_the_library_is_preloaded_already, clear, NULL)
{
	apply("lib=" LIB " default=auto", "off");
	assert_string_equal(value_of("CCSHIM_MODE"), "off");
	assert_int_equal(count(), 1);
	apply("lib=" LIB, "auto"); /* a step of a batch script with --ccshim=off */
	assert_null(value_of("CCSHIM_MODE"));
	set(variables, "CCSHIM_MODE", "observe");
	apply("lib=" LIB, "auto");
	assert_string_equal(value_of("CCSHIM_MODE"), "observe");
}

TEST_WITH(a_missing_library_is_an_error_and_is_not_preloaded, clear, NULL)
{
	const struct task_policy p = parse("lib=/nowhere/libccshim.so");
	char err[1024] = "";

	assert_int_equal(task_policy_apply(&p, "auto", &env, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/nowhere/libccshim.so cannot be read: No such file"));
	assert_null(value_of("LD_PRELOAD"));
}

TEST_WITH(a_variable_that_cannot_be_set_is_an_error, clear, NULL)
{
	const struct task_policy p = parse("lib=" LIB);
	char err[1024] = "";

	refuse = true;
	assert_int_equal(task_policy_apply(&p, "auto", &env, err, sizeof(err)), -1);
	assert_string_equal(err, "CCSHIM_CC cannot be set");
}

TEST(mistakes_in_plugstack_conf_are_named)
{
	static const struct { const char *argument, *part; } cases[] = {
		{ "auto", "'auto' is not NAME=VALUE" },
		{ "reprot=/tmp/x", "no option 'reprot'; did you mean 'report'?" },
		{ "report=/tmp/%x", "report: there is no escape '%x'" },
		{ "mode=on", "mode: 'on' is not one of" },
		{ "cc=timely", "cc: use default=timely" },
		{ "default=timly", "default: there is no algorithm 'timly'; did you mean 'timely'?" },
		{ "lib=libccshim.so", "is not an absolute path" },
		{ "lib=/a:/b", "is not an absolute path without colons" },
		{ "a_name_that_is_much_longer_than_each_option=1", "no option" },
	};
	struct task_policy p;
	char err[1024];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *argument = strdup(cases[i].argument);

		*err = '\0';
		assert_int_equal(task_policy_parse(&p, 1, &argument, err, sizeof(err)), -1);
		if (!strstr(err, cases[i].part))
			fail_msg("%s: %s", cases[i].argument, err);
		free(argument);
	}
}

TEST(unknown_algorithms_are_refused)
{
	static const struct { const char *spec, *part; } bad[] = {
		{ "timly", "there is no algorithm 'timly'; did you mean 'timely'?" },
		{ "", "there is no algorithm ''; there are auto, " },
		{ "timely:bta=1", "did you mean 'beta'?" },
		{ "./mycc.so", "'./mycc.so' is a relative path" },
		{ "a\nb", "control character" },
	};
	static const char *const good[] = {
		"off", "auto", "timely:beta=0.5", "hpcc", "/opt/mycc.so:gain=2",
	};
	char err[1024];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(task_policy_check_spec(bad[i].spec, err, sizeof(err)), -1);
		if (!strstr(err, bad[i].part))
			fail_msg("%s: %s", bad[i].spec, err);
	}
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(task_policy_check_spec(good[i], err, sizeof(err)), 0);
}

/* Whatever a user or a site writes: only what was checked gets into the environment. */
TEST(random_arguments_are_refused_or_valid)
{
	static const char letters[] = "=:,/%ofauto timely lib default report mode";
	unsigned accepted = 0;

	seed_start("arguments");
	for (unsigned i = 0; i < ROUNDS; i++) {
		char argument[40], spec[40], err[1024], *argv[] = { argument };
		struct task_policy p;

		seed_garbage(argument, sizeof(argument), letters, sizeof(letters) - 1);
		snprintf(spec, sizeof(spec), "%s", argument);
		if (task_policy_check_spec(spec, err, sizeof(err)) == 0)
			assert_true(*spec == '/' || strcmp(spec, "off") == 0 || strlen(spec) > 3);
		if (seed_below(2)) {
			seed_garbage(spec, 20, letters, sizeof(letters) - 1);
			snprintf(argument, sizeof(argument), "report=%s", spec);
		}
		if (task_policy_parse(&p, 1, argv, err, sizeof(err)))
			continue;
		accepted++;
		clear(state);
		p.lib = LIB;
		assert_int_equal(task_policy_apply(&p, "auto", &env, err, sizeof(err)), 0);
		assert_string_equal(value_of("CCSHIM_CC"), "auto");
		assert_string_equal(value_of("LD_PRELOAD"), LIB);
		if (value_of("CCSHIM_REPORT"))
			assert_string_equal(value_of("CCSHIM_REPORT"), strchr(argument, '=') + 1);
	}
	assert_in_range(accepted, 1, ROUNDS - 1);
}

int main(void)
{
	return test_run(NULL, clear);
}
