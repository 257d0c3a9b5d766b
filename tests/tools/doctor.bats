#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim doctor, on recorded counters: every verdict.

load tools.bash

hw() { echo "sys/class/infiniband/$1/ports/1/hw_counters"; }

# counters DIR NAME...: files with a number each.
counters() {
	local dir=$1 name
	mkdir -p "$dir"
	shift
	for name; do echo 100 > "$dir/$name"; done
}

# An mlx5 NIC with priority 3 lossless, and Soft-RoCE; both carried traffic, and nothing else occurred.
healthy() {
	local name
	root=$BATS_TEST_TMPDIR/root
	rm -rf "$root"
	mkdir -p "$root/before"
	cd "$root/before" || return
	counters "$(hw mlx5_0)" out_of_buffer out_of_sequence rnr_nak_retry_err packet_seq_err \
		local_ack_timeout_err implied_nak_seq_err np_ecn_marked_roce_packets np_cnp_sent \
		rp_cnp_handled rp_cnp_ignored req_transport_retries_exceeded rx_icrc_encapsulated
	counters sys/class/infiniband/mlx5_0/ports/1/counters port_xmit_packets port_rcv_packets \
		symbol_error link_downed
	counters "$(hw rxe0)" sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err \
		send_rnr_err rcvd_seq_err completer_retry_err retry_exceeded_err retry_rnr_exceeded_err
	echo 10 > "$(hw mlx5_0)/lifespan"
	mkdir -p sys/class/infiniband/{mlx5_0,rxe0}/ports/1/gid_attrs/ndevs nic/{ens1,eth0} \
		sys/class/net/ens1/ecn/roce_{np,rp}/enable sys/class/net/eth0
	echo ens1 > sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0
	echo eth0 > sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0
	echo 1 | tee sys/class/net/ens1/ecn/roce_{np,rp}/enable/3 > "$root/one"
	echo 4200 > sys/class/net/ens1/mtu
	echo 100000 > sys/class/net/ens1/speed
	printf '%s\n' 'pfc 3' 'dscp 26 3' > nic/ens1/dcb
	printf '     %s: 100\n' rx_prio3_pause tx_prio3_pause rx_prio3_pause_duration tx_prio3_pause_duration \
		rx_prio3_discards rx_prio0_discards rx_prio3_bytes tx_prio3_bytes \
		{rx,tx}_vport_rdma_unicast_bytes rx_oversize_pkts_phy rx_crc_errors_phy \
		tx_pause_storm_error_events link_down_events_phy > nic/ens1/statistics
	printf '%s\n' 'drops: 100' 'marks: 100' > nic/eth0/qdisc
	printf '{\n  "capturing": true,\n  "cnps_sent": 5,\n  "cnps_received": 5,\n  "ce_dropped": 0\n}\n' > agent
	cp -r "$root/before" "$root/after"
	cd "$root/after" || return
	for name in port_xmit_packets port_rcv_packets; do
		echo 1000100 > sys/class/infiniband/mlx5_0/ports/1/counters/$name
	done
	statistic ens1 {rx,tx}_prio3_bytes 5000000100
	statistic ens1 {rx,tx}_vport_rdma_unicast_bytes 4900000100
}

# statistic INTERFACE NAME... VALUE: in the second reading.
statistic() {
	local interface=$1 value=${*: -1} name
	shift
	for name in "${@:1:$#-1}"; do
		sed -i "s/ $name: .*/ $name: $value/" "nic/$interface/statistics"
	done
}

# doctor STATUS OPTION...: the exit status must be as expected.
doctor() {
	local want=$1
	shift
	run2 "$ccshim" doctor --root "$root" "$@"
	[ "$status" -eq "$want" ] || { echo "status $status: $output $errors"; return 1; }
	[ -z "$errors" ]
	[[ $output == "{"* ]] ||
		! awk 'length > 80 { print "wide: " $0; bad = 1 } END { exit !bad }' <<< "$output"
}

# found SEVERITY VERDICT WHERE: and no other; figures NAME...: each is there with an increase.
found() {
	local all
	all=$(grep -E '^(problem|note): ' <<< "$output")
	[ "$all" = "$1: $2: $3" ] || { echo "$output"; return 1; }
}

# Words of the text, which may be broken at any of them.
words() {
	tr -s ' \n' '  ' <<< "$output" | grep -qF -e "$1" || { echo "$output"; return 1; }
}

absent() {
	! grep -F -e "$1" <<< "$output"
}

figure() {
	grep -qE "^    $1 +\+$2  " <<< "$output" || { echo "no $1 +$2: $output"; return 1; }
}

