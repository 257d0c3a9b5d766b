#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What ccshim check finds behind wrappers, plug-ins and Python's modules, and run --adapt.

load tools.bash

checks() {
	run2 $ccshim check --root "$BATS_TEST_TMPDIR" "$@"
}

line() {
	grep -E "^$1 +$2 " <<< "$output" | grep -F -e "$3" || { echo "$output"; return 1; }
}

# A program that is linked to UCX, whose plug-in is linked to libibverbs and uses direct verbs.
make_ucx() {
	command -v cc > /dev/null || skip "no compiler"
	mkdir -p lib/ucx
	echo 'int mlx5dv_init_obj(void) { return 0; }' > dv.c
	echo 'int ucs(void) { return 0; }' > ucs.c
	echo 'int mlx5dv_init_obj(void), ibv_fork_init(void);
		int uct(void) { return mlx5dv_init_obj() + ibv_fork_init(); }' > uct.c
	echo 'int ucs(void); int main(void) { return ucs(); }' > app.c
	cc -shared -fPIC dv.c -o lib/libmlx5.so -Wl,-soname,libmlx5.so
	cc -shared -fPIC ucs.c -o lib/libucs.so.0 -Wl,-soname,libucs.so.0
	cc -shared -fPIC uct.c -o lib/ucx/libuct_ib.so.0 -Llib -lmlx5 -libverbs -Wl,-rpath,'$ORIGIN/..'
	cc app.c -o app lib/libucs.so.0 -Wl,-rpath,'$ORIGIN/lib'
}

@test "wrappers are followed to the command that they start" {
	local t
	t=$(type -P true)
	for words in "env -u A B=1 $t" "nice -n 5 true" "timeout -k 3 5 true -x" "nohup setsid true" \
		"env nice -n 1 timeout 5 true"; do
		checks $words
		line ok command "$t, dynamically linked, started by ${words%% *}"
	done
	checks sh -c 'A=1 cd /; exec true --x | cat'
	line ok command ", dynamically linked, started by sh"
	checks sudo true # it does not pass LD_PRELOAD on
	[[ $output != *"started by"* ]]
	checks env -u
	line ok command "/env, dynamically linked"
	checks env no-such-command
	line ok command "/env, dynamically linked"
}

@test "plug-ins of UCX are found, and its direct verbs reported as UCX_TLS has them" {
	make_ucx
	checks ./app
	line ok verbs "app uses UCX, whose plug-in libuct_ib.so.0 leads to libibverbs.so.1"
	line warn direct "run it with 'ccshim run --adapt', or set UCX_TLS=^rc_x,ud_x,dc_x"
	for tls in rc_v,ud_v,sm ^ib ^rc_x,ud_mlx5,dc tcp '^rc,ud,\dc_mlx5,tcp'; do
		UCX_TLS=$tls checks ./app
		line ok direct "UCX_TLS=$tls: UCX uses ordinary verbs"
	done
	for tls in rc ib all ^rc_x,ud_x tcp,dc '\rc_mlx5' rc_v,ud; do
		UCX_TLS=$tls checks ./app
		line warn direct "UCX posts through direct verbs"
	done
	mv lib/ucx elsewhere
	checks ./app
	line warn verbs "neither app nor its libraries refer to libibverbs"
	UCX_MODULE_DIR=$PWD/elsewhere checks ./app
	line ok verbs "whose plug-in libuct_ib.so.0"
}

@test "modules that a Python script imports are found" {
	local python
	python=$(type -P /usr/bin/python3) || skip "no python3"
	command -v cc > /dev/null || skip "no compiler"
	mkdir -p modules/fast
	echo 'int ibv_fork_init(void); int f(void) { return ibv_fork_init(); }' > f.c
	cc -shared -fPIC f.c -o modules/fast/core.cpython.so -libverbs
	printf 'import os, helper as h\n' > app.py
	printf 'def f():\n\tfrom fast.core import f\n' > helper.py
	PYTHONPATH=$PWD/modules checks "$python" -u app.py
	line ok verbs "python3 imports fast, whose core.cpython.so leads to libibverbs.so.1"
	PYTHONPATH=$PWD/modules checks "$python" -m fast.core
	line ok verbs "python3 imports fast"
	PYTHONPATH=$PWD/modules checks "$python" -c 'import fast'
	line warn verbs "neither python3 nor its libraries"
}

@test "--adapt replaces UCX's transports of direct verbs, and no others" {
	local before after
	while read -r before after; do
		UCX_TLS=$before run2 $ccshim run --adapt env
		[ "$status" -eq 0 ]
		grep -qxF "UCX_TLS=$after" <<< "$output" || { echo "$before: $output"; return 1; }
	done <<- 'END'
		all ^rc_x,ud_x,dc_x
		rc,sm sm,rc_v
		ib,tcp tcp,rc_v,ud_v
		dc rc_v
		rc_v,sm rc_v,sm
		^tcp ^tcp,rc_x,ud_x,dc_x
		^tcp,ud ^tcp,ud,rc_x,dc_x
		^ib ^ib
		\ud_mlx5,self self,ud_v
	END
	run2 $ccshim run --adapt env
	grep -qxF 'UCX_TLS=^rc_x,ud_x,dc_x' <<< "$output"
	run2 $ccshim run env
	! grep UCX_TLS <<< "$output"
	UCX_TLS=$(printf 'x%.0s' {1..5000}),rc run2 $ccshim run --adapt touch ran
	[ "$status" -eq 125 ]
	said "UCX_TLS is too long to adapt"
	[ ! -e ran ]
}

@test "run --dry-run --adapt prints what it would set" {
	run2 $ccshim run --dry-run --adapt
	printed "export UCX_TLS='^rc_x,ud_x,dc_x'"
	UCX_TLS=tcp run2 $ccshim run --dry-run --adapt
	[[ $output != *UCX_TLS* ]]
}

# A remote shell that keeps nothing of the environment, as ssh.
start_elsewhere() {
	mpirun --version 2> /dev/null | grep -q 'Open MPI' || skip "Open MPI is not installed"
	printf '#!/bin/sh\nshift\nexec env -i PATH="$PATH" HOME="$HOME" sh -c "$*"\n' > rsh
	chmod +x rsh
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=rsh
	export OMPI_MCA_plm_rsh_agent=$PWD/rsh
	run2 $ccshim run -a dcqcn "$@" -H elsewhere -n 1 env
	[ "$status" -eq 0 ] || { echo "$output $errors"; return 1; }
}

@test "processes that Open MPI starts on other hosts are controlled with --adapt, and it is said if not" {
	start_elsewhere mpirun
	! grep LD_PRELOAD <<< "$output"
	said "mpirun passes LD_PRELOAD and CCSHIM_* to no other host: use --adapt"
	start_elsewhere --adapt nice mpirun
	[ -z "$errors" ]
	for variable in "LD_PRELOAD=$standin" CCSHIM_CC=dcqcn "UCX_TLS=^rc_x,ud_x,dc_x"; do
		grep -qxF "$variable" <<< "$output" || { echo "$output"; return 1; }
	done
	start_elsewhere --adapt mpirun -x PATH
	said "add -x LD_PRELOAD -x UCX_TLS, and -x for each CCSHIM_*"
	start_elsewhere mpirun -x LD_PRELOAD -x CCSHIM_CC
	[ -z "$errors" ]
	grep -qxF CCSHIM_CC=dcqcn <<< "$output"
}
