/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening of devices. libibverbs opens every device by its private verbs_open_device(), which it
 * calls through the dynamic linker, so it is interposed even if the application's
 * ibv_open_device() was not.
 */
#include <stdlib.h>

#include "base/loaded.h"
#include "observe/log.h"
#include "preload/object/qp_record.h"
#include "preload/object/real.h"
#include "preload/object/shim.h"
#include "preload/report/report.h"
#include "preload/verbs/verbs.h"

struct ibv_context *verbs_open_device(struct ibv_device *device, void *private_data);

static _Thread_local unsigned in_open_device; /* called by our ibv_open_device() */

/*
 * A provider that was promised a single thread takes no locks, and aborts the process when it
 * detects two (mlx5). The pacer thread is a second one. Providers read these variables when they
 * open a device.
 */
static void open_begin(void)
{
	static const char *const promises[] = { "MLX4_SINGLE_THREADED", "MLX5_SINGLE_THREADED",
						"BNXT_SINGLE_THREADED" };

	for (size_t i = 0; ccs_shim_on() && i < sizeof(promises) / sizeof(*promises); i++)
		if (getenv(promises[i]))
			setenv(promises[i], "0", 1);
}

static struct ibv_context *attached(struct ccs_saved saved, struct ibv_context *context)
{
	if (context)
		ccs_context_attach(context);
	return ccs_made(saved, context);
}

HOOK struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	const struct ccs_saved saved = ccs_save();
	struct ibv_context *context;

	open_begin();
	in_open_device++;
	context = ccs_real()->ibv_open_device(device);
	in_open_device--;
	return attached(saved, context);
}

HOOK struct ibv_context *ibv_import_device(int cmd_fd)
{
	const struct ccs_saved saved = ccs_save();

	open_begin();
	return attached(saved, ccs_real()->ibv_import_device(cmd_fd));
}

/*
 * An application that bypasses our ibv_open_device() bypasses ibv_create_qp() too, so attaching to
 * that context would be useless. Private data are passed by a provider's own function to open a
 * device (mlx5dv_open_device), which is no bypass.
 */
HOOK struct ibv_context *verbs_open_device(struct ibv_device *device, void *private_data)
{
	struct ibv_context *(*real)(struct ibv_device *, void *), *context;

	*(void **)&real = ccs_loaded_find("libibverbs", "verbs_open_device", NULL);
	if (!in_open_device)
		open_begin();
	context = real(device, private_data);
	if (!context || in_open_device || !ccs_shim_on())
		return context;
	if (private_data) {
		ccs_context_attach(context);
		return context;
	}
	ccs_uncontrolled_count(CCS_UNCONTROLLED_BYPASS);
	ccs_log_once(CCS_LOG_WARN, "%s was opened past the shim (RTLD_DEEPBIND?): traffic on it "
		     "is uncontrolled; see LIMITS in libccshim(7)", context->device->name);
	return context;
}
