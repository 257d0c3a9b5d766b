/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs: an application that gets a queue's rings writes to them itself, so its WRs cannot
 * be paced. That is counted and logged once. The functions have only the versions that a program
 * gets by linking the provider's library: without that library neither dlsym() nor a weak
 * reference finds them. Look-ups in the library's own handle bypass them.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/loaded.h"
#include "observe/log.h"
#include "preload/cq/cq.h"
#include "preload/datapath/qp.h"
#include "preload/object/real.h"
#include "preload/report/report.h"
#include "preload/verbs/verbs.h"


/* The beginning of struct mlx5dv_obj, the same in all versions. */
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

/*
 * The symbols that programs link to. Link-time optimisation loses versions that only an asm
 * statement declares, and clang has no attribute for them.
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

/* Declares `real`, and returns if the library has no such function. */
#define REAL(result, args, name, version, otherwise) \
	result (*real) args; \
	*(void **)&real = ccs_loaded_find("libmlx5", name, version); \
	if (!real) { \
		errno = EOPNOTSUPP; \
		return otherwise; \
	}

static void count_direct(const char *function)
{
	if (!ccs_shim_on())
		return;
	ccs_uncontrolled_count(CCS_UNCONTROLLED_DIRECT);
	ccs_log_once(CCS_LOG_WARN, "%s: WRs posted by direct verbs are uncontrolled; "
		     "see LIMITS in libccshim(7)", function);
}

HOOK struct ibv_qp *ccs_direct_create_qp(struct ibv_context *context, void *attr, void *mlx5_attr)
{
	struct ibv_qp *qp;

	REAL(struct ibv_qp *, (struct ibv_context *, void *, void *), "mlx5dv_create_qp", "MLX5_1.3",
	     NULL)
	qp = real(context, attr, mlx5_attr);
	if (qp && !ccs_forked())
		ccs_qp_uncontrolled(qp);
	if (qp)
		count_direct("mlx5dv_create_qp");
	return qp;
}

/* QPs that are created later on a CQ which the application reads itself are not controlled. */
static void mark_objects(const struct direct_obj *obj, uint64_t type)
{
	struct cq *cq = type & OBJ_CQ ? ccs_cq_find(obj->cq.in) : NULL;

	if (cq)
		atomic_store(&cq->direct, true);
	if (type & (OBJ_QP | OBJ_CQ))
		count_direct("mlx5dv_init_obj");
}

static int init_obj(struct direct_obj *obj, uint64_t type, const char *version)
{
	int rc;

	REAL(int, (struct direct_obj *, uint64_t), "mlx5dv_init_obj", version, EOPNOTSUPP)
	rc = real(obj, type);
	if (!rc)
		mark_objects(obj, type);
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

	REAL(void *, (struct ibv_context *, const void *, size_t, void *, size_t),
	     "mlx5dv_devx_obj_create", "MLX5_1.7", NULL)
	if (inlen >= sizeof(opcode))
		memcpy(&opcode, in, sizeof(opcode));
	obj = real(context, in, inlen, out, outlen);
	if (obj && be16toh(opcode) == DEVX_CREATE_QP)
		count_direct("mlx5dv_devx_obj_create");
	return obj;
}
