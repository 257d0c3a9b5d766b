# SPDX-License-Identifier: BSD-2-Clause
# libccshim_feed: for programs that feed congestion feedback. libc only. configure takes the
# soname from libtool's commands, for the preload's sake: current - age stands here again.
lib_LTLIBRARIES = libccshim_feed.la
libccshim_feed_la_SOURCES = \
	libshim/feed/feed.c
libccshim_feed_la_CFLAGS = $(AM_CFLAGS)
libccshim_feed_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-soname,libccshim_feed.so.0 \
	-Wl,--version-script=$(top_srcdir)/libshim/feed/libccshim_feed.map
libccshim_feed_la_DEPENDENCIES = libshim/feed/libccshim_feed.map
EXTRA_DIST += libshim/feed/libccshim_feed.map
ccsinclude_HEADERS += libshim/include/ccshim/feed.h
pkgconfig_DATA += libshim/feed/ccshim_feed.pc
