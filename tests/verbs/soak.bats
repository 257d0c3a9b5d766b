#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause

@test "memory is constant while threads create, use and destroy all kinds of objects" {
	for profile in mlx5 rxe; do
		FAKERDMA_PROFILE=$profile "$top_builddir/tests/verbs/soak" \
			-D "$([ "${CCS_FULL-}" ] && echo 600 || echo 4)"
	done
}
