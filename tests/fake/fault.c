/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults that a test requests, and when they apply. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

static struct {
	bool set;
	unsigned skip;
	int code;
} fault[FAULTS];

static enum fake_bad bad_style;
static uint32_t depth_limit = UINT32_MAX, wanted_num;
static bool rewrite = true, atomics = true, ignores_in_error, resumes_by_post;
static int refuse_cqs;

static struct call {
	void (*function)(void *arg);
	void *arg;
} during_modify, after_destroy;

int fake_fault(enum fake_fault which)
{
	if (!fault[which].set)
		return 0;
	if (fault[which].skip) {
		fault[which].skip--;
		return 0;
	}
	if (which == FAULT_NOT_READY && fault[which].code-- > 0)
		return 1;
	fault[which].set = false;
	return which == FAULT_NOT_READY ? 0 : fault[which].code;
}

static void set(enum fake_fault which, unsigned skip, int code)
{
	pthread_mutex_lock(&fake_lock);
	fault[which].set = true;
	fault[which].skip = skip;
	fault[which].code = code;
	pthread_mutex_unlock(&fake_lock);
}

enum fake_bad fake_fault_bad(void)
{
	return bad_style;
}

uint32_t fake_depth_limit(void)
{
	return depth_limit;
}

uint32_t fake_wanted_qp_num(void)
{
	const uint32_t num = wanted_num;

	wanted_num = 0;
	return num;
}

void fake_fail_post(unsigned skip, int code, enum fake_bad bad)
{
	bad_style = bad;
	set(FAULT_POST, skip, code);
}

void fake_fail_cqe(unsigned skip, enum ibv_wc_status status)
{
	set(FAULT_CQE, skip, (int)status);
}

void fake_refuse_cqs(int code)
{
	refuse_cqs = code;
}

int fake_refused_cqs(void)
{
	return refuse_cqs;
}

void fake_fail_create_cq(unsigned skip, int code)
{
	set(FAULT_CREATE_CQ, skip, code);
}

void fake_fail_resize_cq(unsigned skip, int code)
{
	set(FAULT_RESIZE_CQ, skip, code);
}

void fake_fail_modify_qp(unsigned skip, int code)
{
	set(FAULT_MODIFY, skip, code);
}

void fake_fail_destroy_qp(unsigned skip, int code)
{
	set(FAULT_DESTROY, skip, code);
}

void fake_late(unsigned wqes)
{
	set(FAULT_LATE, 0, (int)wqes);
}

void fake_stale_cqe(unsigned skip)
{
	set(FAULT_STALE, skip, 1);
}

void fake_not_ready(unsigned skip, unsigned times)
{
	set(FAULT_NOT_READY, skip, (int)times);
}

static void set_call(struct call *c, void (*function)(void *arg), void *arg)
{
	pthread_mutex_lock(&fake_lock);
	*c = (struct call){ function, arg };
	pthread_mutex_unlock(&fake_lock);
}

static void make_call(struct call *c)
{
	struct call now;

	pthread_mutex_lock(&fake_lock);
	now = *c;
	c->function = NULL;
	pthread_mutex_unlock(&fake_lock);
	if (now.function)
		now.function(now.arg);
}

void fake_during_modify(void (*call)(void *arg), void *arg)
{
	set_call(&during_modify, call, arg);
}

void fake_modifying(void)
{
	make_call(&during_modify);
}

void fake_after_destroy(void (*call)(void *arg), void *arg)
{
	set_call(&after_destroy, call, arg);
}

void fake_destroyed(void)
{
	make_call(&after_destroy);
}

void fake_rewrite_wr_complete(bool yes)
{
	rewrite = yes;
}

bool fake_rewrites_wr_complete(void)
{
	return rewrite && fake_profile()->sets_wr_complete;
}

void fake_atomics(bool yes)
{
	atomics = yes;
}

bool fake_has_atomics(void)
{
	return atomics;
}

void fake_ignore_in_error(bool yes)
{
	ignores_in_error = yes;
}

