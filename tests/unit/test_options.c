/* SPDX-License-Identifier: BSD-2-Clause */
/* The option table, its values and the loading of settings from files and environment. */
#include "test.h"

#include <math.h>

/* The loader, compiled with a system directory below the working directory of the test. */
#undef CCS_SYSCONFDIR
#define CCS_SYSCONFDIR "etc"
#include "config/load.c"

#include <sys/stat.h>
#include <unistd.h>

#include "seed.h"

static char reported[8192]; /* sentences of the last load, one per line */
static struct ccs_rules rules; /* of the last load */

static void record_report(void *arg, const char *sentence)
{
	(void)arg;
	snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%s\n", sentence);
}

static const struct ccs_setting *from[CCS_OPT_MAX];

static int load_as(const char *app, struct ccs_options *o)
{
	const struct ccs_match_subject subject = { .known = CCS_MATCH_APP, .app = app };
	int complaints;

	*reported = '\0';
	ccs_rules_free(&rules);
	complaints = ccs_rules_load(&rules, &subject, record_report, NULL);
	return complaints + ccs_rules_resolve(&rules, &subject, o, from, record_report, NULL);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static enum ccs_opt_origin origin_of(const char *name)
{
	const struct ccs_setting *s = from[ccs_opt_find(name) - ccs_opt_table];

	return s ? s->source : CCS_FROM_DEFAULT;
}

static int reset_sources(void **state)
{
	for (char **e = environ; *e;)
		if (strncmp(*e, PREFIX, strlen(PREFIX)) == 0) {
			char name[64];

			snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
			unsetenv(name);
		} else {
			e++;
		}
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	setenv("CCSHIM_CONFIG", "user.conf", 1);
	write_file("etc/ccshim.conf", "");
	write_file("user.conf", "");
	return 0;
}

TEST(option_table_is_consistent)
{
	struct ccs_options o;
	char text[512], err[512];

	ccs_options_default(&o);
	for (size_t i = 0; i < ccs_opt_count; i++) {
		const struct ccs_opt *opt = &ccs_opt_table[i];

		assert_ptr_equal(ccs_opt_find(opt->name), opt);
		assert_true(opt->offset + opt->size <= sizeof(o));
		assert_int_equal(ccs_options_set(&o, opt->name, opt->def, err, sizeof(err)), 0);
		assert_string_equal(ccs_options_format(&o, opt, text, sizeof(text)), opt->def);
		assert_true(strlen(opt->doc) > 20 && opt->doc[strlen(opt->doc) - 1] == '.');
	}
}

TEST(defaults_match_the_header)
{
	struct ccs_options o;

	ccs_options_default(&o);
	assert_int_equal(o.mode, CCS_MODE_ENFORCE);
	assert_string_equal(o.cc, "auto");
	assert_true(o.line_rate == 0 && isinf(o.max_rate) && o.base_rtt == 0);
	assert_true(o.segment == 0 && o.max_inflight == 0 && o.split && !o.split_imm);
	assert_int_equal(o.log_level, CCS_LOG_WARN);
	assert_string_equal(o.log_file, "");
	assert_string_equal(o.report, "");
}

TEST(dscp_is_0_to_63_or_keep)
{
	static const char *const good[] = { "keep", "0", "46", "63" };
	static const char *const bad[] = { "", "64", "-1", "4 6", "0x2e", "046", "ef", "Keep" };
	struct ccs_options o;
	char err[512];

	ccs_options_default(&o);
	assert_int_equal(ccs_dscp(o.dscp), -1);
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(ccs_options_set(&o, "dscp", good[i], err, sizeof(err)), 0);
	assert_int_equal(ccs_dscp(o.dscp), 63);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ccs_options_set(&o, "dscp", bad[i], err, sizeof(err)), -1);
		assert_non_null(strstr(err, "is neither keep nor a number from 0 to 63"));
	}
	assert_string_equal(o.dscp, "63");
}

