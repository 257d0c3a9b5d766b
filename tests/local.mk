# SPDX-License-Identifier: BSD-2-Clause
include tests/unit/local.mk
include tests/tools/local.mk
include tests/fake/local.mk
include tests/verbs/local.mk
include tests/diff/local.mk
include tests/fuzz/local.mk
include tests/sim/local.mk
include tests/lab/local.mk
EXTRA_DIST += tests/slurm/cluster tests/slurm/slurm.bats
EXTRA_DIST += tests/docs/app tests/docs/block.bash tests/docs/blocks.awk tests/docs/commands \
	tests/docs/size tests/docs/topology
EXTRA_DIST += tests/security.md tests/abi tests/data/ccshim_feed.abi tests/data/plugin.abi
