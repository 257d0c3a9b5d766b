/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_WRITABLE_H
#define BENCH_WRITABLE_H

/* 0, or the errno with which writing the file would fail: to be known before hours of runs. The file
 * is not opened: a FIFO's reader would see an end of file. */
int file_obstacle(const char *path);

#endif
