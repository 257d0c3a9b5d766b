/* SPDX-License-Identifier: BSD-2-Clause */
/* A module that is linked to (a replacement for) libmlx5 and calls its direct verbs. */
#include "reach.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct mlx5dv_obj { struct { void *in, *out; } qp, cq; char rest[80]; };

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, void *attr, void *mlx5_attr);
int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type);
void *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in, size_t inlen, void *out,
			     size_t outlen);
int older_init_obj(struct mlx5dv_obj *obj, uint64_t type);
__asm__(".symver older_init_obj, mlx5dv_init_obj@MLX5_1.0");
int reach_module(void);

/* The last call that the replacement received. */
extern struct fakemlx5 { const char *function; const void *arg[5]; } fakemlx5_seen;

static int saw(const char *function, const void *a, const void *b)
{
	return strcmp(fakemlx5_seen.function, function) == 0 && fakemlx5_seen.arg[0] == a &&
	       fakemlx5_seen.arg[1] == b;
}

static int devx(struct ibv_context *context, uint16_t opcode)
{
	uint16_t in[8] = { htobe16(opcode) }, out[8];

	REACH_TRY(mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)));
	REACH_TRY(saw("devx_obj_create", context, in) && fakemlx5_seen.arg[3] == out);
	return 0;
}

/* The report counts in this order: a QP; a CQ, twice; a QP on it; a DevX QP. */
int __attribute__((visibility("default"))) reach_module(void)
{
#define LINKED(name, version) .name = name,
	const struct reach_verbs verbs = { REACH_VERBS(LINKED) };
#undef LINKED
	struct mlx5dv_obj obj = { 0 };
	struct reach_rig r = { 0 };
	char one, two;

	REACH_TRY(reach_open(&verbs, &r) == 0);
	REACH_TRY(mlx5dv_create_qp(r.context, &one, &two));
	REACH_TRY(saw("create_qp", r.context, &one) && fakemlx5_seen.arg[2] == &two);
	errno = 0;
	REACH_TRY(!mlx5dv_create_qp(r.context, NULL, NULL) && errno == ENOMEM);
	obj.cq.in = r.cq;
	REACH_TRY(mlx5dv_init_obj(&obj, 2) == 0 && saw("init_obj", &obj, (void *)2));
	REACH_TRY(older_init_obj(&obj, 2) == 0 && saw("older_init_obj", &obj, (void *)2));
	REACH_TRY(mlx5dv_init_obj(&obj, 0) == EINVAL);
	r.a = reach_qp(&verbs, &r);
	REACH_TRY(r.a && devx(r.context, 0x500) == 0 && devx(r.context, 0x400) == 0);
	return 0;
}
