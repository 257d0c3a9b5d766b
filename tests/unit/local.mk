# SPDX-License-Identifier: BSD-2-Clause

# A program per module: tests/unit/test_NAME.c, in TAP, linked with libccs-core.
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/unit/run-tap.sh
EXTRA_DIST += tests/unit/run-tap.sh
if HAVE_CMOCKA
unit_ldadd = libccs-core.la $(CMOCKA_LIBS)
unit_programs = \
	tests/unit/test_elf \
	tests/unit/test_filename \
	tests/unit/test_hist \
	tests/unit/test_json \
	tests/unit/test_lock \
	tests/unit/test_log \
	tests/unit/test_agent_place \
	tests/unit/test_options \
	tests/unit/test_pool \
	tests/unit/test_request \
	tests/unit/test_rules \
	tests/unit/test_thread \
	tests/unit/test_units
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)
noinst_HEADERS += \
	tests/unit/algorithm.h \
	tests/unit/dcqcn.h \
	tests/unit/hpcc.h \
	tests/unit/timely.h \
	tests/unit/flow_next.h \
	tests/unit/seed.h \
	tests/unit/tree.h

tests_unit_test_elf_LDADD = $(unit_ldadd)
tests_unit_test_filename_LDADD = $(unit_ldadd)
tests_unit_test_hist_LDADD = $(unit_ldadd)
tests_unit_test_json_LDADD = $(unit_ldadd)
tests_unit_test_lock_LDADD = $(unit_ldadd)
tests_unit_test_log_LDADD = $(unit_ldadd)
tests_unit_test_agent_place_LDADD = $(unit_ldadd)
tests_unit_test_options_LDADD = $(unit_ldadd)
tests_unit_test_pool_LDADD = $(unit_ldadd)
tests_unit_test_request_LDADD = $(unit_ldadd)
tests_unit_test_rules_LDADD = $(unit_ldadd)
tests_unit_test_thread_LDADD = $(unit_ldadd)
tests_unit_test_units_SOURCES = \
	tests/unit/test_units.c \
	tools/common/human.c \
	tools/common/human.h
tests_unit_test_units_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_units_LDADD = $(unit_ldadd)
endif

# The bench's pure parts.
if HAVE_CMOCKA
bench_unit_programs = \
	tests/unit/test_bench_curve \
	tests/unit/test_bench_figures \
	tests/unit/test_bench_inforce \
	tests/unit/test_bench_io \
	tests/unit/test_bench_opts \
	tests/unit/test_bench_matrix \
	tests/unit/test_bench_scenario
bench_unit_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_unit_ldadd = bench/libbench.la $(CMOCKA_LIBS)
check_PROGRAMS += $(bench_unit_programs)
TESTS += $(bench_unit_programs)

tests_unit_test_bench_curve_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_curve_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_figures_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_figures_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_inforce_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_inforce_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_io_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_io_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_opts_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_opts_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_matrix_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_matrix_LDADD = $(bench_unit_ldadd)
tests_unit_test_bench_scenario_CPPFLAGS = $(bench_unit_cppflags)
tests_unit_test_bench_scenario_LDADD = $(bench_unit_ldadd)
endif

# The controlled path: algorithms, flow, timer wheel, lookup.
if HAVE_CMOCKA
flow_unit_programs = \
	tests/unit/test_advice \
	tests/unit/test_base_rtt \
	tests/unit/test_cc_events \
	tests/unit/test_cc_spec \
	tests/unit/test_control_state \
	tests/unit/test_copa \
	tests/unit/test_dcqcn \
	tests/unit/test_dcqcn_np \
	tests/unit/test_dcqcn_path \
	tests/unit/test_dcqcn_stages \
	tests/unit/test_flow_configure \
	tests/unit/test_hpcc \
	tests/unit/test_hpcc_agents \
	tests/unit/test_hpcc_records \
	tests/unit/test_hwclock \
	tests/unit/test_pacing \
	tests/unit/test_ptrmap \
	tests/unit/test_rcp \
	tests/unit/test_rtt \
	tests/unit/test_rtt_outlier \
	tests/unit/test_send_queue \
	tests/unit/test_signalling \
	tests/unit/test_slow_start \
	tests/unit/test_swift \
	tests/unit/test_switch \
	tests/unit/test_timely \
	tests/unit/test_timely_ns3 \
	tests/unit/test_timely_path \
	tests/unit/test_timer_wheel
