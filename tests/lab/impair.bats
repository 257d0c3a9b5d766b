#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
#
# Failures and conditions of ccshim impair for unmodified programs on Soft-RoCE, and the lab's matrix.

bats_require_minimum_version 1.5.0

setup_file() {
  : "${top_builddir:=$PWD}"
  : "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
  export lab=$top_srcdir/ci/lab/lab ccshim=$top_builddir/tools/ccshim/ccshim
  [[ $EUID -eq 0 ]] || skip "the lab needs root"
  "$lab" --prepare --engine uml
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
}

@test "perftest and rping report each failure as of their device" {
  command -v ib_write_bw rping || skip "no perftest or rping"
  "$lab" --engine uml --rate 10gbit --hosts 2 -- bash "$top_srcdir/tests/lab/impair.sh" "$ccshim" \
    >stdout 2>stderr || { cat stdout stderr; false; }
  diff stdout - <<'E'
retry 1
Failed status 12: wr_id 0 syndrom 0x0
rnr 1
Failed status 13: wr_id 0 syndrom 0x0
access 1
Failed status 10: wr_id 0 syndrom 0x0
invalid 1
Failed status 9: wr_id 0 syndrom 0x0
operation 1
Failed status 11: wr_id 0 syndrom 0x0
flush 1
Failed status 5: wr_id 0 syndrom 0x0
fatal 1
Failed status 5: wr_id 0 syndrom 0x0
port 1
Failed status 5: wr_id 0 syndrom 0x0
rping
"wrs": 30
delayed 0
E
}

# saw HOW: lines of impaired.sh, with the state and the number of flushed receives last. No order is
# defined between them and requests, whose completions are in another queue.
saw() {
  awk -v how="$1" '$2 != how { next } $5 == "receive" { sum += $4; next } $5 == "state" { state = $6; next }
    { sub(" " how, ""); print } /of 1 failed/ { print $1, "| state", state ", receives flushed:", sum; sum = 0 }' seen
}

@test "the application sees an injected failure as Soft-RoCE's own" {
  local flush="Work Request Flushed Error, vendor_err 0"
  "$lab" --engine uml --rate 20mbit --hosts 2 --build "$(realpath "$top_builddir")" \
    -- "$top_srcdir/tests/lab/impaired.sh" "$(realpath "$top_builddir")" >seen 2>stderr || { cat seen stderr; false; }
  while IFS='|' read -r kind event status; do
    [[ -z $event ]] || echo "$kind | 1 event $event"
    printf '%s\n' "$kind | 1 request $status, vendor_err 0" "$kind | 3 request $flush" \
      "$kind | 1 of 1 failed" "$kind | state 6, receives flushed: 16"
  done <<'E' >expected
retry||transport retry counter exceeded
rnr||RNR retry counter exceeded
access||remote access error
invalid||remote invalid request error
operation||remote operation error
port|port error|Work Request Flushed Error
E
  diff expected <(saw injected)
  diff expected <(saw real)
}

@test "the matrix runs each link with its seeds" {
  printf '# links\nseeds 1 2\nslow --rate 100mbit\n\nfast  --rate 10gbit --delay 5us\nseeds 7\nbad --delay 1ms' >links
  command=(sh -c 'echo "a\"b $LAB_RATE_BPS $LAB_SEED"; [ $LAB_SEED -lt 7 ]')
  run -1 "$lab" --matrix links --engine uml --hosts 2 --out out -- "${command[@]}"
  diff <(tail -n +2 <<<"$output" | tr -s ' ') <(printf '%s\n' 'slow 1 0 a"b 100000000 1' \
    'slow 2 0 a"b 100000000 2' 'fast 1 0 a"b 10000000000 1' 'fast 2 0 a"b 10000000000 2' \
    'bad 7 1 a"b 200000000 7')
  [[ -d out/slow.2 && -d out/bad.7 ]]
  run -1 "$lab" --matrix links --json --engine uml --hosts 2 -- "${command[@]}"
  jq -e 'length == 5 and .[3].link == "fast" and .[3].output == "a\"b 10000000000 2" and .[4].status == 1' \
    <<<"$output"
}

@test "the matrix is JSON whatever bytes the command prints" {
  echo 'a' >links
  run "$lab" --matrix links --json --engine uml -- printf 'x\377\376"\t\033y'
  python3 -c 'import json, sys; assert json.loads(sys.argv[1])[0]["output"] == "x\"\ty"' "$output"
}

@test "nothing runs on when the matrix is ended" {
  local mark=mark-$$-$RANDOM id
  echo slow >links
  "$lab" --matrix links --engine uml -- sh -c "sleep infinity; : $mark" >stdout 2>stderr 3>&- &
  id=$!
  until grep -qsF "$mark" /tmp/ccshim-lab.*/cmd; do
    kill -0 "$id"
    sleep 0.1
  done
  kill "$id"
  while grep -lsF "$mark" /tmp/ccshim-lab.*/cmd /proc/[0-9]*/cmdline; do
    sleep 0.1
  done
}

@test "mistakes in a matrix are named" {
  : >empty
  run -2 "$lab" --matrix empty -- true
  [[ $output == *"'empty' has no link"* ]]
  run -2 "$lab" --matrix nowhere -- true
  [[ $output == *"'nowhere' is no file that can be read"* ]]
  run -2 "$lab" --matrix empty
  [[ $output == *"no CMD after --"* ]]
  run -2 "$lab" --matrix empty --out
  [[ $output == *"no CMD after --"* ]]
  # Before the first run: none is overwritten in --out, and none is found wrong after hours.
  while IFS='|' read -r text message; do
    printf "$text\n" >links
    run -2 "$lab" --matrix links --out out -- true
    [[ $output == "lab: --matrix: $message"* ]] || { echo "$text: $output"; return 1; }
  done <<-'END'
	slow\nfast\nslow --delay 1ms|links:3: 'slow' with seed 1 is there twice
	seeds 2 2\nslow|links:2: 'slow' with seed 2 is there twice
	slow\nseeds\nfast|links:2: 'seeds' is followed by numbers
	seeds 1,2\nfast|links:1: 'seeds' is followed by numbers
	../slow|links:1: a name has no '/': '../slow'
	slow --seed 3|links:1: a link has no --seed, --out and --matrix
	slow --out=x|links:1: a link has no --seed, --out and --matrix
	END
  [[ ! -e out ]]
  echo slow >links
  run -2 "$lab" --matrix links --seed 3 -- true
  [[ $output == "lab: --matrix: --seed: a line 'seeds N…' of FILE gives the seeds"* ]]
}
