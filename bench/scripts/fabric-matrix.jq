# SPDX-License-Identifier: BSD-2-Clause
# Tables of docs/measured/matrix.md, from an array of {run, models, wall_s}:
# --arg table NAME.

def row: "| " + join(" | ") + " |";
def head: row, "|" + (map("---|") | join(""));
def digits: if . >= 99.5 then round elif . >= 9.95 then (. * 10 | round / 10)
  else (. * 100 | round / 100) end | tostring;
def us: if . == null then "–" elif . >= 1000 then (. / 1000 | digits) + " ms" else digits + " us" end;
def percent: (. * 1000 | floor / 10 | tostring) + " %";

# How far a value is from its goal, as a multiple of it: {goal, ratio, text}.
def distances:
  {goal: "G1", ratio: (if .utilisation then 0.95 / .utilisation else 0.99 / .delivered end),
   text: (if .utilisation then "\(.utilisation | percent) of a port is used"
          else "\(.delivered | percent) is delivered" end)},
  {goal: "G2", ratio: (.pauses_per_s / 5), text: "\(.pauses_per_s | round) PAUSE frames/s"},
  {goal: "G3", ratio: ((.p99_us // 0) / 80), text: "p99 is \(.p99_us | us)"};
def farthest: [distances] | max_by(.ratio);
def misses: [distances | select(.ratio > 1)];

def goals: [if .g1 then empty else "G1" end, if .g2 then empty else "G2" end,
  if .g3 then empty else "G3" end, if .deadlock then "deadlock" else empty end,
  if .lossless_lost > 0 then "loss" else empty end] | join(",");
def cell: if .run | not then "–" elif .pass then "yes" else "**" + goals + "**" end;
def names: [.[0].models[].name];
def of($name): .models[] | select(.name == $name);

def passed: (["", "pass", "p99 at most 40 us"] | head),
  (.[] | [.run, "\([.models[] | select(.pass)] | length) of \(.models | length)",
    (([.models[] | select(.run)] | length) as $n | [.models[] | select(.run and .p99_us <= 40)] | length |
     "\(.) of \($n)")] | row);

# Models with the same verdicts share a row.
def verdicts: . as $all | (["model"] + map(.run) | head),
  ([names[] as $name | {name: $name, cells: [$all[] | of($name) | cell]}] |
    reduce .[] as $new ([]; (map(.cells) | index([$new.cells])) as $i |
      if $i == null then . + [$new] else .[$i].name += ", " + $new.name end) |
    .[] | [.name] + .cells | row);

def missed: [.[] | select(.run == "auto") | .models[] | select(.run and (.pass | not))] |
  if . == [] then "auto meets the goals in all models that were run." else
    (["model", "figures"] | head),
    (.[] | [.name, ([misses[].text] | join(", "))] | row) end;

def slow: [.[] | select(.run == "auto") | .models[] | select(.pass and .p99_us > 40)] |
  "Models that pass, with a p99 above 40 us: " +
    (map("\(.name) (\(.p99_us | us))") | join(", ") | if . == "" then "none" else . end) + ".";

def not_run: [.[0].models[] | select(.run | not) | "- \(.name): \(.reason)"] |
  if . == [] then empty else "", "## Not run", "", .[] end;

def verdicts_run: map(.models |= map(select(.run))) | verdicts;

# Why models miss goals on the real driver.
def lab_reasons: {
  "G-long-incast": "G-long-incast and G-long-64k: others get the bandwidth of a short flow only after a span of 64 segments, 2 ms at 1 Gb/s, in ccfabric as well. Shorter spans miss one or two rows more of the grid. Why the p99 of G-long-incast is 1.18 times its goal is not known.",
  "I-64-qps": "I-64-qps: 512 queue pairs begin together, and their segments spread slowly: in ccfabric the p99 is 7.6 ms until 0.4 s, and 0.73 ms from 3 to 4 s.",
  "K-64b": "K-64b: the lab's single CPU has 1.1 us for each of 0.9 million messages a second; at 100 Mb/s 98 % are used.",
  "J-send": "J-send: SENDs of 64 KB of eight senders meet by chance; the goal is the time of 2.4 SENDs. ccfabric has 1.3 to 1.4 ms. It was run with -D 1 --warmup 500ms, since agents learn the length of SENDs after the start.",
};

def lab: (["model", "used", "drops", "p99, us", "missed"] | head),
  (.models[] | select(.run and (.g1 and .g2 and .g3 | not)) | [.name, (.utilisation | percent), (.drops | tostring),
    (.p99_us | round | tostring), ([["G1", .g1], ["G2", .g2], ["G3", .g3] | select(.[1] | not) | .[0]] | join(" "))] | row),
  ([.models[] | select(.run and (.g1 and .g2 and .g3 | not)) | lab_reasons[.name] // empty] |
    if . == [] then empty else "", "Why goals are missed:", "", (unique[] | "- " + .) end),
  ([.models[] | select(.run and .g1 and .g2 and .g3)] | if . == [] then empty else
    "", "The other \(length) pass, with \(map(.utilisation) | min | percent) of the port or more." end);

# A column per run, a row per model, the first model on top; blank if it was not run.
def picture: . as $all | names as $names | ($names | length) as $n |
  "set terminal pngcairo size \([260 + 100 * length, 640] | max),\(120 + 18 * $n) font 'Sans,10' noenhanced background '#ffffff'",
  "set title 'Distance from the goals, as a multiple of the one that is farthest'",
  "set xrange [-0.5:\(length - 0.5)]; set yrange [\($n - 0.5):-0.5]; set border 0; unset key",
  "set tics scale 0; set xtics rotate by 25 right; set cbrange [-1:3]; set grid noxtics noytics",
  "set palette defined (-1 '#3b8f5a', -0.0001 '#bfe0c8', 0 '#f7d9a8', 1 '#e08a50', 3 '#8f2020')",
  "set cbtics ('1/10' -1, 'met: 1' 0, '10' 1, '100' 2, '1000' 3)",
  "set xtics (\([range(length) as $i | "'\($all[$i].run)' \($i)"] | join(", ")))",
  "set ytics (\([range($n) as $i | "'\($names[$i] | gsub("%"; "%%"))' \($i)"] | join(", ")))",
  "$CELL << EOD",
  (range(length) as $x | range($n) as $y | $all[$x] | of($names[$y]) | select(.run) |
    "\($x) \($y) \([farthest.ratio | log10, 3] | min)"),
  "EOD",
  "plot $CELL using 1:2:(0.48):(0.45):3 with boxxyerror fs solid noborder lc palette";

if $table == "passed" then passed
elif $table == "verdicts" then verdicts
elif $table == "missed" then missed
elif $table == "slow" then slow
elif $table == "not_run" then not_run
elif $table == "verdicts_run" then verdicts_run
elif $table == "lab" then lab
elif $table == "picture" then picture
else error("no table \($table)") end
