# SPDX-License-Identifier: BSD-2-Clause
# One folder or file per subcommand; main.c dispatches.
bin_PROGRAMS += tools/ccshim/ccshim
tools_ccshim_ccshim_SOURCES = \
	tools/ccshim/shared/ccshim.h \
	tools/ccshim/check/check.c \
	tools/ccshim/check/check.h \
	tools/ccshim/check/check_agent.c \
	tools/ccshim/check/check_command.c \
	tools/ccshim/check/check_devices.c \
	tools/ccshim/check/check_fabric.c \
	tools/ccshim/check/check_report.c \
	tools/ccshim/check/nic.c \
	tools/ccshim/check/nic.h \
	tools/ccshim/command/command.h \
	tools/ccshim/command/command_follow.c \
	tools/ccshim/command/command_judge.c \
	tools/ccshim/command/command_python.c \
	tools/ccshim/command/command_ucx.c \
	tools/ccshim/command/command_uses.c \
	tools/ccshim/shared/devices.c \
	tools/ccshim/shared/devices.h \
	tools/ccshim/doctor/doctor.c \
	tools/ccshim/doctor/doctor.h \
	tools/ccshim/doctor/doctor_counters.c \
	tools/ccshim/doctor/doctor_failures.c \
	tools/ccshim/doctor/doctor_finding.c \
	tools/ccshim/doctor/doctor_flows.c \
	tools/ccshim/doctor/doctor_increase.c \
	tools/ccshim/doctor/doctor_path.c \
	tools/ccshim/doctor/doctor_pauses.c \
	tools/ccshim/doctor/doctor_ports.c \
	tools/ccshim/doctor/doctor_print.c \
	tools/ccshim/doctor/doctor_qdisc.c \
	tools/ccshim/doctor/doctor_read.c \
	tools/ccshim/info/info.c \
	tools/ccshim/info/info.h \
	tools/ccshim/info/info_algorithms.c \
	tools/ccshim/info/info_devices.c \
	tools/ccshim/info/info_options.c \
	tools/ccshim/info/info_tenant.c \
	tools/ccshim/info/info_version.c \
	tools/ccshim/libexec.c \
	tools/ccshim/main.c \
	tools/ccshim/shared/message.c \
	tools/ccshim/shared/options.c \
	tools/ccshim/shared/options.h \
	tools/ccshim/shared/path_options.c \
	tools/ccshim/shared/path_options.h \
	tools/ccshim/plan/plan.c \
	tools/ccshim/plan/plan.h \
	tools/ccshim/plan/plan_buffer.c \
	tools/ccshim/plan/plan_headroom.c \
	tools/ccshim/plan/plan_thresholds.c \
	tools/ccshim/plan/plan_ecn.c \
	tools/ccshim/plan/plan_deadlock.c \
	tools/ccshim/plan/plan_network.c \
	tools/ccshim/plan/plan_network.h \
	tools/ccshim/plan/plan_options.c \
	tools/ccshim/plan/plan_qos.c \
	tools/ccshim/plan/plan_qos.h \
	tools/ccshim/plan/plan_qos_tc.c \
	tools/ccshim/plot/plot.c \
	tools/ccshim/plot/plot.h \
	tools/ccshim/plot/plot_data.c \
	tools/ccshim/plot/plot_draw.c \
	tools/ccshim/plot/plot_bench.c \
	tools/ccshim/plot/plot_export.c \
	tools/ccshim/plot/plot_stat.c \
	tools/ccshim/plot/plot_trace.c \
	tools/ccshim/shared/preload.c \
	tools/ccshim/shared/preload.h \
	tools/ccshim/replay/replay.c \
	tools/ccshim/replay/replay.h \
	tools/ccshim/replay/replay_csv.c \
	tools/ccshim/replay/replay_table.c \
	tools/ccshim/run/run.c \
	tools/ccshim/run/run.h \
	tools/ccshim/run/impair.c \
	tools/ccshim/run/run_adapt.c \
	tools/ccshim/run/run_options.c \
	tools/ccshim/set.c \
	tools/ccshim/set_all.c \
	tools/ccshim/set_tenant.c \
	tools/ccshim/set.h \
	tools/ccshim/set_send.c \
	tools/ccshim/stat/stat.c \
	tools/ccshim/stat/stat.h \
	tools/ccshim/stat/stat_baseline.c \
	tools/ccshim/stat/stat_delta.c \
	tools/ccshim/stat/namespaces.c \
	tools/ccshim/stat/namespaces.h \
	tools/ccshim/stat/stat_files.c \
	tools/ccshim/stat/stat_group.c \
	tools/ccshim/stat/stat_find.c \
	tools/ccshim/stat/stat_json.c \
	tools/ccshim/stat/stat_limit.c \
	tools/ccshim/stat/stat_metrics.c \
	tools/ccshim/stat/stat_omitted.c \
	tools/ccshim/stat/stat_party.c \
	tools/ccshim/stat/stat_search.h \
	tools/ccshim/stat/stat_tenant.c \
	tools/ccshim/stat/stat_table.c \
	tools/ccshim/stat/subuid.c \
	tools/ccshim/stat/subuid.h \
	tools/ccshim/shared/children.c \
	tools/ccshim/shared/children.h \
	tools/ccshim/top/top.c \
	tools/ccshim/top/top.h \
	tools/ccshim/top/top_page.c \
	tools/ccshim/top/top_rows.c \
	tools/ccshim/top/top_screen.c \
	tools/common/ask_agent.c \
	tools/common/ask_agent.h \
	tools/common/capabilities.c \
	tools/common/capabilities.h \
	tools/common/gnuplot.c \
	tools/common/gnuplot.h \
	tools/common/human.c \
	tools/common/human.h \
	tools/common/installed.c \
	tools/common/installed.h \
	tools/common/json_read.c \
	tools/common/json_read.h \
	tools/common/next_option.c \
	tools/common/next_option.h \
	tools/common/preload_list.c \
	tools/common/preload_list.h \
	tools/common/program.c \
	tools/common/program.h \
	tools/common/provider.c \
	tools/common/provider.h \
	tools/common/qdisc_stats.c \
	tools/common/qdisc_stats.h \
	tools/common/seconds.c \
	tools/common/seconds.h \
	tools/common/slurp.c \
	tools/common/slurp.h \
	tools/common/terminal.c \
	tools/common/terminal.h \
	tools/common/topology.c \
	tools/common/topology.h \
	tools/common/words.c \
	tools/common/words.h