bool fake_ignores_in_error(void)
{
	return ignores_in_error;
}

void fake_resume_by_post(bool yes)
{
	resumes_by_post = yes;
}

bool fake_resumes_by_post(void)
{
	return resumes_by_post;
}

void fake_limit_depth(uint32_t max_send_wr)
{
	depth_limit = max_send_wr;
}

void fake_next_qp_num(uint32_t qp_num)
{
	wanted_num = qp_num;
}

void fake_faults_clear(void)
{
	for (int i = 0; i < FAULTS; i++)
		fault[i].set = false;
	depth_limit = UINT32_MAX;
	wanted_num = 0;
	during_modify.function = after_destroy.function = NULL;
	atomics = true;
	ignores_in_error = resumes_by_post = false;
}

/* A number, or the name of an errno or of a completion's status, negative too. */
static int code_of(const char *text)
{
#define S(name) { #name, IBV_WC_##name }
	static const struct {
		const char *name;
		int code;
	} names[] = {
		S(LOC_LEN_ERR), S(LOC_QP_OP_ERR), S(LOC_PROT_ERR), S(WR_FLUSH_ERR),
		S(REM_INV_REQ_ERR), S(REM_ACCESS_ERR), S(REM_OP_ERR), S(RETRY_EXC_ERR),
		S(RNR_RETRY_EXC_ERR), S(REM_ABORT_ERR), S(FATAL_ERR), S(GENERAL_ERR),
		{ "EAGAIN", EAGAIN }, { "EBUSY", EBUSY }, { "EINVAL", EINVAL }, { "EIO", EIO },
		{ "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EOPNOTSUPP", EOPNOTSUPP },
	};
#undef S
	const int sign = *text == '-' ? -1 : 1;

	text += *text == '-';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(text, names[i].name) == 0)
			return sign * names[i].code;
	return sign * atoi(text);
}

static void set_named(const char *kind, unsigned skip, const char *code)
{
	static const struct {
		const char *kind;
		enum fake_fault which;
		const char *code;        /* the default */
	} kinds[] = {
		{ "post", FAULT_POST, "ENOMEM" },
		{ "doorbell", FAULT_POST, "EINVAL" },
		{ "cqe", FAULT_CQE, "REM_OP_ERR" },
		{ "rnr", FAULT_CQE, "RNR_RETRY_EXC_ERR" },
		{ "retry", FAULT_CQE, "RETRY_EXC_ERR" },
		{ "notready", FAULT_NOT_READY, "1" },
		{ "stale", FAULT_STALE, "1" },
		{ "create_cq", FAULT_CREATE_CQ, "ENOMEM" },
		{ "resize_cq", FAULT_RESIZE_CQ, "EOPNOTSUPP" },
		{ "modify_qp", FAULT_MODIFY, "EINVAL" },
		{ "destroy_qp", FAULT_DESTROY, "EBUSY" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kind, kinds[i].kind) != 0)
			continue;
		if (kinds[i].which == FAULT_POST)
			bad_style = *kind == 'd' ? FAKE_BAD_NULL : FAKE_BAD_WR;
		set(kinds[i].which, skip, code_of(*code ? code : kinds[i].code));
		return;
	}
	fprintf(stderr, "libfakerdma: no such fault: %s\n", kind);
}

/* FAKERDMA_FAULT=KIND[:AFTER[:CODE]],... */
static void __attribute__((constructor)) from_environment(void)
{
	const char *text = getenv("FAKERDMA_FAULT"), *how = getenv("FAKERDMA_WR_COMPLETE");

	rewrite = !how || strcmp(how, "keep") != 0;
	for (; text && *text; text += strcspn(text, ","), text += *text == ',') {
		char kind[16] = "", code[32] = "";
		unsigned skip = 0;

		if (sscanf(text, "%15[a-z_]:%u:%31[-A-Z_0-9]", kind, &skip, code) >= 1)
			set_named(kind, skip, code);
	}
}
