# SPDX-License-Identifier: BSD-2-Clause
# Programs of verbs, the same with and without the shim. See tests/README.md.
if HAVE_CMOCKA
check_PROGRAMS += tests/diff/test_diff tests/diff/test_no_effect tests/diff/test_stages
TESTS += tests/diff/test_diff tests/diff/test_no_effect tests/diff/test_stages
tests_diff_test_no_effect_SOURCES = \
	tests/diff/test_no_effect.c \
	tests/diff/coroutine.c \
	tests/diff/coroutine.h \
	tests/diff/virtual.c \
	tests/diff/virtual.h \
	tests/verbs/rig.c \
	tests/verbs/rig.h
tests_diff_test_no_effect_LDADD = $(CMOCKA_LIBS) $(VERBS_LIBS) -lpthread -ldl
tests_diff_test_stages_SOURCES = \
	tests/diff/test_stages.c \
	tests/diff/coroutine.c \
	tests/diff/coroutine.h \
	tests/diff/virtual.c \
	tests/diff/virtual.h \
	tests/verbs/rig.c \
	tests/verbs/rig.h
tests_diff_test_stages_LDADD = $(CMOCKA_LIBS) $(VERBS_LIBS) -lpthread -ldl
diff_executor = tests/diff/coroutine.c tests/diff/coroutine.h tests/diff/exec.c \
	tests/diff/known.c tests/diff/known.h tests/diff/mailbox.c tests/diff/mailbox.h \
	tests/diff/mutant.c tests/diff/server.c tests/diff/server.h \
	tests/diff/virtual.c tests/diff/virtual.h tests/diff/world.c tests/diff/world.h \
	tests/diff/wrs.c tests/verbs/rig.c tests/verbs/rig.h
tests_diff_test_diff_SOURCES = tests/diff/test_diff.c $(diff_executor)
tests_diff_test_diff_LDADD = $(CMOCKA_LIBS) $(VERBS_LIBS) -lpthread -ldl
endif
EXTRA_DIST += tests/diff/corpus tests/diff/fuzz tests/diff/fuzz.c

# A script. Without this make would build it from fuzz.c, if that happens to be newer.
tests/diff/fuzz: ;
