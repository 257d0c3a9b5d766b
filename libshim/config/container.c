/* SPDX-License-Identifier: BSD-2-Clause */
/* The ID of a process's container. */
#include "config/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = CCS_CONTAINER_LEN - 1 };

/* Copy the last group of exactly 64 digits: outer containers come first. */
static bool find_id(char *text, char id[CCS_CONTAINER_LEN])
{
	bool found = false;

	while (*text) {
		const size_t len = strspn(text, "0123456789abcdef");

		if (len == DIGITS) {
			memcpy(id, text, DIGITS);
			id[DIGITS] = '\0';
			found = true;
		}
		text += len ? len : 1;
	}
	return found;
}

/* Fields 4 and 5 are the mount's origin in its file system, and where it is mounted. Kubernetes
 * mounts files of the pod, which has another ID. */
static bool is_in_mount(char *line, char id[CCS_CONTAINER_LEN])
{
	char *field[5] = { NULL };
	char *rest = line;

	for (unsigned i = 0; i < 5; i++)
		field[i] = strsep(&rest, " ");
	return field[4] && !strstr(field[3], "/sandboxes/") &&
	       (strcmp(field[4], "/etc/hostname") == 0 || strcmp(field[4], "/run/.containerenv") == 0) &&
	       find_id(field[3], id);
}

static bool search(const char *proc, const char *file,
		   bool (*find)(char *line, char id[CCS_CONTAINER_LEN]), char id[CCS_CONTAINER_LEN])
{
	char name[512], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", proc, file);
	f = fopen(name, "re");
	if (!f)
		return false;
	while (!found && getline(&line, &size, f) > 0)
		found = find(line, id);
	free(line);
	fclose(f);
	return found;
}

bool ccs_container_read(const char *proc, char id[CCS_CONTAINER_LEN])
{
	*id = '\0';
	return search(proc, "cgroup", find_id, id) || search(proc, "mountinfo", is_in_mount, id);
}
