# SPDX-License-Identifier: BSD-2-Clause
# libccs-core: what the preload, the tools and the tests have in common.
# libccshim: the preload itself. It compiles these files again and optimises them as a whole, so
# that a work request crosses from one component to another without a call.
ccs_core_sources = \
	libshim/base/address.c \
	libshim/base/address.h \
	libshim/base/array.h \
	libshim/base/clock.c \
	libshim/base/clock.h \
	libshim/base/elf.c \
	libshim/base/elf.h \
	libshim/base/elf_needed.c \
	libshim/base/elf_needed.h \
	libshim/base/float_env.h \
	libshim/base/hash.h \
	libshim/base/hist.c \
	libshim/base/hist.h \
	libshim/base/json.c \
	libshim/base/json.h \
	libshim/base/loaded.c \
	libshim/base/loaded.h \
	libshim/base/lock.c \
	libshim/base/lock.h \
	libshim/base/number.c \
	libshim/base/number.h \
	libshim/base/os.h \
	libshim/base/pool.c \
	libshim/base/pool.h \
	libshim/base/probe.h \
	libshim/base/suggest.c \
	libshim/base/suggest.h \
	libshim/base/sysfs.c \
	libshim/base/sysfs.h \
	libshim/base/text.c \
	libshim/base/text.h \
	libshim/base/thread.c \
	libshim/base/thread.h \
	libshim/base/timer_wheel.c \
	libshim/base/timer_wheel.h \
	libshim/base/units.c \
	libshim/base/units.h \
	libshim/cc/advice.c \
	libshim/cc/advice.h \
	libshim/cc/cap.c \
	libshim/cc/cap.h \
	libshim/cc/cc.c \
	libshim/cc/cc.h \
	libshim/cc/copa.c \
	libshim/cc/dcqcn.c \
	libshim/cc/dcqcn.h \
	libshim/cc/dcqcn_np.h \
	libshim/cc/dcqcn_published.c \
	libshim/cc/event.c \
	libshim/cc/event.h \
	libshim/cc/fixed.c \
	libshim/cc/hops.c \
	libshim/cc/hops.h \
	libshim/cc/host_jitter.h \
	libshim/cc/hpcc.c \
	libshim/cc/jitter.h \
	libshim/cc/minmax.h \
	libshim/cc/shares.c \
	libshim/cc/shares.h \
	libshim/cc/spec.c \
	libshim/cc/swift.c \
	libshim/cc/timely.c \
	libshim/config/conf.c \
	libshim/config/conf.h \
	libshim/config/container.c \
	libshim/config/environment.c \
	libshim/config/environment.h \
	libshim/config/filename.c \
	libshim/config/filename.h \
	libshim/config/job.c \
	libshim/config/job.h \
	libshim/config/load.c \
	libshim/config/impair.c \
	libshim/config/impair.h \
	libshim/config/match.c \
	libshim/config/match.h \
	libshim/config/open_path.c \
	libshim/config/options.c \
	libshim/config/options.h \
	libshim/config/plugin.c \
	libshim/config/plugin.h \
	libshim/config/plugin_check.c \
	libshim/config/request.c \
	libshim/config/request.h \
	libshim/config/rules.c \
	libshim/config/tenant.c \
	libshim/config/tenant.h \
	libshim/config/rules.h \
	libshim/feedback/agent_client.c \
	libshim/feedback/agent_client.h \
	libshim/feedback/agent_conn.c \
	libshim/feedback/agent_conn.h \
	libshim/feedback/hwclock.c \
	libshim/feedback/hwclock.h \
	libshim/feedback/ipc.h \
	libshim/feedback/record.c \
	libshim/feedback/record.h \
	libshim/feedback/registrations.c \
	libshim/feedback/registrations.h \
	libshim/feedback/shm.h \
	libshim/feedback/shm_path.c \
	libshim/feedback/shm_path.h \
	libshim/feedback/wire.c \
	libshim/feedback/wire.h \
	libshim/flow/base_rtt.c \
	libshim/flow/base_rtt.h \
	libshim/flow/cc_events.c \
	libshim/flow/cc_events.h \
	libshim/flow/configure.c \
	libshim/flow/control_state.c \
	libshim/flow/control_state.h \
	libshim/flow/flow.h \
	libshim/flow/hand_over.c \
	libshim/flow/limits.c \
	libshim/flow/segment.c \
	libshim/flow/limits.h \
	libshim/flow/segment.h \
	libshim/flow/pacing.c \
	libshim/flow/pacing.h \
	libshim/flow/rtt.c \
	libshim/flow/rtt.h \
	libshim/flow/rtt_outlier.c \
	libshim/flow/rtt_outlier.h \
	libshim/flow/run.h \
	libshim/flow/send_queue.c \
	libshim/flow/send_queue.h \
	libshim/flow/slow_start.c \
	libshim/flow/slow_start.h \
	libshim/observe/failure.c \
	libshim/observe/failure.h \
	libshim/observe/failure_json.c \
	libshim/observe/failure_judge.c \
	libshim/observe/log.c \
	libshim/observe/log.h \
	libshim/observe/stats.c \
	libshim/observe/stats.h \
	libshim/observe/stats_dir.c \
	libshim/observe/stats_dir.h \
	libshim/observe/stats_fields.c \
	libshim/observe/stats_fields.h \
	libshim/observe/trace.c \
	libshim/observe/trace.h \
	libshim/observe/trace_row.c \
	libshim/observe/write_guard.c \
	libshim/observe/write_guard.h
