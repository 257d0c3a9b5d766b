/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Preloaded into the User-Mode Linux process (not into the programs that run
 * in it): the kernel's entropy, which it takes from the host by getrandom(2),
 * comes from $LAB_SEED instead, so that queue pair numbers, hash seeds and all
 * that programs draw are the same in every run with the same seed.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t state;
static int seeded;

/* splitmix64: the output of a strong mixer over a counter; any seed will do. */
static uint64_t next(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
    unsigned char *out = buf;
    size_t left = len;

    (void)flags;
    if (!seeded) {
        const char *seed = getenv("LAB_SEED");

        state = seed ? strtoull(seed, NULL, 10) : 0;
        seeded = 1;
    }
    while (left > 0) {
        uint64_t word = next();
        size_t n = left < sizeof(word) ? left : sizeof(word);

        memcpy(out, &word, n);
        out += n;
        left -= n;
    }
    return (ssize_t)len;
}
