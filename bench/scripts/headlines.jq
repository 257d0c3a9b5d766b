# SPDX-License-Identifier: BSD-2-Clause
# Tables of docs/measured/results.md, from ccbench's JSON: --arg table NAME.

def digits: if . == null then "–" elif . == 0 then "0" elif fabs >= 99.5 then round
  elif fabs >= 9.95 then (. * 10 | round / 10) else (. * 100 | round / 100) end | tostring;
def us: if . == null then "–" elif . >= 1000 then (. / 1000 | digits) + " ms" else digits + " us" end;
def kb: if . == null then "–" elif . >= 1048576 then (. / 1048576 | digits) + " MB"
  else (. / 1024 | digits) + " KB" end;
def percent: if . == null then "–" else (. * 100 | digits) + " %" end;
def share: if . == null then "–" else (. * 1e4 | round / 1e4 | tostring) end;
def range(f): (.median | f) + if .min == .max then "" else " (\(.min | f)–\(.max | f))" end;
def ratio($a; $b): if $a == null or $b == null then "–" else $a / $b | digits end;
# A factor says how many latencies it is of, if they are fewer than 100.
def times($base; $samples): ratio($base; .median) + "×" + if $samples < 100 then " (\($samples) samples)" else "" end;
# The fewest in a run of setting .cc or of the first.
def samples($runs): .cc as $cc
  | [$runs[] | select(.cc == $cc or .cc == $runs[0].cc) | .victim_latency_us.samples] | min;
# To within a bin, a fortieth of the run.
def after: if .median == null then "not in the run" elif .median == 0 then "at once" else .median | us end;
def row: "| " + join(" | ") + " |";
def head: row, "|" + (map("---|") | join(""));

def incast: .runs as $runs | .spread as $s | $s[0] as $none |
  (["", "link used", "Jain", "converged after", "drops after warm-up", "queue p99", "victim p50", "victim p99", "p99 against none"] | head),
  ($s[] | [.cc, (.utilisation.median | percent), (.jain.median | share),
    (.convergence_us | after), (.drops_after_warmup.median | digits), (.queue_p99_bytes.median | kb),
    (.victim_p50_us.median | us), (.victim_p99_us | range(us)),
    samples($runs) as $n | (.victim_p99_us | times($none.victim_p99_us.median; $n))] | row);

def classes: .runs as $runs | .spread as $s | $s[0] as $none |
  (["", "link used", "queue p99", "latency class p50", "latency class p99", "p99 against none"] | head),
  ($s[] | [.cc, (.utilisation.median | percent), (.queue_p99_bytes.median | kb),
    (.victim_p50_us.median | us), (.victim_p99_us | range(us)),
    samples($runs) as $n | (.victim_p99_us | times($none.victim_p99_us.median; $n))] | row);

# Of few samples a percentile would be the largest.
def enough($needs; $n): if $n < $needs then null else . end;

# Sizes down, settings across.
def slowdown: .runs as $r |
  (["p50/p95/p99"] + ($r | map(.cc)) | head),
  ($r[0].slowdown | keys[] as $k |
    [$r[0].slowdown[$k].class + ", \($r[0].slowdown[$k].messages)"] +
    ($r | map(.slowdown[$k] | .messages as $n |
      [.p50, (.p95 | enough(20; $n)), (.p99 | enough(100; $n))] | map(digits) | join("/"))) | row),
  (["link used"] + ($r | map(.utilisation | percent)) | row),
  (if any($r[]; (.waited_share // 0) > 0) then
    ["waited for a queue pair"] + ($r | map(.waited_share | percent)) | row else empty end),
  (if any($r[]; (.fallback_share // 0) > 0) then
    ["under its fallback"] + ($r | map(.fallback_share | percent)) | row else empty end);

def converge:
  (["", "converged after", "longest time", "link used", "queue p99", "drops after warm-up"] | head),
  (.runs[] | [.cc, "\(.convergence.reached) of \(.convergence.events)", (.convergence.worst_us | us),
    (.utilisation | percent), (.queue_bytes.p99 | kb), (.drops_after_warmup | digits)] | row);

def overhead:
  (["threads", "QPs", "list", "bare ns", "added ns", "aim", "instructions", "aim"] | head),
  (.rows[] | select(.mode == "enforce") |
    [.threads, .qps,
     .kind, .bare_ns, .added_ns,
     .aim_ns // "-", .added_instructions // "-", .aim_instructions // "-"] |
    map(if type == "number" then digits else . end) | row);

def middle: sort | .[length / 2 | floor];
def memory:
  (["provider", "depth", "bare KB", "with shim KB", "aim", "create, bare us", "added", "destroy, bare us", "added"] | head),
  (group_by([.provider, .depth])[] | (map(select(.mode == "none"))) as $bare | (map(select(.mode != "none"))) as $shim |
    ($bare | map(.resident_kb) | middle) as $kb |
    [$bare[0].provider, $bare[0].depth] +
      (if .[0].provider == "fake" then ["–", "–", "–"] else
        [$kb, ($shim | map(.resident_kb) | middle), $kb * 1.3 + 8 | digits] end) +
      (if .[0].provider == "mlx5" then ["–", "–", "–", "–"] else
        [("create_us", "destroy_us") as $what | ($bare | map(.[$what]) | middle) as $us |
          ($us, ($shim | map(.[$what]) | middle - $us)) | digits] end) | row),
  "", (map(select(.provider == "mlx5" and .depth == 256)) | group_by(.mode) |
    map(map(.resident_kb) | middle * 10000 / 1024 | digits) |
    "10 000 queue pairs of depth 256 take \(.[0]) MB with libmlx5 and the shim, \(.[1]) MB without it.");

if $table == "incast" then incast elif $table == "classes" then classes
elif $table == "slowdown" then slowdown
elif $table == "converge" then converge
elif $table == "overhead" then overhead elif $table == "memory" then memory
else error("no table \($table)") end
