/* SPDX-License-Identifier: BSD-2-Clause */
/* Communication between processes through files of shared memory; see wire.h. */
#include "wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 0xfa4e0001, PORTS = 16, PATIENCE_NS = 10000000, NAME = 16 };

struct wire_file {
	_Atomic uint32_t magic;          /* initialised last */
	uint64_t id;                     /* identifies the process, as slots are reused */
	_Atomic uint32_t bell, asleep;   /* a futex, and whether a thread waits for it */
	pthread_mutex_t lock;            /* held by writers */
	_Atomic uint64_t head, tail;
	struct wire_msg ring[WIRE_RING];
	unsigned char block[WIRE_BLOCKS][PIECE];
};

/* The times until which each port's two directions are busy. */
struct ports {
	_Atomic uint64_t out[PORTS], in[PORTS];
};

static struct {
	int dir;
	_Atomic bool on;
	uint32_t slot;
	pid_t pid;                       /* a child is another process */
	struct ports *ports;
	struct {
		int fd;
		struct wire_file *file;
	} at[WIRE_SLOTS];
} wire = { .dir = -1 };

static const char *name_of(uint32_t slot, char *name)
{
	snprintf(name, NAME, "%04x", slot);
	return name;
}

static int lock(int fd, int how, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET };

	if (fcntl(fd, how, &l))
		return errno;
	return how == F_GETLK && l.l_type == F_UNLCK ? ESRCH : 0;
}

static bool owned(int fd)
{
	return lock(fd, F_GETLK, F_WRLCK) == 0;
}

