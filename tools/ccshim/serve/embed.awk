# SPDX-License-Identifier: BSD-2-Clause
# The files of the page as strings in C; the first file is also the page's root.
function type(name)
{
	return name ~ /\.html$/ ? "text/html" : name ~ /\.css$/ ? "text/css" : "text/javascript"
}

BEGIN {
	print "/* Made by embed.awk. */\n#include \"tools/ccshim/serve/serve.h\"\n"
	print "const struct serve_file serve_files[] = {"
}

FNR == 1 {
	if (NR > 1)
		print "\t},"
	name = FILENAME
	sub(/.*\//, "", name)
	printf "\t{ \"/%s\", \"%s; charset=utf-8\",\n", NR == 1 ? "" : name, type(name)
}

{
	n = split($0, part, /["\\?]/) # \? makes no trigraph
	line = part[1]
	at = length(line) + 1
	for (i = 2; i <= n; i++) {
		line = line "\\" substr($0, at, 1) part[i]
		at += length(part[i]) + 1
	}
	print "\t  \"" line "\\n\""
}

END {
	print "\t},\n\t{ 0 }\n};"
}
