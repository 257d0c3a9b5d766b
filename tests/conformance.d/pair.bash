# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # it shares guest's variables
#
# Runs a program's server and its client, and compares their output.

# endpoints CASE…: their command lines, in $server and $client.
endpoints() {
  local program=$1 at
  shift
  ((port += 1)) # one in TIME_WAIT is no good
  case $program in
    ib_*)
      at=("$program" "$@" -F -x "$gid_index" -p "$port" -d)
      server=("${at[@]}" "${devices[1]}")
      client=("${at[@]}" "${devices[2]}" 127.0.0.1)
      # With rdma_cm it is addresses that choose the devices.
      [[ " $* " != *' -'[Rz]' '* ]] || client[-1]="$server_ip" ;;
    ibv_*)
      at=("$program" "$@" -g "$gid_index" -p "$port" -d)
      server=("${at[@]}" "${devices[1]}")
      client=("${at[@]}" "${devices[2]}" 127.0.0.1) ;;
    rping)
      server=(rping -s "$@" -a "$server_ip" -p "$port")
      client=(rping -c "$@" -a "$server_ip" -I "$client_ip" -p "$port") ;;
    rdma_client | rdma_xclient)
      server=("${program/client/server}" "$@" -p "$port")
      client=("$program" "$@" -s "$server_ip" -p "$port") ;;
    mckey)
      server=(mckey "$@" -b "$server_ip")
      client=(mckey "$@" -b "$client_ip" -s) ;;
    rcopy)
      head -c "$1" /dev/urandom >sent
      server=(rcopy -p "$port")
      client=(rcopy sent "$server_ip:$PWD/received" -p "$port") ;;
    udaddy)
      server=(udaddy "$@" -b "$server_ip")
      client=(udaddy "$@" -b "$client_ip" -s "$server_ip") ;;
    fio)
      at=(fio --name=t --ioengine=rdma --bs=64k --size=4m --iodepth=4 "$@" --port="$port")
      server=("${at[@]}" --rw=read)
      client=("${at[@]}" --rw=write --hostname="$server_ip") ;;
    ucx_perftest)
      # The client sends the server all options but its port, including the device.
      server=(ucx_perftest -p "$port")
      client=(ucx_perftest "$@" -d "${devices[2]}:1" -x rc_verbs -p "$port" "$server_ip") ;;
    dapltest | dtest*) dapl "$program" "$@" ;;
    ucp) ucp "$@" ;;
    mpi) mpi "$@" ;;
    rsocket) rsocket "$@" ;;
    fi_pingpong)
      at=(fi_pingpong -p verbs "$@")
      # Its queues for more than two would be longer than rxe's.
      [[ " $* " != *' rdm '* ]] || at=(env FI_UNIVERSE_SIZE=2 fi_pingpong -p 'verbs;ofi_rxm' "$@")
      server=("${at[@]}" -B "$port")
      client=("${at[@]}" -P "$port" "$server_ip") ;;
    *)
      server=("$program" "$@" -b "$server_ip" -p "$port")
      client=("$program" "$@" -b "$client_ip" -s "$server_ip" -p "$port") ;;
  esac
}

# dapl PROGRAM OPTIONS…: uDAPL knows devices by the names in a file.
dapl() {
  local at=(env "DAT_OVERRIDE=$PWD/dat.conf" "$1") host
  for host in 1 2; do
    echo "host$host u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"h_$host 0\" \"\""
  done >dat.conf
  if [[ $1 == dapltest ]]; then
    server=("${at[@]}" -T S -D host1 -n "$port")
    client=("${at[@]}" "${@:2:2}" -s "$server_ip" -D host2 -n "$port" "${@:4}")
  else
    server=("${at[@]}" "${@:2}" -s -P host1)
    client=("${at[@]}" "${@:2}" -P host2 -h "$server_ip")
  fi
}

# What UCX needs on Soft-RoCE: ci/README.md says why.
readonly ucx=(env "UCX_IB_GID_INDEX=$gid_index" UCX_UD_VERBS_ETH_DGID_CHECK=n)

# ucp TRANSPORT OPTIONS…: UCX's protocols, which connect through datagrams.
ucp() {
  local at=("${ucx[@]}" "UCX_TLS=$1")
  server=("${at[@]}" "UCX_NET_DEVICES=${devices[1]}:1" ucx_perftest -p "$port")
  client=("${at[@]}" "UCX_NET_DEVICES=${devices[2]}:1" ucx_perftest "${@:2}" -p "$port" 127.0.0.1)
}