noinst_LTLIBRARIES += libccs-core.la
libccs_core_la_SOURCES = $(ccs_core_sources)
libccs_core_la_CFLAGS = $(AM_CFLAGS) $(CCS_EXACT_FP)
libccs_core_la_LIBADD = -lm -ldl

# The arithmetic of switches, for the tools and the simulator.
noinst_LTLIBRARIES += libccs-fabric.la
libccs_fabric_la_SOURCES = \
	libshim/fabric/headroom.c \
	libshim/fabric/headroom.h \
	libshim/fabric/mmu.c \
	libshim/fabric/mmu.h \
	libshim/fabric/marking.c \
	libshim/fabric/marking.h \
	libshim/fabric/cbd.c \
	libshim/fabric/cbd.h \
	libshim/fabric/qos.c \
	libshim/fabric/qos.h
libccs_fabric_la_CFLAGS = $(AM_CFLAGS) $(CCS_EXACT_FP)
libccs_fabric_la_LIBADD = -lm

# The host agent, for ccshimd and the preload.
ccs_agent_sources = \
	libshim/agent/agent.h \
	libshim/agent/capture.c \
	libshim/agent/events.h \
	libshim/agent/clients.c \
	libshim/agent/cnp/cnp.c \
	libshim/agent/cnp/cnp.h \
	libshim/agent/flows.c \
	libshim/agent/host/core.c \
	libshim/agent/host/core.h \
	libshim/agent/host/gids.c \
	libshim/agent/host/gids.h \
	libshim/agent/host/hash_index.h \
	libshim/agent/host/inherited.c \
	libshim/agent/host/kernel_qps.c \
	libshim/agent/host/kernel_qps.h \
	libshim/agent/host/netlink.c \
	libshim/agent/host/netlink.h \
	libshim/agent/host/nic_counters.c \
	libshim/agent/host/nic_counters.h \
	libshim/agent/host/priv.h \
	libshim/agent/host/qdisc.c \
	libshim/agent/host/qdisc.h \
	libshim/agent/host/closing.c \
	libshim/agent/host/shm_map.c \
	libshim/agent/host/siphash.h \
	libshim/agent/host/standing.c \
	libshim/agent/host/standing.h \
	libshim/agent/host/tenants.c \
	libshim/agent/host/tenants.h \
	libshim/agent/host/users.c \
	libshim/agent/loop.c \
	libshim/agent/net/hello_limit.c \
	libshim/agent/net/net.h \
	libshim/agent/net/peers.c \
	libshim/agent/net/send.c \
	libshim/agent/net/udp.c \
	libshim/agent/notification_point.c \
	libshim/agent/receive.c \
	libshim/agent/requests.c \
	libshim/agent/status.c \
	libshim/agent/telemetry/advise.c \
	libshim/agent/telemetry/telemetry.h \
	libshim/agent/telemetry/caps.c \
	libshim/agent/telemetry/caps.h \
	libshim/agent/telemetry/demand.c \
	libshim/agent/telemetry/echo.c \
	libshim/agent/telemetry/inbound.c \
	libshim/agent/telemetry/ingress.c \
	libshim/agent/telemetry/ports.c \
	libshim/agent/telemetry/relay.c \
	libshim/agent/telemetry/sampler.c \
	libshim/agent/telemetry/subscribers.c \
	libshim/agent/tenants.c \
	libshim/agent/tenants.h \
	libshim/agent/telemetry/shares.c \
	libshim/agent/telemetry/shares.h
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
pkglib_preload_LTLIBRARIES = libccshim.la libibverbs-ccshim.la
libccshim_la_SOURCES = \
	$(ccs_core_sources) \
	libshim/preload/control/policy.c \
	libshim/preload/control/policy.h \
	libshim/preload/control/qp_feedback.c \
	libshim/preload/control/qp_feedback.h \
	libshim/preload/control/qp_telemetry.c \
	libshim/preload/control/traffic_class.c \
	libshim/preload/control/traffic_class.h \
	libshim/preload/cq/cq.c \
	libshim/preload/cq/cq.h \
	libshim/preload/cq/notify.c \
	libshim/preload/cq/notify.h \
	libshim/preload/cq/purge.c \
	libshim/preload/cq/shadow_cq.c \
	libshim/preload/cq/shadow_cq.h \
	libshim/preload/datapath/accept.c \
	libshim/preload/datapath/accept.h \
	libshim/preload/datapath/bind.c \
	libshim/preload/datapath/complete.c \
	libshim/preload/datapath/complete.h \
	libshim/preload/datapath/drain.c \
	libshim/preload/datapath/drain.h \
	libshim/preload/datapath/async.c \
	libshim/preload/datapath/async.h \
	libshim/preload/datapath/emit.c \
	libshim/preload/datapath/emit.h \
	libshim/preload/datapath/impair.c \
	libshim/preload/datapath/impair.h \
	libshim/preload/datapath/linger.c \
	libshim/preload/datapath/linger.h \
	libshim/preload/datapath/pacer_thread.c \
	libshim/preload/datapath/pacer_thread.h \
	libshim/preload/datapath/poll.c \
	libshim/preload/datapath/poll.h \
	libshim/preload/datapath/post.c \
	libshim/preload/datapath/post.h \
	libshim/preload/datapath/qp.c \
	libshim/preload/datapath/qp.h \
	libshim/preload/datapath/staged.c \
	libshim/preload/datapath/wr.c \
	libshim/preload/datapath/wr.h \
	libshim/preload/object/clock.c \
	libshim/preload/object/clock.h \
	libshim/preload/object/context.c \
	libshim/preload/object/cq_record.h \
	libshim/preload/object/ctx.h \
	libshim/preload/object/last_thread.c \
	libshim/preload/object/last_thread.h \
	libshim/preload/object/memlock.c \
	libshim/preload/object/memlock.h \
	libshim/preload/object/mr.c \
	libshim/preload/object/mr.h \
	libshim/preload/object/parent_domain.c \
	libshim/preload/object/parent_domain.h \
	libshim/preload/object/provider.c \
	libshim/preload/object/provider.h \
	libshim/preload/object/ptrmap.c \
	libshim/preload/object/ptrmap.h \
	libshim/preload/object/qp_record.h \
	libshim/preload/object/real.c \
	libshim/preload/object/real.h \
	libshim/preload/object/registry.c \
	libshim/preload/object/registry.h \
	libshim/preload/object/shim.c \
	libshim/preload/object/shim.h \
	libshim/preload/object/wr_batch.c \
	libshim/preload/object/wr_batch.h \
	libshim/preload/report/publish.c \
	libshim/preload/report/recorder.c \
	libshim/preload/report/recorder.h \
	libshim/preload/report/publish.h \
	libshim/preload/report/report.c \
	libshim/preload/report/report.h \
	libshim/preload/settings/qp_config.c \
	libshim/preload/settings/qp_config.h \
	libshim/preload/settings/set_request.c \
	libshim/preload/settings/set_request.h \
	libshim/preload/verbs/context_ops.c \
	libshim/preload/verbs/cq_ex.c \
	libshim/preload/verbs/cq_verbs.c \
	libshim/preload/verbs/direct.c \
	libshim/preload/verbs/dlopen.c \
	libshim/preload/verbs/event.c \
	libshim/preload/verbs/open.c \
	libshim/preload/verbs/pd_verbs.c \
	libshim/preload/verbs/qp_create.c \
	libshim/preload/verbs/qp_ex.c \
	libshim/preload/verbs/qp_verbs.c \
	libshim/preload/verbs/setup.c \
	libshim/preload/verbs/verbs.h
