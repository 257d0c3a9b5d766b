/* SPDX-License-Identifier: BSD-2-Clause */
/* A replacement for libmlx5.so.1 that records the calls it receives. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct fakemlx5 { const char *function; const void *arg[5]; };
extern struct fakemlx5 fakemlx5_seen;
EXPORT struct fakemlx5 fakemlx5_seen;
static char result[64];

void *mlx5dv_create_qp(const void *context, const void *attr, const void *mlx5_attr);
int init_obj_0(const void *obj, uint64_t type);
int init_obj_2(const void *obj, uint64_t type);
void *mlx5dv_devx_obj_create(const void *context, const void *in, size_t inlen, const void *out,
			     size_t outlen);
__asm__(".symver init_obj_0, mlx5dv_init_obj@MLX5_1.0\n"
	".symver init_obj_2, mlx5dv_init_obj@@MLX5_1.2");

EXPORT void *mlx5dv_create_qp(const void *context, const void *attr, const void *mlx5_attr)
{
	fakemlx5_seen = (struct fakemlx5){ "create_qp", { context, attr, mlx5_attr } };
	if (attr)
		return result;
	errno = ENOMEM;
	return NULL;
}

EXPORT int init_obj_0(const void *obj, uint64_t type)
{
	fakemlx5_seen = (struct fakemlx5){ "older_init_obj", { obj, (void *)(uintptr_t)type } };
	return 0;
}

EXPORT int init_obj_2(const void *obj, uint64_t type)
{
	fakemlx5_seen = (struct fakemlx5){ "init_obj", { obj, (void *)(uintptr_t)type } };
	return type ? 0 : EINVAL;
}

EXPORT void *mlx5dv_devx_obj_create(const void *context, const void *in, size_t inlen,
				    const void *out, size_t outlen)
{
	fakemlx5_seen = (struct fakemlx5){ "devx_obj_create",
		{ context, in, (void *)inlen, out, (void *)outlen } };
	return result;
}