# statistics DIR SECOND [FIELD=VALUE...]: a baseline of the process that tests/data has, of that time,
# with these fields of its sender; the flow waited 80 % of a second of ten, for 1 of 10 Gb/s.
statistics() {
	local dir=$1 second=$2
	shift 2
	perl - "$top_srcdir/tests/data/stats-1.0.page" "$second" "$@" > "$dir/stat" <<-'END'
		use strict;
		my ($file, $second, @fields) = @ARGV;
		open my $in, '<:raw', $file or die;
		my $page = do { local $/; <$in> };
		my ($header, $slot) = unpack 'Q<2', substr $page, 3 * 8, 16;
		my $qp = 64 + 64 + 1600;                # in a slot, after live and rtt
		my %at = (bytes => 64 + 4 * 8, gated_ns => 64 + 7 * 8, enforced => $qp + 136, feedback => $qp + 216,
			  losses => $qp + 392, nhops => $qp + 440, link => $qp + 448,
			  not_rc => 1032, # the first reason's number, in the header
			  link_rate => $qp + 456, link_queue => $qp + 464, capacity => $qp + 472);
		for (@fields) {
			my ($name, $value) = split /=/;
			die $name unless $at{$name};
			$value = $name eq 'feedback' ? pack('a16', $value) : pack 'Q<', $value;
			my $where = $name eq 'not_rc' ? $at{$name} : $header + $slot + $at{$name};
			substr($page, $where, length $value) = $value;
			# of the receiver, too
			substr($page, $header + $at{$name}, 8) = $value if $name eq 'enforced';
		}
		binmode STDOUT;
		print 'CCMBASE1', pack('Q<2', $second * 1e9, 1), pack('Q<', length $page), $page;
	END
}

@test "on a healthy host nothing is found" {
	healthy
	doctor 0
	words "10 s; mlx5_0/1 on ens1, rxe0/1 on eth0; 0 queue pairs of 0 processes under ccshim; ccshimd runs"
	[ "$(tail -1 <<< "$output")" = "nothing found" ]
	doctor 0 --json
	jq -e '.schema == 1 and .status == "ok" and .findings == [] and .traffic and .agent and
		.interval_s == 10 and [.ports[].device] == ["mlx5_0", "rxe0"]' <<< "$output"
}

@test "a time without RDMA traffic is said to be one" {
	healthy
	cp -r "$root/before/." "$root/after"
	doctor 0
	found note no-traffic "this host"
	words "Not judged: no RDMA packet was counted in this time"
	doctor 0 --json
	jq -e '.traffic == false and .status == "note"' <<< "$output"
}

@test "a host without RDMA devices is said to have none" {
	healthy
	rm -r "$root"/{before,after}/sys/class/infiniband/*
	doctor 1
	found problem no-device "this host"
	words "there is no RDMA device. What to do: Load the card's driver"
	doctor 1 --json
	jq -e '.ports == [] and .status == "problem"' <<< "$output"
}

@test "peers that post too few receives are found, and few refusals are only a note" {
	healthy
	echo 5100 > "$(hw mlx5_0)/rnr_nak_retry_err"
	doctor 1 -i 10
	found problem rnr "mlx5_0/1 on ens1"
	words "Peers post too few receives"
	words "What to do: At the peers, post more receives"
	figure rnr_nak_retry_err 5000
	words "+5000 500/s"
	echo 105 > "$(hw mlx5_0)/rnr_nak_retry_err"
	doctor 0 -i 10
	found note rnr "mlx5_0/1 on ens1"
	healthy
	echo 200 > "$(hw rxe0)/rcvd_rnr_err"
	echo 101 > "$(hw rxe0)/retry_rnr_exceeded_err"
	doctor 1
	found problem rnr "rxe0/1 on eth0"
	words "Some requests failed"
}

@test "programs here that post too few receives are found" {
	healthy
	echo 200 > "$(hw mlx5_0)/out_of_buffer"
	doctor 1
	found problem rnr-here "mlx5_0/1 on ens1"
	figure out_of_buffer 100
	healthy
	echo 200 > "$(hw rxe0)/send_rnr_err"
	doctor 1
	found problem rnr-here "rxe0/1 on eth0"
}

@test "loss is found at the sender, by out-of-sequence NAKs and timeouts" {
	healthy
	echo 900 > "$(hw mlx5_0)/packet_seq_err"
	echo 103 > "$(hw mlx5_0)/local_ack_timeout_err"
	doctor 1
	found problem loss "mlx5_0/1 on ens1"
	figure packet_seq_err 800
	figure local_ack_timeout_err 3
	echo 101 > "$(hw mlx5_0)/req_transport_retries_exceeded"
	doctor 1
	words "Some requests failed: all retries were in vain"
	healthy
	echo 101 > "$(hw rxe0)/completer_retry_err"
	doctor 1
	found problem loss "rxe0/1 on eth0"
}

@test "loss is found at the receiver, by packets out of sequence" {
	healthy
	echo 150 > "$(hw mlx5_0)/out_of_sequence"
	doctor 1
	found problem loss-in "mlx5_0/1 on ens1"
	figure out_of_sequence 50
	healthy
	echo 150 > "$(hw rxe0)/out_of_seq_request"
	doctor 1
	found problem loss-in "rxe0/1 on eth0"
}

# device NAME SOURCE COUNTER VALUE, in the directory of a reading; the interface has the same name.
device() {
	local ib=sys/class/infiniband/$1/ports/1
	mkdir -p "$ib/gid_attrs/ndevs" "sys/class/net/$1/statistics" "nic/$1" "$ib"/{hw_,}counters
	echo "$1" > "$ib/gid_attrs/ndevs/0"
	case $2 in
	hw) echo "$4" > "$ib/hw_counters/$3" ;;
	port) echo "$4" > "$ib/counters/$3" ;;
	netdev) echo "$4" > "sys/class/net/$1/statistics/$3" ;;
	ethtool) printf '     %s: %s\n' "$3" "$4" >> "nic/$1/statistics" ;;
	qdisc) printf '%s: %s\n' "${3#qdisc_}" "$4" >> "nic/$1/qdisc" ;;
	esac
}

# Both readings of a device: the counter has 100, and 100 and INCREASE.
device_twice() {
	local increase=$4
	cd "$root/before" && device "$1" "$2" "$3" 100
	cd "$root/after" && device "$1" "$2" "$3" $((100 + increase))
}

@test "each counter of the table gives its verdict, whatever the device is called" {
	local n=0 driver source verdict name counter
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	while read -r driver source verdict name; do
		counter=${name//%[uc]/3}
		device_twice "dev$n" "$source" "$counter" 90000000
		case $source in netdev | qdisc) device_twice "dev$n" hw out_of_buffer 0 ;; esac
		if [ "$verdict" = answers ]; then
			device_twice "dev$n" hw req_transport_retries_exceeded 7
			verdict=loss
		fi
		echo "dev$n $verdict" >> "$root/expected"
		n=$((n + 1))
	done < <(grep -v '^#' "$top_srcdir/tests/data/doctor-counters")
	[ $n -gt 200 ]
	run2 "$ccshim" doctor --root "$root" --json
	[ -z "$errors" ]
	jq -r '.findings as $f | .ports[].device as $d |
		"\($d) \([$f[] | select(.where | startswith($d + "/")) | .verdict] | unique | join(",") |
			if . == "" then "-" else . end)"' <<< "$output" | sort -V > "$root/found"
	sort -V "$root/expected" | diff - "$root/found"
}

@test "the table and the list of its counters in tests/data have the same names" {
	diff <(sed -n '/rows\[\] = {/,/^};/{ s,/\*.*\*/,,; /^\t \*/d; p; }' \
		"$top_srcdir/tools/ccshim/doctor/doctor_counters.c" | grep -o '"[^"]*"' | tr -d '"' | sort) \
		<(grep -v '^#' "$top_srcdir/tests/data/doctor-counters" | cut -d' ' -f4- | sort)
}

