/* SPDX-License-Identifier: BSD-2-Clause */
/* hanging DIRECTORY: mount a file system there that answers no request but the first. */
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char request[1 << 17];
	const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	const struct fuse_in_header *in = (const void *)request;
	struct {
		struct fuse_out_header head;
		struct fuse_init_out init;
	} answer = { .head.len = sizeof(answer),
		     .init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
			       .max_write = 4096 } };
	char options[64];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (argc != 2 || fd < 0 || mount("hanging", argv[1], "fuse", 0, options)) {
		perror("hanging");
		return 1;
	}
	if (read(fd, request, sizeof(request)) < 0)
		return 1;
	answer.head.unique = in->unique;
	if (write(fd, &answer, sizeof(answer)) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (read(fd, request, sizeof(request)) >= 0) /* each waits for its answer */
		;
	return 0;
}
