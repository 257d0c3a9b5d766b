#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccfabric matrix: verdicts of a sample of the traffic models, users' models, and mistakes.
#
# shellcheck disable=SC2154 # what fabric.bash sets

load fabric.bash
bats_require_minimum_version 1.5.0

models() {
	realpath "$BATS_TEST_DIRNAME/../../bench/ccfabric/models/ucloud.models"
}

# matrix OPTION...: its JSON in out.json
matrix() {
	"$ccfabric" matrix --quiet --models "$(models)" --out_json out.json "$@" > out.txt || {
		cat out.txt
		return 1
	}
}

@test "there are 59 models, and all are run" {
	grep -cE '^[A-P]-' "$(models)" | grep -qx 59
	run ! grep -q not-run "$(models)"
}

# 60 hosts begin at once, requests wait for READs' data, and TCP's losses are none of lossless packets.
@test "auto passes a start of 60 hosts at once, READs, SENDs, and TCP in a queue beside" {
	matrix --cc auto --only '[BJL]-[6rst]*'
	cat out.txt
	[ "$(value '.models | length')" = 5 ]
	[ "$(value '.passed.auto')" = 5 ]
}

@test "a model that is not run says why and does not pass" {
	echo 'later not-run because of this' > later
	"$ccfabric" matrix -q --models later --out_json out.json > out.txt
	cat out.txt
	value '.models | length == 1 and all((.run | not) and (.pass | not))' | grep -qx true
	[ "$(value '.passed.auto')" = 0 ]
	grep -q "not run: because of this" out.txt
}

@test "mistakes are followed by the command whose help has the options" {
	for command in run matrix; do
		run ! "$ccfabric" "$command" --only nothing --models /missing extra
		[ "${lines[-1]}" = "Try 'ccfabric $command --help'." ]
	done
	run ! "$ccfabric" matrix --models /missing
	[ "${lines[0]}" = "ccfabric: /missing: No such file or directory; name a file with --models" ]
	run ! "$ccfabric"
	[ "${lines[-1]}" = "Try 'ccfabric --help'." ]
}

@test "every model's line is accepted" {
	grep -E '^(defaults|[A-P]-)' "$(models)" |
		sed -E 's/--(warmup|for|until) [^ ]+//g; /^[A-P]/s/$/ --for 300us --until 300us/' > short
	"$ccfabric" matrix -q --models short --cc none --json > out.json
	[ "$(value '[.models[] | select(.run or (.reason != null))] | length')" = 59 ]
}

@test "without control an incast breaks the goals of pauses and delays, and loses nothing" {
	matrix --cc none --only '[AB]-[38]*:1*'
	cat out.txt
	value '.models | length > 3 and all(.g2 == false and .g3 == false and .pass == false and
		.lossless_lost == 0 and .pauses_per_s > 1000)' | grep -qx true
	value '.models | map(select(.name == "A-31:1-64k"))[0] | .g1 and .p99_us > 1000' | grep -qx true
}

# The article's two experiments: 5 cells a packet of 1106 bytes.
@test "marks from 800 cells on, by a polled average, break the goal of delays; from 1 cell on not" {
	cells() { echo $(($1 * 1106 / 5)); }
	polled=(--cc dcqcn:variant=mlx --only A-2:1-64k --poll 50us:1/4)
	matrix "${polled[@]}" --ecn "$(cells 800):$(cells 1400):1%@25g"
	cat out.txt
	[ "$(value '.models[0] | .g1 and (.g3 | not) and (.pass | not)')" = true ]
	matrix "${polled[@]}" --ecn "$(cells 1):$(cells 1400):1%@25g"
	cat out.txt
	[ "$(value '.models[0].pass')" = true ]
	[ "$(value '.passed["dcqcn:variant=mlx"]')" = 1 ]
}

