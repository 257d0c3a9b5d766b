#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# ccbench's command line anywhere, its runs in ci/lab/lab in virtual time.
# make says where the trees are; by hand, run it in the build tree.

bats_require_minimum_version 1.5.0

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export ccbench=$top_builddir/bench/ccbench/ccbench lab=$top_srcdir/ci/lab/lab seed=${CCS_SEED:-3}
  echo "# CCS_SEED=$seed"
  [[ $EUID -ne 0 ]] || "$lab" --prepare --engine uml
}

setup() {
  local name
  for name in ${!LAB_@}; do unset "$name"; done
  cd "$BATS_TEST_TMPDIR"
}

# incast ARG…: in a lab of four hosts, a short run; results in out/.
incast() {
  in_lab "$ccbench" incast --senders 2 -D 200ms "$@"
}

in_lab() {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  rm -rf out
  status=0
  "$lab" --engine uml --hosts 4 --queue 256kb ${options[@]+"${options[@]}"} --seed "$seed" --out out -- "$@" \
    >stdout 2>stderr || status=$?
  output=$(<stdout) errors=$(<stderr)
}

# refused WORD ARG…: status 2, nothing on stdout, one line on stderr with WORD.
refused() {
  local word=$1
  shift
  status=0
  output=$("$ccbench" incast "$@" 2>stderr) || status=$?
  cat stderr
  [[ $status -eq 2 && -z $output && $(wc -l <stderr) -eq 1 ]]
  grep -qF -- "$word" stderr
}

json() { jq -e "$1" out/incast.json; }

# -- the command line --------------------------------------------------------

@test "help goes to stdout and succeeds" {
  run --separate-stderr "$ccbench" incast --help
  [[ $status -eq 0 && $output == usage:* && -z $stderr ]]
  run "$ccbench" --help
  [[ $status -eq 0 ]]
}

@test "every option of the help is in the man page, and the other way round" {
  page=$(realpath "$BATS_TEST_DIRNAME/../../docs/man/ccbench.1")
  { "$ccbench" incast --help && "$ccbench" matrix --help; } | grep -oE -- '--[a-z_-]{2,}' | sort -u >help
  grep -oE '(Fl|,) -[a-z_-]{2,}' "$page" | sed 's/.* -/--/' | sort -u >man
  diff help man
}

@test "wrong options are refused with status 2 and one line" {
  refused '3q' -s 3q
  refused '--frob' --frob
  refused 'timly' --cc none,timly
  refused 'a value is missing' -s
  refused 'stray' stray
  refused 'no-such' --cc off --preload ./no-such.so
  run "$ccbench" no-such-subcommand
  [[ $status -eq 2 ]]
}

@test "devices that are not there are named, with status 2" {
  run "$ccbench" incast --devices nodev_a,nodev_b,nodev_c --senders 1
  [[ $status -eq 2 && $output == *nodev_a* ]]
}

# -- runs --------------------------------------------------------------------

@test "the JSON keeps its contract" {
  incast --cc none
  [[ $status -eq 0 ]]
  json '(.scenario | type) == "string" and (.runs | length) == 1'
  json '.runs[0] | .cc == "none" and .bottleneck_bps == 200000000 and
    .utilisation > 0.3 and .utilisation <= 1.01 and .jain > 0 and .jain <= 1 and
    .jain_min_window <= .jain + 1e-9 and .jain_window_s > 0 and
    .drops >= .drops_after_warmup and .marks == 0'
  json '.runs[0].queue_bytes | .mean > 0 and .p50 <= .p99 and .p99 <= .max and
    .max <= 262144'
  json '.runs[0].victim_latency_us | 0 < .p50 and .p50 <= .p90 and .p90 <= .p99 and
    .p99 <= .p999 and .p999 <= .max'
  json '.runs[0] | .flows | length == 2 and all(.goodput_bps > 0 and .errors == 0)'
  json '.runs[0] | (.goodput_bps - ([.flows[].goodput_bps] | add) | fabs) < 1'
  json '.runs[0] | .seed == ($ENV.seed | tonumber) and .size == 65536 and .depth == 16 and .qps == 1 and
    .duration_s == 0.2 and .sampler_period_us == 200 and .victim_samples > 5 and
    .sanity.predicted_rtt_us > 0 and .shim == null'
  # What went over the wire is the goodput, its headers, the victim and what was sent again.
  json '.runs[0] | .wire_bps <= 200.5e6 and .retransmitted_share > -0.02 and
    .retransmitted_share < 0.7'
}

