# SPDX-License-Identifier: BSD-2-Clause
# A provider without hardware, preloaded behind the shim; see fake.h.
check_LTLIBRARIES += libfakerdma.la
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
# An rpath makes libtool build a convenience library as a shared object.
libfakerdma_la_LDFLAGS = -module -avoid-version -shared -rpath /nonexistent \
	-Wl,--version-script=$(top_srcdir)/tests/fake/fake.map -Wl,-z,defs
libfakerdma_la_LIBADD = -lpthread
libfakerdma_la_DEPENDENCIES = tests/fake/fake.map
EXTRA_DIST += tests/fake/README.md tests/fake/fake.map

if HAVE_CMOCKA
fake_programs = tests/fake/test_fake tests/fake/test_profile tests/fake/test_wire
check_PROGRAMS += $(fake_programs)
TESTS += $(fake_programs)
endif
