#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Plug-ins: building and running the example, and the checks of invalid plug-ins.

load tools.bash

include=$top_srcdir/libshim/include

# A compiler for plug-ins; they are built as users build them.
needs_compiler() {
	command -v cc > /dev/null || skip "no compiler"
}

# As installed, but for where the header is.
pkg-config() {
	PKG_CONFIG_PATH=$top_builddir/libshim command pkg-config \
		--define-variable=includedir="$include" "$@"
}

# The line of the example's comment that begins with that word.
example_says() {
	sed -n "s/^ \*\t\($1 .*\)/\1/p" "$top_srcdir/libshim/examples/aimd.c" | head -n 1
}

example() {
	needs_compiler
	cp "$top_srcdir/libshim/examples/aimd.c" .
	eval "$(example_says cc)"
}

@test "the example is built, shown and run by the lines in its comment" {
	example
	PATH=$top_builddir/tools/ccshim:$PATH
	run2 eval "$(example_says 'ccshim info')"
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	printed "aimd: additive increase"
	[[ $output =~ beta\ *0.7\ *given ]]
	[[ $output =~ add_rate\ *100m\ *derived ]]
	PROGRAM="printenv CCSHIM_CC"
	run2 eval "$(example_says 'ccshim run' | sed "s/PROGRAM/$PROGRAM/")"
	[ "$status" -eq 0 ]
	[ -z "$errors" ]
	[ "$output" = "$PWD/libaimd.so:beta=0.7" ] # the program may change directory
	[ "$(wc -l < aimd.c)" -lt 100 ]
}

@test "a plug-in is replayed over a trace" {
	example
	printf 't_us,event,rtt_us,bytes\n10,ack,10,65536\n20,ack,1000,65536\n' > trace.csv
	run2 $ccshim replay -a ./libaimd.so:target=50us,beta=0.25 --line-rate 8g --base-rtt 10us trace.csv
	[ "$status" -eq 0 ]
	[[ $output == i,t_us,event,rate_bps,window_bytes,increases,decreases* ]]
	[[ $(tail -n 1 <<< "$output") == 1,20,ack,2000000000,0,1,1* ]]
}

@test "the example of ccshim_cc(3) is a plug-in" {
	needs_compiler
	sed -n '/^#include/,/^\.Ed/p' "$top_srcdir/docs/man/ccshim_cc.3" | sed '/^\.Ed/d' > tenth.c
	cc -Wall -Wextra -Werror -shared -fPIC -I"$include" tenth.c -o libtenth.so
	run2 $ccshim info -a ./libtenth.so
	[ "$status" -eq 0 ]
	printed "tenth: a tenth of the line rate"
}

@test "the header compiles alone, as C and as C++" {
	needs_compiler
	flags="-Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags ccshim)"
	echo '#include <ccshim/cc.h>' > alone.c
	for std in c99 c11 gnu17; do
		cc -std=$std $flags -fsyntax-only alone.c
	done
	command -v g++ > /dev/null || skip "no C++ compiler"
	cat > plugin.cc <<-'TXT'
		#include <ccshim/cc.h>
		static void derive(const ccs_cc_path *, double *) { }
		static void on_init(ccs_cc *cc) { cc->out.rate = *CCS_CC_PRIV(double, cc) = 1e9; }
		static void on_ack(ccs_cc *, const ccs_cc_ack *) { }
		const ccs_cc_ops ccs_cc_plugin = {
			CCS_CC_ABI, sizeof(ccs_cc_ops), "tiny", "a constant", 0, nullptr, 0, derive,
			on_init, on_ack, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
			nullptr, nullptr, nullptr
		};
	TXT
	for std in c++11 c++20; do
		g++ -std=$std $flags -shared -fPIC -fvisibility=hidden plugin.cc -o cxx.so
		run2 $ccshim info -a ./cxx.so
		[ "$status" -eq 0 ]
		printed "tiny: a constant"
	done
}

@test "ccshim.pc has the version" {
	[ "ccshim $(pkg-config --modversion ccshim)" = "$($ccshim -V | head -n 1)" ]
}

