# SPDX-License-Identifier: BSD-2-Clause
dist_man_MANS += docs/ccbench.1 docs/ccfabric.1 docs/ccshim.1 docs/ccshim-cc.7 docs/ccshim-check.1 docs/ccshim-debug.1 docs/ccshim-doctor.1 docs/ccshim-info.1 docs/ccshim-plan.1 docs/ccshim-plot.1 docs/ccshim-replay.1 \
	docs/ccshim-run.1 docs/ccshim-serve.1 docs/ccshim-set.1 docs/ccshim-stat.1 docs/ccshim-top.1 docs/ccshim-probes.7 docs/ccshim_cc.3 docs/ccshim_feed.3 docs/ccshim.conf.5 docs/libccshim.7 docs/ccshimd.8

# Installed with the plug-in, and in the tarball in any case.
if HAVE_SLURM
dist_man_MANS += docs/spank_ccshim.8
endif

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = completion/ccbench completion/ccfabric completion/ccshim.bash completion/ccshimd

# What the tools' JSON documents contain.
schemasdir = $(docdir)/schemas
dist_schemas_DATA = docs/schemas/agent.json docs/schemas/ccbench.json docs/schemas/ccbench-matrix.json \
	docs/schemas/ccfabric-matrix.json docs/schemas/ccfabric-run.json docs/schemas/ccfabric-tune.json \
	docs/schemas/check.json docs/schemas/doctor.json docs/schemas/info.json docs/schemas/plan.json \
	docs/schemas/report.json docs/schemas/stat.json

dist_doc_DATA = docs/ccshim.conf.example docs/dcqcn.md docs/fabric.md docs/hpcc.md docs/metrics.md \
	docs/operate.md docs/rcp.md docs/telemetry.md docs/tutorial.md
