/* SPDX-License-Identifier: BSD-2-Clause */
#include "child.h"

#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

static int parse_gid(const char *text, union ibv_gid *gid)
{
	for (size_t i = 0; i < sizeof(gid->raw); i++)
		if (sscanf(text + 2 * i, "%2hhx", &gid->raw[i]) != 1)
			return -1;
	return 0;
}

int child_main(int argc, char **argv)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	union ibv_gid gid;
	struct ibv_sge sge;
	struct ibv_wc wc[8];
	struct end e;

	if (argc != 7 || parse_gid(argv[3], &gid))
		return 2;
	host_open(&hosts[0], argv[2]);
	end_make(&e, &hosts[0], &(struct shape){ 0 });
	end_connect_to(&e, &gid, (uint32_t)strtoul(argv[4], NULL, 10));
	printf("%u\n", e.qp->qp_num);
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	sge = (struct ibv_sge){ (uintptr_t)source(), 60000, hosts[0].mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.rkey = (uint32_t)strtoul(argv[5], NULL, 10);
	wr.wr.rdma.remote_addr = strtoull(argv[6], NULL, 10);
	for (;;) {
		fill(source(), 60000, 1);
		while (!ibv_post_send(e.qp, &wr, &bad))
			;
		nap_us(100);
		while (ibv_poll_cq(e.cq, 8, wc) > 0)
			;
	}
}