@test "auto with agents meets all goals in a sample of the models, with either kind of hosts" {
	for hosts in plain shim; do
		matrix --cc auto --hosts $hosts --only '[ACP]-[48rw]*'
		cat out.txt
		value '.models | length > 6 and all(.pass and .lossless_lost == 0)' | grep -qx true
		value '(.models | length) == .passed.auto and .most_within_40us.auto' | grep -qx true
	done
}

@test "a seed gives one result, however many models run side by side" {
	printf '%s delivered --topology star:4@10g --flows websearch:50%% --for 3ms\n' a b c > mine
	for jobs in 1 3; do
		matrix --models mine --cc none --cc dcqcn --seed 7 --jobs $jobs
		value 'del(.wall_s, .time, .models[].wall_s)' > jobs.$jobs
	done
	cmp jobs.1 jobs.3
	[ "$(value '.models | length')" = 6 ]
	matrix --models mine --cc none --cc dcqcn --seed 8
	value 'del(.wall_s, .time, .models[].wall_s)' > other
	run ! cmp -s jobs.1 other
}

@test "a user's models: defaults, named ports, and goals that are missed" {
	cat > mine <<-'END'
		# two ports of one star
		defaults --topology star:4@10g --warmup 1ms --for 3ms
		both      full=4->0,4->1 --flows pairs:2-3,0-1,1g
		idle      full=4->0,4->2 --flows pairs:2-3,0-1,1g
		too-much  delivered --flows cross:1-3,0,10m
		enough    delivered --flows cross:1-3,0,100k
		later     not-run because of this
	END
	"$ccfabric" matrix -q --models mine --cc none --json > out.json
	value '[.models[] | "\(.name) \(.g1)"] | join(" ")' > g1
	[ "$(cat g1)" = "both true idle false too-much false enough true later null" ]
	[ "$(value '.models[4].reason')" = "because of this" ]
}

@test "the table fits 80 columns, and help does" {
	matrix --cc none --only '[AEJ]-[rhs3]*'
	"$ccfabric" matrix --help > help
	awk 'length > 80 { print; bad = 1 } END { exit bad }' out.txt help
}

# Messages of 64 bytes: packets of as many; two rates on one switch; what copies and starts mean.
@test "messages, several traffics, copies and starts are what they say" {
	fabric --topology star:2@25g,1@100g --flows pairs:0,2,64000 --message 64
	[ "$(value .packets.sent)" = 1000 ]
	fabric --topology star:2@25g,1@100g --flows pairs:0,2,64000 --message 64 --hosts shim
	[ "$(value .packets.sent)" = 1000 ]
	# Enough messages are posted at a time to fill the link.
	fabric --topology star:2@25g --delay 100ns --flows pairs:1,0,1m --message 64 --hosts shim
	[ "$(value '.ports[] | select(.name == "2->0").utilisation > 0.9')" = true ]
	fabric --topology star:2@25g,1@100g --flows '3*pairs:0,2,1000@1ms~2us+cross:0-1,2,2000@5us'
	[ "$(value '[.flows[] | "\(.src) \(.size) \(.start_ns)"] | join(", ")')" = \
		"0 2000 5000, 1 2000 5000, 0 1000 1000000, 0 1000 1002000, 0 1000 1004000" ]
	fabric --topology chain:3x1@25g:100g --flows pairs:0,2,1000
	[ "$(value '[.ports[].name] | join(" ")')" = "0->3 3->0 3->4 4->3 1->4 4->1 4->5 5->4 2->5 5->2" ]
	fabric --topology star:8@25g --flows incasts:4,10k,50% --for 1ms
	[ "$(value '.flows | length % 4 == 0 and length > 800 and length < 1700')" = true ]
	# A size may be where copies could be.
	fabric --topology star:8@25g --flows 64k:50% --for 1ms
	[ "$(value '.flows | length > 100 and length < 300')" = true ]
}

