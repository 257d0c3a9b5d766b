/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Preloaded into the User-Mode Linux process (not into the programs that run
 * in it): the kernel's entropy, which it takes from the host by getrandom(2),
 * comes from $LAB_SEED instead, so that queue pair numbers, hash seeds and all
 * that programs draw are the same in every run with the same seed. Each call gets the
 * same bytes, as another kernel may call more often while it boots.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* splitmix64: the output of a strong mixer over a counter; any seed will do. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
    const char *seed = getenv("LAB_SEED");
    uint64_t state = seed ? strtoull(seed, NULL, 10) : 0;
    unsigned char *out = buf;
    size_t left = len;

    (void)flags;
    while (left > 0) {
        uint64_t word = next(&state);
        size_t n = left < sizeof(word) ? left : sizeof(word);

        memcpy(out, &word, n);
        out += n;
        left -= n;
    }
    return (ssize_t)len;
}
