/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "config/environment.h"

enum { SHORT_ID = 12 };

static const char *const id_names[] = {
	"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID", "JOB_ID", NULL
};
static const char *const task_names[] = {
	"SLURM_PROCID", "FLUX_TASK_RANK", "PALS_RANKID", "PBS_TASKNUM", NULL
};
static const char *const container_names[] = { "APPTAINER_NAME", "SINGULARITY_NAME", NULL };
/* mpirun starts one Slurm task per host, and all ranks of the host inherit its SLURM_PROCID. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "RANK", NULL
};
const char *const *const ccs_job_variables[] = {
	id_names, task_names, container_names, rank_names, NULL
};

static bool is_number(const char *text)
{
	const size_t len = strlen(text);

	return len && len <= 10 && strspn(text, "0123456789") == len;
}

/* Copy the text, with '_' for each character that is special in paths, terminals or shells. */
static void copy_word(const char *text, char *to, size_t len)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789-_.,+=@:[]";

	snprintf(to, len, "%s", text);
	for (char *p = to; *p; p++)
		if (!strchr(allowed, *p))
			*p = '_';
	if (*to == '.')
		*to = '_';
}

static void read_word(const char *const *names, char *to, size_t len)
{
	const char *value = NULL;

	for (; *names && !(value && *value); names++)
		value = ccs_environment_get(*names);
	copy_word(value ? value : "", to, len);
}

/* The first of the variables that is a number. */
static void read_number(const char *const *names, char *to, size_t len)
{
	*to = '\0';
	for (; *names && !*to; names++) {
		const char *value = ccs_environment_get(*names);

		if (value && is_number(value))
			snprintf(to, len, "%s", value);
	}
}

static void read_host(char *to, size_t len)
{
	char name[256] = "";

	gethostname(name, sizeof(name) - 1);
	name[strcspn(name, ".")] = '\0';
	copy_word(name, to, len);
}

void ccs_job_read(struct ccs_job *job)
{
	memset(job, 0, sizeof(*job));
	read_host(job->host, sizeof(job->host));
	read_word(id_names, job->id, sizeof(job->id));
	read_number(task_names, job->task, sizeof(job->task));
	read_number(rank_names, job->rank, sizeof(job->rank));
	if (!ccs_container_read("/proc/self", job->container))
		read_word(container_names, job->container, sizeof(job->container));
	if (!*job->task)
		memcpy(job->task, job->rank, sizeof(job->task));
	if (!*job->rank)
		memcpy(job->rank, job->task, sizeof(job->rank));
}

static struct ccs_job own;

static void read_own(void)
{
	ccs_job_read(&own);
}

const struct ccs_job *ccs_job(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_own);
	return &own;
}

static void append(char *text, size_t len, const char *what, const char *value, int most)
{
	if (*value)
		ccs_append(text, len, ", %s %.*s", what, most, value);
}

const char *ccs_job_text(const struct ccs_job *job, char *text, size_t len)
{
	const bool is_id = strlen(job->container) == CCS_CONTAINER_LEN - 1;
	const bool is_rank = strcmp(job->task, job->rank) == 0;

	*text = '\0';
	append(text, len, "job", job->id, CCS_JOB_TEXT);
	append(text, len, "task", is_rank ? "" : job->task, CCS_JOB_TEXT);
	append(text, len, "rank", job->rank, CCS_JOB_TEXT);
	append(text, len, "container", job->container, is_id ? SHORT_ID : CCS_JOB_TEXT);
	return text;
}

static void write_number(struct ccs_json *j, const char *key, const char *text)
{
	if (is_number(text))
		ccs_json_uint(j, key, strtoull(text, NULL, 10));
}

void ccs_job_json(struct ccs_json *j, const struct ccs_job *job)
{
	if (*job->id)
		ccs_json_str(j, "job", job->id);
	write_number(j, "task", job->task);
	write_number(j, "rank", job->rank);
	if (*job->container)
		ccs_json_str(j, "container", job->container);
}

double ccs_share_place(const struct ccs_job *job, pid_t pid)
{
	char process[sizeof(job->host) + 16];

	snprintf(process, sizeof(process), "%s %d", job->host, (int)pid);
	return 100 * ((double)(ccs_hash_text(*job->id ? job->id : process) >> 11) + 1) / 0x1p53;
}
