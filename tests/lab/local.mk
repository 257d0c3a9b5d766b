# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs in the lab, and one that verifies every byte.
check_PROGRAMS += tests/lab/verify
tests_lab_verify_SOURCES = tests/lab/verify.c
tests_lab_verify_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lab_verify_LDADD = $(VERBS_LIBS)
EXTRA_DIST += tests/lab/apps.bats tests/lab/pair.sh
EXTRA_DIST += tests/conformance tests/conformance.d/cases.bash tests/conformance.d/guest \
	tests/conformance.d/pair.bash tests/conformance.d/suite.bash \
	tests/conformance.d/suite.py tests/conformance.d/table.awk
