# SPDX-License-Identifier: BSD-2-Clause
# libccs-core: the pure rooms and the runtime, linked into the tools and the tests alike.
# libccshim: the preload itself, which has these files once more, optimised as a whole:
# what happens between two rooms for each work request is then no call.
ccs_core_sources = \
	libshim/base/apart.h libshim/base/elf.c libshim/base/elf.h \
	libshim/base/hist.c libshim/base/hist.h \
	libshim/base/json.c libshim/base/json.h \
	libshim/base/lock.c libshim/base/lock.h \
	libshim/base/nearest.c libshim/base/nearest.h \
	libshim/base/needed.c libshim/base/needed.h \
	libshim/base/number.c libshim/base/number.h \
	libshim/base/pool.c libshim/base/pool.h \
	libshim/base/portrate.c libshim/base/portrate.h \
	libshim/base/sysfs.c libshim/base/sysfs.h \
	libshim/base/probe.h \
	libshim/base/units.c libshim/base/units.h \
	libshim/cc/advice.c libshim/cc/advice.h libshim/cc/cc.c libshim/cc/cc.h \
	libshim/cc/dcqcn.c libshim/cc/dcqcn_np.c libshim/cc/dcqcn_np.h \
	libshim/cc/fixed.c libshim/cc/hops.c libshim/cc/hops.h libshim/cc/hpcc.c \
	libshim/cc/copa.c libshim/cc/jitter.h libshim/cc/minmax.h libshim/cc/rcp.c libshim/cc/red.c libshim/cc/red.h libshim/cc/swift.c \
	libshim/cc/timely.c libshim/cc/told.c libshim/cc/told.h \
	libshim/flow/drive.c libshim/flow/flow.h libshim/flow/gate.c libshim/flow/queue.c libshim/flow/rtt.c \
	libshim/flow/pacer.c libshim/flow/pacer.h \
	libshim/runtime/check_cc.c libshim/runtime/check_cc.h \
	libshim/runtime/conf.c libshim/runtime/conf.h \
	libshim/runtime/match.c libshim/runtime/match.h libshim/runtime/request.c libshim/runtime/request.h \
	libshim/runtime/rules.c libshim/runtime/rules.h \
	libshim/runtime/filename.c libshim/runtime/filename.h \
	libshim/runtime/load.c libshim/runtime/log.c libshim/runtime/log.h \
	libshim/runtime/options.c libshim/runtime/options.h \
	libshim/runtime/shield.c libshim/runtime/shield.h \
	libshim/runtime/stats.c libshim/runtime/stats.h \
	libshim/runtime/stats_dir.c libshim/runtime/stats_dir.h \
	libshim/runtime/stats_fields.c libshim/runtime/stats_fields.h \
	libshim/runtime/trace.c libshim/runtime/trace.h \
	libshim/runtime/trace_row.c libshim/runtime/trace_row.h \
	libshim/runtime/plugin.c libshim/runtime/plugin.h libshim/runtime/plugin_check.c \
	libshim/signal/book.c libshim/signal/book.h \
	libshim/signal/client.c libshim/signal/client.h \
	libshim/signal/hwclock.c libshim/signal/hwclock.h \
	libshim/signal/int.c libshim/signal/int.h libshim/signal/le.h \
	libshim/signal/link.c libshim/signal/link.h libshim/signal/path.c libshim/signal/path.h \
	libshim/signal/record.c libshim/signal/record.h \
	libshim/signal/local.h libshim/signal/slot.h libshim/signal/wire.c libshim/signal/wire.h
noinst_LTLIBRARIES += libccs-core.la
libccs_core_la_SOURCES = $(ccs_core_sources)
libccs_core_la_CFLAGS = $(AM_CFLAGS) $(CCS_EXACT_FP)
libccs_core_la_LIBADD = -lm -ldl