@test "counters that cannot be compared are named, and 32-bit counters may wrap" {
	local hw port=sys/class/infiniband/mlx5_0/ports/1/counters
	healthy
	hw=$(hw mlx5_0)
	echo 4294967290 > "$root/before/$hw/packet_seq_err"
	echo 4 > "$hw/packet_seq_err"
	doctor 1
	found problem loss "mlx5_0/1 on ens1"
	figure packet_seq_err 10
	echo 3094967290 > "$root/before/$hw/packet_seq_err"
	echo "N/A" > "$hw/out_of_buffer"
	echo -1 > "$hw/out_of_sequence"
	echo 65535 | tee "$root/before/$port/symbol_error" > $port/symbol_error
	doctor 0
	found note not-compared "mlx5_0/1 on ens1"
	words "Not judged: counters that were reset between the readings (1), that stay at their maximum until they are reset (1), that only one reading has (2)."
	for name in packet_seq_err symbol_error out_of_buffer out_of_sequence; do
		grep -qE "^    $name +[0-9]+$" <<< "$output"
	done
	healthy
	rm -r "$root/before/sys/class/infiniband/rxe0"
	doctor 0
	found note not-compared "rxe0/1 on eth0"
	words "the port appeared between the readings"
	rm -r sys/class/infiniband/mlx5_0 sys/class/infiniband/rxe0
	doctor 0
	found note not-compared "mlx5_0/1 on ens1"
	words "the port disappeared between the readings"
	absent no-device
	healthy
	echo 18446744073709551615 > "$hw/packet_seq_err"
	doctor 1
	found problem loss "mlx5_0/1 on ens1"
}

@test "counters of packets at their maximum or reset do not show that none arrived" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice mlx5_0 hw local_ack_timeout_err 56
	device_twice mlx5_0 port port_xmit_packets 64
	for now in 4294967295 5; do
		cd "$root/before" && device mlx5_0 port port_rcv_packets 4294967295
		cd "$root/after" && device mlx5_0 port port_rcv_packets $now
		doctor 1
		grep -xF "problem: loss: mlx5_0/1 on mlx5_0" <<< "$output"
		absent no-path
	done
	cd "$root/after" && device mlx5_0 port port_xmit_packets 4294967295
	cd "$root/before" && device mlx5_0 port port_xmit_packets 4294967295
	doctor 1 --json
	jq -e 'has("traffic") | not' <<< "$output"
	# These have 8 bits and 4.
	for name in link_downed:255 excessive_buffer_overrun_errors:15; do
		for reading in before after; do
			cd "$root/$reading" && device mlx5_0 port ${name%:*} ${name#*:}
		done
	done
	doctor 1
	words "that stay at their maximum until they are reset (3)"
}

