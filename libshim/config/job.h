/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_JOB_H
#define CCS_JOB_H
/* The place of this process in a cluster, from the variables of batch systems and of MPI. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The ID of the container in which a process runs: 64 hexadecimal digits, as Docker, Podman,
 * containerd and CRI-O assign it. They are part of the names of control groups; where a control
 * group namespace hides them, of the path from which the runtime mounts /etc/hostname.
 */
enum { CCS_CONTAINER_LEN = 65 };

/* Read it from cgroup and mountinfo in the directory /proc/PID. False if the process is not in a
 * container; id is then "". */
bool ccs_container_read(const char *proc, char id[CCS_CONTAINER_LEN]);

struct ccs_json;

/* Each is without '/', spaces and control characters, so it can be part of a file name. */
struct ccs_job {
	char host[64];                   /* name of this host, without its domain */
	char id[48];                     /* ID of the batch system's job; "": in no job */
	char task[16];                   /* number of the process in the job; "": unknown */
	char rank[16];                   /* in MPI_COMM_WORLD or similar; "": unknown */
	char container[CCS_CONTAINER_LEN]; /* its ID, for Apptainer its name; "": unknown */
};

/* Names of the variables that are read, for ccs_environment_keep(). */
extern const char *const *const ccs_job_variables[];

/* Read the environment; a program that gains privileges when it is executed reads no variables. */
void ccs_job_read(struct ccs_job *job);

/*
 * The job of this process. The first call reads the environment, so no thread may call setenv()
 * during it; variables that were removed have the value that was kept. The application may change
 * the environment afterwards.
 */
const struct ccs_job *ccs_job(void);

/*
 * The place of a process among all, for sections of a configuration file such as [share 10%]:
 * a number above 0 and up to 100, a hash of the batch system's job or, outside of jobs, of host and
 * process ID. All processes of a job have the same place on all hosts, so that they are controlled
 * together. A larger share contains each smaller share.
 */
double ccs_share_place(const struct ccs_job *job, pid_t pid);

enum { CCS_JOB_TEXT = 256 };

/* Write the known parts of ", job ID, task N, rank N, container ID", the latter as its 12 first
 * digits and the task only if it is not the rank. Returns text, which may be empty. */
const char *ccs_job_text(const struct ccs_job *job, char *text, size_t len);

/* Write the known members of job, task, rank and container into the open object. */
void ccs_job_json(struct ccs_json *j, const struct ccs_job *job);

#endif
