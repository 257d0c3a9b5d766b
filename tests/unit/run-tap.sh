#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs a CMocka program. CMocka 1.1 writes a skipped test as "not ok # SKIP",
# which a TAP reader takes for a failure.
out=$("$@")
status=$?
printf '%s\n' "$out" | sed 's/^not ok \([0-9]* # SKIP\)/ok \1/'
exit $status