@test "a port that is not active is a note, and a problem if it was" {
	local state=sys/class/infiniband/mlx5_0/ports/1/state
	healthy
	echo "1: DOWN" | tee "$root/before/$state" > $state
	doctor 0
	found note port-down "mlx5_0/1 on ens1"
	echo "4: ACTIVE" > "$root/before/$state"
	doctor 1
	found problem port-down "mlx5_0/1 on ens1"
	words "The port is DOWN since the first reading"
	echo "2: INIT" > $state
	doctor 1
	words "Start a subnet manager"
	echo "4: ACTIVE" > $state
	doctor 0
}

@test "counters that the user may not read are a note" {
	local hw without=
	healthy
	hw=$(hw mlx5_0)
	chmod 0 "$root"/{before,after}/"$hw"/{out_of_buffer,packet_seq_err}
	[ "$EUID" -ne 0 ] || without="setpriv --bounding-set=-all"
	run2 $without $ccshim doctor --root "$root"
	found note not-compared "mlx5_0/1 on ens1"
	words "Not judged: counters that this user may not read (2 files or directories)."
	words "Run ccshim doctor as root."
	[ "$status" -eq 0 ]
	# All of a port: they are not missing in the driver.
	rm "$root"/{before,after}/nic/ens1/statistics
	chmod 0 "$root"/{before,after}/sys/class/infiniband/mlx5_0/ports/1/{hw_,}counters
	run2 $without $ccshim doctor --root "$root"
	found note not-compared "mlx5_0/1 on ens1"
	words "may not read (2 files or directories)"
	chmod -R u+rwX "$root"
	# A device whose ports cannot be listed is not left out, and neither are all devices.
	chmod 0 "$root"/{before,after}/sys/class/infiniband/mlx5_0/ports
	run2 $without $ccshim doctor --root "$root"
	found note not-compared mlx5_0/0
	chmod 0 "$root"/{before,after}/sys/class/infiniband
	run2 $without $ccshim doctor --root "$root"
	found note not-compared infiniband/0
	[[ $output != *"there is no RDMA device"* ]]
	chmod u+rwX "$root"/{before,after}/sys/class/infiniband
	chmod -R u+rwX "$root"
}

@test "a counter beyond 64 bits is not compared" {
	healthy
	echo 18446744073709551616 | tee "$root"/{before,after}/"$(hw mlx5_0)"/out_of_buffer
	doctor 0
	found note not-compared "mlx5_0/1 on ens1"
	words "that stay at their maximum until they are reset (1)"
}

@test "hfi1's counters of 32 bits say so in their names" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice hfi1_0 hw TxDropped,32 7
	doctor 1
	found problem loss "hfi1_0/1 on hfi1_0"
	figure TxDropped,32 7
}

@test "a file without an end is no file of failures" {
	refused $ccshim doctor /dev/zero
	said "unexpected argument '/dev/zero', which is no file that can be read"
}

# failed TIME LQPN RQPN LOCAL PEER: a file of one failure; ended TIME LQPN RQPN LOCAL PEER: of a destruction.
failed() {
	printf '{"schema":1,"time":%s,"host":"h","program":"p","failures":[{"time":%s,"lqpn":%s,"rqpn":%s,"local":"%s","peer":"%s","verdict":"here","facts":{"status":12,"answered":1,"retry_us":4e5}}]}' "$1" "$@"
}
ended() {
	printf '{"schema":1,"time":%s,"host":"o","program":"p","failures":[],"ended":[{"how":"destroyed","time":%s,"lqpn":%s,"rqpn":%s,"local":"%s","peer":"%s"}]}' "$1" "$@"
}

@test "failures: the other end is of the same connection, also if numbers are used again" {
	cd "$BATS_TEST_TMPDIR"
	failed 100 17 18 10.0.0.1 10.0.0.2 > a1
	failed 1000 17 18 10.0.0.1 10.0.0.2 > a2
	ended 90 18 17 10.0.0.2 10.0.0.1 > b1
	ended 2000 18 17 10.0.0.2 10.0.0.1 > b2
	causes() { run2 "$ccshim" doctor --json "$@"; jq -c '[.failures[] | [.other_file, .cause]]' <<< "$output"; }
	[ "$(causes a1 a2 b1 b2)" = '[["b1","destroyed"],["b2","unknown"]]' ] || { causes a1 a2 b1 b2; false; }
	[ "$(causes b1 a2 a1)" = '[["b1","destroyed"],[null,"unknown"]]' ]
	# A live one has the time of its file.
	echo '{"schema":1,"time":1010,"host":"o","program":"p","failures":[],"live":[{"lqpn":18,"rqpn":17}]}' > live
	[ "$(causes a1 a2 b1 live)" = '[["b1","destroyed"],["live","unknown"]]' ]
	run2 "$ccshim" doctor a2 live
	[[ $output == "+0.000 s  h, p: "*"peer: o, p: lives"* ]]
	sed 's/"schema":1/"schema":9/' a1 > later
	run2 "$ccshim" doctor later
	[ "$status" -eq 2 ]
	[[ $errors == *"later has schema 9, and this version reads schema 1"* ]]
}

