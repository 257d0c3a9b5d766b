/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

int ccs_sysfs_open(const char *sysfs, const char *fmt, ...)
{
	char *name = NULL, *file = NULL; /* not on the stack: an application's thread may have little */
	va_list ap;
	int fd = -1;

	va_start(ap, fmt);
	if (vasprintf(&name, fmt, ap) < 0)
		name = NULL;
	va_end(ap);
	if (name && asprintf(&file, "%s/class/%s", sysfs, name) >= 0) {
		fd = open(file, O_RDONLY | O_CLOEXEC);
		free(file);
	}
	free(name);
	return fd;
}

/* Read and close. A read of procfs returns at most a page. */
static size_t read_text(int fd, char *text, size_t len)
{
	size_t n = 0;
	ssize_t more;

	while (fd >= 0 && n < len - 1 && (more = read(fd, text + n, len - 1 - n)) > 0)
		n += (size_t)more;
	ccs_close(fd);
	text[n] = '\0';
	return n;
}

size_t ccs_read_file(const char *name, char *text, size_t len)
{
	errno = 0;
	return read_text(open(name, O_RDONLY | O_CLOEXEC), text, len);
}

bool ccs_sysfs_read_line(int fd, char *line, size_t len)
{
	read_text(fd, line, len);
	line[strcspn(line, "\n")] = '\0';
	return *line;
}

bool ccs_sysfs_read_number(int fd, uint64_t *value)
{
	char text[32], *end;
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && end != text;
}

bool ccs_sysfs_netdev(const char *sysfs, const char *device, unsigned port,
		      char name[IF_NAMESIZE + 1])
{
	const int fd = ccs_sysfs_open(sysfs, "infiniband/%s/ports/%u/gid_attrs/ndevs/0", device, port);

	return ccs_sysfs_read_line(fd, name, IF_NAMESIZE + 1);
}

double ccs_sysfs_speed(const char *sysfs, const char *interface)
{
	char line[32];
	long mbit;

	/* EINVAL while the link is down; -1, signed or unsigned, if the speed is unknown. */
	if (!ccs_sysfs_read_line(ccs_sysfs_open(sysfs, "net/%s/speed", interface), line, sizeof(line)))
		return 0;
	mbit = strtol(line, NULL, 10);
	return mbit > 0 && mbit <= 100000000 ? 1e6 * (double)mbit : 0;
}

bool ccs_sysfs_speed_is_guess(const char *sysfs, const char *device, unsigned port)
{
	char name[IF_NAMESIZE + 1];

	return ccs_sysfs_netdev(sysfs, device, port, name) && ccs_sysfs_speed(sysfs, name) <= 0;
}

double ccs_sysfs_rate(const char *sysfs, const char *device, unsigned port, double rate)
{
	return rate == 1e9 && ccs_sysfs_speed_is_guess(sysfs, device, port) ? 0 : rate;
}

/* One lane's data rate. The codes are InfiniBand's (PortInfo LinkSpeedActive); drivers of
 * Ethernet ports use the nearest code, and 2.5 means 1 Gbit/s there. */
static double lane_rate(unsigned code, bool ethernet)
{
	switch (code) {
	case 1: return ethernet ? 1e9 : 2e9;        /* SDR: 2.5 Gbaud, 8b/10b */
	case 2: return ethernet ? 5e9 : 4e9;        /* DDR */
	case 4: return ethernet ? 10e9 : 8e9;       /* QDR */
	case 8: return 10e9;                        /* FDR10, 64b/66b from here */
	case 16: return ethernet ? 14e9 : 13.64e9;  /* FDR */
	case 32: return 25e9;                       /* EDR */
	case 64: return 50e9;                       /* HDR */
	case 128: return 100e9;                     /* NDR */
	default: return 0;
	}
}

static unsigned lanes(unsigned code)
{
	switch (code) {
	case 1: return 1;
	case 2: return 4;
	case 4: return 8;
	case 8: return 12;
	case 16: return 2;
	default: return 0;
	}
}

double ccs_port_rate(unsigned speed, unsigned width, bool ethernet)
{
	return lane_rate(speed, ethernet) * lanes(width);
}
