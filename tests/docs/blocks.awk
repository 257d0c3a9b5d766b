# SPDX-License-Identifier: BSD-2-Clause
# Prints the command blocks of a Markdown document, a record each: a line `@ LINE-NUMBER DIRECTIVE`,
# and the commands. A block is what is indented by four columns after an empty line; the directive is
# the comment before it. What is fenced is output, a figure or a file: a command there is reported
# as a block with the directive `fenced`.

/^```/ {
	fenced = !fenced
	next
}
fenced {
	if (/^ *([$#] )?(\.\.?\/|(ci|bench|tests|tools)\/|\/usr\/|(cc(shim|shimd|bench|fabric)|make|cd|cp|apt-get|systemctl|install|curl|podman|srun|sbatch|sudo|docker|kubectl|git|mpirun|ib_[a-z_]+) |(export )?(LD_PRELOAD|CC[A-Z]+_[A-Z_]+)=)/ && !/[^ -~]/)
		printf "@ %d fenced\n%s\n", FNR, $0
	next
}
# A continued line of a block's, or an empty one within it.
block && /^(    |$)/ {
	if ($0 == "") {
		empty = empty "\n"
		next
	}
	printf "%s%s\n", empty, substr($0, 5)
	empty = ""
	next
}
{
	block = 0
	empty = ""
}
/^    [^ ]/ && before == "" {
	block = 1
	printf "@ %d %s\n%s\n", FNR, directive, substr($0, 5)
	directive = ""
}
/^<!-- (not run|run) .*-->$/ || /^<!-- not run: / {
	directive = $0
	sub(/^<!-- /, "", directive)
	sub(/ -->$/, "", directive)
	next
}
{ before = $0 }
# Between a comment and its block there are empty lines only.
$0 != "" { directive = "" }
