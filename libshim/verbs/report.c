/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON summary at exit (option report): what each QP did, living or gone.
 * A destroyed QP leaves a copy of its figures; beyond KEPT only their number.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "runtime/filename.h"
#include "runtime/log.h"
#include "runtime/shield.h"
#include "runtime/stats_fields.h"
#include "verbs/shim.h"

enum { KEPT = 1024 };

struct figures {
	struct ccs_stats_qp shown;
	uint64_t now_ns;
	uint32_t unrecorded;
	struct ccs_cc cc;
	const struct ccs_policy *policy;
	uint64_t fallback_bytes;
	double rtt_us[5];
	struct figures *next;
};

static const struct { const char *name; double q; } quantiles[] = {
	{ "min", 0 }, { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "max", 1 },
};

static const char *const modes[] = { "off", "observe", "enforce" };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct qp *live;
static struct figures *gone, **gone_end = &gone;
static unsigned gone_count, omitted;

static bool wanted(void)
{
	return ccs_shim()->options.report[0];
}

void ccs_report_add(struct qp *qp)
{
	pthread_mutex_lock(&lock);
	qp->next = live;
	if (live)
		live->prev = qp;
	live = qp;
	pthread_mutex_unlock(&lock);
}

static void collect(const struct qp *qp, struct figures *out)
{
	*out = (struct figures){
		.now_ns = ccs_now_ns(),
		.unrecorded = qp->flow.stats.unrecorded,
		.cc = qp->flow.cc,
		.policy = qp->policy,
		.fallback_bytes = ccs_signals_fallback(qp),
	};
	ccs_publish_collect(qp, out->now_ns, &out->shown);
	for (unsigned i = 0; qp->flow.rtt && i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		out->rtt_us[i] = (double)ccs_hist_percentile(qp->flow.rtt, quantiles[i].q) / 1e3;
}

/* Called with qp->lock held, before the QP's numbers are gone. */
void ccs_report_remove(struct qp *qp)
{
	struct figures *f = wanted() ? malloc(sizeof(*f)) : NULL;

	if (f)
		collect(qp, f);
	pthread_mutex_lock(&lock);
	if (qp->prev)
		qp->prev->next = qp->next;
	else
		live = qp->next;
	if (qp->next)
		qp->next->prev = qp->prev;
	if (f && gone_count < KEPT) {
		*gone_end = f;
		gone_end = &f->next;
		gone_count++;
		f = NULL;
	} else if (wanted()) {
		omitted++;
	}
	pthread_mutex_unlock(&lock);
	free(f);
}

static void write_algorithm(struct ccs_json *j, const struct ccs_cc *cc)
{
	struct ccs_cc_obs obs[16];
	const unsigned n = cc->ops->observe ? cc->ops->observe(cc, obs, 16) : 0;

	ccs_json_object(j, "parameters");
	for (unsigned i = 0; i < cc->ops->nparams; i++) {
		const struct ccs_cc_param *p = &cc->ops->params[i];

		if (p->choices)
			ccs_json_str(j, p->name, p->choices[(unsigned)cc->param[i]]);
		else
			ccs_json_num(j, p->name, cc->param[i]);
	}
	ccs_json_end(j);
	ccs_json_object(j, "state");
	for (unsigned i = 0; i < n; i++) {
		if (obs[i].text)
			ccs_json_str(j, obs[i].name, obs[i].text);
		else
			ccs_json_num(j, obs[i].name, obs[i].value);
	}
	ccs_json_end(j);
}

/* What its configuration asks for, which need not be what was in force. */
static void write_asked(struct ccs_json *j, const struct figures *f)
{
	const struct ccs_policy *p = f->policy;

	ccs_json_object(j, "asked");
	ccs_json_str(j, "mode", modes[p->asked.mode]);
	ccs_json_str(j, "cc", p->asked.cc);
	ccs_json_end(j);
	if (!p->listens)
		return;
	ccs_json_object(j, "fallback");
	ccs_json_str(j, "cc", p->stand_in.ops->name);
	ccs_json_uint(j, "sent_bytes", f->fallback_bytes);
	ccs_json_end(j);
}

static void write_qp(struct ccs_json *j, const struct figures *f)
{
	ccs_json_object(j, NULL);
	ccs_stats_json_qp(j, &f->shown, f->now_ns);
	write_asked(j, f);
	ccs_json_uint(j, "rtt_unrecorded", f->unrecorded);
	ccs_json_object(j, "rtt_us");
	for (unsigned i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		ccs_json_num(j, quantiles[i].name, f->rtt_us[i]);
	ccs_json_end(j);
	write_algorithm(j, &f->cc);
	ccs_json_end(j);
}

static void write_passes(struct ccs_json *j)
{
	ccs_json_object(j, "passes");
	for (unsigned i = 0; i < CCS_PASS_COUNT; i++)
		ccs_json_uint(j, ccs_pass_names[i], atomic_load(&ccs_shim()->passes[i]));
	ccs_json_end(j);
}

/* Signals that the algorithm needs and did not get. */
static void write_undelivered(struct ccs_json *j)
{
	ccs_json_array(j, "undelivered");
	for (const struct ccs_cc_signal *s = ccs_cc_signals; s->name; s++)
		if (ccs_policy_undelivered() & s->bit)
			ccs_json_str(j, NULL, s->name);
	ccs_json_end(j);
}

static bool write_all(FILE *file)
{
	struct figures f;
	struct ccs_json j;

	ccs_json_start(&j, file);
	ccs_json_object(&j, NULL);
	ccs_json_str(&j, "program", program_invocation_short_name);
	ccs_json_int(&j, "pid", getpid());
	ccs_json_str(&j, "mode", modes[ccs_shim()->options.mode]);
	write_passes(&j);
	write_undelivered(&j);
	ccs_json_uint(&j, "qps_omitted", omitted);
	ccs_json_array(&j, "qps");
	for (const struct figures *g = gone; g; g = g->next)
		write_qp(&j, g);
	for (const struct qp *qp = live; qp; qp = qp->next) {
		collect(qp, &f);
		write_qp(&j, &f);
	}
	return ccs_json_finish(&j);
}

/* A pipe without a reader is an error, not a wait for one. */
static FILE *open_file(const char *name)
{
	const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			    0666);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file;
}

static bool write_file(const char *name)
{
	FILE *file = open_file(name);
	bool ok;

	if (!file)
		return false;
	pthread_mutex_lock(&lock);
	ok = write_all(file);
	pthread_mutex_unlock(&lock);
	return fclose(file) == 0 && ok;
}

/*
 * A file whole or not at all: a reader never sees half a report. What is no file (/dev/null,
 * /dev/stderr, a pipe) must not be replaced by one.
 */
static bool write_report(const char *name)
{
	struct stat st;
	char temp[320];
	int error;

	if (lstat(name, &st) == 0 && !S_ISREG(st.st_mode))
		return write_file(name);
	snprintf(temp, sizeof(temp), "%s.%ld", name, (long)getpid());
	if (write_file(temp) && rename(temp, name) == 0)
		return true;
	error = errno;
	unlink(temp);
	errno = error;
	return false;
}

void ccs_report_write(void)
{
	struct ccs_shield shield;
	char name[300];

	ccs_filename_expand(ccs_shim()->options.report, name, sizeof(name));
	ccs_shield_up(&shield);
	if (!write_report(name))
		ccs_log(CCS_LOG_WARN, "report %s: %s", name, strerror(errno));
	ccs_shield_down(&shield);
}