/* Random text that is valid for the option. */
static void random_text(const struct ccs_opt *opt, char *text, size_t len)
{
	static const char *const specs[] = { "none", "fixed:rate=10g", "timely:beta=0.5,t_low=50us" };
	static const char letters[] = "abc/%# \"=[];\xc3\xa9";
	size_t n;

	switch (opt->type) {
	case CCS_OPT_BOOL:
		snprintf(text, len, seed_below(2) ? "y" : "n");
		return;
	case CCS_OPT_ENUM:
		for (n = 0; opt->choices[n]; n++)
			;
		snprintf(text, len, "%s", opt->choices[seed_below(n)]);
		return;
	case CCS_OPT_STRING:
		if (opt->check) {
			snprintf(text, len, "%s", strcmp(opt->name, "cc") == 0
						  ? specs[seed_below(3)] : opt->def);
			return;
		}
		n = seed_below(opt->size);
		for (size_t i = 0; i < n; i++)
			text[i] = letters[seed_below(sizeof(letters) - 1)];
		text[n] = '\0';
		return;
	default:
		snprintf(text, len, "%.17g",
			 opt->min * (1 + (double)seed_below(1 << 20)) / (1 + (double)seed_below(9)));
		if (strtod(text, NULL) < opt->min || strtod(text, NULL) > opt->max)
			snprintf(text, len, "%.17g", opt->min);
	}
}

TEST(every_option_round_trips)
{
	seed_start("options round-trip");
	for (unsigned round = 0; round < 2000; round++)
		for (size_t i = 0; i < ccs_opt_count; i++) {
			const struct ccs_opt *opt = &ccs_opt_table[i];
			struct ccs_options a, b;
			char text[512], again[512], err[512] = "";

			ccs_options_default(&a);
			ccs_options_default(&b);
			random_text(opt, text, sizeof(text));
			if (ccs_options_set(&a, opt->name, text, err, sizeof(err)))
				fail_msg("%s=%s: %s", opt->name, text, err);
			ccs_options_format(&a, opt, again, sizeof(again));
			if (ccs_options_set(&b, opt->name, again, err, sizeof(err)))
				fail_msg("%s=%s: %s", opt->name, again, err);
			assert_memory_equal((char *)&a + opt->offset, (char *)&b + opt->offset,
					    opt->type == CCS_OPT_STRING ? strlen(again) + 1
									: opt->size);
		}
}

/* Through a file, all options at once, strings quoted where they must be. */
TEST_WITH(a_written_file_reads_back, reset_sources, NULL)
{
	seed_start("file round-trip");
	for (unsigned round = 0; round < 100; round++) {
		struct ccs_options a, b;
		char text[512], quoted[520], err[512], file[16384] = "";

		ccs_options_default(&a);
		for (size_t i = 0; i < ccs_opt_count; i++) {
			random_text(&ccs_opt_table[i], text, sizeof(text));
			assert_int_equal(ccs_options_set(&a, ccs_opt_table[i].name, text, err,
							 sizeof(err)), 0);
		}
		a.split = true; /* never a conflict */
		a.max_inflight = 0;
		for (size_t i = 0; i < ccs_opt_count; i++) {
			ccs_options_format(&a, &ccs_opt_table[i], text, sizeof(text));
			sprintf(file + strlen(file), "%s = %s\n", ccs_opt_table[i].name,
				ccs_conf_quote(text, quoted, sizeof(quoted)));
		}
		write_file("user.conf", file);
		if (load_as("app", &b))
			fail_msg("%s%s", file, reported);
		for (size_t i = 0; i < ccs_opt_count; i++)
			assert_string_equal(ccs_options_format(&a, &ccs_opt_table[i], text, sizeof(text)),
					    ccs_options_format(&b, &ccs_opt_table[i], err, sizeof(err)));
	}
}