@test "stdout ends with the names of the files, which are there" {
  incast --out_json figures.json --plot rates.svg
  [[ $status -eq 0 && $output == *figures.json*rates.svg ]]
  jq -e . out/figures.json
  grep -q '<svg' out/rates.svg
  [[ -z $errors ]]
}

@test "one flow gets what the bottleneck can carry" {
  in_lab "$ccbench" incast --senders 1 -D 500ms
  json '.runs[0] | .utilisation > 0.98 and .utilisation < 1.005 and .drops == 0 and
    (.retransmitted_share | fabs) < 0.01'
}

# Soft-RoCE has no timestamps, and the application gets no event before a message's last segment.
@test "algorithms by RTTs fill a long path" {
  options=(--rate 10gbit --delay 100us --queue 8mb)
  in_lab "$ccbench" incast --senders 1 -t 64 -D 200ms --warmup 100ms --cc copa,swift,timely
  json '.runs | length == 3 and all(.utilisation > 0.9)'
}

# A message takes two seconds, longer than the measured time.
@test "slow messages are no retransmitted bytes" {
  options=(--queue 512kb)
  incast --op send -s 256k -D 1 --cc fixed:rate=1m
  json '.runs[0] | .drops == 0 and .wire_bps < 1.5e6 and .goodput_bps > 1.5e6 and (.retransmitted_share | fabs) < 0.02'
  incast -s 256k -D 1 --cc fixed:rate=90m
  json '.runs[0] | .drops == 0 and (.retransmitted_share | fabs) < 0.02'
}

@test "utilisation counts mice and elephants" {
  in_lab "$ccbench" mice --senders 2 -D 1 --load 30% --cc timely
  jq -e '.runs[0] | .drops == 0 and .victim_samples > 20 and
    (.utilisation * .bottleneck_bps / .wire_bps - 1 | fabs) < 0.02 and
    .goodput_bps < .utilisation * .bottleneck_bps * 0.9' out/mice.json
}

# slowdown ARG…: p95 of messages up to 1 KB between two hosts, under TIMELY.
slowdown() {
  in_lab "$ccbench" permutation --hosts 2 -D 1 --sizes hadoop --load 50% --cc timely "$@" >&2
  jq -e '.runs[0].slowdown[] | select(.class == "<= 1 KB") | .p95' out/permutation.json
}

@test "with a pool a short message does not wait behind a long one of its pair" {
  shared=$(slowdown)
  pooled=$(slowdown --qp-pool 16)
  jq -e '.runs[0] | .waited_share < 0.01 and .errors == 0' out/permutation.json
  awk -v a="$shared" -v b="$pooled" 'BEGIN { exit !(b < a / 10) }'
}

@test "the same seed gives the same figures, another gives others" {
  incast
  jq 'del(.time)' out/incast.json >first.json
  incast
  diff first.json <(jq 'del(.time)' out/incast.json)
  incast --seed $((seed + 1))
  ! diff -q first.json <(jq 'del(.time)' out/incast.json)
}

@test "reads and sends arrive too, and by count" {
  incast --op read -n 20
  json '.runs[0] | .op == "read" and all(.flows[]; .messages == 20 and .errors == 0)'
  incast --op send -q 2 -n 20 --no-victim
  json '.runs[0] | (.flows | length) == 4 and .victim_samples == 0 and
    .victim_latency_us.p50 == null and all(.flows[]; .messages == 20)'
}

@test "without a switch, its values are null" {
  in_lab env -u LAB_SWITCH_PORT -u LAB_RATE_BPS "$ccbench" incast --senders 1 -D 200ms
  [[ $status -eq 0 ]]
  json '.runs[0] | .drops == null and .marks == null and .queue_bytes.max == null and
    .utilisation == null and .bottleneck_bps == null and .goodput_bps > 0'
}

@test "marks are red's, and drops are not counted twice" {
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --engine uml --hosts 6 --mtu 1024 --queue 256kb --ecn 20kb:80kb:1 --seed "$seed" \
    --out out -- bash -c '"$1" incast --tclass 2 -D 1 && tc -s -n sw qdisc show dev p_1 >$LAB_OUT/tc' \
    - "$ccbench"
  json '.runs[0] | .marks > 100 and .qdisc == "tbf+red"'
  # tbf is the first that tc shows; the drops after the run's end are of the drain.
  dropped=$(sed -n 's/.*dropped \([0-9]*\),.*/\1/p' out/tc | head -n 1)
  json ".runs[0].drops <= $dropped and .runs[0].drops > $dropped / 2"
}

