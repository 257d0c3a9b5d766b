# SPDX-License-Identifier: BSD-2-Clause
# libccshim_hooks: for programs that know of congestion. libc only. configure takes the
# soname from libtool's commands, for the preload's sake: current - age stands here again.
lib_LTLIBRARIES = libccshim_hooks.la
libccshim_hooks_la_SOURCES = libshim/hooks/hooks.c \
	libshim/signal/int.c libshim/signal/int.h libshim/signal/record.c libshim/signal/record.h
libccshim_hooks_la_CFLAGS = $(AM_CFLAGS)
libccshim_hooks_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-soname,libccshim_hooks.so.0 \
	-Wl,--version-script=$(top_srcdir)/libshim/hooks/libccshim_hooks.map
libccshim_hooks_la_DEPENDENCIES = libshim/hooks/libccshim_hooks.map
EXTRA_DIST += libshim/hooks/libccshim_hooks.map
ccsinclude_HEADERS += libshim/include/ccshim/hooks.h
pkgconfig_DATA += libshim/hooks/ccshim_hooks.pc

check_PROGRAMS += libshim/examples/cnp
libshim_examples_cnp_SOURCES = libshim/examples/cnp.c
libshim_examples_cnp_LDADD = libccshim_hooks.la
dist_examples_DATA += libshim/examples/cnp.c
