# SPDX-License-Identifier: BSD-2-Clause
# GNUmakefile of a build tree, which GNU make prefers to Makefile. `make check TESTS=PROGRAM...` builds
# only these programs, and what tests preload or start; with a script among them, all.
ifeq ($(strip $(origin TESTS) $(MAKECMDGOALS) $(filter %.bats,$(TESTS))),command line check)
ifneq ($(strip $(TESTS)),)
.PHONY: check
check:
	+$(MAKE) -f Makefile libibverbs-ccshim.la libfakerdma.la tests/verbs/traffic tools/ccshimd/ccshimd $(TESTS)
	+$(MAKE) -f Makefile check-TESTS check_PROGRAMS= check_LTLIBRARIES=
only_these = yes
endif
endif
ifneq ($(only_these),yes)
include Makefile
endif

# For editors and analysers: the commands that compile each source. `make -n -B` prints them, without
# making Makefile again.
.PHONY: all-objects
all-objects: $(sort $(filter %.o %.lo,$(foreach v,$(filter %_OBJECTS,$(.VARIABLES)),$($v))))
compile_commands.json: Makefile
	$(MAKE) -n -B V=1 $(addprefix -o ,Makefile config.status config.h stamp-h1 $(srcdir)/Makefile.in \
		$(srcdir)/configure $(srcdir)/aclocal.m4 $(srcdir)/config.h.in) all-objects | \
	awk -v dir='$(abs_builddir)' '/ -c -o / { sub(/^.* --mode=compile +/, ""); sub(/ -MT .* -c -o /, " -c -o "); \
		sub(/ *&&\\$$/, ""); from = /serve_files.c$$/ ? "" : "$(srcdir)/"; \
		sub(/\140test -f \047[^\047]*\047 \|\| echo \047[^\047]*\047\140/, from); gsub(/[\\"]/, "\\\\&"); \
		printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", n++ ? ",\n" : "[\n", dir, $$NF, $$0 } \
		END { print "\n]" }' >$@.new
	mv $@.new $@