# A valid plug-in, of which macros override parts.
template() {
	cat <<'TXT'
#include <ccshim/cc.h>
#include <math.h>
#include <stdio.h>
#ifndef OPS
#define OPS
#endif
#ifndef PARAM
#define PARAM
#endif
#ifndef DERIVE
#define DERIVE if (isnan(p[0])) p[0] = 1
#endif
#ifndef INIT
#define INIT cc->out.rate = 1e9
#endif
#ifndef TIMER
#define TIMER cc->out.timer_us = now_us + 1
#endif
#ifndef PLUGIN
#define PLUGIN ccs_cc_plugin
#endif
static const char *const words[] = { "a", "b", 0 };
const char *const no_words[] = { 0 };
static const struct ccs_cc_param params[30] = {
	{ "x", "us", NAN, 0, 1e3, 0, "an x", "here" },
	{ "y", "", 0, 0, 0, words, "a y", "here" },
	PARAM
};
static void derive(const struct ccs_cc_path *path, double *p) { (void)path; (void)p; DERIVE; }
static void on_init(struct ccs_cc *cc) { *CCS_CC_PRIV(double, cc) = 0; INIT; }
static void on_ack(struct ccs_cc *cc, const struct ccs_cc_ack *ack) { (void)cc; (void)ack; }
void on_timer(struct ccs_cc *cc, double now_us) { (void)cc; (void)now_us; TIMER; }
const struct ccs_cc_ops PLUGIN = {
	.abi = CCS_CC_ABI, .size = sizeof(struct ccs_cc_ops), .name = "tiny", .doc = "a constant",
	.params = params, .nparams = 2, .derive = derive, .on_init = on_init, .on_ack = on_ack,
	OPS
};
#ifdef SAY
__attribute__((constructor)) static void say(void) { puts(SAY); }
#endif
TXT
}

# build FILE [DEFINE...]
build() {
	local flags=() define
	for define in "${@:2}"; do flags+=("-D$define"); done
	template > template.c
	cc -I"$include" "${flags[@]}" -shared -fPIC -w template.c -o "$1" -lm
}

# wrong 'what is said' [DEFINE...]
wrong() {
	build ./broken.so "${@:2}"
	refused $ccshim info -a ./broken.so
	said "ccshim info: ./broken.so: $1"
	[ "$(wc -l <<< "$errors")" -eq 1 ]
}

@test "a valid plug-in is loaded" {
	needs_compiler
	build ./right.so
	run2 $ccshim info -a ./right.so:y=b,x=2ns
	[ "$status" -eq 0 ]
	printed "tiny: a constant"
	[[ $output =~ x\ *2ns\ *given ]]
	build ./right.so OPS=.on_timer=on_timer 'INIT=cc->out.rate=1,cc->out.timer_us=0'
	run2 $ccshim info -a ./right.so
	[ "$status" -eq 0 ]
}

@test "files that are not plug-ins are reported" {
	needs_compiler
	refused $ccshim info -a ./nowhere.so
	said "./nowhere.so: it cannot be loaded: cannot open shared object file: No such file"
	echo text > text.so
	refused $ccshim info -a "$PWD/text.so"
	said "$PWD/text.so: it cannot be loaded: "
	wrong "it does not export ccs_cc_plugin" PLUGIN=something_else
	echo 'int nobody_has_this(void); int x(void) { return nobody_has_this(); }' > lacks.c
	cc -shared -fPIC lacks.c -o lacks.so
	refused $ccshim info -a ./lacks.so
	said "./lacks.so: it cannot be loaded: undefined symbol: nobody_has_this"
}

@test "a plug-in that another user could change is not loaded" {
	[ "$(id -u)" -eq 0 ] || skip "only root can give files away"
	needs_compiler
	mkdir theirs
	build theirs/x.so
	chown 65534 theirs/x.so
	refused $ccshim info -a theirs/x.so
	said "theirs/x.so: it belongs to another user: copy it"
	chown 0 theirs/x.so
	chmod o+w theirs/x.so
	refused $ccshim info -a theirs/x.so
	said "theirs/x.so: it may be written by everyone: copy it"
	chmod o-w,g+w theirs/x.so
	refused $ccshim info -a theirs/x.so
	said "theirs/x.so: it may be written by its group: copy it"
	chmod g-w theirs/x.so
	chown 65534 theirs
	ln -s theirs/x.so link.so
	refused $ccshim info -a ./link.so
	said "./link.so: its directory $PWD/theirs belongs to another user: move it"
	chown 0 theirs
	chmod 777 theirs
	refused $ccshim info -a theirs/x.so
	said "theirs/x.so: its directory $PWD/theirs may be written by everyone: move it"
	chmod 775 theirs
	refused $ccshim info -a theirs/x.so
	said "theirs/x.so: its directory $PWD/theirs may be written by its group: move it"
	chmod 1777 theirs # as /tmp: others cannot replace the file
	run2 $ccshim info -a ./link.so
	[ "$status" -eq 0 ]
}

