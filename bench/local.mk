# SPDX-License-Identifier: BSD-2-Clause
# libbench: what the bench's unit tests need as well.
noinst_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = \
	bench/common/collectives.c \
	bench/common/collectives.h \
	bench/common/error.c \
	bench/common/error.h \
	bench/common/output.c \
	bench/common/output.h \
	bench/ccbench/scenario/inforce.c \
	bench/ccbench/scenario/inforce.h \
	bench/common/interrupt.c \
	bench/common/interrupt.h \
	bench/ccbench/matrix/models.c \
	bench/ccbench/matrix/verdict.c \
	bench/ccbench/scenario/opts.c \
	bench/ccbench/scenario/opts.h \
	bench/ccbench/place/preload.c \
	bench/ccbench/place/preload.h \
	bench/ccbench/traffic/xchg.c \
	bench/ccbench/traffic/xchg.h \
	bench/common/jobs.c \
	bench/common/jobs.h \
	bench/common/progress.c \
	bench/common/progress.h \
	bench/ccbench/result/shares.c \
	bench/ccbench/result/shares.h \
	bench/ccbench/traffic/curve.c \
	bench/ccbench/traffic/curve.h \
	bench/ccbench/scenario/figures.c \
	bench/ccbench/scenario/figures.h \
	bench/ccbench/result/slowdown.c \
	bench/ccbench/result/slowdown.h \
	tools/common/slurp.c \
	tools/common/slurp.h \
	bench/ccbench/scenario/scenario.c \
	bench/ccbench/scenario/scenario.h \
	bench/ccbench/scenario/settings.c \
	bench/ccbench/scenario/settings.h \
	bench/ccbench/scenario/flow.h \
	bench/ccbench/traffic/sequence.c \
	bench/ccbench/traffic/sequence.h \
	bench/ccbench/traffic/messages.c \
	bench/ccbench/traffic/messages.h \
	bench/ccbench/traffic/qdisc.c \
	bench/ccbench/traffic/qdisc.h \
	bench/common/sizes.c \
	bench/common/sizes.h \
	bench/ccbench/scenario/title.c \
	bench/common/clock.h \
	bench/common/rng.h \
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
	tools/common/qdisc_stats.c \
	tools/common/qdisc_stats.h \
	tools/common/terminal.c \
	tools/common/terminal.h
bench_libbench_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_libbench_la_LIBADD = libccs-agent.la libccs-core.la -lm

bin_PROGRAMS += bench/ccbench/ccbench
ccbench_sources = \
	bench/ccbench/bench.c \
	bench/ccbench/bench.h \
	bench/ccbench/place/local.c \
	bench/ccbench/place/place.h \
	bench/ccbench/traffic/proto.h \
	bench/ccbench/traffic/worker.c \
	bench/ccbench/traffic/worker.h \
	bench/ccbench/place/worker_main.c \
	bench/ccbench/result/jsonout.c \
	bench/ccbench/result/plot.c \
	bench/ccbench/result/report.c \
	bench/ccbench/result/report.h \
	bench/ccbench/result/rows.c \
	bench/ccbench/result/rows.h \
	bench/ccbench/result/table.c \
	bench/ccbench/result/tenants.c \
	bench/ccbench/traffic/carried.c \
	bench/ccbench/traffic/carried.h \
	bench/ccbench/traffic/endpoint.c \
	bench/ccbench/traffic/endpoint.h \
	bench/ccbench/traffic/run.c \
	bench/ccbench/traffic/run.h \
	bench/ccbench/traffic/sampler.c \
	bench/ccbench/traffic/sampler.h \
	bench/ccbench/traffic/traffic.c \
	tools/common/gnuplot.c \
	tools/common/gnuplot.h \
	tools/common/program.c \
	tools/common/program.h \
	tools/common/provider.c \
	tools/common/provider.h
bench_ccbench_ccbench_SOURCES = \
	bench/ccbench/main.c \
	bench/ccbench/run_matrix.c \
	bench/ccbench/matrix/matrix.h \
	bench/ccbench/matrix/print.c \
	$(ccbench_sources)