# mpi LIBRARIES PROGRAM OPTIONS…: a rank on each host: of Open MPI over libfabric or UCX, or of
# MPICH, which is built for UCX.
mpi() {
  local over=$1 open=(mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml)
  local loops=${ccshim%/tools/*}/tests/lab/mpi_loops
  shift
  [[ $over != mpich ]] || loops+=_mpich
  [[ $1 != loops ]] || set -- "$loops" "${@:2}"
  server=(true)
  case $over in
    ofi)
      client=(env FI_UNIVERSE_SIZE=2 "${open[@]}" cm --mca mtl ofi
        --mca mtl_ofi_provider_include "verbs;ofi_rxm"
        -n 1 -x FI_VERBS_IFACE=h_1 "$@" : -n 1 -x FI_VERBS_IFACE=h_2 "$@") ;;
    ucx)
      client=("${ucx[@]}" "UCX_TLS=rc_v,self" "${open[@]}" ucx
        --mca pml_ucx_tls any --mca pml_ucx_devices any
        -n 1 -x "UCX_NET_DEVICES=${devices[1]}:1" "$@" :
        -n 1 -x "UCX_NET_DEVICES=${devices[2]}:1" "$@") ;;
    mpich)
      client=("${ucx[@]}" "UCX_TLS=rc_v,self" MPIR_CVAR_NOLOCAL=1 mpiexec.mpich -launcher fork
        -n 1 -env UCX_NET_DEVICES "${devices[1]}:1" "$@" :
        -n 1 -env UCX_NET_DEVICES "${devices[2]}:1" "$@") ;;
  esac
}

# rsocket PROGRAM OPTIONS…: one that knows TCP, not RDMA.
rsocket() {
  # shellcheck disable=SC2016 # the loader knows what LIB is
  under=(env 'LD_PRELOAD=/usr/$LIB/rsocket/librspreload.so' "${under[@]}")
  case $1 in
    iperf)
      server=(iperf -s -P 1 -p "$port")
      client=("$@" -c "$server_ip" -p "$port") ;;
    NPtcp)
      server=("$@" -P "$port")
      client=("$@" -P "$port" -h "$server_ip") ;;
    sockperf)
      server=(sockperf server --tcp -i "$server_ip" -p "$port")
      client=("$@" --tcp -i "$server_ip" -p "$port") ;;
  esac
}

# ready PROGRAM: the server can be connected to. A single check starts no process
# to list sockets.
ready() {
  local hex line
  case $1 in
    udaddy) rdma resource show cm_id | grep -q "LISTEN.*ps UDP" ;;
    dtest*) port=45248 rdma_listens ;; # always
    ib_* | ibv_* | ucp | ucx_* | fi_*)
      printf -v hex ':%04X 0[0:]* 0A ' "$port"
      line=$(</proc/net/tcp)$(</proc/net/tcp6)
      # shellcheck disable=SC2053 # a pattern
      [[ $line == *$hex* ]] || rdma_listens ;;
    *) rdma_listens ;;
  esac
}

rdma_listens() { [[ -z $fake ]] && rdma resource show cm_id | grep -q "LISTEN.*:$port "; }

side() {
  export CCSHIM_REPORT=$PWD/$1.json
  exec timeout --foreground -k 5 "$limit" "${under[@]}" "${@:2}" >"$1.out" 2>"$1.err"
}

# serves_on CASE: the server does not end when its client does.
serves_on() { [[ $1 =~ ^(rcopy|dapltest|rsocket sockperf)\  ]]; }

# await CASE…: for both to end, and after a failure not for long. $status has both's.
await() {
  local first other nap
  if serves_on "$*"; then
    wait "${pids[1]}"
    status=(0 $?)
    kill "${pids[0]}"
    wait "${pids[0]}"
    return
  fi
  wait -n -p first "${pids[@]}"
  status[first == pids[1]]=$?
  other=${pids[first != pids[1]]}
  if ((status[first == pids[1]])); then
    sleep 5 &
    nap=$!
    wait -n "$nap" "$other"
    kill "$nap" "$other" 2>/dev/null
  fi
  wait "$other"
  status[first != pids[1]]=$?
}

# why SIDE STATUS: how it failed, and the last words.
why() {
  local words
  words=$(grep -v '^ *$' "$1.err" | tail -n 1)
  [[ -n $words ]] || words=$(grep -v '^ *$' "$1.out" | tail -n 1)
  [[ $2 != 124 ]] || set -- "$1" "$2, time out"
  reason="$1: status $2: ${words//$'\t'/ }"
}

# same CASE…: the same words and whole numbers as bare: what is measured has a point,
# QPNs, PSNs and keys are hexadecimal, and each run has a directory of its own.
same() {
  local from=(server.out client.out) number='[0-9]+\.[0-9.]+'
  [[ " $* " != *' -D '* ]] || number='[0-9]+[0-9.]*' # as much as there is time for
  case $1 in
    rcopy) from=(client.out) ;; # the server was ended
    fio | ucp | ucx_* | fi_* | dtest* | mpi | rsocket) from=(/dev/null) ;; # figures without points
  esac
  sed -E 's/\<0x[0-9a-f]+|-?\<'"(inf|nan|$number(e[-+][0-9]+)?)"'/~/g; s/[ \t]+/ /g
    s/ $//; s,[^ ]*/received,~,' "${from[@]}" >said
  [[ -e ../bare/said ]] || return
  reason=$(diff ../bare/said said | grep -m 2 '^[<>]') || return
  reason="says something else: ${reason//$'\n'/ }"
}

# came_early CASE…: with -R, perftest's server listens anew after its first connection, and the
# client's second may come before that. Then the client is rejected, and crashes.
came_early() {
  [[ " $* " == *' -R '* ]] && ((status[1])) && grep -q RDMA_CM_EVENT_REJECTED client.err
}

# pair CASE…: run both; $status has both's, and $reason says why it failed, if it did.
pair() {
  local server client pids=() patience=$((SECONDS + limit / 4))
  status=()
  endpoints "$@"
  side server "${server[@]}" &
  pids[0]=$!
  while ((SECONDS < patience)) && ! ready "$1" && kill -0 "${pids[0]}" 2>/dev/null; do
    sleep 0.05
  done
  side client "${client[@]}" &
  pids[1]=$!
  await "$@"
  # After a failure the other side's status is meaningless.
  if ((status[1])); then
    why client "${status[1]}"
  elif ((status[0])); then
    why server "${status[0]}"
  elif [[ $1 == rcopy ]] && ! cmp -s sent received; then
    reason="what was received is not what was sent"
  else
    same "$@"
  fi
}
