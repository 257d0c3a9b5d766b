# SPDX-License-Identifier: BSD-2-Clause
# From 'kubectl get pods -A -o json': a tenant of ccshim.conf(5) for each pod with the annotation
# ccshim/weight, whose control group has the pod's UID, under the systemd driver with _ for -. The agent
# would refuse a file with more than 64 tenants or another value, so such pods are left out, with a comment.
[.items[] | select(.metadata.annotations["ccshim/weight"])] | sort_by(.metadata.creationTimestamp) |
to_entries[] | .key as $n | .value.metadata |
"\(.namespace)-\(.name)" as $pod | .annotations["ccshim/weight"] as $weight |
if $n >= 64 then "# \($pod): more than 64 tenants"
elif ($weight | test("\\A[0-9]{1,3}(\\.[0-9]{1,2})?\\z") | not) or ($weight | tonumber | . < 0.01 or . > 100)
then "# \($pod): ccshim/weight is not a number from 0.01 to 100"
else "[tenant \($pod | gsub("[^A-Za-z0-9-]"; "-") | .[:54])-\(.uid[:8])]",
  "match = cgroup:/*kubepods*pod\(.uid | gsub("-"; "?"))*", "weight = \($weight)", "" end
