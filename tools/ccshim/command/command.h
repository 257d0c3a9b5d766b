/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_COMMAND_H
#define CCS_TOOLS_COMMAND_H
/*
 * Finds the program that a command starts, and how it uses verbs, from arguments and files only: it
 * runs no program, so decisions at run time are unknown.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { COMMAND_WORDS = 1024 };

struct command {
	char path[PATH_MAX];            /* the ELF file that is executed in the end */
	char started_by[256];           /* "mpirun, env": what it was followed through; "" */
	char script[PATH_MAX];          /* that this file interprets; "" */
	char module[NAME_MAX + 1];      /* of python -m, instead of a script */
	char problem[2 * PATH_MAX + 64]; /* the reason why it was not found; "" */
	const char *remedy;             /* of the problem */
	bool open_mpi;                  /* one of started_by is Open MPI's launcher */
	char removed[128];              /* why it is started without LD_PRELOAD: "env removes ..."; "" */
	char unknown[128];              /* why it may be; "" */
	char text[16384];               /* copies of words of scripts and of shells' -c */
	unsigned used;                  /* bytes of it */
	char *words[COMMAND_WORDS + 1];
	unsigned count;
};

/*
 * Follow wrappers (env, timeout, mpirun, sh -c ...), interpreters, and the arguments of programs that
 * do not use verbs. False: see problem.
 */
bool command_follow(struct command *c, char *const *argv);

struct command_uses {
	char verbs[NAME_MAX + 1];       /* the library of verbs, if one is linked */
	char by[NAME_MAX + 1];          /* the object that needs it */
	char opens[NAME_MAX + 1];       /* an object that names libibverbs and may open it */
	char direct[64];                /* a function of direct verbs that is not UCX's */
	char direct_by[NAME_MAX + 1];
	char missing[NAME_MAX + 1];     /* a library that was not found */
	char of[32];                    /* "UCX": `by` is one of its plug-ins; "" */
	char import[NAME_MAX + 1];      /* `by` is a file of this Python module; "" */
	char copy[NAME_MAX + 1];        /* an object that contains libibverbs */
	bool ucx_direct;                /* UCX is linked, with transports of direct verbs */
};

/*
 * Read the file, its libraries, the plug-ins of UCX, Open MPI and libfabric where these are
 * linked, and the modules that a Python script imports.
 */
void command_uses(struct command_uses *u, const struct command *c);

/* Whether the file, its libraries or their plug-ins use verbs. */
bool command_file_uses(const char *path);

struct command_verdict {
	bool certain;                   /* it will not be controlled; otherwise it may not be */
	const char *remedy;
	char text[NAME_MAX + 64];       /* "it is setuid" */
};

/*
 * Whether there is a reason why the program that was found may not be controlled; without u it is not
 * that it contains a copy of libibverbs.
 */
bool command_judge(const struct command *c, const struct command_uses *u, struct command_verdict *v);

/* True if UCX may choose transports of direct verbs with this UCX_TLS; NULL: it is not set. */
bool command_ucx_is_direct(const char *tls);
/* The UCX_TLS that has ordinary verbs in their place; false: it is longer than len. */
bool command_ucx_without_direct(const char *tls, char *out, size_t len);

/* -- between the parts ---------------------------------------------------------------------- */

/* The files of extension modules that a Python script imports, itself or by modules beside it. */
typedef void command_module_visit(void *arg, const char *module, const char *file);
void command_python_modules(const struct command *c, command_module_visit *visit, void *arg);

#endif
