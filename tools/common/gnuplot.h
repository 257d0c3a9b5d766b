/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_GNUPLOT_H
#define CCS_TOOLS_GNUPLOT_H
/*
 * Draws a picture with gnuplot(1). It is drawn into memory and gets its name when it is
 * complete: a full disk or an interrupt leaves an earlier file unchanged.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Whether the name ends in ".png" or ".svg". Other names are drawn as PNG. */
bool gnuplot_can_write(const char *file);

/* A stream for the commands; NULL with errno. */
FILE *gnuplot_script(void);

/* The commands that begin a picture of that size, in pixels. */
void gnuplot_begin(FILE *script, const char *file, unsigned width, unsigned height);

/* Write text in double quotes; replace characters special to gnuplot, and control characters. */
void gnuplot_quote(FILE *script, const char *text);

/* "#rrggbb"; GNUPLOT_COLORS consecutive ones differ. */
const char *gnuplot_color(unsigned i);
#define GNUPLOT_COLORS 16

/* Run the script and write the picture. 0, or -1 with a sentence in err; gnuplot may have
 * printed details on stderr. */
int gnuplot_draw(FILE *script, const char *file, char *err, size_t errlen);

/* A temporary file in the same directory, which gets its name when it is complete. A device or a
 * pipe of that name is written to, not replaced. */
struct new_file {
	FILE *file;
	const char *name;
	char part[PATH_MAX];     /* name of the temporary file; "": none */
};

FILE *new_file_open(struct new_file *f, const char *name, mode_t mode); /* NULL with errno */
/* With an error, the old file stays. Returns 0 or an errno. */
int new_file_close(struct new_file *f, int error);

#endif