/* Remove files of dead processes; returns false if no process is alive. */
static bool sweep(void)
{
	const int copy = openat(wire.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	bool alive = false;

	while (dir && (e = readdir(dir))) {
		int fd;

		if (strlen(e->d_name) != 4 || strspn(e->d_name, "0123456789abcdef") != 4)
			continue;
		fd = openat(wire.dir, e->d_name, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (owned(fd))
			alive = true;
		else
			unlinkat(wire.dir, e->d_name, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
	return alive;
}

static void *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int make_file(void)
{
	pthread_mutexattr_t attr;
	struct wire_file *file;
	char name[NAME];
	int fd = -1;

	for (wire.slot = 1; wire.slot < WIRE_SLOTS && fd < 0; wire.slot += fd < 0)
		fd = openat(wire.dir, name_of(wire.slot, name),
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if (ftruncate(fd, sizeof(*file)) || lock(fd, F_SETLK, F_WRLCK) ||
	    !(file = map(fd, sizeof(*file))))
		return errno;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&file->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	file->id = fake_now_ns();
	atomic_store(&file->magic, MAGIC);
	wire.at[wire.slot].fd = fd;
	wire.at[wire.slot].file = file;
	wire.pid = getpid();
	wire.on = true;
	return 0;
}

/*
 * Only one process joins at a time, so that a file is not removed before its owner has locked
 * it.
 */
static int join_locked(int ports)
{
	if (!sweep() && ftruncate(ports, 0))
		return errno;
	if (ftruncate(ports, sizeof(*wire.ports)))
		return errno;
	wire.ports = map(ports, sizeof(*wire.ports));
	return wire.ports ? make_file() : errno;
}

int wire_join(void)
{
	const char *path = getenv("FAKERDMA_WIRE");
	int ports, rc = 0;

	if (!path || !*path || wire.slot)
		return 0;
	mkdir(path, 0700);
	wire.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ports = wire.dir < 0 ? -1 : openat(wire.dir, "ports", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (ports < 0 || flock(ports, LOCK_EX))
		rc = errno;
	if (!rc)
		rc = join_locked(ports);
	if (ports >= 0) {
		flock(ports, LOCK_UN); /* the mapping would keep the lock */
		close(ports);
	}
	if (rc) {
		fprintf(stderr, "libfakerdma: FAKERDMA_WIRE=%s: %s\n", path, strerror(rc));
		wire.slot = 0;
	}
	return rc;
}

static void __attribute__((destructor)) leave(void)
{
	char name[NAME];

	if (wire.slot && wire.pid == getpid())
		unlinkat(wire.dir, name_of(wire.slot, name), 0);
}

void wire_forked(void)
{
	wire.slot = 0;
	wire.on = false;
}

bool wire_on(void)
{
	return wire.on;
}

uint32_t wire_slot(void)
{
	return wire.slot;
}

struct wire_file *wire_own(void)
{
	return wire.at[wire.slot].file;
}

static void forget(uint32_t slot)
{
	if (!wire.at[slot].file)
		return;
	munmap(wire.at[slot].file, sizeof(struct wire_file));
	close(wire.at[slot].fd);
	wire.at[slot].file = NULL;
}

static struct wire_file *open_slot(uint32_t slot)
{
	struct wire_file *file;
	struct stat st;
	char name[NAME];
	int fd = openat(wire.dir, name_of(slot, name), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	file = !fstat(fd, &st) && st.st_size == sizeof(*file) && owned(fd)
		? map(fd, sizeof(*file)) : NULL;
	if (file && atomic_load(&file->magic) != MAGIC) {
		munmap(file, sizeof(*file));
		file = NULL;
	}
	if (!file) {
		close(fd);
		return NULL;
	}
	wire.at[slot].fd = fd;
	wire.at[slot].file = file;
	return file;
}

struct wire_file *wire_of(uint32_t slot)
{
	if (!slot || slot >= WIRE_SLOTS)
		return NULL;
	if (slot == wire.slot)
		return wire_own();
	if (wire.at[slot].file && !owned(wire.at[slot].fd))
		forget(slot);
	return wire.at[slot].file ? wire.at[slot].file : open_slot(slot);
}

uint64_t wire_id(const struct wire_file *file)
{
	return file ? file->id : 0;
}

unsigned char *wire_block(struct wire_file *file, uint32_t block)
{
	return file->block[block % WIRE_BLOCKS];
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *ts)
{
	syscall(SYS_futex, word, op, value, ts, NULL, 0);
}

bool wire_push(struct wire_file *to, const struct wire_msg *msg)
{
	const unsigned limit = msg->kind == WIRE_ANSWER ? WIRE_RING : WIRE_RING - WIRE_BLOCKS;
	uint64_t head;
	bool ok;

	/*
	 * A process that died while it held the lock had not moved the head: its message does
	 * not exist.
	 */
	if (pthread_mutex_lock(&to->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&to->lock);
	head = atomic_load(&to->head);
	ok = head - atomic_load(&to->tail) < limit;
	if (ok) {
		to->ring[head % WIRE_RING] = *msg;
		atomic_store(&to->head, head + 1);
	}
	pthread_mutex_unlock(&to->lock);
	if (ok) {
		atomic_fetch_add(&to->bell, 1);
		if (atomic_load(&to->asleep))
			futex(&to->bell, FUTEX_WAKE, INT_MAX, NULL);
	}
	return ok;
}

bool wire_pop(struct wire_msg *msg)
{
	struct wire_file *own = wire_own();
	const uint64_t tail = atomic_load(&own->tail);

	if (tail == atomic_load(&own->head))
		return false;
	*msg = own->ring[tail % WIRE_RING];
	atomic_store(&own->tail, tail + 1);
	return true;
}

void wire_wait(void)
{
	const struct timespec timeout = { .tv_nsec = PATIENCE_NS };
	struct wire_file *own = wire_own();
	const uint32_t bell = atomic_load(&own->bell);

	atomic_store(&own->asleep, 1);
	if (atomic_load(&own->head) == atomic_load(&own->tail))
		futex(&own->bell, FUTEX_WAIT, bell, &timeout);
	atomic_store(&own->asleep, 0);
}

/* Occupy a direction for `ns`, starting at `from` or later; returns the time of the end. */
static uint64_t occupy(_Atomic uint64_t *until, uint64_t from, uint64_t ns)
{
	uint64_t old = atomic_load(until), end;

	do
		end = (old > from ? old : from) + ns;
	while (!atomic_compare_exchange_weak(until, &old, end));
	return end;
}

uint64_t wire_reserve(unsigned from, unsigned to, uint64_t bytes, double rate)
{
	const uint64_t ns = (uint64_t)(8e9 * (double)bytes / rate);
	const uint64_t sent = occupy(&wire.ports->out[from % PORTS], fake_now_ns(), ns);

	return occupy(&wire.ports->in[to % PORTS], sent - ns, ns);
}
