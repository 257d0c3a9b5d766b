/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters that doctor knows: source, meaning and name. Each group begins with the file of
 * Linux that defines its names, or the place that documents them. The driver is not compared:
 * drivers outside of the kernel use mlx5's names, and each name has one meaning in all drivers.
 * "%u" stands for a priority, "%c" for a queue (CoS) of any priority.
 */
#include "doctor.h"

#include <string.h>

#define ROW(source, means, ...) \
	{ DOCTOR_##source, DOCTOR_##means, (const char *const[]){ __VA_ARGS__, NULL } }
#define HW(means, ...) ROW(HW, means, __VA_ARGS__)
#define ETH(means, ...) ROW(ETHTOOL, means, __VA_ARGS__)
#define PORT(means, ...) ROW(PORT, means, __VA_ARGS__)

static const struct row {
	enum doctor_source source;
	enum doctor_meaning means;
	const char *const *names;
} rows[] = {
	/* mlx5: drivers/infiniband/hw/mlx5/counters.c; also bnxt_re outside of the kernel */
	HW(RNR, "rnr_nak_retry_err"), HW(RNR_FAILED, "req_rnr_retries_exceeded"),
	HW(RNR_HERE, "out_of_buffer"), HW(NAK, "packet_seq_err", "implied_nak_seq_err"),
	HW(RESENT, "local_ack_timeout_err", "roce_adp_retrans", "roce_adp_retrans_to"),
	HW(FAILED, "req_transport_retries_exceeded"), HW(REORDERED, "out_of_sequence"),
	HW(INVALID, "req_remote_invalid_request"), HW(LENGTH, "resp_local_length_error"),
	HW(ICRC, "rx_icrc_encapsulated"), HW(MARKED, "np_ecn_marked_roce_packets"),
	HW(CNP_SENT, "np_cnp_sent"), HW(CNP_HANDLED, "rp_cnp_handled"),
	HW(CNP_IGNORED, "rp_cnp_ignored"),
	/* mlx5: drivers/net/ethernet/mellanox/mlx5/core/en_stats.c, and the kernel's
	 * Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst */
	ETH(RX_PAUSE, "rx_prio%u_pause", "rx_global_pause"),
	ETH(RX_PAUSE_US, "rx_prio%u_pause_duration", "rx_global_pause_duration"),
	ETH(TX_PAUSE, "tx_prio%u_pause", "tx_global_pause"),
	ETH(TX_PAUSE_US, "tx_prio%u_pause_duration", "tx_global_pause_duration"),
	ETH(STORM, "tx_pause_storm_warning_events", "tx_pause_storm_error_events"),
	ETH(STALL, "outbound_pci_stalled_wr", "outbound_pci_stalled_wr_events"),
	ETH(DISCARD, "rx_prio%u_discards", "rx_prio%u_buf_discard", "rx_prio%u_cong_discard",
		"rx_discards_phy", "tx_discards_phy", "outbound_pci_buffer_overflow"),
	ETH(OVERSIZE, "rx_oversize_pkts_phy", "rx_oversize_pkts_buffer"),
	ETH(DAMAGED, "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy"),
	ETH(DOWN, "link_down_events_phy"), ETH(RX_BYTES, "rx_prio%u_bytes"),
	ETH(TX_BYTES, "tx_prio%u_bytes"), ETH(RX_RDMA_BYTES, "rx_vport_rdma_unicast_bytes"),
	ETH(TX_RDMA_BYTES, "tx_vport_rdma_unicast_bytes"),
	/* mlx4: drivers/infiniband/hw/mlx4/main.c; NVIDIA's page on adapter diagnostics counters */
	HW(RNR, "sq_num_rnr"), HW(RNR_FAILED, "sq_num_rree"), HW(RNR_HERE, "rq_num_rnr"),
	HW(NAK, "sq_num_oos"), HW(RESENT, "sq_num_to"), HW(FAILED, "sq_num_tree"),
	HW(REORDERED, "rq_num_oos"), HW(INVALID, "sq_num_rire"), HW(LENGTH, "rq_num_lle"),
	/* mlx4: drivers/net/ethernet/mellanox/mlx4/en_ethtool.c, en_port.c */
	ETH(RX_PAUSE, "rx_pause_prio_%u", "rx_pause"),
	ETH(RX_PAUSE_US, "rx_pause_duration_prio_%u", "rx_pause_duration"),
	ETH(TX_PAUSE, "tx_pause_prio_%u", "tx_pause"),
	ETH(TX_PAUSE_US, "tx_pause_duration_prio_%u", "tx_pause_duration"),
	ETH(DISCARD, "rx_fifo_errors"), ETH(OVERSIZE, "rx_length_errors"),
	ETH(DAMAGED, "rx_crc_errors", "rx_jabbers"),
	/* bnxt_re: drivers/infiniband/hw/bnxt_re/hw_counters.c */
	HW(RNR, "rnr_naks_rcvd"), HW(RNR_HERE, "rx_out_of_buffer"), HW(NAK, "seq_err_naks_rcvd"),
	HW(RESENT, "to_retransmits", "missing_resp"), HW(FAILED, "max_retry_exceeded"),
	HW(REORDERED, "oos_drop_count"), HW(INVALID, "remote_invalid_req_err"),
	HW(LENGTH, "res_exceed_max", "res_length_mismatch", "res_exceeds_wqe"),
	HW(DISCARD, "rx_roce_discards", "tx_roce_discards"), HW(MARKED, "rx_ecn_marked_pkts"),
	HW(CNP_SENT, "tx_cnp_pkts"), HW(CNP_HANDLED, "rx_cnp_pkts"), HW(RECEIVED, "rx_pkts"),
	HW(SENT, "tx_pkts"),
	/* bnxt_en: drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c */
	ETH(RX_PAUSE, "rx_pfc_ena_frames_pri%u", "rx_pause_frames"),
	ETH(RX_PAUSE_US, "pfc_pri%u_rx_duration_us"),
	ETH(TX_PAUSE, "tx_pfc_ena_frames_pri%u", "tx_pause_frames"),
	ETH(TX_PAUSE_US, "pfc_pri%u_tx_duration_us"),
	ETH(DISCARD, "rx_stat_discard", "tx_stat_discard", "rx_total_discard_pkts",
		"tx_total_discard_pkts", "rx_total_ring_discards", "tx_total_ring_discards",
		"rx_discard_packets_cos%c"),
	ETH(OVERSIZE, "rx_ovrsz_frames", "rx_mtu_err_frames"),
	ETH(DAMAGED, "rx_fcs_err_frames", "rx_align_err_frames", "rx_pcs_symbol_err",
		"rx_jbr_frames", "rx_fec_uncorrectable_blocks"),
	ETH(DOWN, "link_down_events"),
	/* irdma: drivers/infiniband/hw/irdma/verbs.c; "tcp..." before Linux 6.8 */
	HW(RNR, "RNR received"), HW(RNR_HERE, "RNR sent"),
	HW(NAK, "Nak Sequence Error", "Nak Sequence Error Implied"),
	HW(RESENT, "RTO", "RetransSegs", "tcpRetransSegs"),
	HW(REORDERED, "Rcvd Out of order packets"), HW(ICRC, "CRC errors"),
	HW(DISCARD, "ip4InDiscards", "ip6InDiscards"),
	HW(NO_ROUTE, "ip4OutNoRoutes", "ip6OutNoRoutes", "rxVlanErrors"), HW(MARKED, "RxECNMrkd"),
	HW(CNP_SENT, "cnpSent"), HW(CNP_HANDLED, "cnpHandled"), HW(CNP_IGNORED, "cnpIgnored"),
	HW(RECEIVED, "ip4InPkts", "ip6InPkts"), HW(SENT, "ip4OutPkts", "ip6OutPkts"),
	/* ice: drivers/net/ethernet/intel/ice/ice_ethtool.c; XON frames end pauses and do not count */
	ETH(RX_PAUSE, "rx_priority_%u_xoff.nic", "link_xoff_rx.nic"),
	ETH(TX_PAUSE, "tx_priority_%u_xoff.nic", "link_xoff_tx.nic"),
	ETH(DISCARD, "rx_dropped.nic"), ETH(OVERSIZE, "rx_oversize.nic"),
	ETH(DAMAGED, "rx_crc_errors.nic", "illegal_bytes.nic", "mac_local_faults.nic",
		"mac_remote_faults.nic", "rx_jabber.nic"),
	ETH(DOWN, "tx_dropped_link_down.nic"),
	/* ionic: named by the firmware; AMD's rccl (telemetry) and node-scraper list the names */
	HW(RNR, "req_rx_rnr_retry_err"), HW(RNR_HERE, "resp_rx_outof_buf", "resp_tx_rnr_retry_err"),
	HW(NAK, "req_rx_pkt_seq_err", "req_rx_impl_nak_seq_err"),
	HW(RESENT, "tx_rdma_ack_timeout", "tx_rdma_retx_pkts"), HW(FAILED, "req_tx_retry_excd_err"),
	HW(REORDERED, "resp_rx_outouf_seq", "resp_tx_pkt_seq_err"),
	HW(INVALID, "req_rx_rmt_req_err"),
	HW(LENGTH, "resp_rx_loc_len_err", "resp_tx_rmt_inval_req_err"),
	HW(OVERSIZE, "rx_rdma_mtu_discard_pkts"), HW(MARKED, "rx_rdma_ecn_pkts"),
	HW(CNP_SENT, "tx_rdma_cnp_pkts"), HW(CNP_HANDLED, "rx_rdma_cnp_pkts"),
	HW(RECEIVED, "rx_rdma_ucast_pkts"), HW(SENT, "tx_rdma_ucast_pkts"),
	/* ionic: drivers/net/ethernet/pensando/ionic/ionic_stats.c */
	ETH(RX_PAUSE, "frames_rx_pripause", "frames_rx_pause"),
	ETH(RX_PAUSE_US, "rx_pripause_%u_1us_count", "rx_pause_1us_count"),
	ETH(TX_PAUSE, "frames_tx_pripause", "frames_tx_pause"),
	ETH(TX_PAUSE_US, "tx_pripause_%u_1us_count"),
	ETH(DISCARD, "frames_rx_dropped", "hw_rx_dropped", "hw_tx_dropped"),
	ETH(OVERSIZE, "frames_rx_too_long", "frames_rx_oversized"),
	ETH(DAMAGED, "frames_rx_bad_fcs", "frames_rx_jabber"),
	ETH(DAMAGED_BEFORE, "frames_rx_stomped_crc"),
	/* hfi1, without the ",32" of short counters: drivers/infiniband/hw/hfi1/chip.c, rc.c, and drivers/infiniband/sw/rdmavt/qp.c */
	HW(RNR, "RnrNak"), HW(NAK, "SeqNak"), HW(RESENT, "RcTimeOut", "RcResend"),
	HW(REORDERED, "RcSeqNak", "RdmaSeq"), HW(XMIT_DISCARD, "XmitDscd", "TxDropped"),
	HW(WAITED, "TxWait"), HW(DOWN, "SwLinkDown"), HW(RECEIVED, "RxPkt"), HW(SENT, "TxPkt"),
	/* hns: drivers/infiniband/hw/hns/hns_roce_main.c since Linux 6.7 */
	HW(CNP_SENT, "tx_cnp_pkt"), HW(CNP_HANDLED, "rx_cnp_pkt"), HW(RECEIVED, "rx_pkt"),
	HW(SENT, "tx_pkt"),
	/* hns: drivers/net/ethernet/hisilicon/hns3/hns3pf/hclge_main.c, without the unit of time */
	ETH(RX_PAUSE, "mac_rx_pfc_pri%u_pkt_num", "mac_rx_mac_pause_num"),
	ETH(TX_PAUSE, "mac_tx_pfc_pri%u_pkt_num", "mac_tx_mac_pause_num"),
	ETH(OVERSIZE, "mac_rx_oversize_pkt_num"),
	ETH(DAMAGED, "mac_rx_fcs_err_pkt_num", "mac_rx_jabber_pkt_num"),
	/* efa: drivers/infiniband/hw/efa/efa_verbs.c; packets have bnxt_re's names */
	HW(RESENT, "retrans_pkts", "retrans_timeout_events", "unresponsive_remote_events"),
	HW(DISCARD, "rx_drops"),
	/* mana: drivers/infiniband/hw/mana/counters.c */
	HW(RNR, "requester_rnr_nak"), HW(RNR_HERE, "responder_rnr_nak"),
	HW(NAK, "requester_oos_nak", "requester_implicit_nak"), HW(RESENT, "requester_timeout"),
	HW(REORDERED, "responder_oos"), HW(LENGTH, "responder_local_len_error"),
	/* rxe: drivers/infiniband/sw/rxe/rxe_hw_counters.c */
	HW(RNR, "rcvd_rnr_err"), HW(RNR_FAILED, "retry_rnr_exceeded_err"),
	HW(RNR_HERE, "send_rnr_err"), HW(NAK, "rcvd_seq_err"), HW(RESENT, "completer_retry_err"),
	HW(FAILED, "retry_exceeded_err"), HW(REORDERED, "out_of_seq_request"),
	HW(DOWN, "link_downed"), HW(RECEIVED, "rcvd_pkts"), HW(SENT, "sent_pkts"),
	/* Ports of InfiniBand: drivers/infiniband/core/sysfs.c, and the kernel's
	 * Documentation/ABI/stable/sysfs-class-infiniband */
	PORT(XMIT_DISCARD, "port_xmit_discards"), PORT(WAITED, "port_xmit_wait"),
	PORT(DAMAGED, "port_rcv_errors", "symbol_error", "local_link_integrity_errors",
		"excessive_buffer_overrun_errors"),
	PORT(DAMAGED_BEFORE, "port_rcv_remote_physical_errors"),
	PORT(DOWN, "link_downed", "link_error_recovery"), PORT(RECEIVED, "port_rcv_packets"),
	PORT(SENT, "port_xmit_packets"),
	/* All interfaces: the kernel's Documentation/networking/statistics.rst; qdiscs: doctor_read.c */
	ROW(NETDEV, OVERSIZE, "rx_length_errors"), ROW(NETDEV, DAMAGED, "rx_crc_errors"),
	ROW(QDISC, QDISC_DROP, "qdisc_drops"), ROW(QDISC, QDISC_MARK, "qdisc_marks"),
};

/* True if the name is as in the table. */
static bool is_named(const char *name, const char *pattern, int *priority)
{
	const char *at = strchr(pattern, '%');
	const size_t head = at ? (size_t)(at - pattern) : strlen(pattern);

	*priority = DOCTOR_NO_PRIORITY;
	if (!at)
		return strncmp(name, pattern, head) == 0 && (!name[head] || strcmp(name + head, ",32") == 0);
	if (strncmp(name, pattern, head) != 0 || name[head] < '0' || name[head] >= '0' + NIC_PRIORITIES)
		return false;
	if (at[1] == 'u')
		*priority = name[head] - '0';
	return strcmp(name + head + 1, at + 2) == 0;
}

enum doctor_meaning doctor_meaning_of(enum doctor_source source, const char *name, int *priority)
{
	/* mlx5's devices of virtual functions count under the same names with this prefix. */
	if (source == DOCTOR_HW && strncmp(name, "vport_", 6) == 0)
		name += 6;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (const char *const *known = rows[i].names; rows[i].source == source && *known; known++)
			if (is_named(name, *known, priority))
				return rows[i].means;
	*priority = DOCTOR_NO_PRIORITY;
	return DOCTOR_UNKNOWN;
}