@test "wrong devices and GIDs end with status 2 and a reason" {
  in_lab "$ccbench" incast --senders 9
  [[ $status -eq 2 && $errors == *"11 hosts are needed"* ]]
  incast -x 77
  [[ $status -eq 2 && $errors == *"no GID at index 77"* ]]
  incast --switch-port p_77
  [[ $status -eq 2 && $errors == *p_77* ]]
  incast --mtu 4096 --switch-port p_2
  [[ $status -eq 2 && $errors == *"no queueing discipline"* ]]
}

@test "mice take longer than in the empty network, and less so when elephants are held back" {
  in_lab "$ccbench" mice --senders 2 -D 1 --load 30% --cc none,timely
  [[ $status -eq 0 ]]
  jq -e '[.runs[].slowdown[] | select(.class == "all") | .p50] | .[0] > 2 and .[1] < .[0]' \
    out/mice.json
  jq -e '.unloaded[0].us | all(. > 0) and . == sort' out/mice.json
}

# interfere WHAT: run ccbench, do that after 100 ms, report ccbench's status and what is left.
interfere() {
  mkdir tmp
  in_lab bash -c 'export TMPDIR=$PWD/tmp
    "$1" incast --senders 2 -D 1 & pid=$!; sleep 0.1
    worker=$(pgrep -P $pid | tail -n 1)
    eval "$2"
    wait $pid; echo "ended with $?"
    pgrep -x ccbench; ls "$TMPDIR"' - "$ccbench" "$1"
}

@test "a killed worker is one clear sentence, and nothing stays behind" {
  interfere 'kill -KILL $worker'
  [[ $output == "ended with 1" && $errors == *"killed by signal 9"* ]]
}

@test "SIGINT ends all of it" {
  interfere 'kill -INT $pid'
  [[ $output == "ended with 130" && $errors == *interrupted* ]]
}

@test "a broken flow is in the figures and in the exit status" {
  interfere 'ip -n sw link set p_2 down'
  [[ $output == *"ended with 1" && $errors == *"host 2"* ]]
  json '.runs[0].errors > 0 and (.runs[0].flows[0].status | type) == "string"'
}

@test "a run that does not end is given up" {
  incast --timeout 100ms
  [[ $status -eq 1 && $errors == *"no end within"* ]]
}

@test "collectives in an idle network: every setting has the time of operations" {
  options=()
  in_lab "$ccbench" collective -D 200ms --warmup 50ms -s 256k --pause 5ms --cc none,observe
  [[ $status -eq 0 ]]
  jq -e '.runs | map([.cc, (.operation_us.samples > 20), .jain > 0.99, .operation_slowdown < 1.05]) ==
    [["none", true, true, true], ["observe", true, true, true]]' out/collective.json
}

@test "--trunk: flows between the switches share its link, whose queue is sampled" {
  options=(--trunk)
  in_lab "$ccbench" trunk -D 200ms --warmup 50ms --no-victim -s 16k -t 4 --cc none
  [[ $status -eq 0 ]]
  jq -e '.runs[0] | .utilisation > 0.95 and .utilisation < 1.02 and .jain > 0.99 and .queue_bytes.p50 > 50e3' \
    out/trunk.json
}

@test "claims and kv: bulk flows have the port, requests have their times" {
  options=()
  in_lab "$ccbench" claims --senders 1 --claims 20 -D 300ms --warmup 50ms --cc none
  [[ $status -eq 0 ]]
  jq -e '.runs[0] | (.flows | length) == 1 and .utilisation > 0.95 and .victim_samples > 0' out/claims.json
  in_lab "$ccbench" kv --senders 3 -D 300ms --warmup 50ms --cc observe
  [[ $status -eq 0 ]]
  jq -e '.runs[0] | (.flows | length) == 3 and .operation_us.samples > 0' out/kv.json
}

# The first program leaves megabytes in a queue that drains at 200 Mb/s.
@test "a run begins when the packets of the one before have left the port" {
  options=(--queue 16mb --nic 1gbit)
  # shellcheck disable=SC2016
  in_lab bash -c 'timeout -s KILL 1 "$0" incast --senders 2 -q 4 -D 5 --cc none >/dev/null 2>&1
    tc -n sw -s -j qdisc show dev p_1 >"$LAB_OUT/left"
    "$0" incast --senders 1 -s 4k -t 1 -D 100ms --warmup 0 --no-victim --cc none' "$ccbench"
  cat stderr
  [[ $status -eq 0 ]]
  jq -c '[.[].backlog]' out/left
  jq -e '[.[].backlog] | max > 500000' out/left
  jq -e '.runs[0] | [.queue_series_bytes[] | numbers] | max < 20000' out/incast.json
}
