/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_OPTIONS_H
#define CCS_OPTIONS_H
/*
 * The one option table. It makes the parsers of the environment and of the
 * configuration file, `ccshim info -c` and `-f`, the man page's list and their
 * tests. An option `name` is CCSHIM_NAME in the environment.
 *
 * Precedence: built-in < $sysconfdir/ccshim.conf < user's file < environment;
 * within a file by section, see rules.h.
 * The user's file is $CCSHIM_CONFIG (none if that is empty), else ccshim.conf
 * in $XDG_CONFIG_HOME or ~/.config.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ccs_mode { CCS_MODE_OFF, CCS_MODE_OBSERVE, CCS_MODE_ENFORCE };
enum ccs_deepbind { CCS_DEEPBIND_CLEAR, CCS_DEEPBIND_KEEP };
enum ccs_signal_loss {
	CCS_LOSS_AUTO, CCS_LOSS_TIMELY, CCS_LOSS_SWIFT, CCS_LOSS_HOLD, CCS_LOSS_OPEN
};
enum ccs_log_level { CCS_LOG_ERROR, CCS_LOG_WARN, CCS_LOG_INFO, CCS_LOG_DEBUG };

/* Values in force. Numbers of type rate/bytes/time: bit/s, bytes, us; 0 = auto. */
struct ccs_options {
	int mode;               /* enum ccs_mode;    default enforce */
	char cc[512];           /* algorithm spec;   default "auto" */
	double line_rate;       /* of the port;      default auto (port attributes) */
	double max_rate;        /* cap per QP;       default inf */
	double base_rtt;        /* unloaded RTT;     default auto (measured) */
	double noise;           /* of the hosts in the RTT, p95; default 0 */
	double segment;         /* WRITE/READ split; default auto */
	double cap;             /* outstanding data per QP; default auto */
	bool split;             /* split WRITE and READ at all; default y */
	bool split_imm;         /* also WRITE_WITH_IMM; default n */
	int deepbind;           /* enum ccs_deepbind; default clear */
	char agent[108];        /* the host agent's socket; default CCS_LOCAL_SOCKET; or "off" */
	bool agent_thread;      /* be one where none answers, if it may; default y */
	int on_signal_loss;     /* enum ccs_signal_loss; default auto */
	char dscp[8];           /* of packets; default "keep" what the application asked for */
	int log_level;          /* enum ccs_log_level; default warn */
	char log_file[256];     /* default "" = stderr */
	char report[256];       /* JSON summary at exit; default "" = none; %p = pid */
	char trace[256];        /* what algorithms are told; default "" = none; %p = pid */
	bool stats;             /* show a statistics page; default y */
	double trace_size;      /* the most that is written of it; default 64 MB */
};

/* The DSCP that a text names; -1: none. */
int ccs_dscp(const char *text);

enum ccs_opt_type {
	CCS_OPT_BOOL, CCS_OPT_ENUM, CCS_OPT_STRING, CCS_OPT_RATE, CCS_OPT_BYTES, CCS_OPT_TIME
};

struct ccs_opt {
	const char *name;               /* lower case, '_' between words */
	enum ccs_opt_type type;
	const char *def;                /* as text, parsed by the same parser; "auto" is allowed
					   where it is the default */
	double min, max;                /* of a number; both allowed */
	size_t offset;                  /* in struct ccs_options */
	size_t size;                    /* of a string's array */
	const char *const *choices;     /* enum names, NULL-terminated */
	int (*check)(const char *text, char *err, size_t errlen); /* or NULL */
	bool per_qp;                    /* queue pairs of one process may differ in it */
	const char *doc;                /* whole sentences */
};

/* Sources of a value; a later one wins. */
enum ccs_opt_origin {
	CCS_FROM_DEFAULT, CCS_FROM_SYSTEM_FILE, CCS_FROM_USER_FILE, CCS_FROM_ENV,
	CCS_FROM_REQUEST                /* `ccshim set` */
};

extern const struct ccs_opt ccs_opt_table[];
extern const size_t ccs_opt_count;
#define CCS_OPT_MAX 64 /* never fewer than ccs_opt_count */

/* NULL if there is none of that name. */
const struct ccs_opt *ccs_opt_find(const char *name);

/* What its values look like: "off|observe|enforce", "rate, 1 to inf, or auto". */
char *ccs_opt_values(const struct ccs_opt *opt, char *buf, size_t len);

/* Everything that went wrong or was odd while loading, one sentence a line. */
typedef void ccs_opt_complain(void *arg, const char *sentence);

/* Defaults into *o. */
void ccs_options_default(struct ccs_options *o);

/* Set one option from text. 0, or -1 with a sentence in err, which names the option, and *o
 * unchanged. An unknown name is answered with the nearest known one. */
int ccs_options_set(struct ccs_options *o, const char *name, const char *text,
		    char *err, size_t errlen);

/* The same for a known option; the sentence does not begin with its name. */
int ccs_opt_set(struct ccs_options *o, const struct ccs_opt *opt, const char *text,
		char *err, size_t errlen);

/* The option that cannot stand beside the others, with a sentence in err; NULL if all can. */
const struct ccs_opt *ccs_options_conflict(const struct ccs_options *o, char *err, size_t errlen);

/*
 * Defaults, files, environment, in that order, then conflicts, as the program of that base
 * name sees them, whatever its queue pairs; rules.h has the rest. A refused value
 * keeps what was there, a conflicting one falls back to its default; both are
 * complained about, and so is an unknown CCSHIM_* variable, with the nearest name.
 * Returns the number of complaints. Under AT_SECURE nothing is read but the
 * system's file. Reads environ: not at the same time as somebody's setenv().
 */
int ccs_options_load_as(const char *app, struct ccs_options *o, ccs_opt_complain *complain,
			void *arg);

/* The text of an option's value, in the form that the parser takes back. */
char *ccs_options_format(const struct ccs_options *o, const struct ccs_opt *opt,
			 char *buf, size_t len);

#endif
