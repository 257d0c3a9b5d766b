/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/host/core.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_memory_file(int fd)
{
	struct statfs fs;

	return fcntl(fd, F_GET_SEALS) >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* A file may have more memory than its size shows: beyond its end, where seals do not count. */
static bool is_small(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 <= 2 * sizeof(struct ccs_shm);
}

bool ccs_shm_is_closed_quickly(int fd)
{
	return is_memory_file(fd) && is_small(fd);
}

enum { PAGES_MOST = 512 };               /* more than the records of paths have */

/*
 * mincore() does not wait for the process, which may hold the lock of the file; but it does not
 * count pages that were swapped out, and counts all if the agent may not write to the file.
 */
bool ccs_shm_is_allocated(const struct ccs_shm *shm, int fd, size_t from, size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = from / page * page;
	const size_t n = (from + len - first + page - 1) / page;
	unsigned char present[PAGES_MOST];
	struct stat st;
	size_t found = 0;

	if (n > PAGES_MOST || fstat(fd, &st) || !(st.st_mode & S_IWOTH) ||
	    mincore((void *)((uintptr_t)shm + first), from + len - first, present))
		return false;
	while (found < n && (present[found] & 1))
		found++;
	return found == n || lseek(fd, (off_t)first, SEEK_HOLE) >= (off_t)(from + len);
}

/* A region that shrinks, or for which no huge page is free, would kill the agent with SIGBUS. */
static const char *find_fault(int fd)
{
	const int required = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (!is_memory_file(fd) || fstat(fd, &st))
		return "it is not a memfd of normal pages";
	if ((seals & required) != required)
		return "it is not sealed";
	if (st.st_size != sizeof(struct ccs_shm))
		return "its size differs";
	if (!is_small(fd)) /* it would be released when it is unmapped */
		return "it has memory beyond its end";
	return NULL;
}

struct ccs_shm *ccs_shm_map(int fd, const char **why)
{
	struct ccs_shm *shm;

	*why = find_fault(fd);
	if (*why)
		return NULL;
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*why = "it cannot be mapped for writing";
	if (shm == MAP_FAILED)
		return NULL;
	*why = "its process has not allocated its memory";
	if (!ccs_shm_is_allocated(shm, fd, 0, offsetof(struct ccs_shm, slot))) {
		ccs_shm_unmap(shm);
		return NULL;
	}
	*why = "its version differs";
	if (shm->magic == CCS_SHM_MAGIC && shm->version == CCS_SHM_VERSION &&
	    shm->slots == CCS_SHM_SLOTS && shm->paths == CCS_SHM_PATHS)
		return shm;
	ccs_shm_unmap(shm);
	return NULL;
}

void ccs_shm_unmap(struct ccs_shm *shm)
{
	if (shm)
		munmap(shm, sizeof(*shm));
}

bool ccs_client_may_add(struct ccs_client *c, uint32_t slot, uint32_t path)
{
	return ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, slot[slot]),
				    sizeof(struct ccs_slot)) &&
	       ccs_shm_is_allocated(c->shm, c->shm_fd, offsetof(struct ccs_shm, path[path]),
				    sizeof(struct ccs_shm_path));
}

void ccs_punched_add(struct ccs_agent *a, const struct ccs_client *c)
{
	c->user->regions_ns = ccs_agent_now(a) + CCS_AGENT_WARN_NS;
	ccs_agent_warn(a, CCS_AGENT_WARN_PUNCHED, "process %d has released memory of its region: its user %u "
		       "gets no feedback for an hour", (int)c->pid, c->uid);
}