@test "requests that fail while no packet arrives lack a path, and are no congestion" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice mlx5_0 hw req_transport_retries_exceeded 7
	device_twice mlx5_0 hw local_ack_timeout_err 56
	device_twice mlx5_0 port port_xmit_packets 64
	device_twice mlx5_0 port port_rcv_packets 0
	doctor 1
	found problem no-path "mlx5_0/1 on mlx5_0"
	words "all retries are in vain, and receives no RDMA packet at all. This is not congestion"
	for word in "GID index" "RoCE version" VLAN MTU firewalls; do words "$word"; done
	# Requests may time out before the retries are over.
	device_twice mlx5_0 hw req_transport_retries_exceeded 0
	doctor 1
	found problem no-path "mlx5_0/1 on mlx5_0"
	# Where something arrives, or PAUSE frames do, packets are lost instead.
	device_twice mlx5_0 port port_rcv_packets 1
	doctor 1
	found problem loss "mlx5_0/1 on mlx5_0"
	device_twice mlx5_0 port port_rcv_packets 0
	device_twice mlx5_0 ethtool rx_prio3_pause 20
	doctor 1
	found problem loss "mlx5_0/1 on mlx5_0"
}

@test "CNPs that the NIC handles are a note, and a few are not" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice mlx5_0 hw rp_cnp_handled 900000
	doctor 0
	found note controlled "mlx5_0/1 on mlx5_0"
	words "The network is congested, and controlled: 90000 CNPs arrive in a second"
	device_twice mlx5_0 hw rp_cnp_handled 900
	doctor 0
	absent controlled
}

@test "waits for credits of InfiniBand are congestion, unless they are short" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice mlx5_2 port port_xmit_wait 1000000000
	doctor 1
	found problem congestion "mlx5_2/1 on mlx5_2"
	device_twice mlx5_2 port port_xmit_wait 1000000
	doctor 0
	found note congestion "mlx5_2/1 on mlx5_2"
	device_twice mlx5_2 port port_xmit_wait 10000
	doctor 0
	words "nothing found"
}

@test "a device whose counters are all unknown is said to be one, with its driver and the names" {
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice fast0 hw fast_naks 0
	device_twice fast0 hw fast_packets 500
	device_twice fast0 ethtool fast_stops 3
	for reading in before after; do
		mkdir -p "$root/$reading/sys/class/infiniband/fast0/device"
		ln -s ../../../../bus/pci/drivers/fast_core "$root/$reading/sys/class/infiniband/fast0/device/driver"
	done
	doctor 0
	found note unknown-counters "fast0/1 on fast0"
	words "driver fast_core: 2 in hw_counters, 1 of ethtool -S"
	figure fast_packets 500
	figure fast_naks 0
	[[ $output != *"nothing found"* ]]
	doctor 0 --json
	jq -e '.ports[0] | .driver == "fast_core" and .counters == 3 and .known_counters == 0' <<< "$output"
	# One that is known suffices, and a device without counters is not healthy either.
	device_twice fast0 hw out_of_buffer 0
	device_twice fast0 ethtool rx_pause 0
	doctor 0
	words "nothing found"
	rm -r "$root"/*/sys/class/infiniband/fast0/ports/1/{hw_,}counters "$root"/*/nic/fast0/statistics
	doctor 0
	found note unknown-counters "fast0/1 on fast0"
	words "the driver (fast_core) shows no counters of this port"
	# Where the RDMA device does not name its driver, its interface does; Soft-RoCE's has another.
	for reading in before after; do
		mv "$root/$reading/sys/class/infiniband/fast0/device" "$root/$reading/sys/class/net/fast0"
	done
	doctor 0
	words "the driver (fast_core) shows no counters of this port"
	touch "$root"/{before,after}/sys/class/infiniband/fast0/parent
	doctor 0
	words "the driver (unknown) shows no counters of this port"
}

@test "a bond and a VLAN are read through the interfaces below them" {
	local reading name
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"/{before,after}
	device_twice mlx5_bond_0 hw packet_seq_err 0
	for reading in before after; do
		cd "$root/$reading"
		echo vlan7 > sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0
		mkdir -p sys/class/net/{vlan7,bond0,ens1,ens2} nic/{ens1,ens2}
		ln -s ../bond0 sys/class/net/vlan7/lower_bond0
		for name in ens1 ens2; do ln -s "../$name" "sys/class/net/bond0/lower_$name"; done
		for name in ens1 ens2; do printf '     %s: 100\n' rx_prio3_pause rx_prio3_pause_duration \
			> "nic/$name/statistics"; done
	done
	statistic ens2 rx_prio3_pause 90100
	statistic ens2 rx_prio3_pause_duration 6100100
	doctor 1
	found problem pause-storm "mlx5_bond_0/1 on ens2"
	words "mlx5_bond_0/1 on vlan7, mlx5_bond_0/1 on ens1, mlx5_bond_0/1 on ens2"
}

