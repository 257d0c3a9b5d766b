# SPDX-License-Identifier: BSD-2-Clause
#
# PLAN RESULTS, as guest has them: a table, what was not as it should be, and the sum;
# into the file `json` an object with all. `modes` are the columns. Status 1 if something
# was worse than bare, 125 if nothing was compared or a lab did not run its cases.

function quoted(text) {
	gsub(/[\\"]/, "\\\\&", text)
	gsub(/[\001-\037]/, " ", text)
	return "\"" text "\""
}

# What stands for a case and a mode in the table: of many tests, how many passed.
function cell(n, m,    all) {
	all = passed[n, m] + wrong[n, m]
	if (!all)
		return "."
	if (all > 1)
		return wrong[n, m] ? passed[n, m] "-" wrong[n, m] : passed[n, m]
	return passed[n, m] ? "ok" : word[n, m]
}

BEGIN { FS = "\t"; columns = split(modes, mode, " ") }

NR == FNR { name[$1] = $4; order[++cases] = $1; next }
$2 == "end" { ended++; next }

{
	if ($4 == "fail" && $3 == "bare")
		verdict = "fails"
	else
		verdict = $4 == "fail" ? "WORSE" : $4
	if ($4 == "pass")
		passed[$1, $3]++
	else if ($4 != "skip" || $3 != "bare") {
		if (verdict == "skip")
			verdict = "WORSE"
		wrong[$1, $3]++
		word[$1, $3] = verdict
		told = told sprintf("%-8s %s%s, %s: %s\n", verdict, name[$1],
				    $2 == "-" ? "" : ", " $2, $3, $6)
	}
	count[verdict]++
	runs += $3 != "bare"
	rows = rows (rows ? ",\n" : "") "  {\"case\": " quoted(name[$1]) ", \"test\": " \
		($2 == "-" ? "null" : quoted($2)) ", \"mode\": " quoted($3) ", \"verdict\": " \
		quoted($4) ", \"ms\": " ($5 == "-" ? "null" : $5) ", \"reason\": " quoted($6) "}"
}

END {
	width = 52
	printf "\n%-*.*s", width, width, "on " engine
	for (i = 1; i <= columns; i++)
		printf " %8.8s", mode[i]
	print ""
	for (n = 1; n <= cases; n++) {
		printf "%-*.*s", width, width, name[order[n]]
		for (i = 1; i <= columns; i++)
			printf " %8s", cell(order[n], mode[i])
		print ""
	}
	printf "\n%s%d cases, %d compared with bare: %d worse, %d failed once, %d unsteady; " \
		"%d fail bare\n", told, cases, runs, count["WORSE"], count["once"], \
		count["unsteady"], count["fails"]
	printf "{\"engine\": %s, \"compared\": %d, \"worse\": %d, \"results\": [\n%s\n]}\n",
		quoted(engine), runs, count["WORSE"], rows >json
	if (ended < cases)
		printf "%d cases were not run\n", cases - ended
	exit count["WORSE"] ? 1 : !runs || ended < cases ? 125 : 0
}
