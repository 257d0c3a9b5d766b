/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccfabric.h"

#include <string.h>

#include "bench/sim/core/memory.h"

const struct fab_preset fab_presets[] = {
	{ "collective", "all-reduces, with pauses between them",
	  { "--topology=star:8@100g", "--flows=allreduce-halving:1m,20,1ms" } },
	{ "trunk", "seven flows over a link between switches, and requests over it",
	  { "--topology=chain:2x8@100g:100g", "--flows=pairs:0-6,8-14,1g+kv:7,15,64,64,100000,20us",
	    "--for=12ms", "--warmup=4ms" } },
	{ "claims", "an incast into a port for which a further host announces 256 flows",
	  { "--topology=star:7@10g", "--flows=claims:256,5,0+incast:4,1g@20ms+kv:6,0,64,64,100000,100us@20ms",
	    "--agents", "--for=80ms", "--warmup=40ms" } },
	{ "kv", "requests and their responses beside bulk transfers to the same host",
	  { "--topology=star:9@100g", "--flows=incast:8,1g+kv:1-8,0,256,4k,100000,100us",
	    "--for=12ms", "--warmup=4ms" } },
	{ 0 }
};

static void store(void *owner, const struct fab_conf *conf, const struct fab_result *r)
{
	*(struct fab_figures *)owner = fab_figures(conf, r);
}

struct options fab_preset_run(const struct fab_preset *p, char *const *arg, unsigned n, const char *cc,
			      struct fab_figures *figures)
{
	static const char *const defaults[] = { "ccfabric", "--hosts=shim", "--mtu=4096" };
	const unsigned most = sizeof(defaults) / sizeof(*defaults) + FAB_PRESET_ARGS + n + 1;
	char **argv = mem_zeroed(most + 1, sizeof(*argv)), cc_option[288];
	struct options o;
	int argc = 0;

	for (unsigned i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		argv[argc++] = strdup(defaults[i]);
	for (unsigned i = 0; i < FAB_PRESET_ARGS && p->arg[i]; i++)
		argv[argc++] = strdup(p->arg[i]);
	for (unsigned i = 0; i < n; i++)
		argv[argc++] = strdup(arg[i]);
	snprintf(cc_option, sizeof(cc_option), "--cc=%s", cc);
	argv[argc++] = cc_option;
	options_parse(&o, argc, argv);
	if (strcmp(cc, "none") == 0 && o.verb == FAB_WRITE)
		o.conf.shim = false;
	fab_run_options(&o, store, figures);
	return o;
}