tools_ccshim_ccshim_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(VERBS_CFLAGS)
tools_ccshim_ccshim_LDADD = libccs-agent.la libccs-fabric.la libccs-core.la $(VERBS_LIBS)

# ccshim serve executes this program: in libexec, or beside ccshim in the build tree.
pkglibexec_PROGRAMS = tools/ccshim/ccshim-serve
tools_ccshim_ccshim_serve_SOURCES = \
	tools/ccshim/shared/message.c \
	tools/ccshim/shared/options.c \
	tools/ccshim/shared/options.h \
	tools/ccshim/serve/serve.c \
	tools/ccshim/serve/serve.h \
	tools/ccshim/serve/serve_clients.c \
	tools/ccshim/serve/serve_clients.h \
	tools/ccshim/serve/serve_data.c \
	tools/ccshim/serve/serve_guard.c \
	tools/ccshim/serve/serve_http.c \
	tools/ccshim/serve/serve_listen.c \
	tools/ccshim/stat/namespaces.c \
	tools/ccshim/stat/namespaces.h \
	tools/ccshim/stat/stat.h \
	tools/ccshim/stat/stat_delta.c \
	tools/ccshim/stat/stat_files.c \
	tools/ccshim/stat/stat_group.c \
	tools/ccshim/stat/stat_find.c \
	tools/ccshim/stat/stat_json.c \
	tools/ccshim/stat/stat_limit.c \
	tools/ccshim/stat/stat_metrics.c \
	tools/ccshim/stat/stat_party.c \
	tools/ccshim/stat/stat_tenant.c \
	tools/common/json_read.c \
	tools/common/json_read.h \
	tools/ccshim/stat/stat_search.h \
	tools/ccshim/stat/subuid.c \
	tools/ccshim/stat/subuid.h \
	tools/ccshim/shared/children.c \
	tools/ccshim/shared/children.h \
	tools/common/ask_agent.c \
	tools/common/ask_agent.h \
	tools/common/next_option.c \
	tools/common/next_option.h \
	tools/common/seconds.c \
	tools/common/seconds.h \
	tools/common/terminal.c \
	tools/common/terminal.h
