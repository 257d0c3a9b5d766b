# SPDX-License-Identifier: BSD-2-Clause
# The preload as an application sees it, over the fake provider. Each program
# starts itself again with both preloaded (rig.c), so none needs a wrapper.
if HAVE_CMOCKA
verbs_ldadd = $(CMOCKA_LIBS) $(VERBS_LIBS) -lpthread
verbs_programs = \
	tests/verbs/test_agent_thread \
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
check_PROGRAMS += $(verbs_programs) tests/verbs/sections tests/verbs/shown tests/verbs/soak tests/verbs/traffic tests/verbs/tracing
TESTS += $(verbs_programs)
if HAVE_BATS
TESTS += tests/verbs/conformance.bats tests/verbs/container.bats tests/verbs/perftest.bats tests/verbs/overhead.bats tests/verbs/probes.bats tests/verbs/plugin.bats tests/verbs/report.bats tests/verbs/sections.bats tests/verbs/serve.bats tests/verbs/set.bats tests/verbs/soak.bats tests/verbs/stat.bats tests/verbs/top.bats tests/verbs/trace.bats
endif
EXTRA_DIST += tests/verbs/conformance.bats tests/verbs/container.bats tests/verbs/perftest.bats tests/verbs/overhead.bats tests/verbs/probes.bats tests/verbs/plugin.bats tests/verbs/report.bats tests/verbs/sections.bats tests/verbs/serve.bats tests/verbs/set.bats tests/verbs/soak.bats tests/verbs/stat.bats tests/verbs/top.bats tests/verbs/trace.bats
EXTRA_DIST += tests/verbs/browser.py tests/verbs/shown.bash
rig = tests/verbs/rig.c tests/verbs/rig.h

tests_verbs_test_alloc_SOURCES = tests/verbs/test_alloc.c $(rig)
tests_verbs_test_alloc_LDADD = $(verbs_ldadd)
tests_verbs_test_cancel_SOURCES = tests/verbs/test_cancel.c $(rig)
tests_verbs_test_cancel_LDADD = $(verbs_ldadd)
tests_verbs_test_clock_SOURCES = tests/verbs/test_clock.c $(rig)
tests_verbs_test_clock_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_contexts_SOURCES = tests/verbs/test_contexts.c $(rig)
tests_verbs_test_contexts_LDADD = $(verbs_ldadd)
tests_verbs_test_set_request_SOURCES = tests/verbs/test_set_request.c $(rig)
tests_verbs_test_set_request_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_set_request_LDFLAGS = -rdynamic
tests_verbs_test_cq_ex_SOURCES = tests/verbs/test_cq_ex.c $(rig)
tests_verbs_test_cq_ex_LDADD = $(verbs_ldadd)
tests_verbs_test_errno_SOURCES = tests/verbs/test_errno.c $(rig)
tests_verbs_test_errno_LDADD = $(verbs_ldadd)
tests_verbs_test_error_SOURCES = tests/verbs/test_error.c $(rig)
tests_verbs_test_error_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_event_SOURCES = tests/verbs/test_event.c $(rig)
tests_verbs_test_event_LDADD = $(verbs_ldadd)
tests_verbs_test_faults_SOURCES = tests/verbs/test_faults.c $(rig)
tests_verbs_test_faults_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_no_poll_SOURCES = tests/verbs/test_no_poll.c $(rig)
tests_verbs_test_no_poll_LDADD = $(verbs_ldadd)
check_LTLIBRARIES += tests/verbs/windowed.la
tests_verbs_windowed_la_SOURCES = tests/verbs/windowed.c
tests_verbs_windowed_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
tests_verbs_test_idle_shadow_SOURCES = tests/verbs/test_idle_shadow.c $(rig)
tests_verbs_test_idle_shadow_LDADD = $(verbs_ldadd)
tests_verbs_test_malloc_SOURCES = tests/verbs/test_malloc.c $(rig)
tests_verbs_test_malloc_LDADD = $(verbs_ldadd)
tests_verbs_test_memory_SOURCES = tests/verbs/test_memory.c $(rig)
tests_verbs_test_memory_LDADD = $(verbs_ldadd)
tests_verbs_test_notify_SOURCES = tests/verbs/test_notify.c $(rig)
tests_verbs_test_notify_LDADD = $(verbs_ldadd)
tests_verbs_test_notify_random_SOURCES = tests/verbs/test_notify_random.c tests/unit/seed.h $(rig)
tests_verbs_test_notify_random_LDADD = $(verbs_ldadd)
tests_verbs_test_no_thread_SOURCES = tests/verbs/test_no_thread.c $(rig)
tests_verbs_test_no_thread_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_fork_SOURCES = tests/verbs/test_fork.c $(rig)
tests_verbs_test_fork_LDADD = $(verbs_ldadd)
tests_verbs_test_last_thread_SOURCES = tests/verbs/test_last_thread.c $(rig)
tests_verbs_test_last_thread_LDADD = $(verbs_ldadd)
tests_verbs_test_life_SOURCES = tests/verbs/test_life.c $(rig)
tests_verbs_test_life_LDADD = $(verbs_ldadd)
tests_verbs_test_limits_SOURCES = tests/verbs/test_limits.c $(rig)
tests_verbs_test_limits_LDADD = $(verbs_ldadd)
tests_verbs_test_linger_SOURCES = tests/verbs/test_linger.c $(rig)
tests_verbs_test_linger_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_linger_LDFLAGS = -rdynamic
tests_verbs_test_modes_SOURCES = tests/verbs/test_modes.c $(rig)
tests_verbs_test_modes_LDADD = $(verbs_ldadd)
tests_verbs_test_numbers_SOURCES = tests/verbs/test_numbers.c $(rig)
tests_verbs_test_numbers_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_numbers_LDFLAGS = -rdynamic
tests_verbs_test_post_SOURCES = tests/verbs/test_post.c $(rig)
tests_verbs_test_post_LDADD = $(verbs_ldadd)
tests_verbs_test_qp_ex_SOURCES = tests/verbs/test_qp_ex.c $(rig)
tests_verbs_test_qp_ex_LDADD = $(verbs_ldadd)
tests_verbs_test_split_SOURCES = tests/verbs/test_split.c $(rig)
tests_verbs_test_split_LDADD = $(verbs_ldadd)
tests_verbs_test_split_imm_SOURCES = tests/verbs/test_split_imm.c $(rig)
tests_verbs_test_split_imm_LDADD = $(verbs_ldadd)
tests_verbs_test_order_SOURCES = tests/verbs/test_order.c $(rig)
tests_verbs_test_order_LDADD = $(verbs_ldadd)
tests_verbs_test_seccomp_SOURCES = tests/verbs/test_seccomp.c $(rig)
tests_verbs_test_seccomp_LDADD = $(verbs_ldadd)
tests_verbs_test_send_queue_SOURCES = tests/verbs/test_send_queue.c $(rig)
tests_verbs_test_send_queue_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_resize_SOURCES = tests/verbs/test_resize.c $(rig)
tests_verbs_test_resize_LDADD = $(verbs_ldadd)
tests_verbs_test_agent_thread_SOURCES = tests/verbs/test_agent_thread.c $(rig)
tests_verbs_test_agent_thread_LDADD = $(verbs_ldadd) -ldl
tests_verbs_test_feedback_SOURCES = \
	$(rig) \
	tests/verbs/agent.c \
	tests/verbs/agent.h \
	tests/verbs/test_feedback.c
