/* SPDX-License-Identifier: BSD-2-Clause */
#include "slurp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *slurp(const char *name)
{
	FILE *in = fopen(name, "re"), *out;
	char *text = NULL, part[4096];
	bool is_text = true;
	size_t len, n;
	int error;

	if (!in)
		return NULL;
	out = open_memstream(&text, &len);
	while (out && is_text && (n = fread(part, 1, sizeof(part), in)) > 0) {
		is_text = !memchr(part, '\0', n); /* /dev/zero has no end */
		fwrite(part, 1, n, out);
	}
	error = !out || ferror(in) ? errno : is_text ? 0 : EBADMSG;
	fclose(in);
	if (out && fclose(out))
		error = errno;
	if (!error)
		return text;
	free(text);
	errno = error;
	return NULL;
}