nodist_tools_ccshim_ccshim_serve_SOURCES = tools/ccshim/serve/serve_files.c
tools_ccshim_ccshim_serve_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(MICROHTTPD_CFLAGS)
tools_ccshim_ccshim_serve_LDADD = libccs-core.la $(MICROHTTPD_LIBS)

# The files of its page become part of it.
serve_page = \
	$(top_srcdir)/tools/ccshim/serve/page.html \
	$(top_srcdir)/tools/ccshim/serve/page.css \
	$(top_srcdir)/tools/ccshim/serve/chart.js \
	$(top_srcdir)/tools/ccshim/serve/format.js \
	$(top_srcdir)/tools/ccshim/serve/live.js \
	$(top_srcdir)/tools/ccshim/serve/page.js \
	$(top_srcdir)/tools/ccshim/serve/recorded.js \
	$(top_srcdir)/tools/ccshim/serve/series.js \
	$(top_srcdir)/tools/ccshim/serve/table.js \
	$(top_srcdir)/tools/ccshim/serve/uplot.css \
	$(top_srcdir)/tools/ccshim/serve/uplot.js \
	$(top_srcdir)/tools/ccshim/serve/views.js
tools/ccshim/serve/serve_files.c: $(serve_page) $(top_srcdir)/tools/ccshim/serve/embed.awk
	$(AM_V_GEN)$(MKDIR_P) tools/ccshim/serve && \
		$(AWK) -f $(top_srcdir)/tools/ccshim/serve/embed.awk $(serve_page) > $@.new && mv $@.new $@
EXTRA_DIST += $(serve_page) tools/ccshim/serve/embed.awk tools/ccshim/serve/uplot.license
CLEANFILES += tools/ccshim/serve/serve_files.c

sbin_PROGRAMS += tools/ccshimd/ccshimd
tools_ccshimd_ccshimd_SOURCES = \
	tools/ccshimd/auth.c \
	tools/ccshimd/derive.c \
	tools/ccshimd/ccshimd.h \
	tools/ccshimd/tenants.c \
	tools/ccshimd/filter.c \
	tools/ccshimd/key_file.c \
	tools/ccshimd/key_file.h \
	tools/ccshimd/links.c \
	tools/ccshimd/main.c \
	tools/ccshimd/message.c \
	tools/common/ask_agent.c \
	tools/common/ask_agent.h \
	tools/common/capabilities.c \
	tools/common/capabilities.h \
	tools/common/next_option.c \
	tools/common/next_option.h
tools_ccshimd_ccshimd_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SODIUM_CFLAGS) $(SECCOMP_CFLAGS)
tools_ccshimd_ccshimd_LDADD = libccs-agent.la libccs-core.la $(SODIUM_LIBS) $(SECCOMP_LIBS) -lpthread

# Slurm's plug-in. It exports the functions that Slurm calls.
if HAVE_SLURM
spankdir = $(pkglibdir)
spank_LTLIBRARIES = tools/slurm/spank_ccshim.la
tools_slurm_spank_ccshim_la_SOURCES = \
	tools/common/preload_list.c \
	tools/common/preload_list.h \
	tools/slurm/spank_ccshim.c \
	tools/slurm/task_policy.c \
	tools/slurm/task_policy.h
