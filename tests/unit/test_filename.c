/* SPDX-License-Identifier: BSD-2-Clause */
/* Escapes in file names, and the variables from which job, task and rank come. */
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/filename.h"
#include "config/job.h"
#include "seed.h"

enum { ROUNDS = 20000 };

static const struct ccs_job job = {
	.host = "node7", .id = "4711", .task = "12", .rank = "13",
};

static const char *const variables[] = {
	"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "JOB_ID",
	"SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID", "PBS_TASKNUM",
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "RANK",
};

static int clear_environment(void **state)
{
	for (unsigned i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	return 0;
}

static void random_name(char *name, size_t len)
{
	static const char letters[] = "%%%%%hjtrpx/. a";

	seed_garbage(name, len, letters, sizeof(letters) - 1);
}

/* What a name stands for, one escape after the other; false: it has another escape. */
static bool expand_slowly(const char *name, char *out)
{
	static const char escapes[] = "hjtrp%";
	const char *value[] = { job.host, job.id, job.task, job.rank, "PID", "%" };

	for (; *name; name++) {
		const char *at = *name == '%' && name[1] ? strchr(escapes, name[1]) : NULL;

		if (*name == '%' && !at)
			return false;
		if (!at)
			*out++ = *name;
		else if (*at == 'p')
			out += sprintf(out, "%ld", (long)getpid());
		else
			out += sprintf(out, "%s", value[at - escapes]);
		name += at ? 1 : 0;
	}
	*out = '\0';
	return true;
}

TEST(a_name_is_refused_or_expands_to_what_its_escapes_stand_for)
{
	unsigned refused = 0;

	seed_start("escapes");
	for (unsigned i = 0; i < ROUNDS; i++) {
		char name[12], want[1024], got[1024], err[256] = "";
		bool valid;

		random_name(name, sizeof(name));
		valid = expand_slowly(name, want);
		assert_int_equal(ccs_filename_check(name, err, sizeof(err)), valid ? 0 : -1);
		assert_int_equal(*err != '\0', !valid);
		refused += !valid;
		if (!valid)
			continue;
		assert_int_equal(ccs_filename_expand(name, &job, got, sizeof(got)), 0);
		assert_string_equal(got, want);
	}
	assert_in_range(refused, ROUNDS / 10, ROUNDS * 9 / 10);
}

TEST(an_escaped_name_expands_to_the_original)
{
	seed_start("escaped names");
	for (unsigned i = 0; i < ROUNDS; i++) {
		char name[40], escaped[80], again[40], err[256];

		random_name(name, sizeof(name));
		assert_int_equal(ccs_filename_escape(name, escaped, sizeof(escaped)), 0);
		assert_int_equal(ccs_filename_check(escaped, err, sizeof(err)), 0);
		assert_int_equal(ccs_filename_expand(escaped, &job, again, sizeof(again)), 0);
		assert_string_equal(again, name);
	}
}

/* Two processes would otherwise write one file. */
TEST(a_result_that_does_not_fit_is_an_error)
{
	static const char name[] = "/%h.%j.%t.%r.%%";
	static const char want[] = "/node7.4711.12.13.%";

	for (size_t len = 1; len < 2 * sizeof(want); len++) {
		char *out = malloc(len);
		const int status = ccs_filename_expand(name, &job, out, len);

		assert_int_equal(status, len < sizeof(want) ? -1 : 0);
		if (status)
			assert_int_equal(errno, ENAMETOOLONG);
		else
			assert_string_equal(out, want);
		free(out);
	}
}

TEST_WITH(what_is_unknown_is_none, clear_environment, NULL)
{
	struct ccs_job own;
	char out[64];

	ccs_job_read(&own);
	assert_string_equal(own.id, "");
	assert_string_equal(own.task, "");
	assert_string_equal(own.rank, "");
	assert_int_equal(ccs_filename_expand("%j-%t-%r", &own, out, sizeof(out)), 0);
	assert_string_equal(out, "none-none-none");
}

TEST_WITH(each_batch_system_and_mpi_is_recognised, clear_environment, NULL)
{
	static const struct { const char *name, *id, *task, *rank; } cases[] = {
		{ "SLURM_JOB_ID", "17", "", "" }, { "PBS_JOBID", "17", "", "" },
		{ "LSB_JOBID", "17", "", "" }, { "FLUX_JOB_ID", "17", "", "" },
		{ "OAR_JOB_ID", "17", "", "" }, { "JOB_ID", "17", "", "" },
		{ "SLURM_PROCID", "", "17", "17" }, { "FLUX_TASK_RANK", "", "17", "17" },
		{ "PALS_RANKID", "", "17", "17" }, { "PBS_TASKNUM", "", "17", "17" },
		{ "OMPI_COMM_WORLD_RANK", "", "17", "17" }, { "PMIX_RANK", "", "17", "17" },
		{ "PMI_RANK", "", "17", "17" }, { "MV2_COMM_WORLD_RANK", "", "17", "17" },
		{ "RANK", "", "17", "17" },
	};
	struct ccs_job own;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		clear_environment(state);
		setenv(cases[i].name, "17", 1);
		ccs_job_read(&own);
		assert_string_equal(own.id, cases[i].id);
		assert_string_equal(own.task, cases[i].task);
		assert_string_equal(own.rank, cases[i].rank);
	}
}