check_PROGRAMS += $(flow_unit_programs)
TESTS += $(flow_unit_programs)
EXTRA_DIST += tests/data/dcqcn_paper_single.csv tests/data/hpcc_paper_incast.csv \
	tests/data/stats-1.0.page tests/data/timely_params.csv tests/data/timely_snippet_P1_ramp.csv

tests_unit_test_advice_LDADD = $(unit_ldadd)
tests_unit_test_dcqcn_LDADD = $(unit_ldadd)
tests_unit_test_dcqcn_np_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_dcqcn_path_LDADD = $(unit_ldadd)
tests_unit_test_dcqcn_stages_LDADD = $(unit_ldadd)
tests_unit_test_hpcc_LDADD = $(unit_ldadd)
tests_unit_test_hpcc_agents_LDADD = $(unit_ldadd)
tests_unit_test_hpcc_records_LDADD = $(unit_ldadd)
tests_unit_test_copa_LDADD = $(unit_ldadd)
tests_unit_test_rcp_LDADD = $(unit_ldadd)
tests_unit_test_swift_LDADD = $(unit_ldadd)
tests_unit_test_timely_LDADD = $(unit_ldadd)
tests_unit_test_timely_ns3_LDADD = $(unit_ldadd)
tests_unit_test_timely_path_LDADD = $(unit_ldadd)
tests_unit_test_cc_events_LDADD = $(unit_ldadd)
tests_unit_test_cc_spec_LDADD = $(unit_ldadd)
tests_unit_test_base_rtt_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_base_rtt.c
tests_unit_test_base_rtt_LDADD = $(unit_ldadd)
tests_unit_test_control_state_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_control_state.c
tests_unit_test_control_state_LDADD = $(unit_ldadd)
tests_unit_test_flow_configure_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_flow_configure.c
tests_unit_test_flow_configure_LDADD = $(unit_ldadd)
tests_unit_test_rtt_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_rtt.c
tests_unit_test_rtt_LDADD = $(unit_ldadd)
tests_unit_test_rtt_outlier_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_rtt_outlier.c
tests_unit_test_rtt_outlier_LDADD = $(unit_ldadd)
tests_unit_test_send_queue_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_send_queue.c
tests_unit_test_send_queue_LDADD = $(unit_ldadd)
tests_unit_test_signalling_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_signalling.c
tests_unit_test_signalling_LDADD = $(unit_ldadd)
tests_unit_test_slow_start_SOURCES = \
	tests/unit/flow_fixture.c \
	tests/unit/flow_fixture.h \
	tests/unit/test_slow_start.c
tests_unit_test_slow_start_LDADD = $(unit_ldadd)
tests_unit_test_rtt_LDFLAGS = -Wl,--wrap=calloc -Wl,--wrap=ccs_pool_calloc
tests_unit_test_pacing_LDADD = $(unit_ldadd)
tests_unit_test_timer_wheel_LDADD = $(unit_ldadd)
tests_unit_test_hwclock_LDADD = $(unit_ldadd)
tests_unit_test_switch_LDADD = $(unit_ldadd)
tests_unit_test_ptrmap_SOURCES = tests/unit/test_ptrmap.c libshim/preload/object/ptrmap.c
tests_unit_test_ptrmap_LDADD = $(unit_ldadd) -lpthread
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_cc_event tests/unit/test_trace
TESTS += tests/unit/test_cc_event tests/unit/test_trace
tests_unit_test_cc_event_LDADD = $(unit_ldadd)
tests_unit_test_trace_LDADD = $(unit_ldadd) -lpthread
endif