bench_ccbench_ccbench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(VERBS_CFLAGS)
bench_ccbench_ccbench_CFLAGS = $(AM_CFLAGS) -pthread
bench_ccbench_ccbench_LDADD = bench/libbench.la $(VERBS_LIBS)

# The same, for the ranks of an MPI job.
if HAVE_MPI
bin_PROGRAMS += bench/ccbench/ccbench-mpi
endif
bench_ccbench_ccbench_mpi_SOURCES = \
	$(ccbench_sources) \
	bench/ccbench/main_mpi.c \
	bench/ccbench/place/place_mpi.c \
	bench/ccbench/place/place_mpi.h
bench_ccbench_ccbench_mpi_CPPFLAGS = $(bench_ccbench_ccbench_CPPFLAGS) $(MPI_CFLAGS)
bench_ccbench_ccbench_mpi_CFLAGS = $(AM_CFLAGS) -pthread
bench_ccbench_ccbench_mpi_LDADD = bench/libbench.la $(VERBS_LIBS) $(MPI_LIBS)

# Control over all kinds of links and loads, in the simulator; for developers, not installed.
check_PROGRAMS += bench/grid/grid
bench_grid_grid_SOURCES = \
	bench/grid/grid.c \
	bench/grid/grid.h \
	bench/grid/grid_conf.c \
	bench/grid/grid_fabric.c \
	bench/grid/grid_judge.c \
	bench/grid/grid_print.c \
	bench/grid/grid_rows.c \
	bench/grid/grid_run.c
bench_grid_grid_LDADD = bench/sim/libstar.la bench/libfabric-sim.la bench/libbench.la

# Memory and CPU time of queue pairs; likewise.
noinst_PROGRAMS += bench/micro/qps
bench_micro_qps_SOURCES = bench/micro/qps.c
bench_micro_qps_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CFLAGS)
bench_micro_qps_LDADD = $(VERBS_LIBS)

# Cost of the shim per work request, and the device for that; likewise.
noinst_PROGRAMS += bench/micro/overhead
bench_micro_overhead_SOURCES = \
	bench/common/clock.h \
	bench/micro/load.c \
	bench/micro/load.h \
	bench/micro/overhead.c \
	tools/common/next_option.c \
	tools/common/next_option.h
bench_micro_overhead_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CFLAGS)
bench_micro_overhead_CFLAGS = $(AM_CFLAGS) -pthread
bench_micro_overhead_LDADD = bench/libbench.la $(VERBS_LIBS)
# -rpath makes libtool build a shared object that is never installed. Without sanitizers:
# runs are measured against it.
noinst_LTLIBRARIES += bench/micro/nullrdma.la
bench_micro_nullrdma_la_SOURCES = bench/micro/nullrdma.c
bench_micro_nullrdma_la_CFLAGS = -std=gnu11 -Wall -Wextra $(VERBS_CFLAGS)
bench_micro_nullrdma_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere \
	-Wl,--version-script=$(top_srcdir)/bench/micro/nullrdma.map
bench_micro_nullrdma_la_DEPENDENCIES = bench/micro/nullrdma.map
EXTRA_DIST += bench/micro/nullrdma.map

EXTRA_DIST += bench/scripts/headlines bench/scripts/headlines.jq docs/measured/results.md docs/notebook/tried.md docs/measured/uncongested.md bench/scripts/timestamps bench/scripts/uncongested docs/guide/hardware.md tests/lab/ccbench.bats

# Cost of telemetry for an agent.
EXTRA_DIST += bench/scripts/build.bash bench/scripts/echo-cost bench/scripts/readme bench/scripts/tenants docs/measured/tenants.md

# The packet simulator: what its two scenarios share.
noinst_LTLIBRARIES += bench/sim/libcore.la
bench_sim_libcore_la_SOURCES = \
	bench/common/rng.h \
	bench/sim/core/agent.h \
	bench/sim/core/event.c \
	bench/sim/core/event.h \
	bench/sim/core/memory.h

