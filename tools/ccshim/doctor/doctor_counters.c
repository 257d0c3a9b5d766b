/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters that doctor knows: where each is read, its name, and what its increase means.
 * Each group begins with the source of its names, a file of Linux or the place that documents
 * them. Names hold for all drivers, since drivers outside of the kernel use mlx5's names; no
 * name means different things in two drivers. "%u" stands for a priority.
 */
#include "doctor.h"

#include <string.h>

#define N(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct row {
	enum doctor_source source;
	enum doctor_meaning means;
	const char *const *names;
} rows[] = {
	/* mlx5: drivers/infiniband/hw/mlx5/counters.c; also bnxt_re outside of the kernel */
	{ DOCTOR_HW, DOCTOR_RNR, N("rnr_nak_retry_err") },
	{ DOCTOR_HW, DOCTOR_RNR_FAILED, N("req_rnr_retries_exceeded") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("out_of_buffer") },
	{ DOCTOR_HW, DOCTOR_NAK, N("packet_seq_err", "implied_nak_seq_err") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("local_ack_timeout_err", "roce_adp_retrans", "roce_adp_retrans_to") },
	{ DOCTOR_HW, DOCTOR_FAILED, N("req_transport_retries_exceeded") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("out_of_sequence") },
	{ DOCTOR_HW, DOCTOR_INVALID, N("req_remote_invalid_request") },
	{ DOCTOR_HW, DOCTOR_LENGTH, N("resp_local_length_error") },
	{ DOCTOR_HW, DOCTOR_ICRC, N("rx_icrc_encapsulated") },
	{ DOCTOR_HW, DOCTOR_MARKED, N("np_ecn_marked_roce_packets") },
	{ DOCTOR_HW, DOCTOR_CNP_SENT, N("np_cnp_sent") },
	{ DOCTOR_HW, DOCTOR_CNP_HANDLED, N("rp_cnp_handled") },
	{ DOCTOR_HW, DOCTOR_CNP_IGNORED, N("rp_cnp_ignored") },
	/* mlx5: drivers/net/ethernet/mellanox/mlx5/core/en_stats.c, and the kernel's
	 * Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("rx_prio%u_pause", "rx_global_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE_US, N("rx_prio%u_pause_duration", "rx_global_pause_duration") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("tx_prio%u_pause", "tx_global_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE_US, N("tx_prio%u_pause_duration", "tx_global_pause_duration") },
	{ DOCTOR_ETHTOOL, DOCTOR_STORM, N("tx_pause_storm_warning_events", "tx_pause_storm_error_events") },
	{ DOCTOR_ETHTOOL, DOCTOR_STALL, N("outbound_pci_stalled_wr", "outbound_pci_stalled_wr_events") },
	{ DOCTOR_ETHTOOL, DOCTOR_DISCARD, N("rx_prio%u_discards", "rx_prio%u_buf_discard",
		"rx_prio%u_cong_discard", "rx_discards_phy", "tx_discards_phy", "outbound_pci_buffer_overflow") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("rx_oversize_pkts_phy", "rx_oversize_pkts_buffer") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("rx_crc_errors_phy", "rx_symbol_err_phy",
		"rx_pcs_symbol_err_phy") },
	{ DOCTOR_ETHTOOL, DOCTOR_DOWN, N("link_down_events_phy") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_BYTES, N("rx_prio%u_bytes") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_BYTES, N("tx_prio%u_bytes") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_RDMA_BYTES, N("rx_vport_rdma_unicast_bytes") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_RDMA_BYTES, N("tx_vport_rdma_unicast_bytes") },
	/* mlx4: drivers/infiniband/hw/mlx4/main.c; NVIDIA's page on adapter diagnostics counters */
	{ DOCTOR_HW, DOCTOR_RNR, N("sq_num_rnr") },
	{ DOCTOR_HW, DOCTOR_RNR_FAILED, N("sq_num_rree") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("rq_num_rnr") },
	{ DOCTOR_HW, DOCTOR_NAK, N("sq_num_oos") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("sq_num_to") },
	{ DOCTOR_HW, DOCTOR_FAILED, N("sq_num_tree") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("rq_num_oos") },
	{ DOCTOR_HW, DOCTOR_INVALID, N("sq_num_rire") },
	{ DOCTOR_HW, DOCTOR_LENGTH, N("rq_num_lle") },
	/* mlx4: drivers/net/ethernet/mellanox/mlx4/en_ethtool.c, en_port.c */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("rx_pause_prio_%u", "rx_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE_US, N("rx_pause_duration_prio_%u", "rx_pause_duration") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("tx_pause_prio_%u", "tx_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE_US, N("tx_pause_duration_prio_%u", "tx_pause_duration") },
	{ DOCTOR_ETHTOOL, DOCTOR_DISCARD, N("rx_fifo_errors") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("rx_length_errors") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("rx_crc_errors", "rx_jabbers") },
	/* bnxt_re: drivers/infiniband/hw/bnxt_re/hw_counters.c */
	{ DOCTOR_HW, DOCTOR_RNR, N("rnr_naks_rcvd") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("rx_out_of_buffer") },
	{ DOCTOR_HW, DOCTOR_NAK, N("seq_err_naks_rcvd") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("to_retransmits", "missing_resp") },
	{ DOCTOR_HW, DOCTOR_FAILED, N("max_retry_exceeded") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("oos_drop_count") },
	{ DOCTOR_HW, DOCTOR_INVALID, N("remote_invalid_req_err") },
	{ DOCTOR_HW, DOCTOR_LENGTH, N("res_exceed_max", "res_length_mismatch", "res_exceeds_wqe") },
	{ DOCTOR_HW, DOCTOR_DISCARD, N("rx_roce_discards", "tx_roce_discards") },
	{ DOCTOR_HW, DOCTOR_MARKED, N("rx_ecn_marked_pkts") },
	{ DOCTOR_HW, DOCTOR_CNP_SENT, N("tx_cnp_pkts") },
	{ DOCTOR_HW, DOCTOR_CNP_HANDLED, N("rx_cnp_pkts") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("rx_pkts") },
	{ DOCTOR_HW, DOCTOR_SENT, N("tx_pkts") },
	/* bnxt_en: drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("rx_pfc_ena_frames_pri%u", "rx_pause_frames") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE_US, N("pfc_pri%u_rx_duration_us") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("tx_pfc_ena_frames_pri%u", "tx_pause_frames") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE_US, N("pfc_pri%u_tx_duration_us") },
	{ DOCTOR_ETHTOOL, DOCTOR_DISCARD, N("rx_stat_discard", "tx_stat_discard", "rx_total_discard_pkts",
		"tx_total_discard_pkts", "rx_total_ring_discards", "tx_total_ring_discards") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("rx_ovrsz_frames", "rx_mtu_err_frames") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("rx_fcs_err_frames", "rx_align_err_frames", "rx_pcs_symbol_err",
		"rx_jbr_frames", "rx_fec_uncorrectable_blocks") },
	{ DOCTOR_ETHTOOL, DOCTOR_DOWN, N("link_down_events") },
	/* irdma: drivers/infiniband/hw/irdma/verbs.c; "tcp..." before Linux 6.8 */
	{ DOCTOR_HW, DOCTOR_RNR, N("RNR received") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("RNR sent") },
	{ DOCTOR_HW, DOCTOR_NAK, N("Nak Sequence Error", "Nak Sequence Error Implied") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("RTO", "RetransSegs", "tcpRetransSegs") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("Rcvd Out of order packets") },
	{ DOCTOR_HW, DOCTOR_ICRC, N("CRC errors") },
	{ DOCTOR_HW, DOCTOR_DISCARD, N("ip4InDiscards", "ip6InDiscards") },
	{ DOCTOR_HW, DOCTOR_NO_ROUTE, N("ip4OutNoRoutes", "ip6OutNoRoutes", "rxVlanErrors") },
	{ DOCTOR_HW, DOCTOR_MARKED, N("RxECNMrkd") },
	{ DOCTOR_HW, DOCTOR_CNP_SENT, N("cnpSent") },
	{ DOCTOR_HW, DOCTOR_CNP_HANDLED, N("cnpHandled") },
	{ DOCTOR_HW, DOCTOR_CNP_IGNORED, N("cnpIgnored") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("ip4InPkts", "ip6InPkts") },
	{ DOCTOR_HW, DOCTOR_SENT, N("ip4OutPkts", "ip6OutPkts") },
	/* ice: drivers/net/ethernet/intel/ice/ice_ethtool.c; XON frames end pauses and do not count */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("rx_priority_%u_xoff.nic", "link_xoff_rx.nic") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("tx_priority_%u_xoff.nic", "link_xoff_tx.nic") },
	{ DOCTOR_ETHTOOL, DOCTOR_DISCARD, N("rx_dropped.nic") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("rx_oversize.nic") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("rx_crc_errors.nic", "illegal_bytes.nic", "mac_local_faults.nic",
		"mac_remote_faults.nic", "rx_jabber.nic") },
	{ DOCTOR_ETHTOOL, DOCTOR_DOWN, N("tx_dropped_link_down.nic") },
	/* ionic: named by the firmware; AMD's rccl (telemetry) and node-scraper list the names */
	{ DOCTOR_HW, DOCTOR_RNR, N("req_rx_rnr_retry_err") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("resp_rx_outof_buf", "resp_tx_rnr_retry_err") },
	{ DOCTOR_HW, DOCTOR_NAK, N("req_rx_pkt_seq_err", "req_rx_impl_nak_seq_err") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("tx_rdma_ack_timeout", "tx_rdma_retx_pkts") },
	{ DOCTOR_HW, DOCTOR_FAILED, N("req_tx_retry_excd_err") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("resp_rx_outouf_seq", "resp_tx_pkt_seq_err") },
	{ DOCTOR_HW, DOCTOR_INVALID, N("req_rx_rmt_req_err") },
	{ DOCTOR_HW, DOCTOR_LENGTH, N("resp_rx_loc_len_err", "resp_tx_rmt_inval_req_err") },
	{ DOCTOR_HW, DOCTOR_OVERSIZE, N("rx_rdma_mtu_discard_pkts") },
	{ DOCTOR_HW, DOCTOR_MARKED, N("rx_rdma_ecn_pkts") },
	{ DOCTOR_HW, DOCTOR_CNP_SENT, N("tx_rdma_cnp_pkts") },
	{ DOCTOR_HW, DOCTOR_CNP_HANDLED, N("rx_rdma_cnp_pkts") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("rx_rdma_ucast_pkts") },
	{ DOCTOR_HW, DOCTOR_SENT, N("tx_rdma_ucast_pkts") },
	/* ionic: drivers/net/ethernet/pensando/ionic/ionic_stats.c */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("frames_rx_pripause", "frames_rx_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE_US, N("rx_pripause_%u_1us_count", "rx_pause_1us_count") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("frames_tx_pripause", "frames_tx_pause") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE_US, N("tx_pripause_%u_1us_count") },
	{ DOCTOR_ETHTOOL, DOCTOR_DISCARD, N("frames_rx_dropped", "hw_rx_dropped", "hw_tx_dropped") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("frames_rx_too_long", "frames_rx_oversized") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("frames_rx_bad_fcs", "frames_rx_jabber") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED_BEFORE, N("frames_rx_stomped_crc") },
	/* hfi1: drivers/infiniband/hw/hfi1/chip.c, rc.c, and drivers/infiniband/sw/rdmavt/qp.c */
	{ DOCTOR_HW, DOCTOR_RNR, N("RnrNak") },
	{ DOCTOR_HW, DOCTOR_NAK, N("SeqNak") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("RcTimeOut", "RcResend") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("RcSeqNak", "RdmaSeq") },
	{ DOCTOR_HW, DOCTOR_XMIT_DISCARD, N("XmitDscd", "TxDropped") },
	{ DOCTOR_HW, DOCTOR_WAITED, N("TxWait") },
	{ DOCTOR_HW, DOCTOR_DOWN, N("SwLinkDown") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("RxPkt") },
	{ DOCTOR_HW, DOCTOR_SENT, N("TxPkt") },
	/* hns: drivers/infiniband/hw/hns/hns_roce_main.c since Linux 6.7 */
	{ DOCTOR_HW, DOCTOR_CNP_SENT, N("tx_cnp_pkt") },
	{ DOCTOR_HW, DOCTOR_CNP_HANDLED, N("rx_cnp_pkt") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("rx_pkt") },
	{ DOCTOR_HW, DOCTOR_SENT, N("tx_pkt") },
	/* hns: drivers/net/ethernet/hisilicon/hns3/hns3pf/hclge_main.c, without the unit of time */
	{ DOCTOR_ETHTOOL, DOCTOR_RX_PAUSE, N("mac_rx_pfc_pri%u_pkt_num", "mac_rx_mac_pause_num") },
	{ DOCTOR_ETHTOOL, DOCTOR_TX_PAUSE, N("mac_tx_pfc_pri%u_pkt_num", "mac_tx_mac_pause_num") },
	{ DOCTOR_ETHTOOL, DOCTOR_OVERSIZE, N("mac_rx_oversize_pkt_num") },
	{ DOCTOR_ETHTOOL, DOCTOR_DAMAGED, N("mac_rx_fcs_err_pkt_num", "mac_rx_jabber_pkt_num") },
	/* efa: drivers/infiniband/hw/efa/efa_verbs.c; packets have bnxt_re's names */
	{ DOCTOR_HW, DOCTOR_RESENT, N("retrans_pkts", "retrans_timeout_events",
		"unresponsive_remote_events") },
	{ DOCTOR_HW, DOCTOR_DISCARD, N("rx_drops") },
	/* mana: drivers/infiniband/hw/mana/counters.c */
	{ DOCTOR_HW, DOCTOR_RNR, N("requester_rnr_nak") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("responder_rnr_nak") },
	{ DOCTOR_HW, DOCTOR_NAK, N("requester_oos_nak", "requester_implicit_nak") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("requester_timeout") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("responder_oos") },
	{ DOCTOR_HW, DOCTOR_LENGTH, N("responder_local_len_error") },
	/* rxe: drivers/infiniband/sw/rxe/rxe_hw_counters.c */
	{ DOCTOR_HW, DOCTOR_RNR, N("rcvd_rnr_err") },
	{ DOCTOR_HW, DOCTOR_RNR_FAILED, N("retry_rnr_exceeded_err") },
	{ DOCTOR_HW, DOCTOR_RNR_HERE, N("send_rnr_err") },
	{ DOCTOR_HW, DOCTOR_NAK, N("rcvd_seq_err") },
	{ DOCTOR_HW, DOCTOR_RESENT, N("completer_retry_err") },
	{ DOCTOR_HW, DOCTOR_FAILED, N("retry_exceeded_err") },
	{ DOCTOR_HW, DOCTOR_REORDERED, N("out_of_seq_request") },
	{ DOCTOR_HW, DOCTOR_DOWN, N("link_downed") },
	{ DOCTOR_HW, DOCTOR_RECEIVED, N("rcvd_pkts") },
	{ DOCTOR_HW, DOCTOR_SENT, N("sent_pkts") },
	/* Ports of InfiniBand: drivers/infiniband/core/sysfs.c, and the kernel's
	 * Documentation/ABI/stable/sysfs-class-infiniband */
	{ DOCTOR_PORT, DOCTOR_XMIT_DISCARD, N("port_xmit_discards") },
	{ DOCTOR_PORT, DOCTOR_WAITED, N("port_xmit_wait") },
	{ DOCTOR_PORT, DOCTOR_DAMAGED, N("port_rcv_errors", "symbol_error", "local_link_integrity_errors",
		"excessive_buffer_overrun_errors") },
	{ DOCTOR_PORT, DOCTOR_DAMAGED_BEFORE, N("port_rcv_remote_physical_errors") },
	{ DOCTOR_PORT, DOCTOR_DOWN, N("link_downed", "link_error_recovery") },
	{ DOCTOR_PORT, DOCTOR_RECEIVED, N("port_rcv_packets") },
	{ DOCTOR_PORT, DOCTOR_SENT, N("port_xmit_packets") },
	/* All interfaces: the kernel's Documentation/networking/statistics.rst; qdiscs: doctor_read.c */
	{ DOCTOR_NETDEV, DOCTOR_OVERSIZE, N("rx_length_errors") },
	{ DOCTOR_NETDEV, DOCTOR_DAMAGED, N("rx_crc_errors") },
	{ DOCTOR_QDISC, DOCTOR_QDISC_DROP, N("qdisc_drops") },
	{ DOCTOR_QDISC, DOCTOR_QDISC_MARK, N("qdisc_marks") },
};

/* True if the name is as in the table; %u stands for one digit, which becomes *priority. */
static bool is_named(const char *name, const char *pattern, int *priority)
{
	const char *at = strstr(pattern, "%u");
	const size_t head = at ? (size_t)(at - pattern) : 0;

	*priority = DOCTOR_NO_PRIORITY;
	if (!at)
		return strcmp(name, pattern) == 0;
	if (strncmp(name, pattern, head) != 0 || name[head] < '0' || name[head] >= '0' + NIC_PRIORITIES)
		return false;
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
