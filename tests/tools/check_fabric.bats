#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim check --fabric, on recorded interfaces: every verdict.

load tools.bash

# A host with a NIC on ens1, set up as docs/guide/fabric.md wants it for priority 3, and Soft-RoCE on eth0.
make_root() {
	local ib=sys/class/infiniband net=sys/class/net
	root=$BATS_TEST_TMPDIR/root
	rm -rf "$root"
	mkdir -p "$root"/$ib/{mlx5_0,rxe0}/ports/1/gid_attrs/ndevs "$root"/$net/{ens1,eth0} \
		"$root"/$net/ens1/ecn/roce_{np,rp}/enable "$root/nic/ens1"
	cd "$root" || return
	echo ens1 > $ib/mlx5_0/ports/1/gid_attrs/ndevs/0
	echo eth0 > $ib/rxe0/ports/1/gid_attrs/ndevs/0
	echo eth0 > $ib/rxe0/parent
	echo 4200 > $net/ens1/mtu
	echo 1500 > $net/eth0/mtu
	echo 1 | tee $net/ens1/ecn/roce_{np,rp}/enable/3 > one
	echo 48 > $net/ens1/ecn/roce_np/cnp_dscp
	printf '%s\n' 'pfc 3' 'dscp 26 3' 'dscp 48 6' > nic/ens1/dcb
	cd "$BATS_TEST_TMPDIR" || return
}

# checks STATUS OPTION...: the exit status must be as expected.
checks() {
	local want=$1
	shift
	run2 $ccshim check --fabric --root "$root" "$@"
	[ "$status" -eq "$want" ] || { echo "status $status: $output $errors"; return 1; }
	[ -z "$errors" ]
}

# ok, warn or fail; the check; and words of the line.
line() {
	tr -s ' \n' '  ' <<< "$output" | grep -F -e "$1 $2 $3" || { echo "$output"; return 1; }
}

@test "an interface that is set up passes, and Soft-RoCE is said to have nothing to set up" {
	make_root
	checks 0
	line ok mtu "ens1: 4200, enough for RoCE's 4096"
	line ok pfc "ens1: on for priority 3 alone"
	line ok trust "ens1: DSCP; 1 of them lead to priority 3"
	line ok ecn "ens1: priority 3 sends CNPs and obeys them"
	line ok cnp "ens1: CNPs have DSCP 48"
	line ok fabric "rxe0, on eth0, is Soft-RoCE"
	line warn mtu "eth0: 1500 leaves RoCE packets of 1024 bytes; set 4200 or more"
	[ "$(grep -c . <<< "$output")" -lt 30 ]
}

@test "PFC that is missing fails, PFC for other priorities is a warning" {
	make_root
	checks 1 --priority 5
	line fail pfc "ens1: priority 5 has no PFC"
	line fail trust "ens1: no DSCP leads to priority 5"
	echo 'pfc 4' >> "$root/nic/ens1/dcb"
	checks 0
	line warn pfc "ens1: PFC is on for priority 3 and for others (mask 0x18)"
}

@test "priorities by VLAN tags, and a driver that says nothing, are warnings" {
	make_root
	echo 'pfc 3' > "$root/nic/ens1/dcb"
	checks 0
	line warn trust "ens1: priorities come from VLAN tags"
	rm "$root/nic/ens1/dcb"
	checks 0
	line warn pfc "ens1: the driver does not report PFC and trust to the kernel"
}

@test "a bond's priorities are those of its members" {
	make_root
	cd "$root"
	echo bond0 > sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0
	mkdir -p sys/class/net/{bond0,ens2} nic/ens2
	ln -s ../ens1 sys/class/net/bond0/lower_ens1
	ln -s ../ens2 sys/class/net/bond0/lower_ens2
	echo 4200 > sys/class/net/bond0/mtu
	echo 'pfc 4' > nic/ens2/dcb
	checks 1
	line ok mtu "bond0: 4200"
	line ok pfc "ens1: on for priority 3 alone"
	line ok ecn "ens1: priority 3 sends CNPs"
	line fail pfc "ens2: priority 3 has no PFC"
	! grep -F "bond0: the driver" <<< "$output"
}

@test "a missing end of DCQCN and another DSCP of CNPs are named with their remedy" {
	make_root
	echo 0 > "$root/sys/class/net/ens1/ecn/roce_np/enable/3"
	echo 6 > "$root/sys/class/net/ens1/ecn/roce_np/cnp_dscp"
	checks 0
	line warn ecn "ens1: priority 3 sends no CNPs for marked packets; echo 1 > /sys/class/net/ens1/ecn/roce_np/enable/3"
	line warn cnp "ens1: CNPs have DSCP 6; set 48"
	echo 1 > "$root/sys/class/net/ens1/ecn/roce_np/enable/3"
	echo 0 > "$root/sys/class/net/ens1/ecn/roce_rp/enable/3"
	checks 0
	line warn ecn "ens1: priority 3 does not obey CNPs; echo 1 > /sys/class/net/ens1/ecn/roce_rp/enable/3"
	rm -r "$root/sys/class/net/ens1/ecn"
	checks 0
	line ok ecn "ens1: the driver does not show the NIC's DCQCN"
}

@test "JSON, a host without RoCE, and mistakes" {
	make_root
	checks 1 --priority 5 --json
	jq -e '.status == "fail" and ([.checks[].check] | contains(["pfc", "trust", "ecn"]))' \
		<<< "$output"
	rm -r "$root/sys/class/infiniband"
	checks 0
	line warn fabric "no RDMA device has an Ethernet interface"
	refused $ccshim check --fabric --priority 8
	said "--priority: '8' is not a whole number from 0 to 7"
	refused $ccshim check --fabric true
	refused $ccshim check --priority 4 /bin/ls
	said "--priority has no effect without --fabric"
	refused $ccshim check --fabric -a timely
	said "--cc and --fabric exclude each other"
	run2 $ccshim check --fabric
	[ "$status" -le 1 ]
}
