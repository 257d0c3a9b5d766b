#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Jobs of a real Slurm with the plug-in. Run it by tests/slurm/cluster, in the build tree.

: "${top_builddir:=$PWD}"
plugin=$top_builddir/tools/slurm/.libs/spank_ccshim.so
lib=$top_builddir/.libs/libccshim.so
fake=$top_builddir/.libs/libfakerdma.so

setup() {
	for name in ${!CCSHIM_@}; do unset "$name"; done
	unset LD_PRELOAD XDG_RUNTIME_DIR
	cd "$BATS_TEST_TMPDIR"
	policy required
}

# policy KIND [ARG...]: the line of plugstack.conf.
policy() { echo "$1 $plugin lib=$lib ${*:2}" >"$PLUGSTACK"; }

# The variables of a task that the plug-in may set.
variables='env | grep -E "^(CCSHIM_|LD_PRELOAD=)" | sort'

# Fail unless the output contains the text.
printed() { [[ $output == *"$1"* ]] || { echo "expected '$1' in: $output"; return 1; }; }

# A program of two tasks that send each other 1000 messages by RDMA, on devices of the fake provider.
pingpong() {
	mkdir wire
	cat >pingpong <<-SH
		export FAKERDMA_WIRE=$PWD/wire LD_PRELOAD="\$LD_PRELOAD $fake"
		[ \$SLURM_PROCID = 1 ] || exec ibv_rc_pingpong -g 1 -d fake0
		until ibv_rc_pingpong -g 1 -d fake1 127.0.0.1; do
			sleep 0.1
		done
		exit 0
	SH
}

@test "the tasks of srun --ccshim=auto are controlled, and each writes a report with the job's ID" {
	pingpong
	CCSHIM_REPORT=$PWD/%h.%j.%t.json srun -n2 --ccshim=auto sh -c '[ $SLURM_PROCID = 1 ] || echo $SLURM_JOB_ID >job; . ./pingpong'
	job=$(cat job)
	for task in 0 1; do
		jq -e '.program == "ibv_rc_pingpong" and [.qps[] | .cc, .wrs] == ["copa", 1000]' \
			"node.$job.$task.json"
	done
	[ "$(ls -- *.json | wc -l)" -eq 2 ] # not of the shells
}

# Each in a directory of its own, with "app" and the commands that "make install" would put into PATH.
@test "README.md's commands with srun control the tasks, which write the reports that they name" {
	pingpong
	mkdir bin
	printf '#!/bin/bash\ncd "%s"; . ./pingpong\n' "$PWD" >bin/app
	chmod +x bin/app
	ln -s "$top_builddir/tools/ccshim/ccshim" bin
	n=0
	while read -r command; do
		PATH=$PWD/bin:$PATH SLURM_NTASKS=2 CCSHIM_LIB=$lib bash -euc "mkdir $((++n)); cd $n; $command" </dev/null
	done < <(sed -n 's/^    \(srun [^#]*\).*/\1/p' "$BATS_TEST_DIRNAME/../../README.md")
	[ "$n" -eq 2 ]
	[ "$(jq -s '[.[] | select([.qps[] | .wrs] == [1000])] | length' 2/*.json)" -eq 2 ]
}

@test "a job that does not ask has the environment that it has without the plug-in" {
	srun -w node1 env | grep -vE '^SLURM_(JOB|STEP|TASK|SRUN|LAUNCH|STEPMGR)' | sort >with
	: >"$PLUGSTACK"
	srun -w node1 env | grep -vE '^SLURM_(JOB|STEP|TASK|SRUN|LAUNCH|STEPMGR)' | sort >without
	diff without with
	policy required report=/tmp/x mode=observe
	LD_PRELOAD=libm.so.6 run srun sh -c "$variables"
	[ "$output" = LD_PRELOAD=libm.so.6 ]
}

