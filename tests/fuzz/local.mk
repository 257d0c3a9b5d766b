# SPDX-License-Identifier: BSD-2-Clause
# Input from outside, by libFuzzer's corpus and by chance. See tests/README.md.
if HAVE_CMOCKA
check_PROGRAMS += tests/fuzz/test_fuzz_agent
TESTS += tests/fuzz/test_fuzz_agent
tests_fuzz_test_fuzz_agent_SOURCES = \
	tests/fuzz/agent.c \
	tests/fuzz/input.h \
	tests/fuzz/agent.h \
	tests/fuzz/sockets.c \
	tests/fuzz/sockets.h \
	tests/fuzz/test_fuzz_agent.c
tests_fuzz_test_fuzz_agent_LDFLAGS = \
	-Wl,--wrap=syscall -Wl,--wrap=epoll_ctl -Wl,--wrap=epoll_wait -Wl,--wrap=accept4 \
	-Wl,--wrap=getsockopt -Wl,--wrap=recvmsg -Wl,--wrap=send -Wl,--wrap=recvmmsg \
	-Wl,--wrap=sendmmsg -Wl,--wrap=close -Wl,--wrap=ccs_closing_client
tests_fuzz_test_fuzz_agent_LDADD = libccs-agent.la $(unit_ldadd)
check_PROGRAMS += tests/fuzz/test_fuzz_parsers
TESTS += tests/fuzz/test_fuzz_parsers
tests_fuzz_test_fuzz_parsers_SOURCES = \
	tests/fuzz/parsers.c \
	tests/fuzz/input.h \
	tests/fuzz/parsers.h \
	tests/fuzz/parsers_agent.c \
	tests/fuzz/test_fuzz_parsers.c \
	tools/ccshim/stat/stat.h \
	tools/ccshim/stat/stat_files.c \
	tools/ccshimd/auth.c \
	tools/ccshimd/key_file.c \
	tools/ccshimd/auth.h
tests_fuzz_test_fuzz_parsers_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(SODIUM_CFLAGS)
tests_fuzz_test_fuzz_parsers_LDFLAGS = \
	-Wl,--wrap=ccs_udp_send -Wl,--wrap=send -Wl,--wrap=ccs_plugin_load
tests_fuzz_test_fuzz_parsers_LDADD = libccs-agent.la $(unit_ldadd) $(SODIUM_LIBS)
endif
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/corpus-parsers tests/fuzz/fuzz tests/fuzz/libfuzzer.c