@test "all directories above a plug-in are checked" {
	[ "$(id -u)" -eq 0 ] || skip "only root can give directories away"
	needs_compiler
	mkdir -p above/one/two
	build above/one/two/x.so
	for change in 'chown 65534' 'chmod 775' 'chmod 757'; do
		$change above
		refused $ccshim info -a above/one/two/x.so
		said "above/one/two/x.so: its directory $PWD/above "
		chown 0 above
		chmod 755 above
		run2 $ccshim info -a above/one/two/x.so
		[ "$status" -eq 0 ]
	done
}

# As in Apptainer without privileges: root of the host has no number.
@test "in a user namespace the directories of the host's root are trusted" {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	needs_compiler
	setpriv --reuid 1234 --clear-groups unshare --user true || skip "no user namespaces"
	own=$(mktemp -d)
	build "$own/x.so"
	chown 1234 "$own" "$own/x.so"
	run2 setpriv --reuid 1234 --clear-groups unshare --user --map-current-user "$ccshim" info -a "$own/x.so"
	rm -r "$own"
	[ "$status" -eq 0 ] || { echo "$errors"; false; }
}

@test "a plug-in's head is checked" {
	needs_compiler
	wrong "it is built for version 7 of the interface, but this is 2; rebuild it" OPS=.abi=7
	wrong "its ccs_cc_ops has 100 bytes, but here it has " OPS=.size=100
	wrong "it has no name of letters" OPS=.name=0
	wrong "it has no name of letters" 'OPS=.name=""'
	wrong "it has no name of letters" 'OPS=.name="Big Name"'
	wrong "its name 'timely' is that of a built-in algorithm" 'OPS=.name="timely"'
	wrong "it has no doc" OPS=.doc=0
	wrong "it has no derive" OPS=.derive=0
	wrong "it has no on_init" OPS=.on_init=0
	wrong "it has no on_ack" OPS=.on_ack=0
	wrong "its fallback 'reno' is no built-in algorithm" 'OPS=.fallback="reno"'
	wrong "its fallback 'hpcc' is no built-in algorithm that works without" 'OPS=.fallback="hpcc"'
	wrong "its without_ports 'a' is no value of a parameter 'variant'" 'OPS=.without_ports="a"'
	wrong "it has 25 parameters, but the maximum is 24" OPS=.nparams=25
	wrong "it has 2 parameters, but no table" OPS=.params=0
}

@test "a plug-in's parameters are checked" {
	needs_compiler
	wrong "parameter number 2 has no name of letters" PARAM=[1].name=0
	wrong "parameter number 1 has no name of letters" 'PARAM=[0].name="a-b"'
	wrong "parameter 'x' is defined twice" 'PARAM=[1].name="x"'
	wrong "parameter 'x' has no unit of" PARAM=[0].unit=0
	wrong "parameter 'x' has no unit of" 'PARAM=[0].unit="furlong"'
	wrong "parameter 'x' has no doc" PARAM=[0].doc=0
	wrong "parameter 'y' has no source" PARAM=[1].source=0
	wrong "parameter 'x' has a minimum above its maximum" PARAM=[0].min=2e3
	wrong "parameter 'x' has a minimum above its maximum" PARAM=[0].max=NAN
	wrong "the default of parameter 'x' is outside its range" PARAM=[0].def=-1
	wrong "parameter 'y' has an empty list of choices" PARAM=[1].choices=no_words
	wrong "the default of parameter 'y' is not one of its choices" PARAM=[1].def=2
	wrong "the default of parameter 'y' is not one of its choices" PARAM=[1].def=0.5
}