@test "the library precedes others in LD_PRELOAD, and is there once" {
	LD_PRELOAD=libm.so.6 run srun --ccshim=timely:beta=0.5 sh -c "$variables"
	[ "$output" = "CCSHIM_CC=timely:beta=0.5
LD_PRELOAD=$lib:libm.so.6" ]
	LD_PRELOAD="libm.so.6 $lib" run srun --ccshim=auto sh -c "$variables"
	printed "LD_PRELOAD=libm.so.6 $lib"
}

@test "an unknown algorithm is refused by srun, sbatch and salloc before there is a job" {
	printf '#!/bin/sh\n#SBATCH --ccshim=timly\ntouch ran\n' >script
	for command in "srun --ccshim=timly touch ran" "sbatch --ccshim=timly script" "sbatch script" \
		"salloc --ccshim=timly touch ran"; do
		run $command
		[ "$status" -ne 0 ]
		printed "ccshim: --ccshim: there is no algorithm 'timly'; did you mean 'timely'?"
	done
	policy optional
	run srun --ccshim=timly touch ran
	[ "$status" -ne 0 ]
	run srun --ccshim=./mycc.so touch ran
	printed "give the plug-in's absolute path"
	[ -z "$(squeue -h)" ]
	[ ! -e ran ]
}

@test "sbatch --ccshim is for the script and for its steps; off, too" {
	cat >script <<-SH
		#!/bin/sh
		#SBATCH --ccshim=swift
		$variables >batch
		srun sh -c '$variables' >step
		srun --ccshim=copa sh -c '$variables' >other
		srun --ccshim=off sh -c '$variables' >off
	SH
	sbatch --wait -o log script || { cat log; false; }
	diff - batch <<<"CCSHIM_CC=swift
LD_PRELOAD=$lib"
	diff batch step
	diff <(sed s/swift/copa/ batch) other
	grep -qx CCSHIM_MODE=off off
	sbatch --wait -o log --ccshim=off script || { cat log; false; }
	[ "$(cat batch)" = CCSHIM_MODE=off ]
	[ "$(cat step)" = CCSHIM_MODE=off ]
	diff - other <<<"CCSHIM_CC=copa
LD_PRELOAD=$lib"
}

@test "salloc --ccshim is for the steps of the job" {
	run salloc -Q --ccshim=swift srun -Q sh -c "$variables"
	[ "$output" = "CCSHIM_CC=swift
LD_PRELOAD=$lib" ] || { echo "$output"; false; }
}

# Slurm has one value of a plug-in's option for all components, the last.
@test "all components of a heterogeneous job are controlled" {
	run srun -Q --ccshim=swift sh -c "$variables" : sh -c "$variables; echo end"
	[ "$status" -eq 0 ]
	[ "$(sort <<<"$output")" = "CCSHIM_CC=swift
CCSHIM_CC=swift
LD_PRELOAD=$lib
LD_PRELOAD=$lib
end" ] || { echo "$output"; false; }
}

@test "the site's default and options are for jobs that do not say otherwise" {
	policy required default=auto mode=observe "report=$PWD/%j.%t.json"
	run srun sh -c "$variables"
	[ "$output" = "CCSHIM_CC=auto
CCSHIM_MODE=observe
CCSHIM_REPORT=$PWD/%j.%t.json
LD_PRELOAD=$lib" ]
	CCSHIM_REPORT=mine run srun --ccshim=swift sh -c "$variables"
	printed CCSHIM_REPORT=mine
	printed CCSHIM_CC=swift
	run srun --ccshim=off sh -c "$variables"
	[ "$output" = CCSHIM_MODE=off ]
}

@test "a node without the library fails the task of a required plug-in" {
	echo "required $plugin lib=/nowhere/libccshim.so" >"$PLUGSTACK"
	run srun --ccshim=auto touch ran
	[ "$status" -ne 0 ]
	printed "ccshim: the library /nowhere/libccshim.so cannot be read: No such file or directory"
	[ ! -e ran ]
	run srun echo it runs
	[ "$output" = "it runs" ]
}

@test "with an optional plug-in the task runs without the library" {
	echo "optional $plugin lib=/nowhere/libccshim.so" >"$PLUGSTACK"
	run srun --ccshim=auto sh -c 'echo "it runs, ${LD_PRELOAD-without}"'
	[ "$status" -eq 0 ]
	printed "it runs, without"
	printed "/nowhere/libccshim.so cannot be read"
}

@test "a mistake in plugstack.conf is named" {
	policy required reprot=/tmp/x
	run srun true
	[ "$status" -ne 0 ]
	printed "ccshim: plugstack.conf: there is no option 'reprot'; did you mean 'report'?"
}

# The prolog has no environment but Slurm's.
@test "slurm-tenant makes a job the tenant of its control group, with its partition's weight, while it runs" {
	scontrol show config | grep -q 'ProctrackType *= proctrack/cgroup' || skip "no control groups of cgroup v1"
	mkdir partitions
	echo 'weight = 2.5' >partitions/all
	printf '[tenant other]\nmatch = app:none\n' >tenants
	"$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none --socket "$PWD/agent" --tenants tenants \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.81 2>agent.err 3>&- &
	agent=$!
	until "$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" >status 2>/dev/null; do
		kill -0 $agent
	done
	cat >script <<-SH
		#!/bin/sh
		export CCSHIM_TENANTS=$PWD/tenants CCSHIM_PARTITIONS=$PWD/partitions CCSHIM_RELOAD='kill -HUP $agent'
		exec $BATS_TEST_DIRNAME/../../tools/deploy/slurm-tenant 2>>$PWD/log
	SH
	chmod +x script
	cp script "${PLUGSTACK%/*}/tenant"
	mkfifo in said
	CCSHIM_AGENT=$PWD/agent CCSHIM_CC=rcp RIG_KEEP=1 ASAN_OPTIONS=detect_leaks=0 XDG_RUNTIME_DIR=$PWD srun -w node1 \
		sh -c "echo job-\$SLURM_JOB_ID >job; exec $top_builddir/tests/verbs/shown <in >said" &
	srun=$!
	exec 8>in 7<said
	read -r -t 300 line <&7
	[ "$line" = ready ]
	echo 'write 10' >&8
	read -r -t 300 line <&7
	until jq -e --arg job "$(cat job)" 'any(.clients[]; .tenant == $job) and any(.tenants[]; .tenant == $job and .weight == 2.5)' status; do
		"$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" >status
		kill -0 $srun
	done
	exec 8>&-
	wait $srun
	until [ "$("$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" | jq -c '[.tenants[].tenant]')" = '["other"]' ]; do :; done
	diff tenants <(printf '[tenant other]\nmatch = app:none\n')
	rm partitions/all # the partition is not for tenants
	srun -w node1 true
	[ ! -s log ]
	rm -f "${PLUGSTACK%/*}/tenant"
	kill $agent
	wait $agent || true
}