static const struct { const char *name, *text, *part; } refused[] = {
	{ "mode", "enforced", "did you mean 'enforce'" },
	{ "mode", "", "off|observe|enforce" },
	{ "mode", "1", "off|observe|enforce" },
	{ "cc", "timly", "did you mean 'timely'" },
	{ "cc", "bbr", "timely, " },
	{ "cc", "", "algorithm" },
	{ "cc", "timely:bta=0.5", "did you mean 'beta'" },
	{ "cc", "timely:beta=2", "beta" },
	{ "cc", "timely:beta", "param=value" },
	{ "cc", "timely:beta=0.5,", "param=value" },
	{ "cc", "timely:t_low=10g", "t_low" },
	{ "cc", "timely:variant=papyrus", "snippet" },
	{ "cc", "timely:min_rate=10g,max_rate=1g", "above max_rate" },
	{ "cc", "timely:t_high=1us,t_low=2us", "above t_high" },
	{ "line_rate", "0", "auto" },
	{ "line_rate", "inf", "out of range" },
	{ "line_rate", "10GBps", "10g" },
	{ "line_rate", "fast", "10g" },
	{ "max_rate", "auto", "inf" },
	{ "max_rate", "-1g", "rate" },
	{ "max_rate", "10 g", "rate" },
	{ "max_rate", "1GB/s", "'1GB/s' is not a rate such as 10g or 400mbit (bits per second); "
			       "allowed: 1k to inf" },
	{ "bogus", "1", "there is no option 'bogus'; see ccshim.conf(5)" },
	{ "base_rtt", "10g", "50us" },
	{ "base_rtt", "0", "auto" },
	{ "segment", "100", "256" },
	{ "segment", "2g", "1g" },
	{ "max_inflight", "64kbit", "64k" },
	{ "split", "maybe", "neither y nor n" },
	{ "split", "", "neither y nor n" },
	{ "split_imm", "2", "neither y nor n" },
	{ "log_level", "warning", "did you mean 'warn'" },
	{ "log_level", "loud", "error|warn|info|debug" },
	{ "log_file", "a\nb", "control character" },
	{ "log_file", "100%", "nothing follows a %" },
	{ "report", "%p/%x.json", "there is no escape '%x'; allowed: %h (host)" },
	{ "trace", "%%%", "%% for a percent sign" },
	{ "max_rat", "10g", "did you mean 'max_rate'" },
	{ "MODE", "off", "did you mean 'mode'" },
	{ "linerate", "10g", "did you mean 'line_rate'" },
	{ "max_infligth", "1m", "did you mean 'max_inflight'" },
	{ "", "10g", "no option" },
};

TEST(invalid_values_are_reported_and_change_nothing)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct ccs_options o, before;
		char err[512] = "";

		ccs_options_default(&before);
		o = before;
		if (!ccs_options_set(&o, refused[i].name, refused[i].text, err, sizeof(err)))
			fail_msg("%s=%s was accepted", refused[i].name, refused[i].text);
		assert_memory_equal(&o, &before, sizeof(o));
		if (!strstr(err, refused[i].name) || !strstr(err, refused[i].part))
			fail_msg("%s=%s: %s", refused[i].name, refused[i].text, err);
	}
}

TEST(text_that_is_too_long_is_refused)
{
	char text[4096], err[128];
	struct ccs_options o;

	ccs_options_default(&o);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < ccs_opt_count; i++) {
		assert_int_equal(ccs_options_set(&o, ccs_opt_table[i].name, text, err, sizeof(err)), -1);
		assert_non_null(strstr(err, ccs_opt_table[i].name));
	}
	assert_int_equal(ccs_options_set(&o, text, "y", err, sizeof(err)), -1);
	text[sizeof(o.report)] = '\0';
	assert_int_equal(ccs_options_set(&o, "report", text, err, sizeof(err)), -1);
	text[sizeof(o.report) - 1] = '\0';
	assert_int_equal(ccs_options_set(&o, "report", text, err, sizeof(err)), 0);
}

TEST_WITH(defaults_apply_without_any_source, reset_sources, NULL)
{
	struct ccs_options o, def;
	char **old = environ;

	ccs_options_default(&def);
	unsetenv("CCSHIM_CONFIG");
	unlink("etc/ccshim.conf");
	assert_int_equal(load_as("app", &o), 0);
	assert_memory_equal(&o, &def, sizeof(o));
	environ = NULL;
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(ccs_options_load_as("app", &o, NULL, NULL), 0);
	environ = old;
	assert_int_equal(origin_of("mode"), CCS_FROM_DEFAULT);
}

TEST_WITH(later_sources_take_precedence, reset_sources, NULL)
{
	struct ccs_options o;

	write_file("etc/ccshim.conf", "mode=off\ncc = none\nlog_level = info\n");
	write_file("user.conf", "cc = fixed:rate=1g\nlog_level=debug\n");
	setenv("CCSHIM_LOG_LEVEL", "error", 1);
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_OFF);
	assert_string_equal(o.cc, "fixed:rate=1g");
	assert_int_equal(o.log_level, CCS_LOG_ERROR);
	assert_int_equal(origin_of("mode"), CCS_FROM_SYSTEM_FILE);
	assert_int_equal(origin_of("cc"), CCS_FROM_USER_FILE);
	assert_int_equal(origin_of("log_level"), CCS_FROM_ENV);
	assert_int_equal(origin_of("split"), CCS_FROM_DEFAULT);
}