@test "a plug-in is tried" {
	needs_compiler
	wrong "derive() leaves parameter 'x' without a value" 'DERIVE=(void)0'
	wrong "derive() leaves parameter 'x' without a value" 'DERIVE=p[0]=path->rtt_jitter_us?1:NAN'
	wrong "derive() sets parameter 'y' to none of its choices" 'DERIVE=p[0]=1,p[1]=7'
	wrong "on_init() gives a rate of 0 bit/s" 'INIT=(void)0'
	wrong "on_init() gives a rate of inf bit/s" INIT=cc-\>out.rate=INFINITY
	wrong "on_init() gives a rate of -1 bit/s" INIT=cc-\>out.rate=-1
	wrong "on_init() gives a window of -2 bytes" 'INIT=cc->out.rate=1,cc->out.window=-2'
	wrong "on_init() sets a timer, but there is no on_timer" 'INIT=cc->out.rate=1,cc->out.timer_us=0'
	wrong "on_init() sets a timer that is not a number" 'INIT=cc->out.rate=1,cc->out.timer_us=NAN'
	wrong "on_init() sets a timer to -1 us, which is before the start" OPS=.on_timer=on_timer \
		'INIT=cc->out.rate=1,cc->out.timer_us=-1'
	wrong "on_timer() does not set a later time" OPS=.on_timer=on_timer \
		'INIT=cc->out.rate=1,cc->out.timer_us=5' 'TIMER=(void)0'
	wrong "on_timer() does not set a later time" OPS=.on_timer=on_timer \
		'INIT=cc->out.rate=1,cc->out.timer_us=5' TIMER=cc-\>out.timer_us=NAN
}

@test "parameters given to a plug-in are checked, with hints" {
	example
	refused $ccshim info -a ./libaimd.so:bta=0.5
	said "algorithm aimd has no parameter 'bta'; did you mean 'beta'?"
	refused $ccshim info -a ./libaimd.so:beta=2
	said "beta=2 is outside 0.01 to 0.99"
	refused $ccshim info -a ./libaimd.so:min_rate=2g,max_rate=1g
	said "min_rate of aimd is above max_rate"
	run2 $ccshim info -a ./libaimd.so:add_rate=7mbit/s,beta=0.6
	[ "$status" -eq 0 ]
	[[ $output =~ add_rate\ *7m\ *given ]]
}

@test "a path may hold colons, commas and equal signs" {
	example
	mkdir -p "a:b,c=d/e:f=g"
	cp libaimd.so "a:b,c=d/e:f=g/x.so:1"
	run2 $ccshim info -a "$PWD/a:b,c=d/e:f=g/x.so:1:beta=0.6,add_rate=1m"
	[ "$status" -eq 0 ]
	[[ $output =~ beta\ *0.6\ *given ]]
	cp libaimd.so "a:b,c=d/x.so:1"
	run2 $ccshim info -a "./a:b,c=d/x.so:1"
	[ "$status" -eq 0 ]
	[[ $output =~ beta\ *0.5\ *default ]]
	refused $ccshim info -a "./$(printf '%0600d' 0)"
	said "the algorithm's name is longer than 511 bytes"
}

@test "ccshim run and ccbench refuse an invalid plug-in from any source" {
	needs_compiler
	build ./broken.so OPS=.abi=7
	refused $ccshim run -a ./broken.so touch ran
	said "broken.so: it is built for version 7"
	CCSHIM_CC=./broken.so refused $ccshim run touch ran
	said "cc: ./broken.so: it is built for version 7"
	echo "cc = $PWD/broken.so" > x.conf
	refused $ccshim run -c x.conf touch ran
	said "cc: $PWD/broken.so: it is built for version 7"
	[ ! -e ran ]
	CCSHIM_CC=./broken.so run2 $ccshim info -c
	[ "$status" -eq 1 ]
	said "cc: ./broken.so: it is built for version 7"
	run2 "$top_builddir/bench/ccbench/ccbench" incast --cc none,./broken.so:x=1,y=a
	[ "$status" -ne 0 ]
	said "./broken.so: it is built for version 7"
}

@test "a file's section for other programs loads no plug-in" {
	needs_compiler
	build ./loud.so 'SAY="loaded"'
	printf '[app "other"]\ncc = %s\n' "$PWD/loud.so" > x.conf
	run2 $ccshim run -c x.conf true
	[ "$status" -eq 0 ]
	[ -z "$output$errors" ]
	run2 $ccshim info -a ./loud.so
	printed loaded
}

@test "no plug-in is loaded into a program that gains privileges" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	example
	cp $ccshim secure
	cp "$(type -P printenv)" probe
	chgrp nogroup secure probe
	chmod g+s secure probe
	[ -z "$(LD_LIBRARY_PATH=/x ./probe LD_LIBRARY_PATH)" ] || skip "setgid has no effect here"
	refused ./secure info -a ./libaimd.so
	said "./libaimd.so: not loaded into a program that gains privileges"
}
