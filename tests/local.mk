# SPDX-License-Identifier: BSD-2-Clause

# A test program is one source, linked with all of this: the linker takes from static libraries only
# what the program calls. The local.mk of a folder lists its programs, and names the exceptions.
LDADD = tests/libtests.la libccs-agent.la libccs-fabric.la libccs-core.la \
	$(CMOCKA_LIBS) $(VERBS_LIBS) -lpthread -ldl

# What several tests share, and the parts of programs that have tests of their own.
if HAVE_CMOCKA
check_LTLIBRARIES += tests/libtests.la
endif
tests_libtests_la_SOURCES = \
	libshim/preload/object/ptrmap.c \
	tests/tools/forbidden_calls.c \
	tests/tools/forbidden_calls.h \
	tests/unit/agentrig.c \
	tests/unit/flow_fixture.c \
	tests/unit/tenantrig.c \
	tests/unit/test.c \
	tests/verbs/agent.c \
	tests/verbs/agent.h \
	tests/verbs/rig.c \
	tests/verbs/rig.h \
	tools/ccshim/plot/plot_data.c \
	tools/ccshim/plot/plot_draw.c \
	tools/ccshim/plot/plot_bench.c \
	tools/ccshim/plot/plot_export.c \
	tools/ccshim/plot/plot_stat.c \
	tools/ccshim/plot/plot_trace.c \
	tools/ccshim/replay/replay_csv.c \
	tools/ccshim/shared/children.c \
	tools/ccshim/shared/message.c \
	tools/ccshim/shared/options.c \
	tools/ccshim/serve/serve_guard.c \
	tools/ccshim/serve/serve_listen.c \
	tools/ccshim/set_all.c \
	tools/ccshim/set_send.c \
	tools/ccshim/stat/stat_baseline.c \
	tools/ccshim/stat/stat_delta.c \
	tools/ccshim/stat/stat_files.c \
	tools/ccshim/stat/stat_group.c \
	tools/ccshim/stat/stat_limit.c \
	tools/common/terminal.c \
	tools/ccshim/top/top_page.c \
	tools/ccshim/top/top_rows.c \
	tools/ccshimd/auth.c \
	tools/ccshimd/derive.c \
	tools/ccshimd/filter.c \
	tools/ccshimd/key_file.c \
	tools/common/gnuplot.c \
	tools/common/human.c \
	tools/common/json_read.c \
	tools/common/next_option.c \
	tools/common/preload_list.c \
	tools/common/program.c \
	tools/common/seconds.c \
	tools/common/slurp.c \
	tools/common/topology.c \
	tools/common/words.c \
	tools/slurm/task_policy.c
tests_libtests_la_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS) $(SECCOMP_CFLAGS)
include tests/unit/local.mk
include tests/tools/local.mk
include tests/fake/local.mk
include tests/verbs/local.mk
include tests/diff/local.mk
include tests/fuzz/local.mk
include tests/sim/local.mk
include tests/lab/local.mk
EXTRA_DIST += tests/slurm/cluster tests/slurm/slurm.bats
EXTRA_DIST += tests/docs/app tests/docs/block.bash tests/docs/blocks.awk tests/docs/commands \
	tests/docs/size tests/docs/topology
EXTRA_DIST += tests/security.md tests/abi tests/data/ccshim_feed.abi tests/data/plugin.abi
