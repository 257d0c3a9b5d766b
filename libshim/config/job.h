/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_JOB_H
#define CCS_JOB_H
/* The place of this process in a cluster, from the variables of batch systems and of MPI. */

/* Each is without '/', spaces and control characters, so it can be part of a file name. */
struct ccs_job {
	char host[64];                   /* name of this host, without its domain */
	char id[48];                     /* of the batch system's job; "": in no job */
	char task[16];                   /* number of the process in the job; "": unknown */
	char rank[16];                   /* in MPI_COMM_WORLD or similar; "": unknown */
};

/* Read the environment; a program that gains privileges when it is executed reads no variables. */
void ccs_job_read(struct ccs_job *job);

/*
 * The job of this process. The first call reads the environment, so no thread may call setenv()
 * meanwhile; the application may change or clear it afterwards.
 */
const struct ccs_job *ccs_job(void);

#endif
