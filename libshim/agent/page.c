/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/priv.h"

bool ccs_agent_page_is_memory(int fd)
{
	struct statfs fs;

	return fcntl(fd, F_GET_SEALS) >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* A page that shrinks, or for which no huge page is left, would end the agent by SIGBUS. */
static const char *wrong_with(int fd)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (!ccs_agent_page_is_memory(fd) || fstat(fd, &st))
		return "it is no memfd of ordinary pages";
	if ((seals & wanted) != wanted)
		return "it is not sealed";
	if (st.st_size != sizeof(struct ccs_page))
		return "it is of another size";
	return NULL;
}

struct ccs_page *ccs_agent_page_map(int fd, const char **why)
{
	struct ccs_page *page;

	*why = wrong_with(fd);
	if (*why)
		return NULL;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*why = "it cannot be mapped for writing";
	if (page == MAP_FAILED)
		return NULL;
	*why = "it is of another version";
	if (page->magic == CCS_PAGE_MAGIC && page->version == CCS_PAGE_VERSION &&
	    page->slots == CCS_PAGE_SLOTS && page->paths == CCS_PAGE_PATHS)
		return page;
	ccs_agent_page_unmap(page);
	return NULL;
}

void ccs_agent_page_unmap(struct ccs_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}
