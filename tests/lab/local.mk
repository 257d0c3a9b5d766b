# SPDX-License-Identifier: BSD-2-Clause
# Programs for the lab: one that verifies every byte, and one that runs for days.
check_PROGRAMS += tests/lab/endure tests/lab/verify
tests_lab_endure_SOURCES = \
	tests/lab/endure.c \
	tests/lab/side.c \
	tests/lab/side.h
tests_lab_endure_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_endure_LDADD = $(VERBS_LIBS)
tests_lab_verify_SOURCES = \
	tests/lab/side.c \
	tests/lab/side.h \
	tests/lab/verify.c
tests_lab_verify_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_verify_LDADD = $(VERBS_LIBS)
# For tests/conformance, which makes it.
EXTRA_PROGRAMS += tests/lab/mpi_loops
tests_lab_mpi_loops_SOURCES = tests/lab/mpi_loops.c
tests_lab_mpi_loops_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_lab_mpi_loops_LDADD = $(MPI_LIBS)
tests/lab/mpi_loops_mpich: tests/lab/mpi_loops.c
	$(AM_V_GEN)$(MKDIR_P) tests/lab && mpicc.mpich -O2 -o $@ $(top_srcdir)/tests/lab/mpi_loops.c
CLEANFILES += tests/lab/mpi_loops_mpich
EXTRA_DIST += tests/lab/agent.bats tests/lab/agents.bash tests/lab/apps.bats \
	tests/lab/clock.bats tests/lab/dcqcn.bats \
	tests/lab/guest.bash tests/lab/hardware.bats tests/lab/hpcc-proof tests/lab/hpcc.bats tests/lab/hpcc.sh \
	tests/lab/faults.sh tests/lab/impaired.sh tests/lab/impair.bats tests/lab/impair.sh tests/lab/pair.sh tests/lab/plan.bats tests/lab/provider.bats tests/lab/rcp.bats tests/lab/readme.bats \
	tests/lab/tenants.sh
EXTRA_DIST += tests/on-hardware tests/conformance tests/conformance.d/cases.bash tests/conformance.d/guest \
	tests/conformance.d/pair.bash tests/conformance.d/suite.bash \
	tests/conformance.d/suite.py tests/conformance.d/table.awk

check_PROGRAMS += tests/lab/failing
tests_lab_failing_SOURCES = \
	tests/lab/failing.c \
	tests/lab/side.c \
	tests/lab/side.h
tests_lab_failing_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_failing_LDADD = $(VERBS_LIBS)
EXTRA_DIST += tests/lab/failing.bats tests/lab/failing.sh

check_PROGRAMS += tests/lab/owner
tests_lab_owner_SOURCES = tests/lab/owner.c
tests_lab_owner_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_owner_LDADD = libccs-agent.la libccs-core.la $(VERBS_LIBS) -lpthread
EXTRA_DIST += tests/lab/owner.bats

check_PROGRAMS += tests/lab/telemetry
tests_lab_telemetry_SOURCES = tests/lab/telemetry.c
tests_lab_telemetry_LDADD = libccs-core.la
EXTRA_DIST += tests/lab/telemetry.awk tests/lab/telemetry.bats tests/lab/telemetry.sh

check_PROGRAMS += tests/lab/suite/suite
tests_lab_suite_suite_SOURCES = \
	tests/lab/suite/attr.c \
	tests/lab/suite/child.c \
	tests/lab/suite/child.h \
	tests/lab/suite/cq.c \
	tests/lab/suite/datagram.c \
	tests/lab/suite/end.c \
	tests/lab/suite/errors.c \
	tests/lab/suite/events.c \
	tests/lab/suite/flush.c \
	tests/lab/suite/host.c \
	tests/lab/suite/life.c \
	tests/lab/suite/limit.c \
	tests/lab/suite/main.c \
	tests/lab/suite/process.c \
	tests/lab/suite/purge.c \
	tests/lab/suite/rc.c \
	tests/lab/suite/ring.c \
	tests/lab/suite/srq.c \
	tests/lab/suite/suite.h \
	tests/lab/suite/timestamps.c \
	tests/lab/suite/window.c \
	tests/lab/suite/work.c \
	tests/lab/suite/wr.c
tests_lab_suite_suite_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_suite_suite_LDADD = $(VERBS_LIBS) -lpthread
EXTRA_DIST += tests/lab/suite.bats tests/lab/suite.known tests/lab/suite.sh
