/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON report at exit (option report): the statistics of each QP, live or destroyed. The first
 * KEPT destroyed QPs are reported singly, later destroyed QPs by their number.
 */
#include "preload/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/os.h"
#include "base/probe.h"
#include "config/filename.h"
#include "config/job.h"
#include "observe/log.h"
#include "observe/stats_fields.h"
#include "observe/write_guard.h"
#include "preload/control/policy.h"
#include "preload/control/qp_feedback.h"
#include "preload/object/clock.h"
#include "preload/report/publish.h"

enum { KEPT = 1024 };

struct qp_record {
	struct ccs_stats_qp shown;
	uint64_t now_ns;
	uint32_t unrecorded;
	struct ccs_cc cc;
	const struct ccs_policy *policy;
	uint64_t fallback_bytes;
	struct {
		double min, p50, p90, p99, max;
	} rtt_us;
	struct qp_record *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct qp *live;
static struct qp_record *gone, **gone_end = &gone;
static unsigned gone_count, omitted;

static bool is_enabled(void)
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

static void collect(const struct qp *qp, struct qp_record *out)
{
	const struct ccs_stats_rtt *rtt = qp->flow.rtt.stats;

	*out = (struct qp_record){
		.now_ns = ccs_now_ns(),
		.unrecorded = qp->flow.stats.unrecorded,
		.cc = qp->flow.cc,
		.policy = qp->policy,
		.fallback_bytes = ccs_qp_feedback_fallback_bytes(qp),
	};
	ccs_publish_collect(qp, out->now_ns, &out->shown);
	if (!rtt)
		return;
	out->rtt_us.min = (double)rtt->min_ns / 1e3;
	out->rtt_us.p50 = ccs_stats_percentile(rtt, 0.5) / 1e3;
	out->rtt_us.p90 = ccs_stats_percentile(rtt, 0.9) / 1e3;
	out->rtt_us.p99 = ccs_stats_percentile(rtt, 0.99) / 1e3;
	out->rtt_us.max = (double)rtt->max_ns / 1e3;
}

/* Called before the QP's statistics are freed. */
void ccs_report_remove(struct qp *qp)
{
	struct qp_record *f = is_enabled() ? malloc(sizeof(*f)) : NULL;

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
	} else if (is_enabled()) {
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

/* The configured values, which may differ from those in force. */
static void write_configured(struct ccs_json *j, const struct qp_record *f)
{
	const struct ccs_policy *p = f->policy;

	ccs_json_object(j, "asked");
	ccs_json_str(j, "mode", ccs_mode_names[p->configured.mode]);
	ccs_json_str(j, "cc", p->configured.cc);
	ccs_json_end(j);
	if (!p->feedback_needs)
		return;
	ccs_json_object(j, "fallback");
	ccs_json_str(j, "cc", p->fallback.ops->name);
	ccs_json_uint(j, "sent_bytes", f->fallback_bytes);
	ccs_json_end(j);
}

static void write_qp(struct ccs_json *j, const struct qp_record *f)
{
	ccs_json_object(j, NULL);
	ccs_stats_json_qp(j, &f->shown, f->now_ns);
	write_configured(j, f);
	ccs_json_uint(j, "rtt_unrecorded", f->unrecorded);
	ccs_json_object(j, "rtt_us");
	ccs_json_num(j, "min", f->rtt_us.min);
	ccs_json_num(j, "p50", f->rtt_us.p50);
	ccs_json_num(j, "p90", f->rtt_us.p90);
	ccs_json_num(j, "p99", f->rtt_us.p99);
	ccs_json_num(j, "max", f->rtt_us.max);
	ccs_json_end(j);
	write_algorithm(j, &f->cc);
	ccs_json_end(j);
}

static void write_uncontrolled(struct ccs_json *j)
{
	ccs_json_object(j, "uncontrolled");
	for (unsigned i = 0; i < CCS_UNCONTROLLED_COUNT; i++)
		ccs_json_uint(j, ccs_uncontrolled_names[i], atomic_load(&ccs_shim()->uncontrolled[i]));
	ccs_json_end(j);
}

/* Feedback that the algorithm needs and did not get. */
static void write_missing_feedback(struct ccs_json *j)
{
	ccs_json_array(j, "missing_feedback");
	for (const struct ccs_cc_need_name *s = ccs_cc_need_names; s->name; s++)
		if (ccs_policy_missing_feedback() & s->bit)
			ccs_json_str(j, NULL, s->name);
	ccs_json_end(j);
}

static bool write_all(FILE *file)
{
	struct qp_record f;
	struct ccs_json j;

	pthread_mutex_lock(&lock);
	ccs_document_start(&j, file, ccs_document_now());
	ccs_json_num(&j, "run_s", (double)(ccs_now_ns() - ccs_shim()->started_ns) / 1e9);
	ccs_json_str(&j, "program", program_invocation_short_name);
	ccs_json_uint(&j, "pid", (uint64_t)getpid());
	ccs_job_json(&j, ccs_job());
	ccs_json_str(&j, "mode", ccs_mode_names[ccs_shim()->options.mode]);
	write_uncontrolled(&j);
	write_missing_feedback(&j);
	ccs_json_uint(&j, "qps_omitted", omitted);
	ccs_json_array(&j, "qps");
	for (const struct qp_record *g = gone; g; g = g->next)
		write_qp(&j, g);
	for (const struct qp *qp = live; qp; qp = qp->next) {
		collect(qp, &f);
		write_qp(&j, &f);
	}
	pthread_mutex_unlock(&lock);
	return ccs_json_finish(&j);
}

/* Takes the descriptor. */
static bool write_file(int fd, ccs_document *document)
{
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool ok;

	if (!file && fd >= 0)
		close(fd);
	if (!file)
		return false;
	ok = document(file);
	return fclose(file) == 0 && ok;
}

/* If several processes write the same file, only the last document remains. */
static void warn_of_replacement(const char *option, const char *name, const struct stat *st)
{
	const double run_s = (double)(ccs_now_ns() - ccs_shim()->started_ns) / 1e9;
	const double written = (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9;

	if (st->st_size && written > ccs_document_now() - run_s)
		ccs_log(CCS_LOG_WARN, "%s %s: another process wrote it while this one ran, and its contents are "
			"replaced; with %%p in the name each process has its own file", option, name);
}

/* A new file with a name that cannot be guessed, for its user alone. -1 and errno. */
static int create_temp(int dir, const char *base, char *temp, size_t len)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -1;
	snprintf(temp, len, "%s.%08" PRIx32, base, random);
	return openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/*
 * A regular file is replaced by rename(), so that a reader never sees a partial report. Another
 * kind of file (/dev/null, /dev/stderr, a pipe) must not be replaced.
 */
static bool replace_file(int dir, const char *name, const char *base, ccs_document *document)
{
	char temp[NAME_MAX + 16];
	struct stat st;
	const bool exists = fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int error, fd;

	if (exists && !S_ISREG(st.st_mode))
		return write_file(ccs_open_path(name, O_WRONLY | O_CREAT | O_TRUNC), document);
	fd = create_temp(dir, base, temp, sizeof(temp));
	if (fd < 0)
		return false;
	if (write_file(fd, document) && renameat(dir, temp, dir, base) == 0)
		return true;
	error = errno;
	unlinkat(dir, temp, 0);
	errno = error;
	return false;
}

static bool write_path(const char *option, char *name, ccs_document *document, bool again)
{
	char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, first = *base;
	struct stat st;
	bool ok;
	int dir;

	*base = '\0';
	dir = ccs_open_path(slash ? name : ".", O_PATH | O_DIRECTORY);
	*base = first;
	if (!again && dir >= 0 && fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		warn_of_replacement(option, name, &st);
	ok = dir >= 0 && replace_file(dir, name, base, document);
	ccs_close(dir);
	return ok;
}

/* The stack is the application's, so the name is not on it. */
bool ccs_report_to_file(const char *option, const char *asked, ccs_document *document, bool again)
{
	char *name = malloc(CCS_FILENAME_MAX);
	const bool known = name && !ccs_filename_expand(asked, ccs_job(), name, CCS_FILENAME_MAX);
	struct ccs_write_guard guard;
	bool ok;

	ccs_write_guard_begin(&guard);
	ok = known && write_path(option, name, document, again);
	if (!ok)
		ccs_log(CCS_LOG_WARN, "cannot write %s %s: %s", option, known ? name : asked, strerror(errno));
	free(name);
	ccs_write_guard_end(&guard);
	return ok;
}

void ccs_report_write(void)
{
	ccs_report_to_file("report", ccs_shim()->options.report, write_all, false);
}

static void count_uncontrolled(enum ccs_uncontrolled reason, uint32_t qp_num)
{
	struct ccs_stats_header *file = ccs_publish_file();
	const char *text = ccs_uncontrolled_names[reason];

	atomic_fetch_add_explicit(&ccs_shim()->uncontrolled[reason], 1, memory_order_relaxed);
	if (file)
		__atomic_fetch_add(&file->uncontrolled[reason].count, 1, __ATOMIC_RELAXED);
	CCS_PROBE2(pass, qp_num, text);
}

void ccs_uncontrolled_count(enum ccs_uncontrolled reason)
{
	count_uncontrolled(reason, 0);
}

/* It could have been controlled, and no setting prevented it. */
static bool is_failure(enum ccs_uncontrolled reason)
{
	return reason == CCS_UNCONTROLLED_SHADOW_CQ || reason == CCS_UNCONTROLLED_NO_MEMORY ||
	       reason == CCS_UNCONTROLLED_REFUSED;
}

void ccs_uncontrolled_qp(enum ccs_uncontrolled reason, const struct ibv_qp *qp)
{
	count_uncontrolled(reason, qp ? qp->qp_num : 0);
	if (is_failure(reason))
		ccs_log_once(CCS_LOG_WARN, "QP %" PRIu32 " is uncontrolled: %s",
			     qp ? qp->qp_num : 0, ccs_uncontrolled_names[reason]);
	ccs_log(CCS_LOG_INFO, "QP %" PRIu32 " is uncontrolled: %s", qp ? qp->qp_num : 0,
		ccs_uncontrolled_names[reason]);
}