# Figures of each run are kept; a run without any is not in the document.
@test "bench/scripts/fabric-matrix makes the document and the picture" {
	command -v gnuplot > /dev/null || skip "gnuplot is not installed"
	script=$(realpath "$BATS_TEST_DIRNAME/../..")/bench/scripts/fabric-matrix
	{ cat "$(models)" && echo 'N-later not-run because of this'; } > mine
	made() { "$script" --build "${ccfabric%/bench/*}" --models mine --out figures --only 'N-*' "$@"; }
	made none > first.md
	made --write out.md auto
	made --keep > third.md
	cat out.md
	cmp out.md third.md
	grep -qxF "    ccfabric matrix --cc none" first.md
	run ! grep -F -e "--cc auto" first.md
	grep -qxF "| model | auto | none |" out.md
	grep -qxF "| N-100g-to-25g, N-25g-to-100g | yes | **G2,G3** |" out.md
	grep -qxF "| N-later | – | – |" out.md
	grep -qxF -e "- N-later: because of this" out.md
	grep -qxF "| auto | 2 of 3 | 2 of 2 |" out.md
	grep -qxF "| none | 0 of 3 | 0 of 2 |" out.md
	grep -qE "with [0-9]+ s of CPU\.$" out.md
	grep -qF "auto meets the goals in all models that were run." out.md
	head -c 4 out.png | grep -aq PNG
}

@test "bench/scripts/fabric-matrix has SONiC's verdicts" {
	script=$(realpath "$BATS_TEST_DIRNAME/../..")/bench/scripts/fabric-matrix
	printf '%s\n' 'used full=2->0 --topology star:2@10g --flows pairs:1,0,10m --warmup 1ms --for 2ms' \
		'idle full=2->1 --topology star:2@10g --flows pairs:1,0,10m --warmup 1ms --for 2ms' \
		'later not-run because of this' 'last not-run because of this' > mine
	made() { "$script" --build "${ccfabric%/bench/*}" --models mine --out figures "$@"; }
	made none > first.md
	run ! grep SONiC first.md
	cp figures/none.json figures/sonic.none.json
	made --keep > out.md
	cat out.md
	run ! grep -E "^\| (later|last) " out.md
	grep -qxF "The file names the tests that it leaves out, with the reasons." out.md
	[ "$(grep -cxF "| used | yes |" out.md)" = 2 ]
}

# Other figures would mean that it has what switches write into packets.
@test "HPCC-E has records of receivers' agents without being asked for" {
	for agents in "" --agents; do
		# shellcheck disable=SC2086
		matrix --cc hpcc:variant=echo --only A-2:1-64k $agents
		value 'del(.wall_s, .time, .models[].wall_s)' > "agents$agents"
	done
	cmp agents agents--agents
	[ "$(value .models[0].pass)" = true ]
}

# Without control, each of the models that congest a port breaks goals, and no other.
@test "the models of SONiC's tests: what is run, and the verdicts" {
	file=$(realpath "$BATS_TEST_DIRNAME/../../bench/ccfabric/models/sonic.models")
	"$ccfabric" matrix -q --models "$file" --cc none --cc auto --json > out.json
	value '[.models[] | select(.cc == "none" and .run and (.pass | not)) | .name] | join(" ")' > congested
	cat congested
	[ "$(cat congested)" = "rocev2-pfc-q3 congestion-diff congestion-uni mixed-speed-over m2o-lossless-lossy" ]
	value '.models | map(select(.cc == "none")) | (map(select(.run)) | length) == 12 and
		(map(select(.reason)) | length) == 25 and all(.run or (.reason | length) > 0)' | grep -qx true
	[ "$(value .passed.none)" = 7 ]
	# Flows of one message each end before a share of the full port reaches them.
	value '[.models[] | select(.cc == "auto" and .run and (.pass | not)) | .name] | join(" ")' > missed
	cat missed
	[ "$(cat missed)" = congestion-uni ]
	[ "$(value .passed.auto)" = 11 ]
	value '.models | all((.lossless_lost // 0) == 0)' | grep -qx true
}