@test "discards that the NIC counts for all priorities are found, and not twice" {
	healthy
	printf '     rx_discards_phy: 100\n' >> "$root/before/nic/ens1/statistics"
	printf '     rx_discards_phy: 148100\n' >> nic/ens1/statistics
	doctor 1
	found problem drops "mlx5_0/1 on ens1"
	figure rx_discards_phy 148000
	words "and it sends no PAUSE frame"
	statistic ens1 rx_prio0_discards 148100
	doctor 0
	found note drops "mlx5_0/1 on ens1"
	# RDMA's own priority is the one that carries its bytes.
	for reading in "$root/before" .; do printf '     rx_prio0_bytes: 100\n' >> "$reading/nic/ens1/statistics"; done
	statistic ens1 rx_prio0_bytes 5000000100
	doctor 1
	found problem drops "mlx5_0/1 on ens1"
}

@test "drops where pauses should be, too little headroom, and a priority without PFC are told apart" {
	healthy
	statistic ens1 rx_prio3_discards 150
	doctor 1
	found problem drops "mlx5_0/1 on ens1"
	words "There are drops where pauses should be: PFC is on for priority 3"
	figure rx_prio3_discards 50
	statistic ens1 tx_prio3_pause 120
	doctor 1
	found problem headroom "mlx5_0/1 on ens1"
	words "ccshim plan headroom"
	healthy
	statistic ens1 rx_prio0_discards 150
	doctor 0
	found note drops "mlx5_0/1 on ens1"
	doctor 1 --priority 0
	found problem drops "mlx5_0/1 on ens1"
	words "priority 0, for which PFC is off"
	# PFC that cannot be read is not said to be off; PAUSE frames show that it is on.
	healthy
	rm nic/ens1/dcb
	statistic ens1 rx_prio3_discards 150
	doctor 1
	words "priority 3, and whether PFC is on for it cannot be read"
	statistic ens1 tx_prio3_pause 120
	doctor 1
	found problem headroom "mlx5_0/1 on ens1"
}

@test "drops in the host's own queue are found" {
	healthy
	sed -i 's/drops: .*/drops: 160/' nic/eth0/qdisc
	doctor 1
	found problem qdisc-drops "rxe0/1 on eth0"
	figure qdisc_drops 60
}

@test "marks without CNPs are found, unless the agent sends them" {
	healthy
	echo 5100 > "$(hw mlx5_0)/np_ecn_marked_roce_packets"
	doctor 1
	found problem no-cnps "mlx5_0/1 on ens1"
	figure np_ecn_marked_roce_packets 5000
	grep -E '^    ecn/roce_np/enable +1$' <<< "$output"
	echo 0 > sys/class/net/ens1/ecn/roce_np/enable/3
	doctor 1
	words "since the NIC's DCQCN is off at the receiving end"
	sed -i 's/"cnps_sent": 5/"cnps_sent": 6/' agent
	doctor 0
	echo 0 > sys/class/net/ens1/ecn/roce_np/enable/3
	healthy
	echo 5100 > "$(hw mlx5_0)/np_ecn_marked_roce_packets"
	echo 101 > "$(hw mlx5_0)/np_cnp_sent"
	doctor 0
	words "nothing found"
}

@test "marks of the host's own queue that no CNP answers are a note" {
	healthy
	sed -i 's/marks: .*/marks: 160/' nic/eth0/qdisc
	doctor 0
	found note no-cnps-back "rxe0/1 on eth0"
	sed -i 's/"cnps_received": 5/"cnps_received": 6/' agent
	doctor 0
	words "nothing found"
}

@test "CNPs that the NIC ignores are found" {
	healthy
	echo 300 > "$(hw mlx5_0)/rp_cnp_ignored"
	doctor 1
	found problem cnps-ignored "mlx5_0/1 on ens1"
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	doctor 1
	words "since its DCQCN is off at the sending end"
	echo 1 > sys/class/net/ens1/ecn/roce_rp/enable/3
	echo 900 > "$(hw mlx5_0)/rp_cnp_handled"
	doctor 0
}

@test "a slow port behind the switch shows by its PAUSE frames" {
	healthy
	statistic ens1 rx_prio3_pause 151
	statistic ens1 rx_prio3_pause_duration 500100
	doctor 1
	found problem paused "mlx5_0/1 on ens1"
	words "A slow port follows the switch"
	words "5.0 % of the time"
	figure rx_prio3_pause 51
	statistic ens1 rx_prio3_pause 150
	doctor 0
	words "nothing found"
}