TEST_WITH(user_file_is_found_in_xdg_directories, reset_sources, NULL)
{
	struct ccs_options o;
	char cwd[512];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	mkdir(".config", 0700);
	write_file(".config/ccshim.conf", "mode = off\n");
	write_file("ccshim.conf", "mode = observe\n");
	unsetenv("CCSHIM_CONFIG");
	setenv("HOME", cwd, 1);
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_OFF);
	setenv("XDG_CONFIG_HOME", ".", 1); /* relative: not valid */
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_OFF);
	setenv("XDG_CONFIG_HOME", cwd, 1);
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_OBSERVE);
	setenv("CCSHIM_CONFIG", "", 1);
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_ENFORCE);
	unlink("ccshim.conf");
}

/* As with su -m: it could load code. */
TEST_WITH(a_file_in_the_home_of_another_user_is_not_read, reset_sources, NULL)
{
	const uid_t other = 65534;
	struct ccs_options o;
	char cwd[512];

	if (geteuid())
		skip();
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	write_file("ccshim.conf", "mode = observe\n");
	assert_int_equal(chown("ccshim.conf", other, other), 0);
	setenv("XDG_CONFIG_HOME", cwd, 1);
	unsetenv("CCSHIM_CONFIG");
	assert_int_equal(load_as("app", &o), 1);
	assert_int_equal(o.mode, CCS_MODE_ENFORCE);
	setenv("CCSHIM_CONFIG", "ccshim.conf", 1);
	assert_int_equal(load_as("app", &o), 0);
	assert_int_equal(o.mode, CCS_MODE_OBSERVE);
	unlink("ccshim.conf");
}

TEST_WITH(a_named_file_must_be_readable, reset_sources, NULL)
{
	struct ccs_options o;

	setenv("CCSHIM_CONFIG", "nowhere.conf", 1);
	assert_int_equal(load_as("app", &o), 1);
	assert_non_null(strstr(reported, "nowhere.conf: cannot be read: No such file"));
	setenv("CCSHIM_CONFIG", "etc", 1);
	assert_int_equal(load_as("app", &o), 1);
	assert_non_null(strstr(reported, "etc: cannot be read: Is a directory"));
	mkfifo("fifo", 0600);
	setenv("CCSHIM_CONFIG", "fifo", 1);
	load_as("app", &o); /* does not hang */
}

TEST_WITH(sections_apply_by_program, reset_sources, NULL)
{
	struct ccs_options o;

	write_file("etc/ccshim.conf", "[app \"ib_*\"]\nreport = sys\nmode = off\n");
	write_file("user.conf",
		   "log_level = info   # for all\n"
		   "log_file = a#b\n"
		   "split = n\n"
		   "\n"
		   "[app \"ib_write*\"]\n"
		   "log_level = debug\n"
		   "[app \"ib_*\"]  # the second match\n"
		   "log_level = error\n"
		   "cc = none\n"
		   "[app \"*\"]\n"
		   "cc = fixed\n"
		   "mode = observe\r\n");
	assert_int_equal(load_as("ib_write_bw", &o), 0);
	assert_int_equal(o.log_level, CCS_LOG_DEBUG); /* the first section that sets it */
	assert_string_equal(o.cc, "none");
	assert_string_equal(o.log_file, "a#b");
	assert_false(o.split);                        /* no section sets it */
	assert_string_equal(o.report, "sys");
	assert_int_equal(o.mode, CCS_MODE_OBSERVE);   /* a later file takes precedence */

	assert_int_equal(load_as("ib_send_bw", &o), 0);
	assert_int_equal(o.log_level, CCS_LOG_ERROR);
	assert_int_equal(load_as("python3", &o), 0);
	assert_int_equal(o.log_level, CCS_LOG_INFO);
	assert_string_equal(o.cc, "fixed");
	assert_string_equal(o.report, "");
}

