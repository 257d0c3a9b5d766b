# SPDX-License-Identifier: BSD-2-Clause

# Closed loops in virtual time: the rows of bench/sim/star, and the table of them.
check_LTLIBRARIES += tests/sim/libsim.la
tests_sim_libsim_la_SOURCES = \
	tests/sim/grid.h \
	tests/sim/rows.c \
	tests/sim/rows.h \
	tests/sim/rows_copa.c \
	tests/sim/rows_dcqcn.c \
	tests/sim/rows_hpcc.c \
	tests/sim/rows_none.c \
	tests/sim/rows_rcp.c \
	tests/sim/rows_swift.c \
	tests/sim/rows_timely.c
tests_sim_libsim_la_LIBADD = bench/sim/libstar.la
# A row names its place first, then what is different there.
tests_sim_libsim_la_CFLAGS = $(AM_CFLAGS) -Wno-override-init

check_PROGRAMS += tests/sim/loop
tests_sim_loop_LDADD = tests/sim/libsim.la

# Every set-up with its figures; SIM_ARGS="-n 10 hpcc" for more seeds of some.
sim-table: tests/sim/loop
	$(builddir)/tests/sim/loop $(SIM_ARGS)
.PHONY: sim-table

# What bench/grid/grid's sample may miss; grid-sample is what ./check runs.
EXTRA_DIST += tests/sim/grid.bounds
grid-sample: bench/grid/grid
	$(builddir)/bench/grid/grid --sample --bounds $(srcdir)/tests/sim/grid.bounds
.PHONY: grid-sample

if HAVE_CMOCKA
sim_programs = \
	tests/sim/test_control \
	tests/sim/test_loop_copa \
	tests/sim/test_loop_dcqcn \
	tests/sim/test_loop_hpcc \
	tests/sim/test_loop_none \
	tests/sim/test_loop_rcp \
	tests/sim/test_loop_swift \
	tests/sim/test_loop_timely \
	tests/sim/test_sim
check_PROGRAMS += $(sim_programs)
TESTS += $(sim_programs)
sim_ldadd = tests/sim/libsim.la $(CMOCKA_LIBS)

tests_sim_test_control_LDADD = tests/libtests.la $(sim_ldadd)
tests_sim_test_sim_LDADD = tests/libtests.la $(sim_ldadd)
tests_sim_test_loop_copa_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_copa_LDADD = $(sim_ldadd)
tests_sim_test_loop_dcqcn_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_dcqcn_LDADD = $(sim_ldadd)
tests_sim_test_loop_hpcc_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_hpcc_LDADD = $(sim_ldadd)
tests_sim_test_loop_none_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_none_LDADD = $(sim_ldadd)
tests_sim_test_loop_rcp_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_rcp_LDADD = $(sim_ldadd)
tests_sim_test_loop_swift_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_swift_LDADD = $(sim_ldadd)
tests_sim_test_loop_timely_SOURCES = tests/sim/test_loop.c
tests_sim_test_loop_timely_LDADD = $(sim_ldadd)
endif
