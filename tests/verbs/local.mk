# SPDX-License-Identifier: BSD-2-Clause
# The preload as an application sees it, over the fake provider. Each program starts itself again
# with both preloaded (rig.c). tests/verbs/test_NAME.c is a program: add it to the list.
if HAVE_CMOCKA
verbs_programs = \
	tests/verbs/test_alloc \
	tests/verbs/test_cancel \
	tests/verbs/test_clock \
	tests/verbs/test_contexts \
	tests/verbs/test_cq_ex \
	tests/verbs/test_errno \
	tests/verbs/test_error \
	tests/verbs/test_event \
	tests/verbs/test_faults \
	tests/verbs/test_feedback \
	tests/verbs/test_fork \
	tests/verbs/test_idle_shadow \
	tests/verbs/test_impair \
	tests/verbs/test_last_thread \
	tests/verbs/test_life \
	tests/verbs/test_limits \
	tests/verbs/test_linger \
	tests/verbs/test_malloc \
	tests/verbs/test_memory \
	tests/verbs/test_modes \
	tests/verbs/test_no_poll \
	tests/verbs/test_no_thread \
	tests/verbs/test_notify \
	tests/verbs/test_notify_random \
	tests/verbs/test_numbers \
	tests/verbs/test_order \
	tests/verbs/test_post \
	tests/verbs/test_qp_ex \
	tests/verbs/test_resize \
	tests/verbs/test_seccomp \
	tests/verbs/test_send_queue \
	tests/verbs/test_set_request \
	tests/verbs/test_split \
	tests/verbs/test_split_imm \
	tests/verbs/test_stack \
	tests/verbs/test_threads \
	tests/verbs/test_threads_mixed \
	tests/verbs/test_timestamp \
	tests/verbs/test_traffic_class \
	tests/verbs/test_wr \
	tests/verbs/test_xrc
check_PROGRAMS += $(verbs_programs)
TESTS += $(verbs_programs)
# Programs that the .bats files run.
check_PROGRAMS += \
	tests/verbs/sections \
	tests/verbs/hanging \
	tests/verbs/shown \
	tests/verbs/soak \
	tests/verbs/tracing \
	tests/verbs/traffic
# Functions of these replace those of shared objects.
tests_verbs_test_linger_LDFLAGS = -rdynamic
tests_verbs_test_numbers_LDFLAGS = -rdynamic
tests_verbs_test_set_request_LDFLAGS = -rdynamic
tests_verbs_test_threads_mixed_SOURCES = tests/verbs/test_threads_mixed.c tests/diff/mailbox.c tests/diff/mailbox.h

check_LTLIBRARIES += tests/verbs/windowed.la
tests_verbs_windowed_la_SOURCES = tests/verbs/windowed.c
tests_verbs_windowed_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif

verbs_scripts = \
	tests/verbs/conformance.bats \
	tests/verbs/container.bats \
	tests/verbs/matrix.bats \
	tests/verbs/overhead.bats \
	tests/verbs/perftest.bats \
	tests/verbs/plugin.bats \
	tests/verbs/probes.bats \
	tests/verbs/reach.bats \
	tests/verbs/failures.bats \
	tests/verbs/report.bats \
	tests/verbs/sections.bats \
	tests/verbs/serve.bats \
	tests/verbs/set.bats \
	tests/verbs/soak.bats \
	tests/verbs/stat.bats \
	tests/verbs/tenants.bats \
	tests/verbs/top.bats \
	tests/verbs/trace.bats
EXTRA_DIST += $(verbs_scripts) tests/verbs/browser.py tests/verbs/readings.js tests/verbs/shown.bash
if HAVE_BATS
TESTS += $(verbs_scripts)
endif

# The ways by which libibverbs is reached. The program itself is linked to none of it.
if HAVE_BATS
reach_module = -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += tests/verbs/reach
check_LTLIBRARIES += tests/verbs/fakemlx5.la tests/verbs/reach_direct.la \
	tests/verbs/reach_linked.la tests/verbs/reach_opening.la
EXTRA_DIST += tests/verbs/fakemlx5.map

tests_verbs_reach_SOURCES = tests/verbs/reach.c tests/verbs/reach.h
tests_verbs_reach_LDADD = -ldl
# matrix.bats compiles these.
EXTRA_DIST += tests/verbs/foreign.c tests/verbs/reach_main.c
tests_verbs_reach_linked_la_SOURCES = tests/verbs/reach_linked.c tests/verbs/reach.h
tests_verbs_reach_linked_la_LDFLAGS = $(reach_module)
tests_verbs_reach_linked_la_LIBADD = $(VERBS_LIBS)
tests_verbs_reach_opening_la_SOURCES = tests/verbs/reach_opening.c tests/verbs/reach.h
tests_verbs_reach_opening_la_LDFLAGS = $(reach_module) -Wl,-rpath,'$$ORIGIN/only-here'
tests_verbs_reach_opening_la_LIBADD = -ldl
tests_verbs_fakemlx5_la_SOURCES = tests/verbs/fakemlx5.c
tests_verbs_fakemlx5_la_DEPENDENCIES = tests/verbs/fakemlx5.map
tests_verbs_fakemlx5_la_LDFLAGS = $(reach_module) -Wl,-soname,libmlx5.so.1 \
	-Wl,--version-script=$(top_srcdir)/tests/verbs/fakemlx5.map
tests_verbs_reach_direct_la_SOURCES = tests/verbs/reach_direct.c tests/verbs/reach.h
# libtool drops a plain name of a shared object.
tests_verbs_reach_direct_la_LDFLAGS = $(reach_module) -Wl,tests/verbs/.libs/fakemlx5.so
tests_verbs_reach_direct_la_LIBADD = $(VERBS_LIBS)
tests_verbs_reach_direct_la_DEPENDENCIES = tests/verbs/fakemlx5.la
endif
