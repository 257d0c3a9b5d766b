/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TESTS_TELEMETRY_H
#define CCS_TESTS_TELEMETRY_H
/*
 * Telemetry between agents: host RP sends, host NP receives, by an interface whose counters
 * are files here; a switch is played by the test.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentrig.h"

enum { RP, NP };

#define SWITCH "127.0.0.3"
#define GBIT 1000000000ull
#define MS 1000000ull

struct bench {
	struct rig *r;
	struct rig_client c;
	uint64_t rx_bytes;
	struct ccs_agent_capacity capacity;
	const char *switches[1];
	int fake_switch;                 /* its socket, or -1 */
	uint64_t sequence;
};

static inline void put_file(const struct bench *b, const char *name, uint64_t value)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/class/net/lo/%s", b->r->dir, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%llu\n", (unsigned long long)value);
	fclose(f);
}

static inline void remove_files(const struct bench *b)
{
	static const char *const all[] = { "class/net/lo/statistics/rx_bytes", "class/net/lo/speed",
		"class/net/lo/statistics", "class/net/lo", "class/net", "class" };
	char path[256];

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(path, sizeof(path), "%s/%s", b->r->dir, all[i]);
		remove(path);
	}
}

static inline int open_switch(const struct rig *r)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(r->port) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, SWITCH, &in.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

/* A receiver with an interface of 1 Gb/s, and a client with one flow towards it, in slot 1. */
static inline void begin(struct bench *b, void **state, bool with_switch)
{
	struct rig *r = *state;

	*b = (struct bench){ .r = r, .capacity = { "lo", GBIT }, .switches = { SWITCH },
			     .fake_switch = with_switch ? open_switch(r) : -1 };
	put_file(b, "statistics/rx_bytes", 0);
	rig_stop(r, NP);
	r->config[NP].sysfs = r->dir;
	r->config[NP].capacities = &b->capacity;
	r->config[NP].ncapacities = 1;
	r->config[NP].switches = b->switches;
	r->config[NP].nswitches = with_switch;
	rig_start(r, NP);
	b->c = rig_client(r, RP);
	b->c.shm->slot[1].requested = CCS_PEER_TELEMETRY;
	b->c.shm->slot[1].period_us = 1000;
	assert_int_equal(rig_add(r, &b->c, RP, 1, 1), 0);
}

static inline void end(struct bench *b)
{
	rig_hang_up(&b->c);
	remove_files(b);
	if (b->fake_switch >= 0)
		close(b->fake_switch);
}

/* Each flow in `slots` sends, and `bytes` arrive in each ms. */
static inline void run(struct bench *b, unsigned ms, unsigned slots, uint64_t bytes)
{
	for (unsigned i = 0; i < ms; i++) {
		b->r->now_ns += MS;
		for (unsigned slot = 1; slot < 32; slot++)
			if (slots >> slot & 1)
				atomic_fetch_add(&b->c.shm->slot[slot].sent, 4096);
		b->rx_bytes += bytes;
		put_file(b, "statistics/rx_bytes", b->rx_bytes);
		rig_settle(b->r); /* send what is due */
		rig_settle(b->r); /* and arrives */
	}
}

static inline struct ccs_path_telemetry seen(const struct bench *b)
{
	struct ccs_path_telemetry t;

	assert_true(ccs_shm_path_read(rig_path(&b->c, 1), &t));
	return t;
}

#endif
