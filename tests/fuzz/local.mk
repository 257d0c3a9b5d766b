# SPDX-License-Identifier: BSD-2-Clause
# Input from outside, by libFuzzer's corpus and by chance. See tests/README.md.
if HAVE_CMOCKA
check_PROGRAMS += tests/fuzz/test_fuzz_agent
TESTS += tests/fuzz/test_fuzz_agent
tests_fuzz_test_fuzz_agent_SOURCES = \
	tests/fuzz/agent.c \
	tests/fuzz/agent.h \
	tests/fuzz/test_fuzz_agent.c
tests_fuzz_test_fuzz_agent_LDADD = libccs-agent.la $(unit_ldadd)
endif
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz tests/fuzz/libfuzzer.c
