# SPDX-License-Identifier: BSD-2-Clause
# The command lines. BATS is empty where bats is not installed.
tools_scripts = \
	tests/tools/adapt.bats \
	tests/tools/agent.bats \
	tests/tools/build.bats \
	tests/tools/ccbench.bats \
	tests/tools/ccshimd.bats \
	tests/tools/check.bats \
	tests/tools/check_fabric.bats \
	tests/tools/completion.bats \
	tests/tools/debug.bats \
	tests/tools/deploy.bats \
	tests/tools/doctor.bats \
	tests/tools/documented.bats \
	tests/tools/fabric.bats \
	tests/tools/fabric_beyond.bats \
	tests/tools/fabric_deadlock.bats \
	tests/tools/fabric_matrix.bats \
	tests/tools/fabric_papers.bats \
	tests/tools/fabric_pfc.bats \
	tests/tools/fabric_queues.bats \
	tests/tools/fabric_rows.bats \
	tests/tools/fabric_scenarios.bats \
	tests/tools/fabric_signals.bats \
	tests/tools/fabric_tcp.bats \
	tests/tools/fabric_tenants.bats \
	tests/tools/fake.bats \
	tests/tools/grid.bats \
	tests/tools/info.bats \
	tests/tools/plan.bats \
	tests/tools/plot.bats \
	tests/tools/firewall.bats \
	tests/tools/hardening.bats \
	tests/tools/plugin.bats \
	tests/tools/replay.bats \
	tests/tools/impair.bats \
	tests/tools/run.bats \
	tests/tools/schemas.bats \
	tests/tools/terminal.bats \
	tests/tools/theory.bats \
	tests/tools/width.bats
EXTRA_DIST += $(tools_scripts) \
	tests/tools/fabric.bash \
	tests/tools/schema.py \
	tests/tools/terminal.bash \
	tests/tools/tools.bash \
	tests/data/doctor-counters tests/data/kubernetes.schema.json tests/data/trace_event.schema.json
if HAVE_BATS
TESTS += $(tools_scripts)
endif

# -rpath makes libtool build a shared object that is never installed. Without the
# sanitizers: it is preloaded into programs that have none.
check_LTLIBRARIES += tests/tools/fakeverbs.la
tests_tools_fakeverbs_la_SOURCES = tests/tools/fakeverbs.c
tests_tools_fakeverbs_la_CFLAGS = -std=gnu11 -Wall -Wextra $(VERBS_CFLAGS)
tests_tools_fakeverbs_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# As fakeverbs: what a taken-over agent would try.
check_LTLIBRARIES += tests/tools/intruder.la
tests_tools_intruder_la_SOURCES = \
	tests/tools/forbidden_calls.c \
	tests/tools/forbidden_calls.h \
	tests/tools/intruder.c
tests_tools_intruder_la_CPPFLAGS = -D_GNU_SOURCE -I$(top_srcdir)
tests_tools_intruder_la_CFLAGS = -std=gnu11 -Wall -Wextra
tests_tools_intruder_la_LIBADD = -lpthread
tests_tools_intruder_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
