# SPDX-License-Identifier: BSD-2-Clause

EXTRA_DIST += .ci/run
EXTRA_DIST += demo
EXTRA_DIST += ci/README.md
EXTRA_DIST += ci/alone
EXTRA_DIST += ci/checks.sh
EXTRA_DIST += ci/components
EXTRA_DIST += ci/lab/lab
EXTRA_DIST += ci/lab/common.sh
EXTRA_DIST += ci/lab/guest-init
EXTRA_DIST += ci/lab/inside
EXTRA_DIST += ci/lab/kernel/rxe.patch
EXTRA_DIST += ci/lab/kernel/uml.patch
EXTRA_DIST += ci/lab/kernel/rxe_abi.c
EXTRA_DIST += ci/lab/kernel/rxe_abi.h
EXTRA_DIST += ci/lab/kernel/rxe_abi_fault.c
EXTRA_DIST += ci/lab/kernel/rxe_abi_page.c
EXTRA_DIST += ci/lab/kernel/rxe_irdma.c
EXTRA_DIST += ci/lab/kernel/rxe_irdma.h
EXTRA_DIST += ci/lab/kernel/rxe_irdma_queue.c
EXTRA_DIST += ci/lab/kernel/rxe_mlx5.c
EXTRA_DIST += ci/lab/kernel/rxe_mlx5.h
EXTRA_DIST += ci/lab/kernel/rxe_mlx5_queue.c
EXTRA_DIST += ci/lab/native.sh
EXTRA_DIST += ci/lab/qemu-init
EXTRA_DIST += ci/lab/qemu.sh
EXTRA_DIST += ci/lab/poll.c
EXTRA_DIST += ci/lab/seed.c
EXTRA_DIST += ci/lab/topology
EXTRA_DIST += ci/lab/uml.config
EXTRA_DIST += ci/lab/uml.sh
EXTRA_DIST += ccshim.spec ci/packages.sh
EXTRA_DIST += ci/setup.sh
EXTRA_DIST += ci/with-agent
EXTRA_DIST += ci/words
EXTRA_DIST += ci/words.budget
EXTRA_DIST += docs/guide/dcqcn.png docs/guide/hpcc.png docs/measured/incast.json docs/measured/incast.png
EXTRA_DIST += tests/README.md
EXTRA_DIST += tests/lab/lab.bats
EXTRA_DIST += tests/lab/qemu.bats

EXTRA_DIST += debian/ccshim-bench-mpi.install debian/ccshim-bench-mpi.links debian/ccshim-bench.install debian/ccshim-slurm.install debian/ccshim-utils.install \
	debian/ccshim-utils.lintian-overrides debian/ccshimd.install debian/ccshimd.postinst \
	debian/changelog debian/control debian/copyright debian/libccshim-dev.install \
	debian/libccshim-feed0.install debian/libccshim-feed0.symbols debian/libccshim.install debian/libccshim.postrm \
	debian/rules debian/source/format debian/tests/control debian/tests/installed \
	debian/tests/unit

# Not among EXTRA_DIST: there it would stand for the target of this name, and run.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
