/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_OPTIONS_H
#define CCS_OPTIONS_H
/*
 * The option table. The parsers of the environment and of the configuration
 * file, `ccshim info -c` and `-f`, the list in the man page and their tests are
 * all derived from it. An option `name` is CCSHIM_NAME in the environment.
 *
 * Precedence: built-in < $sysconfdir/ccshim.conf < user's file < environment;
 * within a file by section, see rules.h.
 * The user's file is $CCSHIM_CONFIG (not read if that is empty); default: ccshim.conf
 * in $XDG_CONFIG_HOME or ~/.config.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CCS_SYSTEM_FILE CCS_SYSCONFDIR "/ccshim.conf"

enum ccs_mode { CCS_MODE_OFF, CCS_MODE_OBSERVE, CCS_MODE_ENFORCE };
extern const char *const ccs_mode_names[];
enum ccs_deepbind { CCS_DEEPBIND_CLEAR, CCS_DEEPBIND_KEEP };
enum ccs_fallback {
	CCS_FALLBACK_AUTO, CCS_FALLBACK_TIMELY, CCS_FALLBACK_SWIFT, CCS_FALLBACK_HOLD, CCS_FALLBACK_OPEN
};
enum ccs_log_level { CCS_LOG_ERROR, CCS_LOG_WARN, CCS_LOG_INFO, CCS_LOG_DEBUG };

/* Option values. Numbers of type rate/bytes/time: bit/s, bytes, us; 0 = auto. */
struct ccs_options {
	int mode;               /* enum ccs_mode;    default enforce */
	char cc[512];           /* algorithm spec;   default "auto" */
	double line_rate;       /* of the port; default auto (port attributes) */
	double max_rate;        /* limit per QP;     default inf */
	double base_rtt;        /* unloaded RTT;     default auto (measured) */
	double rtt_jitter;      /* added by the hosts to the RTT, p95; default 0 */
	double segment;         /* WRITE/READ split; default auto */
	double max_inflight;    /* outstanding data per QP; default auto */
	bool split;             /* split WRITE and READ; default y */
	bool split_imm;         /* also WRITE_WITH_IMM; default n */
	char impair[256];       /* conditions and failures; default "": none; see impair.h */
	double linger;          /* for deferred requests of a QP that ends; default 10 ms */
	int deepbind;           /* enum ccs_deepbind; default clear */
	char agent[108];        /* socket of the host agent; default CCS_IPC_SOCKET; or "off" */
	bool hw_timestamps;     /* use timestamps of completions; default y */
	int fallback;           /* enum ccs_fallback; default auto */
	char dscp[8];           /* of packets; default "keep": as the application requests */
	int log_level;          /* enum ccs_log_level; default warn */
	char log_file[256];     /* default "" = stderr; for names see filename.h */
	char failures[256];     /* JSON when a QP fails; default "" = off */
	char report[256];       /* JSON summary at exit; default "" = off */
	char trace[256];        /* events and decisions of algorithms; default "" = off */
	bool stats;             /* publish a statistics file; default y */
	char stats_dir[256];    /* parent of its directory; default "": a private one */
	double trace_size;      /* maximum size of the trace; default 64 MB */
};

/* Parse a DSCP, 0 to 63; -1: text is invalid. */
int ccs_dscp(const char *text);

enum ccs_opt_type {
	CCS_OPT_BOOL, CCS_OPT_ENUM, CCS_OPT_STRING, CCS_OPT_RATE, CCS_OPT_BYTES, CCS_OPT_TIME
};

struct ccs_opt {
	const char *name;               /* lower case, '_' between words */
	enum ccs_opt_type type;
	const char *def;                /* as text, for the same parser; "auto" is allowed
					   only where it is the default */
	double min, max;                /* inclusive range of a number */
	size_t offset;                  /* in struct ccs_options */
	size_t size;                    /* size of a string's array */
	const char *const *choices;     /* enum names, NULL-terminated */
	int (*check)(const char *text, char *err, size_t errlen); /* or NULL */
	bool per_qp;                    /* may differ between queue pairs of one process */
	const char *doc;                /* whole sentences */
};

/* Sources of a value; later sources take precedence. */
enum ccs_opt_origin {
	CCS_FROM_DEFAULT, CCS_FROM_SYSTEM_FILE, CCS_FROM_USER_FILE, CCS_FROM_ENV,
	CCS_FROM_REQUEST                /* `ccshim set` */
};

extern const struct ccs_opt ccs_opt_table[];
extern const size_t ccs_opt_count;
#define CCS_OPT_MAX 64 /* at least ccs_opt_count */

/* NULL if no option has that name. */
const struct ccs_opt *ccs_opt_find(const char *name);

/* The environment variable that sets it: CCSHIM_NAME. */
char *ccs_opt_variable(const struct ccs_opt *opt, char *buf, size_t len);

/* The syntax of its values: "off|observe|enforce", "rate, 1 to inf, or auto". */
char *ccs_opt_values(const struct ccs_opt *opt, char *buf, size_t len);

/* Reports one problem found while loading, as a sentence. */
typedef void ccs_opt_complain(void *arg, const char *sentence);

/* Defaults into *o. */
void ccs_options_default(struct ccs_options *o);

/* Set one option from text. 0, or -1 with a sentence in err, which names the option, and *o
 * unchanged. For an unknown name the sentence suggests the nearest known one. */
int ccs_options_set(struct ccs_options *o, const char *name, const char *text,
		    char *err, size_t errlen);

/* As above for a known option; the sentence does not begin with its name. */
int ccs_opt_set(struct ccs_options *o, const struct ccs_opt *opt, const char *text,
		char *err, size_t errlen);

/* An option that conflicts with the others, with a sentence in err; NULL if the options agree. */
const struct ccs_opt *ccs_options_conflict(const struct ccs_options *o, char *err, size_t errlen);

/*
 * Load defaults, files and environment, in that order, and resolve conflicts, for the
 * program with that base name, without settings that depend on the queue pair (rules.h
 * has these). A refused value leaves the option unchanged, a conflicting one is replaced
 * by its default; both are reported, and so is an unknown CCSHIM_* variable, with the
 * nearest name. Returns the number of reports. Under AT_SECURE only the system's file is
 * read. Reads environ, so no thread may call setenv() during the call.
 */
int ccs_options_load_as(const char *app, struct ccs_options *o, ccs_opt_complain *complain,
			void *arg);

/* The text of an option's value, in a form that the parser accepts. */
char *ccs_options_format(const struct ccs_options *o, const struct ccs_opt *opt,
			 char *buf, size_t len);

#endif
