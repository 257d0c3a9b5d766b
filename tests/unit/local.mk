# SPDX-License-Identifier: BSD-2-Clause
# Unit tests: tests/unit/test_NAME.c is a program, linked as tests/local.mk says. Add it to the list.
LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/unit/run-tap.sh
EXTRA_DIST += tests/unit/run-tap.sh \
	tests/data/dcqcn_paper_single.csv \
	tests/data/hpcc_paper_incast.csv \
	tests/data/stats-1.0.page \
	tests/data/timely_params.csv \
	tests/data/timely_snippet_P1_ramp.csv
noinst_HEADERS += \
	tests/unit/agentrig.h \
	tests/unit/algorithm.h \
	tests/unit/dcqcn.h \
	tests/unit/flow_fixture.h \
	tests/unit/flow_next.h \
	tests/unit/hpcc.h \
	tests/unit/seed.h \
	tests/unit/telemetry.h \
	tests/unit/tenantrig.h \
	tests/unit/test.h \
	tests/unit/timely.h \
	tests/unit/tree.h

if HAVE_CMOCKA
unit_programs = \
	tests/unit/test_advice \
	tests/unit/test_agent_budgets \
	tests/unit/test_agent_caps \
	tests/unit/test_agent_claims \
	tests/unit/test_agent_client \
	tests/unit/test_agent_clients \
	tests/unit/test_agent_closing \
	tests/unit/test_agent_cnps \
	tests/unit/test_agent_extremes \
	tests/unit/test_agent_feed \
	tests/unit/test_agent_hellos \
	tests/unit/test_agent_inbound \
	tests/unit/test_agent_limits \
	tests/unit/test_agent_peers \
	tests/unit/test_agent_relay \
	tests/unit/test_agent_telemetry \
	tests/unit/test_agent_tenants \
	tests/unit/test_auth \
	tests/unit/test_base_rtt \
	tests/unit/test_bench_curve \
	tests/unit/test_bench_figures \
	tests/unit/test_bench_inforce \
	tests/unit/test_bench_io \
	tests/unit/test_bench_matrix \
	tests/unit/test_bench_opts \
	tests/unit/test_bench_scenario \
	tests/unit/test_capture \
	tests/unit/test_cbd \
	tests/unit/test_cc_event \
	tests/unit/test_cc_events \
	tests/unit/test_cc_spec \
	tests/unit/test_ccfabric \
	tests/unit/test_ccshimd_links \
	tests/unit/test_control_state \
	tests/unit/test_copa \
	tests/unit/test_counters \
	tests/unit/test_dcqcn \
	tests/unit/test_dcqcn_np \
	tests/unit/test_dcqcn_path \
	tests/unit/test_dcqcn_stages \
	tests/unit/test_elf \
	tests/unit/test_fabric_tcp \
	tests/unit/test_failure \
	tests/unit/test_feed \
	tests/unit/test_filename \
	tests/unit/test_filter \
	tests/unit/test_flow_configure \
	tests/unit/test_handshake_model \
	tests/unit/test_headroom \
	tests/unit/test_hist \
	tests/unit/test_impaired_qp \
	tests/unit/test_hpcc \
	tests/unit/test_hpcc_agents \
	tests/unit/test_hpcc_records \
	tests/unit/test_hwclock \
	tests/unit/test_json \
	tests/unit/test_lock \
	tests/unit/test_log \
	tests/unit/test_marking \
	tests/unit/test_mmu \
	tests/unit/test_options \
	tests/unit/test_owner \
	tests/unit/test_pacing \
	tests/unit/test_pool \
	tests/unit/test_ptrmap \
	tests/unit/test_qos \
	tests/unit/test_rcp \
	tests/unit/test_record \
	tests/unit/test_registrations \
	tests/unit/test_request \
	tests/unit/test_rtt \
	tests/unit/test_rtt_outlier \
	tests/unit/test_rules \
	tests/unit/test_send_queue \
	tests/unit/test_serve \
	tests/unit/test_set_all \
	tests/unit/test_cap \
	tests/unit/test_shares \
	tests/unit/test_shm_path \
	tests/unit/test_signal_wire \
	tests/unit/test_signalling \
	tests/unit/test_slow_start \
	tests/unit/test_standing \
	tests/unit/test_stats \
	tests/unit/test_swift \
	tests/unit/test_switch \
	tests/unit/test_task_policy \
	tests/unit/test_tenant \
	tests/unit/test_thread \
	tests/unit/test_thresholds \
	tests/unit/test_timely \
	tests/unit/test_timely_ns3 \
	tests/unit/test_timely_path \
	tests/unit/test_timer_wheel \
	tests/unit/test_top \
	tests/unit/test_trace \
	tests/unit/test_units
check_PROGRAMS += $(unit_programs)
TESTS += $(unit_programs)

# Libraries for some only, and functions that a test replaces.
tests_unit_test_auth_CPPFLAGS = $(AM_CPPFLAGS) $(SODIUM_CFLAGS)
tests_unit_test_auth_LDADD = $(LDADD) $(SODIUM_LIBS)
tests_unit_test_bench_io_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_test_ccfabric_LDADD = bench/libfabric-sim.la $(LDADD)
tests_unit_test_fabric_tcp_LDADD = bench/libfabric-sim.la $(LDADD)
tests_unit_test_feed_LDADD = libccshim_feed.la tests/libtests.la $(CMOCKA_LIBS) -lpthread
tests_unit_test_agent_feed_LDADD = libccshim_feed.la $(LDADD)
tests_unit_test_filter_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
tests_unit_test_filter_LDADD = $(LDADD) $(SECCOMP_LIBS)
tests_unit_test_handshake_model_LDFLAGS = -Wl,--wrap=ccs_udp_send -Wl,--wrap=ccs_hello_limit_claim
tests_unit_test_rtt_LDFLAGS = -Wl,--wrap=calloc -Wl,--wrap=ccs_pool_calloc
tests_unit_test_bench_curve_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_figures_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_inforce_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_io_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_matrix_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_opts_LDADD = bench/libbench.la $(LDADD)
tests_unit_test_bench_scenario_LDADD = bench/libbench.la $(LDADD)
endif