@test "mistakes in models and options are named" {
	while IFS='|' read -r line message; do
		echo "$line" > wrong
		run "$ccfabric" matrix -q --models wrong --cc none
		echo "$line: $output"
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: $message"* ]]
	done <<-'END'
		defaults --topology star:2@1g|wrong:2: the file has no model
		a|wrong:1: model a needs a goal
		a not-run|wrong:1: model a needs a goal
		a full= --for 1ms|wrong:1: model a needs a goal
		a full=3->9 --flows incast:1,1k|model a: the topology has no port 3->9
		a delivered --flows incast:1,1k --out_json x|model a: it has an option of results
		a delivered --flows cross:0-99,0,1k|model a: 'cross:0-99,0,1k' is no traffic
		a delivered --nose 3us|model a: unrecognized option '--nose'
		a delivered --flows "incast:1,1k 2|model a: '2' is no option
		a-name-that-is-much-too-long delivered|wrong:1: the name of model a-name
	END
	# Of any model, before the first is simulated.
	printf '%s\n' 'a delivered --topology star:2@1g --flows incast:1,1g --for 1s' 'b delivered --mtu 1' > wrong
	run "$ccfabric" matrix -q --models wrong --cc none
	[ "$status" -eq 2 ] && [ "${#lines[@]}" -eq 2 ]
	[[ $output == "ccfabric: model b: --mtu: '1' is not"* ]] || { echo "$output"; false; }
	printf 'a delivered\na delivered\n' > wrong
	run "$ccfabric" matrix -q --models wrong
	[[ $output == "ccfabric: wrong:2: there are two models a"* ]]
	for option in "--cc nothing" "--jobs 0" "--only x" "--models nowhere" more; do
		# shellcheck disable=SC2086
		run "$ccfabric" matrix -q --models "$(models)" $option
		echo "$option: $output"
		[ "$status" -eq 2 ]
		[[ $output == "ccfabric: "* ]]
	done
	echo 'a delivered --topology star:2@1g --flows incast:1,64k' > small
	# shellcheck disable=SC2016
	run bash -c '"$@" > /dev/full' - "$ccfabric" matrix -q --models small
	[ "$status" -eq 1 ]
	[[ $output == "ccfabric: standard output: No space left on device"* ]]
}

@test "what no simulation could use is refused once, before the first, also if auto ignores it" {
	while IFS='|' read -r options message; do
		# shellcheck disable=SC2086
		run "$ccfabric" $options -q --models "$(models)"
		echo "$options: $output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 2 ]
		[[ $output == "ccfabric: $message"* ]]
	done <<-'END'
		matrix --ecn 100q:400k:20%|--ecn: '100q:400k:20%' is not [N=]MIN:MAX:P[@RATE]
		matrix --ecn -5:400k:20%|--ecn: '-5:400k:20%' is not [N=]MIN:MAX:P[@RATE]
		matrix --ecn 500k:400k:20%|--ecn: '500k:400k:20%' is not [N=]MIN:MAX:P[@RATE]
		matrix --ecn 100k:400k:nan|--ecn: 'nan' is no fraction
		matrix --ecn 100k:400k:2|--ecn: a probability of 2 is above 1
		matrix --alpha 1/0|--alpha: '1/0' is no fraction
		matrix --buffer x|--buffer: 'x' is not a whole number of bytes
		matrix --cc auto --cc none --cc auto|--cc: 'auto' is given twice
	END
	run "$ccfabric" matrix -q --models "$(models)" --out_json /missing/file
	[ "$status: $output" = "1: ccfabric: /missing/file: No such file or directory" ]
	run "$ccfabric" matrix -q --models "$(models)" --out_json .
	[ "$status: $output" = "1: ccfabric: .: Is a directory" ]
}
