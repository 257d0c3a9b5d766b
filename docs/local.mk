# SPDX-License-Identifier: BSD-2-Clause
dist_man_MANS += docs/man/ccbench.1 docs/man/ccfabric.1 docs/man/ccshim.1 docs/man/ccshim-cc.7 \
	docs/man/ccshim-check.1 docs/man/ccshim-debug.1 docs/man/ccshim-doctor.1 \
	docs/man/ccshim-info.1 docs/man/ccshim-plan.1 docs/man/ccshim-plot.1 \
	docs/man/ccshim-impair.1 docs/man/ccshim-lab.1 docs/man/ccshim-replay.1 docs/man/ccshim-run.1 docs/man/ccshim-serve.1 \
	docs/man/ccshim-set.1 docs/man/ccshim-stat.1 docs/man/ccshim-top.1 \
	docs/man/ccshim-probes.7 docs/man/ccshim_cc.3 docs/man/ccshim_feed.3 \
	docs/man/ccshim.conf.5 docs/man/libccshim.7 docs/man/ccshimd.8

# Installed with the plug-in, and in the tarball in any case.
if HAVE_SLURM
dist_man_MANS += docs/man/spank_ccshim.8
endif

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = completion/ccbench completion/ccfabric completion/ccshim.bash completion/ccshimd
# These ask bash.
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = completion/_ccshim
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = completion/ccbench.fish completion/ccfabric.fish completion/ccshim.fish \
	completion/ccshimd.fish
$(nodist_fishcompletion_DATA): $(top_srcdir)/completion/fish.in
	$(AM_V_GEN)$(MKDIR_P) completion && \
		sed "s/@NAME@/$$(basename $@ .fish)/g" $(top_srcdir)/completion/fish.in > $@.new && mv $@.new $@
EXTRA_DIST += completion/fish.in
CLEANFILES += $(nodist_fishcompletion_DATA)

# What the tools' JSON documents contain.
schemasdir = $(docdir)/schemas
dist_schemas_DATA = docs/schemas/agent.json docs/schemas/ccbench.json docs/schemas/ccbench-matrix.json \
	docs/schemas/ccfabric-matrix.json docs/schemas/ccfabric-run.json docs/schemas/ccfabric-scenario.json \
	docs/schemas/check.json docs/schemas/doctor.json docs/schemas/failures.json docs/schemas/info.json docs/schemas/plan.json \
	docs/schemas/report.json docs/schemas/stat.json

dist_doc_DATA = docs/ccshim.conf.example docs/guide/agents.md docs/guide/ci.md docs/guide/dcqcn.png docs/guide/fabric.md docs/guide/hpcc.png \
	docs/guide/metrics.md docs/guide/operate.md docs/guide/telemetry.md docs/guide/tutorial.md
