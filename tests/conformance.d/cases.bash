# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What is run: a line per case, which is its name, too: a program and its options, but
# for addresses, devices and ports, which `guest` adds.

# Something of all that the shim has a hand in.
short_cases() {
  cat <<'TXT'
ib_write_bw -s 65536 -n 104
ib_write_bw -s 4096 -n 200 -q 4 -l 8
ib_write_bw -s 8388608 -n 5
ib_write_bw -s 65536 -n 104 -b -Q 1
ib_write_bw -c UC -s 65536 -n 104
ib_send_bw -s 65536 -n 104 -b -e
ib_send_bw -c UD -s 1024 -n 104
ib_read_bw -s 65536 -n 104 -q 2
ib_atomic_bw -n 104
ib_write_lat -s 64 -n 50 -I 64
ib_send_lat -s 4096 -n 50 -e
ib_read_lat -n 50
ib_atomic_lat -n 50
ib_write_bw -R -s 65536 -n 104
ibv_rc_pingpong -c -n 100
ibv_rc_pingpong -c -e -N -n 100
ibv_srq_pingpong -c -e -q 4 -n 100
ibv_uc_pingpong -c -n 100
ibv_ud_pingpong -c -e -n 100
rping -V -v -C 20 -S 60000
ucmatose -c 4 -C 20 -S 8192
udaddy -c 2 -C 20 -S 1024
rstream -S 65536 -I 10 -C 5 -T v
rcopy 3000000
rdma_client
ucx_perftest -t put_bw -D zcopy -s 65536 -n 50 -w 5
ucp rc_v -t tag_bw -s 65536 -n 50 -w 5
mpi ucx loops -s 300000 -n 3
fi_pingpong -e msg -I 10
pyverbs test_qp test_qpex test_cq test_cqex test_cq_events test_atomic test_mr
TXT
}

# each COMMAND OPTIONS…: the command with each of them.
each() {
  local command=$1 options
  shift
  for options; do
    echo "$command${options:+ $options}"
  done
}