# The host agent, for ccshimd and the preload.
ccs_agent_sources = \
	libshim/agent/activity.c libshim/agent/advise.c libshim/agent/address.c libshim/agent/address.h \
	libshim/agent/agent.h libshim/agent/capacity.c libshim/agent/capacity.h \
	libshim/agent/capture.c libshim/agent/clients.c libshim/agent/counters.c \
	libshim/agent/counters.h libshim/agent/echo.c libshim/agent/egress.c libshim/agent/egress.h \
	libshim/agent/flows.c libshim/agent/heard.c libshim/agent/hook.c libshim/agent/inbound.c \
	libshim/agent/index.h libshim/agent/ingress.c libshim/agent/ingress.h \
	libshim/agent/local.c libshim/agent/loop.c \
	libshim/agent/message.c libshim/agent/netlink.c libshim/agent/netlink.h libshim/agent/nic.c \
	libshim/agent/np.c libshim/agent/owner.c libshim/agent/owner.h libshim/agent/page.c \
	libshim/agent/peers.c libshim/agent/port.h libshim/agent/ports.c libshim/agent/priv.h \
	libshim/agent/sample.c libshim/agent/siphash.h libshim/agent/status.c \
	libshim/agent/sysfile.c \
	libshim/agent/sysfile.h libshim/agent/udp.c
noinst_LTLIBRARIES += libccs-agent.la
libccs_agent_la_SOURCES = $(ccs_agent_sources)

ccsincludedir = $(includedir)/ccshim
ccsinclude_HEADERS = libshim/include/ccshim/cc.h libshim/include/ccshim/stats.h

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libshim/ccshim.pc

# A plug-in to begin with. -rpath makes libtool build a shared object that is not installed.
check_LTLIBRARIES += libshim/examples/aimd.la
libshim_examples_aimd_la_SOURCES = libshim/examples/aimd.c
libshim_examples_aimd_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
libshim_examples_aimd_la_LIBADD = -lm
examplesdir = $(docdir)/examples
dist_examples_DATA = libshim/examples/aimd.c

pkglib_preloaddir = $(libdir)/ccshim
pkglib_preload_LTLIBRARIES = libccshim.la
libccshim_la_SOURCES = $(ccs_core_sources) $(ccs_agent_sources) \
	libshim/verbs/complete.c libshim/verbs/context.c libshim/verbs/control.c libshim/verbs/cq.c libshim/verbs/cqex.c libshim/verbs/domain.c \
	libshim/verbs/direct.c libshim/verbs/dlopen.c \
	libshim/verbs/event.c libshim/verbs/helper.c libshim/verbs/hooks.c \
	libshim/verbs/objects.h libshim/verbs/open.c libshim/verbs/policy.c libshim/verbs/post.c \
	libshim/verbs/ptrmap.c libshim/verbs/ptrmap.h libshim/verbs/publish.c libshim/verbs/qp.c \
	libshim/verbs/real.c libshim/verbs/real.h libshim/verbs/report.c libshim/verbs/session.c \
	libshim/verbs/shadow.c libshim/verbs/shim.c libshim/verbs/shim.h \
	libshim/verbs/links.c libshim/verbs/serve.c libshim/verbs/signals.c libshim/verbs/tclass.c \
	libshim/verbs/wr.c libshim/verbs/wr.h
# libibverbs must be among our own dependencies: RTLD_NEXT finds nothing when the
# application only dlopens it. Nothing else is linked. It stays when an application
# closes it that opened it: contexts point to it.
libccshim_la_LDFLAGS = -module -avoid-version -shared -Wl,--no-as-needed -Wl,-z,nodelete \
	$(CCS_LTO) -Wl,--version-script=$(top_srcdir)/libshim/libccshim.map -Wl,-z,defs
libccshim_la_LIBADD = $(VERBS_LIBS) -lpthread -lm -ldl
libccshim_la_CFLAGS = $(AM_CFLAGS) $(CCS_EXACT_FP) $(CCS_LTO) $(VERBS_CFLAGS) $(USDT_CFLAGS)
libccshim_la_DEPENDENCIES = libshim/libccshim.map
EXTRA_DIST += libshim/libccshim.map

# For applications that take a path to libibverbs: a look-up in it finds our functions
# first, then those of libibverbs, without a preload.
install-data-hook:
	cd "$(DESTDIR)$(pkglib_preloaddir)" && rm -f libibverbs-ccshim.so && \
		$(LN_S) libccshim.so libibverbs-ccshim.so
uninstall-hook:
	rm -f "$(DESTDIR)$(pkglib_preloaddir)/libibverbs-ccshim.so"

include libshim/hooks/local.mk
