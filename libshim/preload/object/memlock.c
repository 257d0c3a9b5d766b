/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounting of memory that devices pin for the shim; see memlock.h. */
#include "preload/object/memlock.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "observe/log.h"

enum { SHARE = 64, CQE = 64, PAGE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t used;                    /* bytes pinned for the shim */
static uint64_t raised;                  /* bytes added to the soft limit */

static bool may_exceed(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return !syscall(SYS_capget, &head, data) &&
	       (data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK));
}

static bool get_limit(const struct ctx *ctx, struct rlimit *limit)
{
	return !ctx->provider->syscalls && !getrlimit(RLIMIT_MEMLOCK, limit) &&
	       limit->rlim_cur != RLIM_INFINITY && !may_exceed();
}

bool ccs_memlock_limited(const struct ctx *ctx)
{
	struct rlimit limit;

	return get_limit(ctx, &limit);
}

/* The ring, and a page for its doorbell. */
static uint64_t cq_bytes(uint32_t entries)
{
	return ((uint64_t)entries * CQE + PAGE - 1) / PAGE * PAGE + PAGE;
}

static bool raise_limit(struct rlimit *limit, uint64_t bytes)
{
	if (bytes > limit->rlim_max - limit->rlim_cur)
		return false;
	limit->rlim_cur += bytes;
	if (setrlimit(RLIMIT_MEMLOCK, limit))
		return false;
	raised += bytes;
	return true;
}

static bool reserve(const struct ctx *ctx, uint64_t bytes)
{
	struct rlimit limit;

	if (used + bytes <= raised || !get_limit(ctx, &limit) ||
	    raise_limit(&limit, used + bytes - raised))
		return true;
	return used + bytes <= raised + limit.rlim_cur / SHARE;
}

bool ccs_memlock_reserve(const struct ctx *ctx, uint32_t entries)
{
	const int saved = errno;
	bool ok;

	pthread_mutex_lock(&lock);
	ok = reserve(ctx, cq_bytes(entries));
	if (ok)
		used += cq_bytes(entries);
	pthread_mutex_unlock(&lock);
	if (!ok)
		ccs_log_once(CCS_LOG_WARN, "RLIMIT_MEMLOCK leaves too little memory for "
			     "completion queues of the shim; use ulimit -l unlimited");
	errno = saved;
	return ok;
}

void ccs_memlock_release(uint32_t entries)
{
	pthread_mutex_lock(&lock);
	used -= cq_bytes(entries);
	pthread_mutex_unlock(&lock);
}