# Congestion control in a simulated fabric.
noinst_LTLIBRARIES += bench/libfabric-sim.la
bench_libfabric_sim_la_SOURCES = \
	bench/ccfabric/figures.c \
	bench/ccfabric/presets.c \
	bench/ccfabric/run.c \
	bench/ccfabric/published.c \
	bench/ccfabric/shared/options.c \
	bench/ccfabric/shared/options.h \
	bench/ccfabric/shared/usage.c \
	bench/ccfabric/summary.c \
	bench/ccfabric/ccfabric.h \
	bench/ccfabric/traffic.c \
	bench/ccfabric/traffic.h \
	bench/sim/fabric/agent.c \
	bench/sim/fabric/caps.c \
	bench/sim/fabric/baselines.c \
	bench/sim/fabric/baselines.h \
	bench/sim/fabric/changes.c \
	bench/sim/fabric/delays.h \
	bench/sim/fabric/driver_credit.c \
	bench/sim/fabric/driver_message.c \
	bench/sim/fabric/driver_nscc.c \
	bench/sim/fabric/driver_plain.c \
	bench/sim/fabric/driver_shim.c \
	bench/sim/fabric/driver_tcp.c \
	bench/sim/fabric/fabric.h \
	bench/sim/fabric/flows.c \
	bench/sim/fabric/flows.h \
	bench/sim/fabric/host.c \
	bench/sim/fabric/network.c \
	bench/sim/fabric/order.c \
	bench/sim/fabric/packet.c \
	bench/sim/fabric/place.c \
	bench/sim/fabric/port.c \
	bench/sim/fabric/posts.c \
	bench/sim/fabric/posts.h \
	bench/sim/fabric/priv.h \
	bench/sim/fabric/ranges.c \
	bench/sim/fabric/ranges.h \
	bench/sim/fabric/routes.c \
	bench/sim/fabric/routes.h \
	bench/sim/fabric/schedule.c \
	bench/sim/fabric/sim.c \
	bench/sim/fabric/switch.c \
	bench/sim/fabric/topology.c \
	bench/sim/fabric/topology.h \
	bench/sim/fabric/watch.c \
	tools/common/topology.c \
	tools/common/topology.h \
	tools/common/words.c \
	tools/common/words.h
bench_libfabric_sim_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
bench_libfabric_sim_la_LIBADD = bench/sim/libcore.la libccs-fabric.la bench/libbench.la
# Its closed loop: all flows meet in one switch.
check_LTLIBRARIES += bench/sim/libstar.la
bench_sim_libstar_la_SOURCES = \
	bench/sim/star/measure.c \
	bench/sim/star/place.c \
	bench/sim/star/priv.h \
	bench/sim/star/sim.c \
	bench/sim/star/sim.h
bench_sim_libstar_la_LIBADD = bench/libfabric-sim.la libccs-core.la

bin_PROGRAMS += bench/ccfabric/ccfabric
bench_ccfabric_ccfabric_SOURCES = \
	bench/ccfabric/ccfabric.c \
	bench/ccfabric/models/judge.c \
	bench/ccfabric/models/judge.h \
	bench/ccfabric/models/matrix.c \
	bench/ccfabric/models/matrix.h \
	bench/ccfabric/models/matrix_print.c \
	bench/ccfabric/models/matrix_run.c \
	bench/ccfabric/models/models.c \
	bench/ccfabric/models/models.h \
	bench/ccfabric/scenario.c
bench_ccfabric_ccfabric_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) \
	-DFAB_MODELS='"$(pkgdatadir)/fabric/ucloud.models"'
fabricdir = $(pkgdatadir)/fabric
dist_fabric_DATA = bench/ccfabric/models/sonic.models bench/ccfabric/models/ucloud.models
bench_ccfabric_ccfabric_LDADD = bench/libfabric-sim.la
EXTRA_DIST += bench/scripts/fabric-anchors bench/scripts/fabric-lab bench/scripts/fabric-matrix bench/scripts/fabric-matrix.jq bench/scripts/fabric-speed \
	bench/scripts/fabric-ucloud docs/measured/matrix.md docs/measured/matrix.png
EXTRA_DIST += bench/scripts/beyond bench/scripts/beyond.rows bench/scripts/papers bench/scripts/papers.rows \
	bench/scripts/theory docs/measured/beyond.md bench/scripts/fabric.rows docs/measured/papers.md docs/notebook/theory.md
