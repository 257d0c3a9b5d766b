// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pages of the device that a program maps: doorbells and the clock.
 *
 * A doorbell page has no PTE, so the first store to it faults. By then WQEs and
 * doorbell records are in memory, for the ABI says so, and are processed within
 * the fault. Then the page is mapped so that the store can execute, and
 * unmapped once its contents have changed, which shows that it has; what was
 * posted meanwhile is processed then. Nothing polls: an idle device costs
 * nothing, and virtual time can pass.
 */
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <uapi/linux/sched/types.h>

#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
#include <linux/time-internal.h>
#endif

#include "rxe_abi.h"

#define ABI_UNWRITTEN 0xa5	/* each byte of a doorbell page before a store */

struct abi_page {
	struct rdma_user_mmap_entry entry;
	struct abi_ctx		*ctx;
	enum abi_page_kind	kind;
	void			(*show)(void *va);	/* write a clock page's contents */
	struct kref		ref;
	struct page		*page;
	struct mutex		lock;	/* vma, mm */
	struct vm_area_struct	*vma;
	struct mm_struct	*mm;
	struct hrtimer		timer;
	struct kthread_work	work;
	unsigned int		waits;	/* for the store, since the fault */
};

static struct kthread_worker *abi_worker;

static void abi_page_free(struct kref *ref)
{
	struct abi_page *p = container_of(ref, struct abi_page, ref);

	hrtimer_cancel(&p->timer);
	__free_page(p->page);
	kfree(p);
}

void abi_page_put(struct abi_page *p)
{
	kref_put(&p->ref, abi_page_free);
}

static enum hrtimer_restart abi_page_timer(struct hrtimer *timer)
{
	struct abi_page *p = container_of(timer, struct abi_page, timer);

	kthread_queue_work(abi_worker, &p->work);
	return HRTIMER_NORESTART;
}

static bool abi_virtual_time(void)
{
#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
	return time_travel_mode != TT_MODE_OFF;
#else
	return false;
#endif
}

/*
 * Nothing shows that a clock page has been read. In virtual time it has before
 * a microsecond has passed, because CPU costs no time. In real time the return
 * to the program alone takes longer.
 */
static u64 abi_page_mapped_ns(const struct abi_page *p)
{
	if (p->kind == ABI_CLOCK)
		return abi_virtual_time() ? NSEC_PER_USEC : NSEC_PER_MSEC;
	return (u64)NSEC_PER_USEC << min(p->waits, 14u);
}

/*
 * In virtual time the thread that unmaps runs when all others wait, before time
 * passes: what is posted while the page is mapped is not seen late.
 */
static void abi_page_unmap_later(struct abi_page *p)
{
	if (abi_virtual_time() && p->kind == ABI_DOORBELL && !p->waits)
		kthread_queue_work(abi_worker, &p->work);
	else
		hrtimer_start(&p->timer, ns_to_ktime(abi_page_mapped_ns(p)), HRTIMER_MODE_REL);
}

static struct mm_struct *abi_page_mm(struct abi_page *p)
{
	struct mm_struct *mm;

	mutex_lock(&p->lock);
	mm = p->vma ? p->mm : NULL;
	if (mm && !mmget_not_zero(mm))
		mm = NULL;
	mutex_unlock(&p->lock);
	return mm;
}

static void abi_page_unmap(struct kthread_work *work)
{
	struct abi_page *p = container_of(work, struct abi_page, work);
	struct mm_struct *mm = abi_page_mm(p);
	void *va = page_address(p->page);

	if (!mm)
		goto out;
	if (p->kind == ABI_DOORBELL && !memchr_inv(va, ABI_UNWRITTEN, PAGE_SIZE)) {
		mmput(mm);
		p->waits++;
		abi_page_unmap_later(p);
		return;		/* keeps its reference */
	}
	mmap_read_lock(mm);
	mutex_lock(&p->lock);
	if (p->vma)
		zap_vma_ptes(p->vma, p->vma->vm_start, PAGE_SIZE);
	mutex_unlock(&p->lock);
	mmap_read_unlock(mm);
	mmput(mm);
	if (p->kind == ABI_DOORBELL) {
		memset(va, ABI_UNWRITTEN, PAGE_SIZE);
		abi_doorbell(p->ctx);
	}
out:
	abi_page_put(p);
}

static vm_fault_t abi_page_fault(struct vm_fault *vmf)
{
	struct abi_page *p = vmf->vma->vm_private_data;
	vm_fault_t ret;

	if (p->kind == ABI_DOORBELL)
		abi_doorbell(p->ctx);
	else
		p->show(page_address(p->page));
	ret = vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(p->page));
	p->waits = 0;
	if (!hrtimer_active(&p->timer) && list_empty(&p->work.node)) {
		kref_get(&p->ref);
		abi_page_unmap_later(p);
	}
	return ret;
}

static void abi_vma_close(struct vm_area_struct *vma)
{
	struct abi_page *p = vma->vm_private_data;

	mutex_lock(&p->lock);
	p->vma = NULL;
	mmdrop(p->mm);
	p->mm = NULL;
	mutex_unlock(&p->lock);
	abi_page_put(p);
}

static const struct vm_operations_struct abi_vm_ops = {
	.fault = abi_page_fault,
	.close = abi_vma_close,
};

struct abi_page *abi_page_create(struct abi_ctx *ctx, enum abi_page_kind kind,
				 void (*show)(void *va))
{
	struct abi_page *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return NULL;
	p->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!p->page) {
		kfree(p);
		return NULL;
	}
	if (kind == ABI_DOORBELL)
		memset(page_address(p->page), ABI_UNWRITTEN, PAGE_SIZE);
	p->ctx = ctx;
	p->kind = kind;
	p->show = show;
	kref_init(&p->ref);
	mutex_init(&p->lock);
	kthread_init_work(&p->work, abi_page_unmap);
	hrtimer_init(&p->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	p->timer.function = abi_page_timer;
	return p;
}

/* The mapping has a reference to the page of its own. A child does not inherit it. */
int abi_page_mmap(struct abi_page *p, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (p->kind == ABI_CLOCK && (vma->vm_flags & VM_WRITE))
		return -EPERM;
	mutex_lock(&p->lock);
	if (p->vma) {
		mutex_unlock(&p->lock);
		return -EBUSY;
	}
	p->vma = vma;
	p->mm = vma->vm_mm;
	mmgrab(p->mm);
	mutex_unlock(&p->lock);
	kref_get(&p->ref);
	if (p->kind == ABI_CLOCK)
		vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = p;
	vma->vm_ops = &abi_vm_ops;
	return 0;
}

struct rdma_user_mmap_entry *abi_page_entry(struct abi_page *p)
{
	return &p->entry;
}

struct abi_page *abi_page_of_entry(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct abi_page, entry);
}

void abi_mmap_free(struct rdma_user_mmap_entry *entry)
{
	abi_page_put(abi_page_of_entry(entry));
}

void abi_pages_flush(void)
{
	kthread_flush_worker(abi_worker);
}

int abi_pages_init(void)
{
	static const struct sched_param none;
	struct kthread_worker *worker;

	if (abi_worker)
		return 0;
	worker = kthread_create_worker(0, "rxe_abi");
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	if (abi_virtual_time())
		sched_setscheduler_nocheck(worker->task, SCHED_IDLE, &none);
	abi_worker = worker;
	return 0;
}
