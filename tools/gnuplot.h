/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_GNUPLOT_H
#define CCS_TOOLS_GNUPLOT_H
/*
 * A picture by gnuplot(1). It is drawn into memory and gets its name once it is
 * whole: a full disk or an interrupt leaves what was there before.
 */
#include <stdbool.h>
#include <stdio.h>

/* ".png" or ".svg" at its end? What else there is is drawn as PNG. */
bool gnuplot_can_write(const char *file);

/* For the commands; NULL with errno. */
FILE *gnuplot_script(void);

/* The commands that begin a picture of that size, in pixels. */
void gnuplot_begin(FILE *script, const char *file, unsigned width, unsigned height);

/* Between double quotes, without what gnuplot would make of it or a terminal obeys. */
void gnuplot_quote(FILE *script, const char *text);

/* "#rrggbb"; the next are other ones, for GNUPLOT_COLORS of them. */
const char *gnuplot_color(unsigned i);
#define GNUPLOT_COLORS 16

/* Run the script and write the picture. 0, or -1 with a sentence in err; gnuplot may have
 * said more on stderr. */
int gnuplot_draw(FILE *script, const char *file, char *err, size_t errlen);

#endif