@test "a host that is the slow port shows by PAUSE frames that it sends" {
	healthy
	statistic ens1 tx_prio3_pause 1100
	doctor 1
	found problem pausing "mlx5_0/1 on ens1"
	words "This host is the slow port"
}

@test "PAUSE storms are found by time or events, and not by an upper bound of the time" {
	healthy
	statistic ens1 rx_prio3_pause 90000
	statistic ens1 rx_prio3_pause_duration 6000100
	doctor 1
	found problem pause-storm "mlx5_0/1 on ens1"
	words "A PAUSE storm reaches this port: the switch forbids it to send 60 % of the time"
	healthy
	statistic ens1 tx_pause_storm_error_events 101
	doctor 1
	found problem pause-storm "mlx5_0/1 on ens1"
	words "This host sends a PAUSE storm"
	healthy
	sed -i '/_duration/d' {.,"$root/before"}/nic/ens1/statistics
	statistic ens1 tx_prio3_pause 29100
	doctor 1
	found problem pausing "mlx5_0/1 on ens1"
	words "forbids the switch to send at most 97 % of the time. The driver does not count the time."
	# XON frames end pauses.
	healthy
	printf '     %s: 100\n' rx_priority_3_x{on,off}.nic >> "$root/before/nic/ens1/statistics"
	printf '     %s: 20100\n' rx_priority_3_xon.nic >> nic/ens1/statistics
	printf '     %s: 100\n' rx_priority_3_xoff.nic >> nic/ens1/statistics
	sed -i '/_pause/d' nic/ens1/statistics "$root/before/nic/ens1/statistics"
	doctor 0
	statistic ens1 rx_priority_3_xoff.nic 20100
	doctor 1
	found problem paused "mlx5_0/1 on ens1"
}

@test "DCQCN that is off in the NIC is found where there is congestion, and only there" {
	healthy
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	doctor 0
	words "nothing found"
	echo 900 > "$(hw mlx5_0)/packet_seq_err"
	doctor 1
	grep -xF "problem: dcqcn-off: mlx5_0/1 on ens1" <<< "$output"
	words "The NIC's DCQCN is off for priority 3 and no process runs under ccshim"
	# A damaged cable and missing receives are not congestion.
	healthy
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	statistic ens1 rx_crc_errors_phy 130
	doctor 1
	found problem bad-link "mlx5_0/1 on ens1"
	# A switch that does not exist is no figure.
	healthy
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	rm sys/class/net/ens1/ecn/roce_np/enable/3
	echo 900 > "$(hw mlx5_0)/packet_seq_err"
	doctor 1
	grep -E '^    ecn/roce_rp/enable/3 +0$' <<< "$output"
	[[ $output != *roce_np* ]]
}

@test "packets that are larger than the port's MTU are found" {
	healthy
	statistic ens1 rx_oversize_pkts_phy 130
	doctor 1
	found problem mtu "mlx5_0/1 on ens1"
	grep -E '^    MTU of ens1 +4200$' <<< "$output"
	# The interface's statistics count the same packets.
	counters "$root/before/sys/class/net/ens1/statistics" rx_length_errors
	counters sys/class/net/ens1/statistics rx_length_errors
	echo 130 > sys/class/net/ens1/statistics/rx_length_errors
	doctor 1
	found problem mtu "mlx5_0/1 on ens1"
	healthy
	counters "$root/before/sys/class/net/eth0/statistics" rx_length_errors
	counters sys/class/net/eth0/statistics rx_length_errors
	echo 103 > sys/class/net/eth0/statistics/rx_length_errors
	doctor 1
	found problem mtu "rxe0/1 on eth0"
}

@test "RDMA traffic outside of the lossless priority shows a wrong DSCP, of either end" {
	healthy
	statistic ens1 rx_prio3_bytes 1000000100
	doctor 1
	found problem dscp "mlx5_0/1 on ens1"
	words "80 % of the RDMA bytes that arrive are in priorities without PFC"
	figure rx_prio3_bytes 1000000000
	healthy
	statistic ens1 tx_prio3_bytes 100
	doctor 1
	found problem dscp "mlx5_0/1 on ens1"
	words "100 % of the RDMA bytes that this host sends"
}

@test "damaged packets point to the cable" {
	healthy
	statistic ens1 rx_crc_errors_phy 130
	doctor 1
	found problem bad-link "mlx5_0/1 on ens1"
	healthy
	echo 101 > "$(hw mlx5_0)/rx_icrc_encapsulated"
	doctor 1
	found problem bad-link "mlx5_0/1 on ens1"
}