static const struct { const char *file, *where, *part; } mistakes[] = {
	{ "mode = off\nmode\n", ":2: ", "malformed" },
	{ "= off\n", ":1: ", "malformed" },
	{ "my mode = off\n", ":1: ", "malformed" },
	{ "report = \"x\n", ":1: ", "malformed" },
	{ "report = \"x\" # y\n", ":1: ", "malformed" },
	{ "\n\n# c\nmod = off\n", ":4: ", "did you mean 'mode'" },
	{ "max_rate = fast", ":1: ", "max_rate: 'fast' is not a rate" },
	{ "[app \"other\"]\nmax_rate = fast\n", ":2: ", "max_rate: 'fast' is not a rate" },
	{ "mode = off\nmode = observe\n", ":2: ", "mode is set twice" },
	{ "[app \"*\"]\nmode=off\nmode=off\n", ":3: ", "mode is set twice" },
	{ "[app \"x\"\n", ":1: ", "[app \"GLOB\"]" },
	{ "[app \"x\" peer]\n", ":1: ", "[app \"GLOB\"]" },
	{ "[app \"x\"peer ::]\n", ":1: ", "[app \"GLOB\"]" },
	{ "[\n", ":1: ", "[app \"GLOB\"]" },
	{ "[]\n", ":1: ", "[app \"GLOB\"]" },
	{ "[app]\n", ":1: ", "[app \"GLOB\"]" },
	{ "[app x] mode = off\n", ":1: ", "nothing may follow the ]" },
	{ "[app x app y]\n", ":1: ", "'app' is given twice" },
	{ "[pear ::1]\n", ":1: ", "unknown section key 'pear'; did you mean 'peer'?" },
	{ "[nothing near]\n", ":1: ", "unknown section key 'nothing'; expected [app" },
	{ "[peer 10.0.0.0/33]\n", ":1: ", "'10.0.0.0/33' is not an address" },
	{ "[peer 10.0.0.0/]\n", ":1: ", "is not an address such as" },
	{ "[peer ::1/129]\n", ":1: ", "is not an address such as" },
	{ "[peer storage]\n", ":1: ", "is not an address such as" },
	{ "[dscp 64]\n", ":1: ", "'64' is not a DSCP" },
	{ "[sl 16]\n", ":1: ", "'16' is not a service level" },
	{ "[port 0]\n", ":1: ", "'0' is not a port" },
	{ "[app \"\"]\n", ":1: ", "'' is not a pattern" },
	{ "[peer ::/0]\nreport = x\n", ":2: ", "report applies to the whole process" },
	{ "[app other dscp 3]\n\nlog_level = info\n", ":3: ", "log_level applies to the whole process" },
	{ "[peer ::/0]\nmax_rat = 1g\n", ":2: ", "did you mean 'max_rate'?" },
	{ "[peer ::/0]\nmax_inflight=1m\nmax_inflight=1m\n", ":3: ", "max_inflight is set twice" },
};

TEST_WITH(mistakes_are_reported_with_file_and_line, reset_sources, NULL)
{
	struct ccs_options o;
	char where[64];

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		write_file("user.conf", mistakes[i].file);
		snprintf(where, sizeof(where), "user.conf%s", mistakes[i].where);
		if (load_as("app", &o) != 1 || strncmp(reported, where, strlen(where)) != 0 ||
		    !strstr(reported, mistakes[i].part))
			fail_msg("%s: %s", mistakes[i].file, reported);
	}
}

TEST_WITH(valid_lines_apply_beside_invalid_ones, reset_sources, NULL)
{
	struct ccs_options o;
	FILE *f;

	write_file("etc/ccshim.conf", "mode = observe\n");
	f = fopen("user.conf", "w");
	assert_non_null(f);
	fprintf(f, "mode = of\n[app \"app\"]\nmode = onn\ncc = none\nsplit=%01500d\nsplit_imm = y", 0);
	fwrite("\0\nmax_inflight = 1m", 1, 19, f);
	fclose(f);
	assert_int_equal(load_as("app", &o), 4);
	assert_int_equal(o.mode, CCS_MODE_OBSERVE);
	assert_string_equal(o.cc, "none");
	assert_true(o.split && !o.split_imm && o.max_inflight == 1 << 20);
	assert_non_null(strstr(reported, "user.conf:5: the line is too long"));
	assert_non_null(strstr(reported, "user.conf:6: the line holds a zero byte"));
}

