#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The rules of ccshim-firewall, in network namespaces: host A, a host R, and a container behind A's NAT.

bats_require_minimum_version 1.5.0
load tools.bash

teardown() {
	[ -z "${agent:-}" ] || kill "$agent" 2> /dev/null || true
	for ns in a r c; do ip netns del "fw$$$ns" 2> /dev/null || true; done
}

on() { ip netns exec "fw$$$1" "${@:2}"; }

nobody() { on "$1" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "${@:2}"; }

network() {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	command -v ip > /dev/null && command -v iptables > /dev/null || skip "no ip or iptables"
	unshare --net true 2> /dev/null || skip "no network namespaces"
	for ns in a r c; do
		ip netns add "fw$$$ns"
		ip -n "fw$$$ns" link set lo up
	done
	ip link add "fwx$$" netns "fw$$a" type veth peer name "fwy$$" netns "fw$$r"
	ip link add "fwz$$" netns "fw$$a" type veth peer name "fww$$" netns "fw$$c"
	ip -n "fw$$a" addr add 10.70.0.1/24 dev "fwx$$"
	ip -n "fw$$r" addr add 10.70.0.2/24 dev "fwy$$"
	ip -n "fw$$a" addr add 172.30.0.1/24 dev "fwz$$"
	ip -n "fw$$c" addr add 172.30.0.2/24 dev "fww$$"
	for link in "a fwx" "r fwy" "a fwz" "c fww"; do ip -n "fw$$${link% *}" link set "${link#* }$$" up; done
	ip -n "fw$$c" route add default via 172.30.0.1
	on a sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
	on a iptables -t nat -A POSTROUTING -s 172.30.0.0/24 -o "fwx$$" -j MASQUERADE 2> /dev/null ||
		skip "this kernel has no NAT"
	on a "$top_builddir/tools/ccshim/ccshim-firewall" check > /dev/null || [ $? -eq 1 ] ||
		skip "this kernel lacks parts of iptables"
}

# arrives FROM USER PORT: whether a datagram from there reaches R's port, as from which address and port. The
# end of the test is a second datagram to another port, which is always let through and arrives after it.
arrives() {
	on r /usr/bin/python3 -c 'import socket, select
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in "ab")
a.bind(("", '"$3"')); b.bind(("", 9))
print("ready", flush=True)
b.recv(9)
print(a.recvfrom(9)[1] if select.select([a], [], [], 0)[0] else "nothing", flush=True)' > arrived &
	until grep -q ready arrived 2> /dev/null; do sleep 0.05; done
	"$2" "$1" /usr/bin/python3 -c 'import socket
for port in '"$3"', 9:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if port == 4793: s.bind(("", 4793))
        s.sendto(b"x", ("10.70.0.2", port))
    except PermissionError: pass'
	wait $!
	tail -n 1 arrived
	rm arrived
}

@test "neither users nor containers behind NAT send marks or messages in the place of their host" {
	network
	firewall=$top_builddir/tools/ccshim/ccshim-firewall
	[[ $(arrives c nobody 4791) == *10.70.0.1* ]]   # in the place of A
	[[ $(arrives c nobody 4793) == "('10.70.0.1', 4793)" ]]
	[[ $(arrives a nobody 4791) == *10.70.0.1* ]]
	run -1 on a "$firewall" check
	[ "$(grep -c '^missing: iptables' <<< "$output")" -eq 4 ]
	on a "$firewall" apply
	on a "$firewall" apply # each rule once
	on a "$firewall" check
	[ "$(on a iptables -t mangle -S FORWARD | grep -c 4793)" -eq 1 ]
	[ "$(arrives c nobody 4791)" = nothing ]
	[ "$(arrives c nobody 4793)" = nothing ]
	[ "$(arrives a nobody 4791)" = nothing ]
	[[ $(arrives a on 4793) == "('10.70.0.1', 4793)" ]] # the agent itself
	on a "$firewall" remove
	run -1 on a "$firewall" check
}

# The container has A's port in its conntrack first, so A's agent gets another port.
@test "ccshim check reports messages whose port NAT has changed, and missing rules" {
	network
	ip netns exec "fw$$r" "$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none \
		--socket "$PWD/agent.sock" 2> agent.log 3>&- &
	agent=$!
	until [ -S agent.sock ]; do kill -0 "$agent"; sleep 0.05; done
	# A datagram may be lost.
	until "$top_builddir/tools/ccshimd/ccshimd" --socket "$PWD/agent.sock" --status | jq -e '.refused.port > 0' > /dev/null; do
		on a /usr/bin/python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 5000))
s.sendto(b"CCSW", ("10.70.0.2", 4793))'
		sleep 0.05
	done
	on r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
	CCSHIM_CC=dcqcn CCSHIM_AGENT=$PWD/agent.sock run on r "$ccshim" check
	[[ $output == *" messages were refused"*"NAT changed it"* ]] || { echo "$output"; false; }
	[[ $output == *"ccshim-firewall apply"* ]]
	on r "$top_builddir/tools/ccshim/ccshim-firewall" apply
	CCSHIM_CC=dcqcn CCSHIM_AGENT=$PWD/agent.sock run on r "$ccshim" check
	[[ $output == *"users and containers cannot send in the place of this host"* ]] || { echo "$output"; false; }
}
