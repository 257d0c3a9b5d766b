# SPDX-License-Identifier: BSD-2-Clause
# A provider without hardware, preloaded after the shim; see fake.h. It is installed with the header,
# as other projects test with it as well.
pkglib_preload_LTLIBRARIES += libfakerdma.la
ccsinclude_HEADERS += tests/fake/fake.h
pkgconfig_DATA += tests/fake/fakerdma.pc
bin_SCRIPTS += tests/fake/ccshim-fake
dist_man_MANS += docs/man/ccshim-fake.1 docs/man/ccshim_fake.3
tests/fake/ccshim-fake: tests/fake/ccshim-fake.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/fake && sed -e 's|@pkglibdir[@]|$(pkglibdir)|' -e 's|@VERSION[@]|$(VERSION)|' \
		$(top_srcdir)/tests/fake/ccshim-fake.in > $@ && chmod 755 $@
EXTRA_DIST += tests/fake/ccshim-fake.in
CLEANFILES += tests/fake/ccshim-fake
libfakerdma_la_SOURCES = \
	tests/fake/absent.c \
	tests/fake/ah.c \
	tests/fake/clock.c \
	tests/fake/cq.c \
	tests/fake/cq_ex.c \
	tests/fake/device.c \
	tests/fake/engine.c \
	tests/fake/event.c \
	tests/fake/fake.h \
	tests/fake/fault.c \
	tests/fake/memory.c \
	tests/fake/open.c \
	tests/fake/post.c \
	tests/fake/priv.h \
	tests/fake/profile.c \
	tests/fake/qp.c \
	tests/fake/recv.c \
	tests/fake/remote.c \
	tests/fake/requester.c \
	tests/fake/responder.c \
	tests/fake/seen.c \
	tests/fake/window.c \
	tests/fake/wire.c \
	tests/fake/wire.h \
	tests/fake/wr.c \
	tests/fake/xrc.c
libfakerdma_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/tests/fake/fake.map -Wl,-z,defs
libfakerdma_la_LIBADD = -lpthread
libfakerdma_la_DEPENDENCIES = tests/fake/fake.map
EXTRA_DIST += tests/fake/README.md tests/fake/fake.map

if HAVE_CMOCKA
fake_programs = tests/fake/test_fake tests/fake/test_profile tests/fake/test_wire
check_PROGRAMS += $(fake_programs)
TESTS += $(fake_programs)
endif
