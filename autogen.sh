#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes configure from configure.ac.
set -eu
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --warnings=all,no-obsolete
