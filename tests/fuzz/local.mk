# SPDX-License-Identifier: BSD-2-Clause
# Input from outside, from libFuzzer's corpus and at random. See tests/README.md.
if HAVE_CMOCKA
fuzz_programs = tests/fuzz/test_fuzz_agent tests/fuzz/test_fuzz_parsers
check_PROGRAMS += $(fuzz_programs)
TESTS += $(fuzz_programs)
tests_fuzz_test_fuzz_agent_SOURCES = \
	tests/fuzz/agent.c \
	tests/fuzz/agent.h \
	tests/fuzz/input.h \
	tests/fuzz/sockets.c \
	tests/fuzz/sockets.h \
	tests/fuzz/test_fuzz_agent.c
tests_fuzz_test_fuzz_agent_LDFLAGS = \
	-Wl,--wrap=syscall -Wl,--wrap=epoll_ctl -Wl,--wrap=epoll_wait -Wl,--wrap=accept4 \
	-Wl,--wrap=getsockopt -Wl,--wrap=recvmsg -Wl,--wrap=send -Wl,--wrap=recvmmsg \
	-Wl,--wrap=sendmmsg -Wl,--wrap=close -Wl,--wrap=ccs_closing_client
tests_fuzz_test_fuzz_parsers_SOURCES = \
	tests/fuzz/input.h \
	tests/fuzz/parsers.c \
	tests/fuzz/parsers.h \
	tests/fuzz/parsers_agent.c \
	tests/fuzz/parsers_files.c \
	tests/fuzz/test_fuzz_parsers.c
tests_fuzz_test_fuzz_parsers_LDFLAGS = \
	-Wl,--wrap=ccs_udp_send -Wl,--wrap=send -Wl,--wrap=ccs_plugin_load
tests_fuzz_test_fuzz_parsers_LDADD = $(LDADD) $(SODIUM_LIBS)
endif
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/corpus-parsers tests/fuzz/coverage.agent \
	tests/fuzz/coverage.parsers tests/fuzz/fuzz tests/fuzz/libfuzzer.c