# The host agent, and its parts.
if HAVE_CMOCKA
agent_unit_programs = \
	tests/unit/test_agent_claims \
	tests/unit/test_agent_clients \
	tests/unit/test_agent_closing \
	tests/unit/test_agent_cnps \
	tests/unit/test_agent_extremes \
	tests/unit/test_agent_hellos \
	tests/unit/test_agent_inbound \
	tests/unit/test_agent_limits \
	tests/unit/test_agent_peers \
	tests/unit/test_agent_relay \
	tests/unit/test_agent_telemetry \
	tests/unit/test_capture \
	tests/unit/test_ccshimd_links \
	tests/unit/test_counters \
	tests/unit/test_feed \
	tests/unit/test_handshake_model \
	tests/unit/test_owner \
	tests/unit/test_record \
	tests/unit/test_shm_path \
	tests/unit/test_signal_wire
check_PROGRAMS += $(agent_unit_programs)
TESTS += $(agent_unit_programs)
tests_unit_test_agent_cnps_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_cnps.c
tests_unit_test_agent_cnps_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_clients_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_clients.c
tests_unit_test_agent_clients_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_closing_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_closing.c
tests_unit_test_agent_closing_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_peers_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_peers.c
tests_unit_test_agent_peers_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_hellos_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_hellos.c
tests_unit_test_agent_hellos_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_extremes_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_extremes.c
tests_unit_test_agent_extremes_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_limits_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_limits.c
tests_unit_test_agent_limits_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_capture_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_capture.c
tests_unit_test_capture_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_inbound_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_inbound.c
tests_unit_test_agent_inbound_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_claims_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_claims.c
tests_unit_test_agent_claims_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_relay_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/telemetry.h \
	tests/unit/test_agent_relay.c
tests_unit_test_agent_relay_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_agent_telemetry_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/telemetry.h \
	tests/unit/test_agent_telemetry.c
tests_unit_test_agent_telemetry_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_counters_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_feed_LDADD = libccshim_feed.la $(CMOCKA_LIBS) -lpthread
tests_unit_test_ccshimd_links_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_handshake_model_LDFLAGS = -Wl,--wrap=ccs_udp_send -Wl,--wrap=ccs_hello_limit_claim
tests_unit_test_handshake_model_LDADD = libccs-agent.la $(unit_ldadd)
tests_unit_test_owner_LDADD = libccs-agent.la $(unit_ldadd) -lpthread
tests_unit_test_shm_path_LDADD = $(unit_ldadd) -lpthread
tests_unit_test_record_LDADD = $(unit_ldadd)
tests_unit_test_signal_wire_LDADD = $(unit_ldadd)
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_filter
TESTS += tests/unit/test_filter
tests_unit_test_filter_SOURCES = \
	tests/unit/test_filter.c \
	tests/tools/forbidden_calls.c \
	tests/tools/forbidden_calls.h \
	tools/ccshimd/filter.c \
	tools/ccshimd/filter.h
tests_unit_test_filter_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SECCOMP_CFLAGS)
tests_unit_test_filter_LDADD = $(unit_ldadd) $(SECCOMP_LIBS) -lpthread
check_PROGRAMS += tests/unit/test_auth
TESTS += tests/unit/test_auth
tests_unit_test_auth_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_auth.c \
	tools/ccshimd/auth.c \
	tools/ccshimd/auth.h \
	tools/ccshimd/key_file.c \
	tools/ccshimd/key_file.h
tests_unit_test_auth_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SODIUM_CFLAGS)
tests_unit_test_auth_LDADD = libccs-agent.la $(unit_ldadd) $(SODIUM_LIBS)
check_PROGRAMS += tests/unit/test_agent_feed
TESTS += tests/unit/test_agent_feed
tests_unit_test_agent_feed_SOURCES = \
	tests/unit/agentrig.c \
	tests/unit/agentrig.h \
	tests/unit/test_agent_feed.c