tests_verbs_test_feedback_LDADD = libccs-core.la $(verbs_ldadd) -lm
tests_verbs_test_traffic_class_SOURCES = tests/verbs/test_traffic_class.c $(rig)
tests_verbs_test_traffic_class_LDADD = $(verbs_ldadd)
tests_verbs_test_stack_SOURCES = tests/verbs/test_stack.c $(rig)
tests_verbs_test_stack_LDADD = $(verbs_ldadd)
tests_verbs_test_threads_SOURCES = tests/verbs/test_threads.c $(rig)
tests_verbs_test_threads_LDADD = $(verbs_ldadd)
tests_verbs_test_threads_mixed_SOURCES = tests/verbs/test_threads_mixed.c $(rig)
tests_verbs_test_threads_mixed_LDADD = $(verbs_ldadd)
tests_verbs_test_timestamp_SOURCES = tests/verbs/test_timestamp.c $(rig)
tests_verbs_test_timestamp_LDADD = $(verbs_ldadd)
tests_verbs_test_wr_SOURCES = tests/verbs/test_wr.c $(rig)
tests_verbs_test_wr_LDADD = $(verbs_ldadd)
tests_verbs_test_xrc_SOURCES = tests/verbs/test_xrc.c $(rig)
tests_verbs_test_xrc_LDADD = $(verbs_ldadd)
tests_verbs_sections_SOURCES = tests/verbs/sections.c $(rig)
tests_verbs_sections_LDADD = $(verbs_ldadd)
tests_verbs_tracing_SOURCES = tests/verbs/tracing.c $(rig)
tests_verbs_tracing_LDADD = $(verbs_ldadd)
tests_verbs_shown_SOURCES = tests/verbs/shown.c $(rig)
tests_verbs_shown_LDADD = $(verbs_ldadd)
tests_verbs_soak_SOURCES = tests/verbs/soak.c $(rig)
tests_verbs_soak_LDADD = $(verbs_ldadd)
tests_verbs_traffic_SOURCES = tests/verbs/traffic.c $(rig)
tests_verbs_traffic_LDADD = $(verbs_ldadd)
endif

# The ways by which libibverbs is reached. The program itself is linked to none of it.
if HAVE_BATS
reach_module = -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += tests/verbs/reach
check_LTLIBRARIES += tests/verbs/fakemlx5.la tests/verbs/reach_direct.la \
	tests/verbs/reach_linked.la tests/verbs/reach_opening.la
TESTS += tests/verbs/reach.bats
EXTRA_DIST += tests/verbs/fakemlx5.map tests/verbs/reach.bats

tests_verbs_reach_SOURCES = tests/verbs/reach.c tests/verbs/reach.h
tests_verbs_reach_LDADD = -ldl
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