tools_slurm_spank_ccshim_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tools_slurm_spank_ccshim_la_LIBADD = libccs-core.la
tools_slurm_spank_ccshim_la_LDFLAGS = -module -avoid-version -shared \
	-export-symbols-regex '^(slurm_spank_|spank_plugin_|plugin_)'
endif

# As ./configure --with-systemdsystemunitdir wants it; made in any case, for the tests.
tools/ccshimd/ccshimd.service: $(top_srcdir)/tools/ccshimd/ccshimd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed 's,@sbindir[@],$(sbindir),' \
		$(top_srcdir)/tools/ccshimd/ccshimd.service.in > $@
if HAVE_SYSTEMD
systemdsystemunit_DATA = tools/ccshimd/ccshimd.service
dist_systemdsystemunit_DATA = tools/ccshimd/ccshimd.socket
else
noinst_DATA = tools/ccshimd/ccshimd.service
endif
EXTRA_DIST += tools/ccshimd/ccshimd.service.in
CLEANFILES += tools/ccshimd/ccshimd.service

# Scripts for the preload's probes.
bpftracedir = $(pkgdatadir)/bpftrace
dist_bpftrace_SCRIPTS = tools/bpftrace/gated.bt tools/bpftrace/rate.bt tools/bpftrace/rtt-hist.bt

# ccshim debug executes this script: in libexec, or beside ccshim in the build tree.
# ccshim check executes ccshim-firewall.
pkglibexec_SCRIPTS = tools/ccshim/ccshim-debug tools/ccshim/ccshim-firewall
tools/ccshim/ccshim-debug: $(top_srcdir)/tools/ccshim/ccshim-debug.in
	$(AM_V_GEN)$(MKDIR_P) tools && cp $(top_srcdir)/tools/ccshim/ccshim-debug.in $@ && chmod 755 $@
tools/ccshim/ccshim-firewall: $(top_srcdir)/tools/ccshim/ccshim-firewall.in
	$(AM_V_GEN)$(MKDIR_P) tools && sed 's/@[V]ERSION@/$(VERSION)/' $(top_srcdir)/tools/ccshim/ccshim-firewall.in > $@ && chmod 755 $@
EXTRA_DIST += tools/ccshim/ccshim-debug.in tools/ccshim/ccshim-firewall.in
CLEANFILES += tools/ccshim/ccshim-debug tools/ccshim/ccshim-firewall

# Metrics of 'ccshim stat', for Prometheus and Grafana: docs/guide/metrics.md.
metricsdir = $(docdir)/metrics
dist_metrics_DATA = tools/grafana/ccshim.json tools/metrics/ccshim-alerts.yml \
	tools/metrics/ccshim-metrics.service tools/metrics/ccshim-metrics.timer

# For containers, Kubernetes, HPC: docs/guide/operate.md.
deploydir = $(docdir)/deploy
dist_deploy_DATA = tools/deploy/Containerfile tools/deploy/apptainer.def tools/deploy/kubernetes.yaml \
	tools/deploy/kubernetes-pod.yaml tools/deploy/kubernetes-tenants.jq
dist_deploy_SCRIPTS = tools/deploy/slurm-tenant
# The device of CDI mounts it.
pkglibdata_DATA = tools/deploy/ld.so.preload
pkglibdatadir = $(libdir)/ccshim
EXTRA_DIST += tools/deploy/ld.so.preload
deploy_generated = tools/deploy/cdi.yaml tools/deploy/enroot-hook.sh tools/deploy/modulefile
deploy_DATA = $(deploy_generated)
$(deploy_generated): %: $(top_srcdir)/%.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools/deploy && sed -e 's|@pkglibdir[@]|$(pkglibdir)|' -e 's|@bindir[@]|$(bindir)|' \
		-e 's|@mandir[@]|$(mandir)|' -e 's|@VERSION[@]|$(VERSION)|g' $(top_srcdir)/$@.in > $@
EXTRA_DIST += tools/deploy/cdi.yaml.in tools/deploy/enroot-hook.sh.in tools/deploy/modulefile.in
CLEANFILES += $(deploy_generated)