# Only the C library is linked: processes that use no verbs do not load libibverbs. The library stays
# when an application closes it that opened it: contexts point to it. The dynamic linker binds all
# functions at the start: later it would need 3 KB of the stack of a thread that posts. All of them
# exist in musl, or are weak references: a program of musl that inherits LD_PRELOAD would end
# otherwise. So there are no functions of _FORTIFY_SOURCE, and no __tls_get_addr().
libccshim_la_LDFLAGS = -module -avoid-version -shared -Wl,-z,nodelete \
	$(CCS_LTO) -Wl,--version-script=$(top_srcdir)/libshim/libccshim.map -Wl,-z,defs \
	-Wl,-z,now
libccshim_la_LIBADD = -lpthread -lm -ldl
# Pairs of members that a post sets would be combined in vector registers: more instructions.
# Without the stack protector, which costs 5 to 8 instructions a WR, and stack: see configure.ac.
libccshim_la_CFLAGS = $(AM_CFLAGS) $(CCS_STACK_PROTECTOR) $(CCS_EXACT_FP) $(CCS_LTO) $(VERBS_CFLAGS) $(USDT_CFLAGS) \
	-fno-tree-slp-vectorize -U_FORTIFY_SOURCE -ftls-model=initial-exec
libccshim_la_DEPENDENCIES = libshim/libccshim.map
EXTRA_DIST += libshim/libccshim.map

# An empty library for dlopen(): a look-up in it finds the functions of libccshim.so, then those of
# libibverbs. Applications that take a path to libibverbs need no preload with it.
libibverbs_ccshim_la_SOURCES =
# DT_RPATH precedes LD_LIBRARY_PATH, which may have another libccshim.so. libtool keeps the order of
# the linker's options only.
libibverbs_ccshim_la_LDFLAGS = -module -avoid-version -shared $(VERBS_LIBS) -Wl,--no-as-needed \
	-Wl,-L.libs -Wl,-l:libccshim.so -Wl,-libverbs \
	-Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN' -Wl,-z,origin
libibverbs_ccshim_la_DEPENDENCIES = libccshim.la

include libshim/feed/local.mk
