# SPDX-License-Identifier: BSD-2-Clause
# Programs of verbs, the same with and without the shim. See tests/README.md.
if HAVE_CMOCKA
diff_programs = tests/diff/test_diff tests/diff/test_no_effect tests/diff/test_stages
check_PROGRAMS += $(diff_programs)
TESTS += $(diff_programs)
virtual_time = \
	tests/diff/coroutine.c \
	tests/diff/coroutine.h \
	tests/diff/virtual.c \
	tests/diff/virtual.h
tests_diff_test_no_effect_SOURCES = tests/diff/test_no_effect.c $(virtual_time)
tests_diff_test_stages_SOURCES = tests/diff/test_stages.c $(virtual_time)
tests_diff_test_diff_SOURCES = $(virtual_time) \
	tests/diff/exec.c \
	tests/diff/known.c \
	tests/diff/known.h \
	tests/diff/mailbox.c \
	tests/diff/mailbox.h \
	tests/diff/mutant.c \
	tests/diff/server.c \
	tests/diff/server.h \
	tests/diff/test_diff.c \
	tests/diff/world.c \
	tests/diff/world.h \
	tests/diff/wrs.c
endif
EXTRA_DIST += tests/diff/corpus tests/diff/fuzz tests/diff/fuzz.c

# A script. Without this make would build it from fuzz.c, if that happens to be newer.
tests/diff/fuzz: ;
