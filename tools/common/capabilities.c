/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and drops Linux capabilities. */
#include "capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct __user_cap_header_struct own = { .version = _LINUX_CAPABILITY_VERSION_3 };

bool has_capability(int capability)
{
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &own, set) == 0 &&
	       set[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

/* With no_new_privs set, executed programs do not regain them either. */
int drop_capabilities(void)
{
	static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &own, none))
		return errno;
	return 0;
}
