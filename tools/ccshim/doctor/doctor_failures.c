/* SPDX-License-Identifier: BSD-2-Clause */
/* ccshim doctor FILE...: merges the files of option failures of both ends into one account. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "doctor.h"
#include "observe/failure.h"
#include "tools/ccshim/shared/ccshim.h"
#include "tools/common/json_read.h"
#include "tools/common/slurp.h"

enum { ADDRESS = 48 };

/* A queue pair in a file: it failed, was ended by its application, or lives. */
struct end {
	const char *file;
	bool failed;
	double time, lqpn, rqpn, more;
	char host[64], program[64], peer[ADDRESS], local[ADDRESS], how[16], verdict[320];
	struct ccs_failure_facts facts;
};

struct account {
	struct end *end;
	size_t ends;
	struct end next;                 /* copied to each end before that is read */
	double schema;                   /* number of its schema */
	bool has_failures;               /* the file that is being read */
};

static bool read_fact(struct json_read *j, const char *key, void *arg)
{
	struct ccs_failure_facts *f = arg;

#define READ(name) if (strcmp(key, #name) == 0) return json_number(j, &f->name);
	CCS_FAILURE_FACTS(READ)
#undef READ
	return json_skip(j);
}

/* The writer of the file must not control the terminal. */
static bool read_text(struct json_read *j, char *text, size_t len)
{
	const bool ok = json_string(j, text, len);

	ccs_make_printable(text, "");
	return ok;
}

static bool read_end_member(struct json_read *j, const char *key, void *arg)
{
	struct end *e = arg;

#define NUMBER(name, member) if (strcmp(key, name) == 0) return json_number(j, &e->member);
#define TEXT(member) if (strcmp(key, #member) == 0) return read_text(j, e->member, sizeof(e->member));
	NUMBER("time", time) NUMBER("failed_time", time) NUMBER("failed_status", facts.status)
	NUMBER("lqpn", lqpn) NUMBER("rqpn", rqpn) NUMBER("more", more)
	TEXT(peer) TEXT(local) TEXT(how) TEXT(verdict)
#undef NUMBER
#undef TEXT
	return strcmp(key, "facts") == 0 ? json_object(j, read_fact, &e->facts) : json_skip(j);
}

static bool read_end(struct json_read *j, void *arg)
{
	struct account *a = arg;

	if (!CCS_GROW(a->end, a->ends)) {
		tool_error("doctor", "no memory");
		exit(EXIT_FAILED);
	}
	a->end[a->ends] = a->next;
	return json_object(j, read_end_member, &a->end[a->ends++]);
}

static bool read_document_member(struct json_read *j, const char *key, void *arg)
{
	struct account *a = arg;

	if (strcmp(key, "schema") == 0)
		return json_number(j, &a->schema);
	if (strcmp(key, "time") == 0) /* of a live queue pair */
		return json_number(j, &a->next.time);
	if (strcmp(key, "host") == 0)
		return read_text(j, a->next.host, sizeof(a->next.host));
	if (strcmp(key, "program") == 0)
		return read_text(j, a->next.program, sizeof(a->next.program));
	a->next.failed = strcmp(key, "failures") == 0;
	a->has_failures |= a->next.failed;
	if (a->next.failed || strcmp(key, "ended") == 0 || strcmp(key, "live") == 0)
		return json_array(j, read_end, a);
	return json_skip(j);
}

static bool read_document(struct account *a, const char *file)
{
	char *text = slurp(file);
	struct json_read j = { .text = text, .at = text };
	bool ok = false;

	a->next = (struct end){ .file = file, .how = "lives" };
	a->has_failures = false;
	a->schema = 1;
	if (!text)
		tool_error("doctor", "unexpected argument '%s', which is no file that can be read: %m", file);
	else if (!json_object(&j, read_document_member, a) || !json_end(&j) || !a->has_failures)
		tool_error("doctor", "%s is no file of option failures (byte %zu); see ccshim-doctor(1)", file,
			   (size_t)(j.at - j.text));
	else if (a->schema != 1)
		tool_error("doctor", "%s has schema %.0f, and this version reads schema 1: use the ccshim that wrote it",
			   file, a->schema);
	else
		ok = true;
	free(text);
	return ok;
}

/* Unknown addresses are equal to any. */
static bool is_same(const char *a, const char *b)
{
	return !*a || !*b || strcmp(a, "-") == 0 || strcmp(b, "-") == 0 || strcmp(a, b) == 0;
}

static bool is_other(const struct end *o, const struct end *e)
{
	return o != e && o->lqpn == e->rqpn && o->rqpn == e->lqpn && is_same(o->peer, e->local) &&
	       is_same(o->local, e->peer);
}

/* Whether another end than e that may belong to o is nearer to o in time. */
static bool has_nearer(const struct account *a, const struct end *o, const struct end *e)
{
	for (size_t i = 0; i < a->ends; i++)
		if (is_other(&a->end[i], o) && fabs(a->end[i].time - o->time) < fabs(e->time - o->time))
			return true;
	return false;
}

/* Numbers of queue pairs are used again: ends of one connection are the nearest in time. */
static const struct end *find_other(const struct account *a, const struct end *e)
{
	const struct end *other = NULL;

	for (size_t i = 0; i < a->ends; i++) {
		const struct end *o = &a->end[i];

		if (is_other(o, e) && (!other || fabs(o->time - e->time) < fabs(other->time - e->time)) &&
		    !has_nearer(a, o, e))
			other = o;
	}
	return other;
}

