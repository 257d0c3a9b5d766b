/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices being opened, by the front door or not. libibverbs opens every one by its
 * private verbs_open_device, and calls that through the dynamic linker: so it lands
 * here, too, whoever got to ibv_open_device past our hook of it.
 */
#include <stdlib.h>

#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"

struct ibv_context *verbs_open_device(struct ibv_device *device, void *private_data);

static _Thread_local unsigned inside; /* our hook of ibv_open_device */

/*
 * A provider that was promised one thread takes no locks, and stops the process when it meets
 * two (mlx5). Our helper is a second one. It asks while it opens a device.
 */
void ccs_open_begin(void)
{
	static const char *const promises[] = { "MLX4_SINGLE_THREADED", "MLX5_SINGLE_THREADED",
						"BNXT_SINGLE_THREADED" };

	for (size_t i = 0; ccs_shim_on() && i < sizeof(promises) / sizeof(*promises); i++)
		if (getenv(promises[i]))
			setenv(promises[i], "0", 1);
}

struct ibv_context *ccs_open_device(struct ibv_device *device)
{
	struct ibv_context *context;

	ccs_open_begin();
	inside++;
	context = ccs_real()->ibv_open_device(device);
	inside--;
	if (context)
		ccs_context_attach(context);
	return context;
}

/*
 * Who got past our ibv_open_device gets past ibv_create_qp, too, so there is nothing to
 * be had from that context. Private data come from a provider's own way to open a
 * device (mlx5dv_open_device), which is another front door.
 */
HOOK struct ibv_context *verbs_open_device(struct ibv_device *device, void *private_data)
{
	static _Atomic(void *) found;
	struct ibv_context *(*real)(struct ibv_device *, void *), *context;
	void *symbol = atomic_load_explicit(&found, memory_order_relaxed);

	if (!symbol) {
		symbol = ccs_real_find("libibverbs.so.1", "verbs_open_device", NULL);
		atomic_store_explicit(&found, symbol, memory_order_relaxed);
	}
	*(void **)&real = symbol;
	if (!inside)
		ccs_open_begin();
	context = real(device, private_data);
	if (!context || inside || !ccs_shim_on())
		return context;
	if (private_data) {
		ccs_context_attach(context);
		return context;
	}
	ccs_shim_count(CCS_PASS_BYPASS);
	ccs_log_once(CCS_LOG_WARN, "%s was opened past the shim (RTLD_DEEPBIND?): traffic on it "
		     "passes uncontrolled; see LIMITS in libccshim(7)", context->device->name);
	return context;
}
