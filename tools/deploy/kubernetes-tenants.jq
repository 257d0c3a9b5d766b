# SPDX-License-Identifier: BSD-2-Clause
# From 'kubectl get pods -A -o json': a tenant of ccshim.conf(5) for each pod with annotations ccshim/weight,
# ccshim/cap, ccshim/guarantee, ccshim/class or ccshim/floor, whose control group has the pod's UID, under the
# systemd driver with _ for -. The agent would refuse a file with more than 64 tenants, a wrong value, or
# guarantees above .9 of the host's fastest port, so such pods are left out, with a comment. Guarantees need the
# option of jq --argjson guarantees N: the sum of all in bit/s, such as 90e9.
def number: test("\\A[0-9]{1,3}(\\.[0-9]{1,2})?\\z");
def bits: (.[:-1] | tonumber) * {m: 1e6, g: 1e9, t: 1e12}[.[-1:]];
def rate: test("\\A([0-9]{1,6}(\\.[0-9]{1,6})?[mgt]|none)\\z") and (. == "none" or bits >= 1e6 and bits <= 1e15);
def none_or_0: if . == null or . == "none" then 0 else bits end;

# What is wrong with the terms, or null.
def mistake:
  if .weight and (.weight | number and (tonumber | . >= 0.01 and . <= 100) | not)
  then "ccshim/weight is not a number from 0.01 to 100"
  elif .cap and (.cap | rate | not) then "ccshim/cap is not a rate from 1m to 1000t, such as 10g, or none"
  elif .guarantee and (.guarantee | rate | not) then "ccshim/guarantee is not a rate from 1m to 1000t, such as 10g, or none"
  elif .class and (.class | IN("foreground", "background") | not) then "ccshim/class is not foreground or background"
  elif .floor and (.floor | endswith("%") and (.[:-1] | number and (tonumber | . >= 0.01 and . <= 20)) | not)
  then "ccshim/floor is not a percentage from 0.01% to 20%"
  elif .floor and .class != "background" then "ccshim/floor needs ccshim/class background"
  elif .class == "background" and (.guarantee | none_or_0) > 0 then "class background has no guarantee"
  elif (.cap | none_or_0) > 0 and (.cap | none_or_0) < (.guarantee | none_or_0) then "ccshim/cap is below ccshim/guarantee"
  else null end;

[.items[] | .terms = (.metadata.annotations // {} | with_entries(select(.key | startswith("ccshim/")) | .key |= .[7:]) |
    {weight, cap, guarantee, class, floor} | with_entries(select(.value))) | select(.terms != {}) |
  .mistake = (.terms | mistake)] | sort_by(.metadata.creationTimestamp) |
foreach .[] as $p ({n: 0, sum: 0};
  .mistake = $p.mistake | if .mistake then . else
    ($p.terms.guarantee | none_or_0) as $more |
    if .n >= 64 then .mistake = "more than 64 tenants"
    elif .sum + $more > ($ARGS.named.guarantees // 0) then .mistake = "ccshim/guarantee exceeds what --argjson guarantees leaves"
    else .n += 1 | .sum += $more end end;
  .mistake as $mistake | $p.metadata | "\(.namespace)-\(.name)" as $pod |
  if $mistake then "# \($pod): \($mistake)"
  else "[tenant \($pod | gsub("[^A-Za-z0-9-]"; "-") | .[:54])-\(.uid[:8])]",
    "match = cgroup:/*kubepods*pod\(.uid | gsub("-"; "?"))*", ($p.terms | to_entries[] | "\(.key) = \(.value)"), "" end)
