# SPDX-License-Identifier: BSD-2-Clause
# libbench: what the bench's unit tests need as well.
noinst_LTLIBRARIES += bench/libbench.la
bench_libbench_la_SOURCES = \
	bench/converge.c bench/converge.h \
	bench/curve.c bench/curve.h \
	bench/fairness.c bench/fairness.h \
	bench/figures.c bench/figures.h \
	bench/human.c bench/human.h \
	bench/inforce.c bench/inforce.h tools/json_read.c tools/json_read.h \
	bench/interrupt.c bench/interrupt.h \
	bench/jsoncopy.c bench/jsoncopy.h \
	bench/messages.c bench/messages.h \
	bench/opts.c bench/opts.h bench/usage.c \
	bench/progress.c bench/progress.h \
	bench/qdisc.c bench/qdisc.h \
	bench/repeats.c bench/repeats.h \
	bench/scenario.c bench/scenario.h \
	bench/settings.c bench/settings.h \
	bench/sizes.c bench/sizes.h \
	bench/slowdown.c bench/slowdown.h \
	bench/slurp.c bench/slurp.h \
	bench/spawn.c bench/spawn.h \
	bench/xchg.c bench/xchg.h \
	bench/clock.h bench/flow.h bench/rng.h
bench_libbench_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(MNL_CFLAGS)
bench_libbench_la_LIBADD = libccs-core.la $(MNL_LIBS) -lm

bin_PROGRAMS += bench/ccbench
ccbench_sources = \
	bench/bench.c bench/bench.h \
	bench/carried.c bench/carried.h \
	bench/endpoint.c bench/endpoint.h \
	bench/jsonout.c bench/plot.c bench/table.c tools/gnuplot.c tools/gnuplot.h \
	bench/local.c bench/place.h \
	bench/proto.h \
	bench/report.c bench/report.h \
	bench/rows.c bench/rows.h \
	bench/run.c bench/run.h \
	bench/sampler.c bench/sampler.h \
	bench/traffic.c \
	bench/worker.c bench/worker.h
bench_ccbench_SOURCES = bench/ccbench.c $(ccbench_sources)
bench_ccbench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(VERBS_CFLAGS) $(MNL_CFLAGS)
bench_ccbench_CFLAGS = $(AM_CFLAGS) -pthread
bench_ccbench_LDADD = bench/libbench.la $(VERBS_LIBS)

# The same, for the ranks of an MPI job.
if HAVE_MPI
bin_PROGRAMS += bench/ccbench-mpi
endif
bench_ccbench_mpi_SOURCES = bench/ccbench_mpi.c bench/place_mpi.c bench/place_mpi.h $(ccbench_sources)
bench_ccbench_mpi_CPPFLAGS = $(bench_ccbench_CPPFLAGS) $(MPI_CFLAGS)
bench_ccbench_mpi_CFLAGS = $(AM_CFLAGS) -pthread
bench_ccbench_mpi_LDADD = bench/libbench.la $(VERBS_LIBS) $(MPI_LIBS)

# What the engine costs per event; for developers, not installed.
noinst_PROGRAMS += bench/engine
bench_engine_SOURCES = bench/engine.c bench/clock.h bench/rng.h
bench_engine_LDADD = libccs-core.la

# Control over all kinds of links and loads, in the simulator; for developers, not installed.
check_PROGRAMS += bench/grid
bench_grid_SOURCES = bench/grid.c bench/grid.h bench/grid_conf.c bench/grid_judge.c bench/grid_lab.c \
	bench/grid_print.c bench/grid_rows.c bench/grid_run.c
bench_grid_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/sim
bench_grid_LDADD = tests/sim/libsim.la bench/libbench.la
EXTRA_DIST += bench/grid-lab

# What host agents cost per mark and per CNP; for developers, not installed.
noinst_PROGRAMS += bench/marks
bench_marks_SOURCES = bench/marks.c
bench_marks_LDADD = libccs-agent.la libccs-core.la -lpthread

# What the shim costs per work request, and the device for that; likewise.
noinst_PROGRAMS += bench/overhead
bench_overhead_SOURCES = bench/overhead.c bench/load.c bench/load.h bench/clock.h
bench_overhead_CPPFLAGS = $(AM_CPPFLAGS) $(VERBS_CFLAGS)
bench_overhead_CFLAGS = $(AM_CFLAGS) -pthread
bench_overhead_LDADD = bench/libbench.la $(VERBS_LIBS)
# -rpath makes libtool build a shared object that is never installed. Without sanitizers:
# it is what a run is measured against.
noinst_LTLIBRARIES += bench/nullrdma.la
bench_nullrdma_la_SOURCES = bench/nullrdma.c
bench_nullrdma_la_CFLAGS = -std=gnu11 -Wall -Wextra $(VERBS_CFLAGS)
bench_nullrdma_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere \
	-Wl,--version-script=$(top_srcdir)/bench/nullrdma.map
bench_nullrdma_la_DEPENDENCIES = bench/nullrdma.map
EXTRA_DIST += bench/nullrdma.map

EXTRA_DIST += bench/headlines bench/headlines.jq docs/results.md bench/matrix bench/uncongested tests/lab/ccbench.bats

# What telemetry costs an agent.
EXTRA_DIST += bench/echo-cost