/* As the ranks of Open MPI in a job of Slurm, one task per host. */
TEST_WITH(the_rank_of_mpi_differs_from_the_task_of_slurm, clear_environment, NULL)
{
	struct ccs_job own;

	setenv("SLURM_JOB_ID", "4711", 1);
	setenv("SLURM_PROCID", "1", 1);
	setenv("OMPI_COMM_WORLD_RANK", "5", 1);
	ccs_job_read(&own);
	assert_string_equal(own.id, "4711");
	assert_string_equal(own.task, "1");
	assert_string_equal(own.rank, "5");
	setenv("OMPI_COMM_WORLD_RANK", "first", 1); /* no number */
	setenv("PMI_RANK", "6", 1);
	ccs_job_read(&own);
	assert_string_equal(own.rank, "6");
}

TEST_WITH(job_ids_of_batch_systems_are_kept, clear_environment, NULL)
{
	static const char *const ids[] = { "4711", "12[3].server-1.example.org", "17_4", "ƒ" };
	static const char *const kept[] = { "4711", "12[3].server-1.example.org", "17_4", "__" };
	struct ccs_job own;

	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		setenv("PBS_JOBID", ids[i], 1);
		ccs_job_read(&own);
		assert_string_equal(own.id, kept[i]);
	}
}

TEST_WITH(no_variable_leads_to_another_directory, clear_environment, NULL)
{
	static const char letters[] = "../%p\n ;$17";

	seed_start("variables");
	for (unsigned i = 0; i < ROUNDS; i++) {
		char value[100], out[512];
		struct ccs_job own;

		seed_garbage(value, sizeof(value), letters, sizeof(letters) - 1);
		setenv(variables[seed_below(sizeof(variables) / sizeof(*variables))], value, 1);
		ccs_job_read(&own);
		assert_int_equal(ccs_filename_expand("%j%t%r%h", &own, out, sizeof(out)), 0);
		assert_true(*out && *out != '.');
		for (const char *p = out; *p; p++)
			assert_true(*p > ' ' && *p < 0x7f && !strchr("/%;$", *p));
	}
}

/* -- containers -------------------------------------------------------------------- */

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void put(const char *dir, const char *file, const char *text)
{
	char name[128];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", dir, file);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

TEST(the_container_is_found_in_control_groups_and_mounts)
{
	static const struct { const char *cgroup, *mountinfo, *id; } cases[] = {
		{ "0::/system.slice/docker-" ID_A ".scope\n", "", ID_A },
		{ "12:pids:/docker/" ID_A "\n0::/\n", "", ID_A },
		{ "0::/machine.slice/libpod-" ID_A ".scope/container\n", "", ID_A },
		{ "0::/kubepods/burstable/pod3c3d-11/" ID_A "\n", "", ID_A },
		{ "0::/docker/" ID_A "/kubepods/" ID_B "\n", "", ID_B },
		{ "0::/\n", "22 27 0:21 / / rw\n"
		  "31 22 8:1 /var/lib/docker/containers/" ID_A "/hostname /etc/hostname rw - ext4\n", ID_A },
		{ "0::/\n", "31 22 8:1 /run/containers/" ID_A "/userdata/.containerenv /run/.containerenv rw\n",
		  ID_A },
		/* The pod's ID, a layer of an image, and what is too short or too long. */
		{ "0::/\n", "31 22 8:1 /io.containerd/sandboxes/" ID_A "/hostname /etc/hostname rw\n", "" },
		{ "0::/\n", "31 22 8:1 /overlay2/" ID_A "/merged / rw\n", "" },
		{ "0::/session-" ID_A "0.scope\n0::/0123456789abcdef\n", "31 22\n\n", "" },
	};
	char dir[] = "/tmp/ccshim-test-container.XXXXXX", id[CCS_CONTAINER_LEN], command[64];

	assert_non_null(mkdtemp(dir));
	assert_false(ccs_container_read(dir, id));
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put(dir, "cgroup", cases[i].cgroup);
		put(dir, "mountinfo", cases[i].mountinfo);
		assert_int_equal(ccs_container_read(dir, id), *cases[i].id != '\0');
		assert_string_equal(id, cases[i].id);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

TEST(a_job_is_written_with_what_is_known)
{
	static const struct { struct ccs_job job; const char *text; } cases[] = {
		{ { .host = "h" }, "" },
		{ { .id = "4711", .task = "3", .rank = "5" }, ", job 4711, task 3, rank 5" },
		{ { .task = "5", .rank = "5", .container = ID_A }, ", rank 5, container 0123456789ab" },
		{ { .container = "lolcow_latest.sif" }, ", container lolcow_latest.sif" },
	};
	char text[CCS_JOB_TEXT], little[10];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(ccs_job_text(&cases[i].job, text, sizeof(text)), cases[i].text);
	ccs_job_text(&cases[1].job, little, sizeof(little));
	assert_string_equal(little, ", job 471");
}

/* An application may write over its environment, to change its title. */
TEST_WITH(the_own_job_is_read_once, clear_environment, NULL)
{
	setenv("SLURM_JOB_ID", "4711", 1);
	assert_string_equal(ccs_job()->id, "4711");
	setenv("SLURM_JOB_ID", "4712", 1);
	assert_string_equal(ccs_job()->id, "4711");
}

int main(void)
{
	return test_run(NULL, clear_environment);
}
