/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs gnuplot(1) on a script and stores its picture. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "program.h"

static bool ends_in(const char *file, const char *suffix)
{
	const size_t len = strlen(file), n = strlen(suffix);

	return len > n && strcmp(file + len - n, suffix) == 0;
}

bool gnuplot_can_write(const char *file)
{
	return ends_in(file, ".png") || ends_in(file, ".svg");
}

void gnuplot_begin(FILE *script, const char *file, unsigned width, unsigned height)
{
	fprintf(script, "set terminal %s size %u,%u font 'Sans,11' noenhanced background '#ffffff'\n",
		ends_in(file, ".svg") ? "svg" : "pngcairo", width, height);
	fprintf(script, "set border 3 lc '#666666'; set tics nomirror out tc '#444444'\n"
			"set grid ytics lc '#e4e4e4' lt 1; set style fill solid 0.9 noborder\n");
}

void gnuplot_quote(FILE *script, const char *text)
{
	unsigned len;

	putc('"', script);
	for (; *text; text += len ? len : 1) {
		len = ccs_printable_len(text);
		if (!len || strchr("\"\\`", *text))
			putc(len ? '\'' : '?', script);
		else
			fwrite(text, 1, len, script);
	}
	putc('"', script);
}

const char *gnuplot_color(unsigned i)
{
	static const char *const color[GNUPLOT_COLORS] = {
		"#3b6fb6", "#f0a23b", "#58a66b", "#d3605c", "#7fb7d8", "#8a6bb1", "#c9b458",
		"#4b9c9c", "#e39bb0", "#8c7a66", "#2f4f7f", "#b5762a", "#2f7a4a", "#9c3a3a",
		"#5a93b8", "#5f4589",
	};

	return color[i % GNUPLOT_COLORS];
}

FILE *gnuplot_script(void)
{
	const int fd = memfd_create("script", MFD_CLOEXEC);
	FILE *script = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !script)
		close(fd);
	return script;
}

/*
 * gnuplot writes the picture to a pipe, so that a file size limit is noticed. As "-" it would read
 * its script unbuffered, a byte at a time.
 */
static int run_gnuplot(FILE *script, FILE *picture, char *err, size_t errlen)
{
	char *argv[] = { (char *)"gnuplot", (char *)"-d", (char *)"/dev/stdin", NULL };
	int status;

	if (fflush(script) || ferror(script) || lseek(fileno(script), 0, SEEK_SET) < 0)
		return ccs_refuse(err, errlen, "the script: %s", strerror(errno));
	status = program_run(argv[0], argv, fileno(script), false, picture);
	if (status < 0)
		return ccs_refuse(err, errlen, errno == ENOENT ? "gnuplot is not installed"
				  : "gnuplot: %s", strerror(errno));
	if (status || fflush(picture) || ftell(picture) <= 0)
		return ccs_refuse(err, errlen, "gnuplot failed");
	return 0;
}

FILE *new_file_open(struct new_file *f, const char *name, mode_t mode)
{
	const mode_t mask = umask(0);
	struct stat st;
	int fd;

	umask(mask);
	f->name = name;
	*f->part = '\0';
	if (stat(name, &st) == 0 && !S_ISREG(st.st_mode)) /* also by a symbolic link, such as to /dev/full */
		return f->file = fopen(name, "we");
	if ((size_t)snprintf(f->part, sizeof(f->part), "%s.XXXXXX", name) >= sizeof(f->part)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(f->part, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	f->file = fdopen(fd, "w");
	if (fchmod(fd, mode & ~mask) == 0)
		return f->file;
	errno = new_file_close(f, errno);
	return NULL;
}

int new_file_close(struct new_file *f, int error)
{
	if (fclose(f->file) && !error)
		error = errno;
	if (!error && *f->part && rename(f->part, f->name))
		error = errno;
	if (error && *f->part)
		unlink(f->part);
	return error;
}

/* 0 or an errno. */
static int store_picture(const char *picture, size_t len, const char *file)
{
	struct new_file f;

	if (!new_file_open(&f, file, 0666))
		return errno;
	return new_file_close(&f, fwrite(picture, 1, len, f.file) == len ? 0 : errno);
}

int gnuplot_draw(FILE *script, const char *file, char *err, size_t errlen)
{
	char *buf = NULL;
	size_t len;
	FILE *picture = open_memstream(&buf, &len);
	int error, rc = -1;

	if (!picture)
		return ccs_refuse(err, errlen, "%s", strerror(errno));
	if (run_gnuplot(script, picture, err, errlen) == 0) {
		error = store_picture(buf, len, file);
		rc = error ? -1 : 0;
		if (error)
			snprintf(err, errlen, "%s: %s", file, strerror(error));
	}
	fclose(picture);
	free(buf);
	return rc;
}
