/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the shim passes no descriptor number of the application to another preload. A
 * preload that emulates sockets, like librspreload, identifies them by number.
 */
#include "rig.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HELD = 64 };

static atomic_bool held[HELD];
static atomic_uint closed, mistaken;     /* by the shim's threads */
static _Thread_local bool ours;

/* Receives the shim's calls, as such a preload would. */
__attribute__((visibility("default"))) int close(int fd)
{
	Dl_info who;

	if (!ours && dladdr(__builtin_return_address(0), &who) && strstr(who.dli_fname, "libccshim")) {
		closed++;
		mistaken += fd >= 0 && fd < HELD && held[fd];
	}
	return (int)syscall(SYS_close, fd);
}

/* There is no agent: the feedback thread tries to connect and closes its socket. */
static void the_shim_closes_no_number_of_an_open_application_descriptor(void **state)
{
	unsigned spins = 0;
	struct rig r;
	int fd;

	ours = true;
	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_in_range(fd, 0, HELD - 1);
		held[fd] = true;
	} while (fd < HELD / 2);
	rig_open(&r, (struct rig_conf){ 0 });
	while (closed < 3)
		assert_true(rig_keep_waiting(&spins));
	assert_int_equal(mistaken, 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shim_closes_no_number_of_an_open_application_descriptor),
	};

	(void)argc;
	rig_exec(argv, "CCSHIM_CC=dcqcn", "CCSHIM_AGENT=/nonexistent/agent",
		 "CCSHIM_LOG_LEVEL=error", NULL);
	return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