/* Otherwise they would apply to every program. */
TEST_WITH(settings_below_an_invalid_header_are_ignored, reset_sources, NULL)
{
	struct ccs_options o;
	FILE *f;

	f = fopen("user.conf", "w");
	assert_non_null(f);
	fprintf(f, "cc = none\n [app \"other\"%01500d]\nmode = off\n[app \"oth", 0);
	fwrite("\0er\"]\nsplit = n\n[app app]\nmax_inflight = 1m\n", 1, 44, f);
	fclose(f);
	assert_int_equal(load_as("app", &o), 2);
	assert_string_equal(o.cc, "none");
	assert_true(o.mode == CCS_MODE_ENFORCE && o.split && o.max_inflight == 1 << 20);
}

TEST_WITH(the_environment_is_checked, reset_sources, NULL)
{
	struct ccs_options o;

	setenv("CCSHIM_MAX_RATE", "10x", 1);
	setenv("CCSHIM_LINE_RATE", "25g", 1);
	setenv("CCSHIM_MAX_RAT", "10g", 1);
	setenv("CCSHIM_mode", "off", 1);
	setenv("CCSHIM_QQQQQQQ", "1", 1);
	setenv("CCSHIM_", "1", 1);
	setenv("CCSHIMX", "1", 1);
	setenv("CCSHIM_LIB", "/x", 1);
	setenv("CCSHIM_LAB_CACHE", "/x", 1);
	assert_int_equal(load_as("app", &o), 5);
	assert_true(o.line_rate == 25e9 && isinf(o.max_rate) && o.mode == CCS_MODE_ENFORCE);
	assert_non_null(strstr(reported, "CCSHIM_MAX_RATE: '10x' is not a rate"));
	assert_non_null(strstr(reported, "no option CCSHIM_MAX_RAT; did you mean CCSHIM_MAX_RATE?\n"));
	assert_non_null(strstr(reported, "no option CCSHIM_mode; did you mean CCSHIM_MODE?\n"));
	assert_non_null(strstr(reported, "no option CCSHIM_QQQQQQQ\n"));
}

TEST_WITH(conflicting_options_fall_back_to_defaults, reset_sources, NULL)
{
	struct ccs_options o;

	setenv("CCSHIM_SPLIT", "n", 1);
	setenv("CCSHIM_SPLIT_IMM", "y", 1);
	setenv("CCSHIM_SEGMENT", "64k", 1);
	setenv("CCSHIM_MAX_INFLIGHT", "32k", 1);
	assert_int_equal(load_as("app", &o), 2);
	assert_non_null(strstr(reported, "split_imm: y requires split=y; the default n is used\n"));
	assert_non_null(strstr(reported, "one segment of 64k; raise it or lower segment; the default auto is used\n"));
	assert_true(!o.split && !o.split_imm && o.segment == 65536 && o.max_inflight == 0);
	assert_int_equal(origin_of("max_inflight"), CCS_FROM_DEFAULT);
}

TEST_WITH(random_files_and_variables_yield_valid_options, reset_sources, NULL)
{
	static const char letters[] = "=[]\"# \n\n\tappmodeccsplit_rt:*,?0123456789gkuynf";
	char text[2000], value[512], err[512];
	struct ccs_options o;

	seed_start("garbage files and variables");
	for (unsigned i = 0; i < 3000; i++) {
		seed_garbage(text, sizeof(text), letters, sizeof(letters) - 1);
		write_file("user.conf", text);
		seed_garbage(text, 40, letters, sizeof(letters) - 1);
		setenv("CCSHIM_CC", text, 1);
		seed_garbage(text, 40, letters, sizeof(letters) - 1);
		setenv("CCSHIM_SEGMENT", text, 1);
		load_as("app", &o);
		for (size_t k = 0; k < ccs_opt_count; k++) {
			ccs_options_format(&o, &ccs_opt_table[k], value, sizeof(value));
			assert_int_equal(ccs_opt_set(&o, &ccs_opt_table[k], value, err, sizeof(err)), 0);
		}
	}
}

static int enter_directory(void **state)
{
	static char dir[] = "/tmp/ccs-options-XXXXXX";

	return !mkdtemp(dir) || chdir(dir) || mkdir("etc", 0700);
}

static int leave_directory(void **state)
{
	char dir[64];

	ccs_rules_free(&rules);
	unlink("etc/ccshim.conf");
	unlink(".config/ccshim.conf");
	unlink("user.conf");
	unlink("fifo");
	rmdir("etc");
	rmdir(".config");
	return !getcwd(dir, sizeof(dir)) || chdir("/") || rmdir(dir);
}

int main(void)
{
	return test_run(enter_directory, leave_directory);
}