@test "symbol errors point to the cable or optics, and links that go down are found" {
	local counters=sys/class/infiniband/mlx5_0/ports/1/counters
	healthy
	echo 140 > $counters/symbol_error
	doctor 1
	found problem bad-link "mlx5_0/1 on ens1"
	figure symbol_error 40
	words "The link to the switch damages packets. What to do: Clean or replace the cable or transceiver"
	statistic ens1 rx_crc_errors_phy 130 # drivers count the same here
	doctor 1
	found problem bad-link "mlx5_0/1 on ens1"
	healthy
	echo 102 > $counters/link_downed
	doctor 1
	found problem link-down "mlx5_0/1 on ens1"
	figure link_downed 2
	words "What to do: Read the reason in the logs"
	doctor 1 --json
	jq -e '.status == "problem" and .findings[0].verdict == "link-down" and .findings[0].figures ==
		[{ name: "link_downed", increase: 2, per_second: 0.2 }]' <<< "$output"
	statistic ens1 link_down_events_phy 102
	doctor 1
	found problem link-down "mlx5_0/1 on ens1"
	figure link_down_events_phy 2
}

@test "flows that ccshim holds far below the port's rate show a slow port, with its link if known" {
	healthy
	statistics "$root/before" 1000 bytes=0 gated_ns=0
	statistics . 1010 bytes=1250000000 gated_ns=8000000000
	doctor 0
	grep -xF "note: slow-port: fake0 to 10.250.0.1" <<< "$output"
	words "ccshim holds the flows at 1 Gb/s of the port's 10 Gb/s: a port on the path is slower"
	grep -E "^    time at the gate, % +80$" <<< "$output"
	statistics . 1010 bytes=1250000000 gated_ns=8000000000 nhops=1 link=7 link_rate=990000000 \
		link_queue=5000 capacity=1000000000
	doctor 0
	words "A slow port is on the path: ccshim holds the flows at 1 Gb/s, since link 7 has 1 Gb/s and the port here 10 Gb/s"
	grep -E "^    queue of link 7, bytes +5000$" <<< "$output"
	statistics . 1010 bytes=11250000000 gated_ns=8000000000
	doctor 0
	absent slow-port
	statistics . 1010 bytes=1250000000 gated_ns=2000000000
	doctor 0
	absent slow-port
}

@test "flows without feedback, losses and uncontrolled queue pairs are found" {
	healthy
	statistics "$root/before" 1000 bytes=0
	statistics . 1010 bytes=5000 feedback=no-peer
	doctor 1
	grep -E "^problem: no-feedback: [0-9]+ shown$" <<< "$output"
	words "lack its feedback (no-peer) and run the fallback algorithm"
	statistics . 1010 bytes=5000 losses=3 not_rc=2
	doctor 1
	grep -E "^problem: loss: [0-9]+ shown$" <<< "$output"
	grep -E "^    losses +\+3  " <<< "$output"
	grep -E "^note: uncontrolled: [0-9]+ shown$" <<< "$output"
	grep -E "^    uncontrolled: not-rc +2$" <<< "$output"
}

@test "DCQCN that is off in the NIC is no problem where ccshim controls" {
	healthy
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	echo 900 > "$(hw mlx5_0)/packet_seq_err"
	statistics "$root/before" 1000
	statistics . 1010
	doctor 1
	absent dcqcn-off
}

@test "a process that is only observed is not taken for a controlled one" {
	healthy
	echo 0 > sys/class/net/ens1/ecn/roce_rp/enable/3
	echo 900 > "$(hw mlx5_0)/packet_seq_err"
	statistics "$root/before" 1000 bytes=0 gated_ns=0
	statistics . 1010 bytes=1250000000 gated_ns=8000000000 enforced=0
	doctor 1
	grep -xF "problem: dcqcn-off: mlx5_0/1 on ens1" <<< "$output"
	words "ccshim only observes, and controls no queue pair: only PAUSE frames"
	words "What to do: Switch control on with ccshim set --all mode=enforce"
	grep -E "^    queue pairs that ccshim only observes +2$" <<< "$output"
	absent slow-port
}

@test "problems come before notes, and JSON has them with their figures" {
	healthy
	echo 101 > "$(hw mlx5_0)/rnr_nak_retry_err"
	echo 200 > "$(hw rxe0)/rcvd_seq_err"
	doctor 1
	[ "$(tail -1 <<< "$output")" = "1 problem, 1 note" ]
	doctor 1 -i 4 --json
	jq -e '[.findings[] | .severity, .verdict] == ["problem", "loss", "note", "rnr"] and
		.status == "problem" and .findings[0].figures ==
		[{ name: "rcvd_seq_err", increase: 100, per_second: 25 }] and
		(.findings | all(.text and .remedy and .where))' <<< "$output"
}

@test "mistakes are refused" {
	healthy
	refused "$ccshim" doctor -i 0
	said "-i: '0' is not a number from 0.1 to 86400"
	refused "$ccshim" doctor --priority 8
	refused "$ccshim" doctor --priority 3.5
	said "--priority: '3.5' is not a whole number from 0 to 7"
	refused "$ccshim" doctor now
	said "unexpected argument 'now'"
	rm -r "$root/after"
	refused "$ccshim" doctor --root "$root"
	said "after: No such file or directory"
}

@test "this host can be examined" {
	run2 "$ccshim" doctor -i 0.1 --json
	[ "$status" -le 1 ]
	jq -e '.interval_s >= 0.1 and .host and .version and .time > 0' <<< "$output"
}