full_cases() {
  local uc='-c UC' both=('' -R -z '-m 1024' --use_old_post_send '--tclass 106' '-D 2')
  local bw=("${both[@]}" -b '-q 8' '-l 13' '-Q 1' '-Q 50' '-t 4' -N '-q 4 -l 4 -b' '-R -q 4 -b'
    '--mr_per_qp -q 2' --reversed --perform_warm_up '--rate_limit 1 --rate_limit_type SW')
  local data=('-s 1' '-s 8388608 -q 2' '-a')
  local inline=('-s 1 -I 1' '-s 128 -I 128')
  local events=(-e '-e -b -q 4') srq=('--use-srq -q 4' '--recv_post_list 4 -q 2')
  local pong=('' -e '-s 1' '-s 65536' '-s 1000000 -r 20')
  local transact='-i 30 -t 2 -w 2 -V'

  each 'ib_write_bw -n 104' "$uc" "$uc -b -q 4" "${bw[@]}" "${data[@]}" "${inline[@]}"
  each 'ib_write_bw -n 104' '-R -T 106' '-q 8 -l 4 -Q 4 -t 16 -b' '-q 64 -s 1' \
    '-m 512 -s 1000001 -q 2'
  each 'ib_read_bw -n 104' "${bw[@]}" "${data[@]}" "${events[@]}" '-o 1'
  each 'ib_send_bw -n 104' "$uc" "$uc -e -q 4" "${bw[@]}" "${data[@]}" "${inline[@]}" "${events[@]}" "${srq[@]}"
  each 'ib_send_bw -n 104' "$uc -b -l 4" '-r 64' '-R -e -b' '-R --use-srq -q 4' '--use-srq -b -r 64' \
    '-l 8 --recv_post_list 8'
  # Without -b and -q: what then is lost is waited for, bare or not.
  each 'ib_send_bw -n 104 -c UD -s 1024' "${both[@]}" -e '-l 13' '-Q 1' '-Q 50' '-t 4' -N
  each 'ib_atomic_bw -n 104' "${bw[@]}" "${events[@]}" '-A CMP_AND_SWAP' '-o 1' \
    '-R -q 4 -b -A CMP_AND_SWAP'
  each 'ib_write_lat -n 50' "$uc" "${both[@]}" -a "${inline[@]}"
  each 'ib_read_lat -n 50' "${both[@]}" -a -e '-o 1 -u 16'
  each 'ib_send_lat -n 50' "$uc" "${both[@]}" -a -e "${inline[@]}" '-c UD -s 1024' --use-srq \
    '-R -e' '-r 16 -t 8'
  each 'ib_atomic_lat -n 50' "${both[@]}" -e '-A CMP_AND_SWAP'
  each 'ibv_rc_pingpong -c -n 100' "${pong[@]}" -t -N '-e -N' -j
  each 'ibv_srq_pingpong -c -n 100' "${pong[@]}" '-q 1'
  each 'ibv_uc_pingpong -c -n 100' "${pong[@]}"
  each 'ibv_ud_pingpong -c -n 100' '' -e '-s 1'
  each 'rping -V -v' '-C 50' '-C 20 -S 60000' '-C 20 -q' '-C 1 -S 16'
  each 'ucmatose' '' '-c 8 -C 50 -S 65536'
  each 'udaddy' '' '-c 4 -C 50 -S 1000'
  each 'cmtime' '-c 20'
  each 'rstream -T v' '-S 1 -I 20 -C 5' '-S 1048576 -I 3 -C 3' '-S 65536 -I 10 -C 5 -i 0'
  each 'rstream -S 65536 -I 10 -C 5' '-T a' '-T b' '-T n' '-T r' '-T f' '-k 1'
  each 'riostream -S 65536 -I 10 -C 5' '-T v' '-T a' '-T b' '-T n'
  each 'rsocket' 'iperf -n 1M' 'NPtcp -u 20000 -n 5 -i' 'NPtcp -u 70000 -n 5' \
    'sockperf pp -n 50 -t 1'
  each 'fio --verb=write' '' '--iodepth=1' '--bs=1m --iodepth=8'
  each 'fio --verb=read' '' '--bs=1m --iodepth=8'
  each 'ucx_perftest -n 100 -w 10' '-t put_bw -D zcopy -s 65536' '-t put_lat -s 8' \
    '-t am_bw -D bcopy -s 4096' '-t am_lat -s 8' '-t get -D zcopy -s 65536' '-t fadd -s 8'
  each 'fi_pingpong -e msg -I 20' '' '-S 65536 -c'
  each 'fi_pingpong -e rdm -I 20' '' '-S 65536 -c'
  each 'ucp rc_v -n 100 -w 10' '-t tag_lat -s 8' '-t tag_bw -s 1000000' '-t tag_sync_lat -s 8' \
    '-t stream_bw -s 65536' '-t ucp_am_bw -s 4096' '-t ucp_put_bw -s 65536' \
    '-t ucp_get -s 65536' '-t ucp_fadd -s 8'
  each 'ucp ud_v -n 100 -w 10' '-t tag_lat -s 8' '-t tag_bw -s 65536'
  each 'mpi ofi NPopenmpi -u 20000 -n 5' -i -a
  each 'mpi ucx NPopenmpi -u 20000 -n 5' -i -a
  each 'mpi ucx loops' '-s 64 -n 20' '-s 4000000 -n 2'
  each 'mpi mpich loops' '-s 64 -n 20' '-s 65536 -n 20'
  each 'mpi mpich NPmpich2 -u 20000 -n 5' -i -a
  each 'dapltest -T T' "$transact client SR 4096 server SR 4096" \
    "$transact client RW 4096 1 server RW 2048 4 client SR 1024 3 -f server SR 2048 1 -f" \
    "$transact -P client RR 65536 server RW 65536"
  each 'dapltest -T P' '-i 100 RW 65536 1' '-i 100 -m p RR 65536 1' '-i 20 -p 4 RW 1048576 2'
  each 'dtestcm -c 20' '' -w
  each 'dtestsrq' '-c 4' '-c 8 -B 10 -t 5'
  each 'rcopy' 1 100 30000000
  each 'rdma_client' ''
  each 'rdma_xclient' '-c r' '-c x'
  each 'pyverbs' ''
}
