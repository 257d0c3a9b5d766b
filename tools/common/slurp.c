/* SPDX-License-Identifier: BSD-2-Clause */
#include "slurp.h"

#include <stdio.h>
#include <stdlib.h>

char *slurp(const char *name)
{
	FILE *in = fopen(name, "re"), *out;
	char *text = NULL, part[4096];
	size_t len, n;

	if (!in)
		return NULL;
	out = open_memstream(&text, &len);
	while (out && (n = fread(part, 1, sizeof(part), in)) > 0)
		fwrite(part, 1, n, out);
	fclose(in);
	if (out)
		fclose(out);
	return text;
}
