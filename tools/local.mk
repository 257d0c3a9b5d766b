# SPDX-License-Identifier: BSD-2-Clause
# One file per subcommand; ccshim.c dispatches.
bin_PROGRAMS += tools/ccshim
tools_ccshim_SOURCES = \
	tools/ccshim.c tools/ccshim.h \
	tools/ask_agent.c tools/ask_agent.h tools/capabilities.c tools/capabilities.h \
	tools/check.c tools/check.h tools/check_agent.c tools/check_command.c tools/check_devices.c \
	tools/debug.c \
	tools/devices.c tools/devices.h \
	tools/info.c tools/info.h tools/info_algorithms.c tools/info_devices.c \
	tools/info_options.c tools/info_version.c \
	tools/path.c tools/path.h \
	tools/preload.c tools/preload.h \
	tools/gnuplot.c tools/gnuplot.h \
	tools/plot.c tools/plot.h tools/plot_data.c tools/plot_draw.c tools/plot_stat.c \
	tools/plot_trace.c tools/json_read.c tools/json_read.h \
	tools/replay.c tools/replay.h tools/replay_csv.c \
	tools/run.c tools/set.c \
	tools/stat.c tools/stat.h tools/stat_baseline.c tools/stat_delta.c tools/stat_json.c \
	tools/stat_metrics.c tools/stat_pages.c tools/stat_table.c bench/human.c bench/human.h
tools_ccshim_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(VERBS_CFLAGS)
tools_ccshim_LDADD = libccs-core.la $(VERBS_LIBS)

sbin_PROGRAMS += tools/ccshimd
tools_ccshimd_SOURCES = tools/ccshimd.c tools/ccshimd.h tools/ccshimd_status.c \
	tools/ask_agent.c tools/ask_agent.h tools/capabilities.c tools/capabilities.h \
	tools/ccshimd_auth.c tools/ccshimd_auth.h tools/ccshimd_links.c tools/ccshimd_links.h
tools_ccshimd_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SODIUM_CFLAGS)
tools_ccshimd_LDADD = libccs-agent.la libccs-core.la $(SODIUM_LIBS) -lpthread

# As ./configure --with-systemdsystemunitdir wants it; made in any case, for the tests.
tools/ccshimd.service: $(top_srcdir)/tools/ccshimd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed 's,@sbindir[@],$(sbindir),' \
		$(top_srcdir)/tools/ccshimd.service.in > $@
if HAVE_SYSTEMD
systemdsystemunit_DATA = tools/ccshimd.service
else
noinst_DATA = tools/ccshimd.service
endif
EXTRA_DIST += tools/ccshimd.service.in
CLEANFILES += tools/ccshimd.service

# What tracers see of the preload.
bpftracedir = $(pkgdatadir)/bpftrace
dist_bpftrace_SCRIPTS = tools/bpftrace/gated.bt tools/bpftrace/rate.bt tools/bpftrace/rtt-hist.bt

# What ccshim debug runs: beside ccshim in the build tree, too.
pkglibexec_SCRIPTS = tools/ccshim-debug
tools/ccshim-debug: $(top_srcdir)/tools/ccshim-debug.in
	$(AM_V_GEN)$(MKDIR_P) tools && cp $(top_srcdir)/tools/ccshim-debug.in $@ && chmod 755 $@
EXTRA_DIST += tools/ccshim-debug.in
CLEANFILES += tools/ccshim-debug

# Metrics of 'ccshim stat', for Prometheus and Grafana: docs/metrics.md.
metricsdir = $(docdir)/metrics
dist_metrics_DATA = tools/grafana/ccshim.json tools/metrics/ccshim-metrics.service \
	tools/metrics/ccshim-metrics.timer