tests_unit_test_agent_feed_LDADD = libccs-agent.la libccshim_feed.la $(unit_ldadd) -lpthread
endif

# Signals: the book of slots, and the thread that asks the agent.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_registrations tests/unit/test_agent_client
TESTS += tests/unit/test_registrations tests/unit/test_agent_client
tests_unit_test_registrations_LDADD = $(unit_ldadd)
tests_unit_test_agent_client_SOURCES = \
	tests/unit/test_agent_client.c \
	tests/verbs/agent.c \
	tests/verbs/agent.h
tests_unit_test_agent_client_LDADD = $(unit_ldadd) -lpthread
endif

# The statistics page, and what reads it.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_stats
TESTS += tests/unit/test_stats
tests_unit_test_stats_SOURCES = \
	tests/unit/test_stats.c \
	tools/ccshim/stat/stat.h \
	tools/ccshim/stat/stat_delta.c \
	tools/ccshim/stat/stat_files.c
tests_unit_test_stats_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_stats_LDADD = $(unit_ldadd) -lpthread

check_PROGRAMS += tests/unit/test_serve
TESTS += tests/unit/test_serve
tests_unit_test_serve_SOURCES = \
	tests/unit/test_serve.c \
	tools/ccshim/message.c \
	tools/ccshim/serve/serve.h \
	tools/ccshim/serve/serve_guard.c \
	tools/ccshim/serve/serve_listen.c \
	tools/ccshim/terminal.c
tests_unit_test_serve_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_serve_LDADD = $(unit_ldadd)

check_PROGRAMS += tests/unit/test_set_all
TESTS += tests/unit/test_set_all
tests_unit_test_set_all_SOURCES = \
	tests/unit/test_set_all.c \
	tools/ccshim/message.c \
	tools/ccshim/set_all.c \
	tools/ccshim/terminal.c \
	tools/common/seconds.c
tests_unit_test_set_all_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_set_all_LDADD = $(unit_ldadd)
check_PROGRAMS += tests/unit/test_top
TESTS += tests/unit/test_top
tests_unit_test_top_SOURCES = \
	tests/unit/test_top.c \
	tools/ccshim/stat/stat.h \
	tools/ccshim/stat/stat_limit.c \
	tools/ccshim/top/top.h \
	tools/ccshim/top/top_page.c \
	tools/ccshim/top/top_rows.c \
	tools/common/human.c \
	tools/common/human.h
tests_unit_test_top_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_top_LDADD = $(unit_ldadd)
endif

# Slurm's plug-in, without Slurm.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test_task_policy
TESTS += tests/unit/test_task_policy
tests_unit_test_task_policy_SOURCES = \
	tests/unit/test_task_policy.c \
	tools/common/preload_list.c \
	tools/common/preload_list.h \
	tools/slurm/task_policy.c \
	tools/slurm/task_policy.h
tests_unit_test_task_policy_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_task_policy_LDADD = $(unit_ldadd)
endif

# The arithmetic of switches.
if HAVE_CMOCKA
fabric_unit_programs = \
	tests/unit/test_headroom \
	tests/unit/test_mmu \
	tests/unit/test_thresholds \
	tests/unit/test_marking \
	tests/unit/test_cbd \
	tests/unit/test_ccfabric \
	tests/unit/test_fabric_tcp \
	tests/unit/test_qos
check_PROGRAMS += $(fabric_unit_programs)
TESTS += $(fabric_unit_programs)
tests_unit_test_headroom_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_mmu_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_qos_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_ccfabric_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_ccfabric_LDADD = bench/libfabric-sim.la $(unit_ldadd)
tests_unit_test_fabric_tcp_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_test_fabric_tcp_LDADD = bench/libfabric-sim.la $(unit_ldadd)
tests_unit_test_cbd_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_marking_LDADD = libccs-fabric.la $(unit_ldadd)
tests_unit_test_thresholds_LDADD = libccs-fabric.la $(unit_ldadd)
endif