static enum ccs_other_end state_of(const struct end *o, const struct end *e)
{
	const bool failed = o->facts.status > 0 || o->failed;

	if (failed && o->facts.status == CCS_WC_RETRY_EXC)
		return CCS_OTHER_UNANSWERED;
	if (failed)
		return o->time <= e->time ? CCS_OTHER_FAILED : CCS_OTHER_LIVES;
	if (strcmp(o->how, "lives") == 0 || o->time > e->time)
		return CCS_OTHER_LIVES;
	/* Its last request may have been on its way, for which a quarter of the retries is time. */
	return o->time <= e->time - .75 * e->facts.retry_us / 1e6 ? CCS_OTHER_ENDED_FIRST : CCS_OTHER_ENDED_DURING;
}

static void print_other(const struct end *e, const struct end *o)
{
	if (!o) {
		printf("  peer: no file of the other end\n");
		return;
	}
	printf("  peer: %s, %s: ", o->host, o->program);
	if (o->failed || o->facts.status > 0)
		printf("failed (%s) ", ccs_wc_status_text(o->facts.status));
	else
		printf("%s ", strcmp(o->how, "exit") == 0 ? "ended with its process" : o->how);
	if (strcmp(o->how, "lives") != 0 || o->failed)
		printf("%.3f s %s", fabs(o->time - e->time), o->time <= e->time ? "before" : "afterwards");
	printf("\n");
}

static int by_time(const void *a, const void *b)
{
	const double x = ((const struct end *)a)->time, y = ((const struct end *)b)->time;

	return (x > y) - (x < y);
}

static void print_end(const struct end *e, const struct end *o, const struct ccs_verdict *v, double first)
{
	printf("+%.3f s  %s, %s: QP %.0f to %s, QP %.0f: %s", e->time - first, e->host, e->program, e->lqpn,
	       e->peer, e->rqpn, ccs_wc_status_text(e->facts.status));
	if (e->more > 0)
		printf("; %.0f more failed afterwards", e->more);
	printf("\n  here: %s\n", e->verdict);
	print_other(e, o);
	printf("  verdict: %s\n", v->text);
}

static void write_end(struct ccs_json *j, const struct end *e, const struct end *o, const struct ccs_verdict *v)
{
	ccs_json_object(j, NULL);
	ccs_json_num(j, "time", e->time);
	ccs_json_str(j, "file", e->file);
	ccs_json_str(j, "other_file", o ? o->file : NULL);
	ccs_json_num(j, "lqpn", e->lqpn);
	ccs_json_num(j, "rqpn", e->rqpn);
	ccs_json_str(j, "cause", ccs_failure_names[v->cause]);
	ccs_json_str(j, "verdict", v->text);
	ccs_json_end(j);
}

static int print_account(struct account *a, bool json)
{
	unsigned failures = 0;
	struct ccs_json j;

	if (a->ends)
		qsort(a->end, a->ends, sizeof(*a->end), by_time);
	if (json) {
		ccs_document_start(&j, stdout, ccs_document_now());
		ccs_json_array(&j, "failures");
	}
	for (size_t i = 0; i < a->ends; i++) {
		const struct end *o = a->end[i].failed ? find_other(a, &a->end[i]) : NULL;
		struct ccs_verdict v;

		if (!a->end[i].failed)
			continue;
		failures++;
		a->end[i].facts.other = o ? state_of(o, &a->end[i]) : CCS_OTHER_UNKNOWN;
		ccs_failure_judge(&a->end[i].facts, &v);
		if (json)
			write_end(&j, &a->end[i], o, &v);
		else
			print_end(&a->end[i], o, &v, a->end[0].time);
	}
	if (!json && !failures)
		printf("No queue pair failed.\n");
	if (json && !ccs_json_finish(&j))
		return EXIT_FAILED;
	return failures ? EXIT_FAILED : EXIT_OK;
}

int doctor_merge(int count, char **files, bool json)
{
	struct account a = { 0 };
	bool ok = true;
	int status;

	for (int i = 0; i < count; i++)
		ok &= read_document(&a, files[i]);
	status = ok ? print_account(&a, json) : EXIT_USAGE;
	free(a.end);
	return status;
}

static bool write_record(const struct stat_process *p)
{
	const struct ccs_job job = stat_job(&p->h);
	struct ccs_json j;

	ccs_failure_json_start(&j, stdout, p->h.program, p->h.pid, &job);
	ccs_json_end(&j);
	ccs_json_array(&j, "live");
	for (size_t i = 0; i < p->count; i++) {
		struct ccs_failure_qp qp = { .q = p->qp[i].q, .moments = p->qp[i].moments,
			.condition = p->qp[i].q.failed_ns ? CCS_QP_FAILED : CCS_QP_IDLE };

		memcpy(qp.history, p->qp[i].history, sizeof(qp.history));
		ccs_failure_json_qp(&j, &qp);
	}
	return ccs_json_finish(&j);
}

int doctor_record(pid_t pid)
{
	struct stat_snapshot s;
	bool ok;

	stat_read(&s, pid);
	ok = s.count && write_record(&s.process[0]);
	if (!s.count)
		tool_error("doctor", "no statistics of process %ld: it does not run under ccshim with stats=y, or is "
			   "another user's", (long)pid);
	stat_free(&s);
	return ok ? EXIT_OK : EXIT_FAILED;
}
