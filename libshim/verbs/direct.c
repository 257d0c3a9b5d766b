/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs: an application that asks for a queue's rings writes to them itself, and
 * nothing of what it posts can be held back. Seen here, counted, said once, and left
 * alone. The functions have only the versions that a program gets by linking the
 * provider's library: if that is not there, neither dlsym() nor a weak reference finds
 * them. Nor do they see who looks them up in that library's own handle.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "runtime/log.h"
#include "verbs/real.h"
#include "verbs/shim.h"

#define MLX5 "libmlx5.so.1"
#define EFA "libefa.so.1"

/* What the beginning of struct mlx5dv_obj has always been. */
struct direct_obj {
	struct { struct ibv_qp *in; void *out; } qp;
	struct { struct ibv_cq *in; void *out; } cq;
};

enum { OBJ_QP = 1, OBJ_CQ = 2 };         /* MLX5DV_OBJ_* */
enum { DEVX_CREATE_QP = 0x500 };         /* the opcode that begins a DevX command */

struct ibv_qp *ccs_direct_create_qp(struct ibv_context *context, void *attr, void *mlx5_attr);
int ccs_direct_init_obj_1_0(struct direct_obj *obj, uint64_t type);
int ccs_direct_init_obj_1_2(struct direct_obj *obj, uint64_t type);
void *ccs_direct_devx(struct ibv_context *context, const void *in, size_t inlen, void *out,
		      size_t outlen);
struct ibv_qp *ccs_direct_efa_driver_qp(struct ibv_pd *pd, void *attr, uint32_t type);
struct ibv_qp *ccs_direct_efa_qp_ex(struct ibv_context *context, void *attr, void *efa_attr,
				    uint32_t inlen);

/*
 * The symbols that programs know. Link-time optimisation loses what only an asm tells of
 * them, and clang knows no attribute for it.
 */
#if __has_attribute(symver)
#define SYMBOL(function, symbol) \
	extern __typeof__(function) function __attribute__((symver(symbol)));
#else
#define SYMBOL(function, symbol) __asm__(".symver " #function ", " symbol);
#endif
SYMBOL(ccs_direct_create_qp, "mlx5dv_create_qp@MLX5_1.3")
SYMBOL(ccs_direct_init_obj_1_0, "mlx5dv_init_obj@MLX5_1.0")
SYMBOL(ccs_direct_init_obj_1_2, "mlx5dv_init_obj@MLX5_1.2")
SYMBOL(ccs_direct_devx, "mlx5dv_devx_obj_create@MLX5_1.7")
SYMBOL(ccs_direct_efa_driver_qp, "efadv_create_driver_qp@EFA_1.0")
SYMBOL(ccs_direct_efa_qp_ex, "efadv_create_qp_ex@EFA_1.1")

/* Declares `real`, and leaves where the library has no such function. */
#define REAL(result, args, library, name, version, otherwise) \
	result (*real) args; \
	*(void **)&real = ccs_real_find(library, name, version); \
	if (!real) { \
		errno = EOPNOTSUPP; \
		return otherwise; \
	}

static void note(const char *function)
{
	if (!ccs_shim_on())
		return;
	ccs_shim_count(CCS_PASS_DIRECT);
	ccs_log_once(CCS_LOG_WARN, "%s: what is posted by direct verbs passes uncontrolled; "
		     "see LIMITS in libccshim(7)", function);
}

HOOK struct ibv_qp *ccs_direct_create_qp(struct ibv_context *context, void *attr, void *mlx5_attr)
{
	struct ibv_qp *qp;

	REAL(struct ibv_qp *, (struct ibv_context *, void *, void *), MLX5, "mlx5dv_create_qp",
	     "MLX5_1.3", NULL)
	qp = real(context, attr, mlx5_attr);
	if (qp)
		note("mlx5dv_create_qp");
	return qp;
}

/* QPs that are created later on a CQ which the application reads itself are not ours. */
static void see_objects(const struct direct_obj *obj, uint64_t type)
{
	struct cq *cq = type & OBJ_CQ ? ccs_cq_find(obj->cq.in) : NULL;

	if (cq)
		atomic_store(&cq->direct, true);
	if (type & (OBJ_QP | OBJ_CQ))
		note("mlx5dv_init_obj");
}

static int init_obj(struct direct_obj *obj, uint64_t type, const char *version)
{
	int rc;

	REAL(int, (struct direct_obj *, uint64_t), MLX5, "mlx5dv_init_obj", version, EOPNOTSUPP)
	rc = real(obj, type);
	if (!rc)
		see_objects(obj, type);
	return rc;
}

HOOK int ccs_direct_init_obj_1_0(struct direct_obj *obj, uint64_t type)
{
	return init_obj(obj, type, "MLX5_1.0");
}

HOOK int ccs_direct_init_obj_1_2(struct direct_obj *obj, uint64_t type)
{
	return init_obj(obj, type, "MLX5_1.2");
}

HOOK void *ccs_direct_devx(struct ibv_context *context, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	uint16_t opcode = 0;
	void *obj;

	REAL(void *, (struct ibv_context *, const void *, size_t, void *, size_t), MLX5,
	     "mlx5dv_devx_obj_create", "MLX5_1.7", NULL)
	if (inlen >= sizeof(opcode))
		memcpy(&opcode, in, sizeof(opcode));
	obj = real(context, in, inlen, out, outlen);
	if (obj && be16toh(opcode) == DEVX_CREATE_QP)
		note("mlx5dv_devx_obj_create");
	return obj;
}

HOOK struct ibv_qp *ccs_direct_efa_driver_qp(struct ibv_pd *pd, void *attr, uint32_t type)
{
	struct ibv_qp *qp;

	REAL(struct ibv_qp *, (struct ibv_pd *, void *, uint32_t), EFA, "efadv_create_driver_qp",
	     "EFA_1.0", NULL)
	qp = real(pd, attr, type);
	if (qp)
		note("efadv_create_driver_qp");
	return qp;
}

HOOK struct ibv_qp *ccs_direct_efa_qp_ex(struct ibv_context *context, void *attr, void *efa_attr,
					 uint32_t inlen)
{
	struct ibv_qp *qp;

	REAL(struct ibv_qp *, (struct ibv_context *, void *, void *, uint32_t), EFA,
	     "efadv_create_qp_ex", "EFA_1.1", NULL)
	qp = real(context, attr, efa_attr, inlen);
	if (qp)
		note("efadv_create_qp_ex");
	return qp;
}
