# SPDX-License-Identifier: BSD-2-Clause

EXTRA_DIST += .ci/run
EXTRA_DIST += demo
EXTRA_DIST += ci/README.md
EXTRA_DIST += ci/alone
EXTRA_DIST += ci/checks.sh
EXTRA_DIST += ci/components

# The lab, which `ccshim lab` executes. What its guests preload is compiled here, so that a machine
# that has a compiled kernel needs no compiler.
labdir = $(pkglibexecdir)/lab
dist_lab_SCRIPTS = \
	ci/lab/lab ci/lab/guest-init ci/lab/inside ci/lab/matrix ci/lab/qemu-init ci/lab/topology
dist_lab_DATA = \
	ci/lab/common.sh ci/lab/native.sh ci/lab/poll.c ci/lab/qemu.sh ci/lab/seed.c ci/lab/uml.config \
	ci/lab/uml.sh
labkerneldir = $(labdir)/kernel
dist_labkernel_DATA = \
	ci/lab/kernel/rxe.patch ci/lab/kernel/uml.patch ci/lab/kernel/same.patch ci/lab/kernel/rxe_abi.c \
	ci/lab/kernel/rxe_abi.h ci/lab/kernel/rxe_abi_fault.c ci/lab/kernel/rxe_abi_page.c \
	ci/lab/kernel/rxe_irdma.c ci/lab/kernel/rxe_irdma.h ci/lab/kernel/rxe_irdma_queue.c \
	ci/lab/kernel/rxe_mlx5.c ci/lab/kernel/rxe_mlx5.h ci/lab/kernel/rxe_mlx5_queue.c
labexecdir = $(labdir)
labexec_DATA = ci/lab/poll.so ci/lab/seed.so
$(labexec_DATA): %.so: $(top_srcdir)/%.c
	$(AM_V_GEN)$(MKDIR_P) ci/lab && $(CC) $(CPPFLAGS) -O2 -Wall -Wextra -shared -fPIC -o $@ $(top_srcdir)/$*.c
# In the build tree the lab is a link beside ccshim.
all-local: tools/ccshim/lab
tools/ccshim/lab:
	$(AM_V_GEN)$(MKDIR_P) tools/ccshim && $(LN_S) -f '$(abs_top_srcdir)/ci/lab' $@
CLEANFILES += $(labexec_DATA) tools/ccshim/lab

EXTRA_DIST += ccshim.spec ci/packages.sh
EXTRA_DIST += ci/setup.sh
EXTRA_DIST += ci/with-agent
EXTRA_DIST += ci/words
EXTRA_DIST += ci/words.budget
EXTRA_DIST += docs/measured/incast.json docs/measured/incast.png
EXTRA_DIST += tests/README.md
EXTRA_DIST += tests/lab/lab.bats tests/lab/recipes tests/lab/recipes.bats
EXTRA_DIST += .containerignore action.yml ci/Containerfile ci/gitlab.yml
EXTRA_DIST += tests/lab/qemu.bats

EXTRA_DIST += debian/ccshim-bench-mpi.install debian/ccshim-bench-mpi.links debian/ccshim-bench.install debian/ccshim-lab.install debian/ccshim-lab-kernel.install \
	debian/ccshim-lab.lintian-overrides debian/ccshim-lab-kernel.lintian-overrides \
	debian/ccshim-slurm.install debian/ccshim-utils.install \
	debian/ccshim-utils.lintian-overrides debian/ccshimd.install debian/ccshimd.postinst \
	debian/changelog debian/control debian/copyright debian/libccshim-dev.install \
	debian/libccshim-feed0.install debian/libccshim-feed0.symbols debian/libfakerdma.install debian/libfakerdma-dev.install debian/libccshim.install debian/libccshim.postrm \
	debian/rules debian/source/format debian/tests/control debian/tests/installed \
	debian/tests/unit

# Not among EXTRA_DIST: there it would stand for the target of this name, and run.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
