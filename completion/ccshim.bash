# SPDX-License-Identifier: BSD-2-Clause
# bash completion for ccshim(1): algorithms, options and devices are queried from ccshim.

_ccshim_algorithms() {
	"${COMP_WORDS[0]}" info -a 2> /dev/null | sed -n 's/^\([a-z][a-z0-9_]*\): .*/\1/p'
}

# A file, or with -d a directory, whose name may have spaces.
_ccshim_files() {
	mapfile -t COMPREPLY < <(compgen "${2:--f}" -- "$1")
	compopt -o filenames
}

# A built-in algorithm, or the file of a plug-in.
_ccshim_algorithm() {
	case $1 in
	*/*) _ccshim_files "$1" ;;
	*) COMPREPLY=($(compgen -W "$(_ccshim_algorithms)" -- "$1")) ;;
	esac
}

_ccshim_options() {
	"${COMP_WORDS[0]}" info -f 2> /dev/null | sed -n 's/^\([a-z][a-z0-9_]*\) = .*/\1=/p'
}

_ccshim_devices() {
	"${COMP_WORDS[0]}" info -d 2> /dev/null | sed -n 's/^\([^ #][^ ]*\): .*/\1/p'
}

_ccshim_run() {
	local word=${COMP_WORDS[COMP_CWORD]} i
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-a | --cc) _ccshim_algorithm "$word"; return ;;
	-m | --mode) COMPREPLY=($(compgen -W "off observe enforce" -- "$word")); return ;;
	-o | --option) COMPREPLY=($(compgen -W "$(_ccshim_options)" -- "$word")); compopt -o nospace; return ;;
	-c | --config | -t | --trace) _ccshim_files "$word"; return ;;
	-r | --max-rate) return ;;
	esac
	for ((i = 2; i < COMP_CWORD; i++)); do # the first word that is not an option is the command
		case ${COMP_WORDS[i]} in
		-[armotc] | --cc | --max-rate | --mode | --option | --trace | --config) ((i++)) ;;
		-*) ;;
		*) _ccshim_files "$word"; return ;;
		esac
	done
	case $word in
	-*) COMPREPLY=($(compgen -W "-a -r -m -t -c -o -q -v -h --cc --max-rate --mode --trace --config
		--option --dry-run --quiet --verbose --help --adapt" -- "$word")) ;;
	*) COMPREPLY=($(compgen -c -- "$word")) ;;
	esac
}

_ccshim_impair() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--fail) COMPREPLY=($(compgen -W "retry rnr access invalid operation flush fatal port" -- "$word")); return ;;
	--rate | --delay | --jitter | --seed | --peer | --qp) return ;;
	--retry | --rnr | --access | --invalid | --operation | --flush | --fatal | --port) return ;;
	esac
	_ccshim_run
	[[ $word != -* ]] || COMPREPLY+=($(compgen -W "--rate --delay --jitter --seed --fail --peer --qp
		--retry --rnr --access --invalid --operation --flush --fatal --port" -- "$word"))
}

_ccshim_info() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--app) COMPREPLY=($(compgen -c -- "$word")); return ;;
	--device) COMPREPLY=($(compgen -W "$(_ccshim_devices)" -- "$word")); return ;;
	--peer | --port | --dscp | --sl | --share | --tenant) return ;;
	--line-rate | --base-rtt | --rtt-jitter | --segment | --flows) return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "-c -f -a -d -h --versions --config --file --algorithms --devices --tenant --help --json --app --peer --device --port --dscp --sl --share --line-rate --base-rtt
		--rtt-jitter --segment --flows" -- "$word")) ;;
	*)
		case " ${COMP_WORDS[*]} " in
		*" -d "* | *" --devices "*) COMPREPLY=($(compgen -W "$(_ccshim_devices)" -- "$word")) ;;
		*" -a "* | *" --algorithms "*) _ccshim_algorithm "$word" ;;
		esac
		;;
	esac
}

_ccshim_replay() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-a | --cc) COMPREPLY=($(compgen -W "$(_ccshim_algorithms)" -- "$word")); return ;;
	--line-rate | --base-rtt | --rtt-jitter | --segment | --flows | --qp | --pid) return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "-a -h --cc --help --line-rate --base-rtt --rtt-jitter --segment --flows --qp
		--pid --table --timers --check" -- "$word")) ;;
	*) _ccshim_files "$word" ;;
	esac
}

_ccshim_plot() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--cdf) COMPREPLY=($(compgen -W "rate rtt inflight queue" -- "$word")); return ;;
	--flows | --qp) return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "-h --output --dry-run --help --cdf --flows --qp" -- "$word")) ;;
	*) _ccshim_files "$word" ;;
	esac
}

# The options of a calculation come from its help.
_ccshim_plan() {
	local word=${COMP_WORDS[COMP_CWORD]}
	if ((COMP_CWORD == 2)); then
		case $word in
		-*) COMPREPLY=($(compgen -W "--json --explain -h --help" -- "$word")) ;;
		*) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" plan -h 2> /dev/null |
			sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p')" -- "$word")) ;;
		esac
		return
	fi
	case $word in
	-*) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" plan "${COMP_WORDS[2]}" -h 2> /dev/null |
		sed -n 's/^  \(-h, \)*\(-[a-z0-9-]*\) .*/\2/p') -h" -- "$word")) ;;
	*) _ccshim_files "$word" ;;
	esac
}

_ccshim_debug() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--output) _ccshim_files "$word"; return ;;
	--timeout) return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "-h --output --timeout --help" -- "$word")) ;;
	*) COMPREPLY=($(compgen -c -- "$word")) ;;
	esac
}

_ccshim_stat() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--display) COMPREPLY=($(compgen -W "totals deltas" -- "$word")); return ;;
	-p | --pid) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" stat 2> /dev/null |
		sed -n 's/^\([0-9]*\) .*/\1/p')" -- "$word")); return ;;
	--by) COMPREPLY=($(compgen -W "qp process peer job host tenant" -- "$word")); return ;;
	-i | --interval | -n | --count | --sort | --max-qps) return ;;
	esac
	COMPREPLY=($(compgen -W "-p -i -n -h --pid --interval --count --display --help --by --summary --busy --sort --json --openmetrics --prometheus --max-qps --reset
		--baseline" -- "$word"))
}

_ccshim_check() {
	local word=${COMP_WORDS[COMP_CWORD]} i
	if [[ ${COMP_WORDS[COMP_CWORD - 1]} == --root ]]; then
		_ccshim_files "$word" -d
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do # words after the command belong to it
		case ${COMP_WORDS[i]} in
		--root | --priority | -[armtoc]) ((i++)) ;;
		--cc | --max-rate | --mode | --trace | --option | --config) ((i++)) ;;
		-*) ;;
		*) _ccshim_files "$word"; return ;;
		esac
	done
	case $word in
	-*) COMPREPLY=($(compgen -W "-a -r -m -t -o -c --cc --max-rate --mode --trace --option --config --help --fabric --priority --json --root
		-h" -- "$word")) ;;
	*) COMPREPLY=($(compgen -c -- "$word")) ;;
	esac
}

_ccshim_top() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--sort) COMPREPLY=($(compgen -W "gated goodput rate rtt program" -- "$word")); return ;;
	--by) COMPREPLY=($(compgen -W "qp process peer job host tenant" -- "$word")); return ;;
	-i | --interval | -n | --count | --filter) return ;;
	esac
	COMPREPLY=($(compgen -W "-i -n -h --interval --count --help --sort --filter --by --json" -- "$word"))
}

_ccshim_serve() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--address) COMPREPLY=($(compgen -W "127.0.0.1 ::1 0.0.0.0 ::" -- "$word")); return ;;
	--port) return ;;
	esac
	COMPREPLY=($(compgen -W "-h --help --port --address --metrics" -- "$word"))
}

_ccshim_lab() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--engine) COMPREPLY=($(compgen -W "auto native uml qemu" -- "$word")); return ;;
	--provider) COMPREPLY=($(compgen -W "rxe mlx5 irdma" -- "$word")); return ;;
	--time) COMPREPLY=($(compgen -W "virtual real" -- "$word")); return ;;
	--out | --build | --root | --source | --matrix) _ccshim_files "$word"; return ;;
	--) COMPREPLY=($(compgen -c -- "$word")); return ;;
	--hosts | --rate | --nic | --queue | --ecn | --delay | --mtu | --seed | --timeout | --spin) return ;;
	esac
	COMPREPLY=($(compgen -W "-h --help --engine --provider --time --hosts --rate --nic --queue --ecn --priority
		--trunk --delay --mtu --seed --out --build --root --timeout --spin --free-polls --matrix --json --prepare --source
		--install" -- "$word"))
}

_ccshim_doctor() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--root) _ccshim_files "$word" -d; return ;;
	-i | --interval | --priority | --record) return ;;
	esac
	_ccshim_files "$word"
	COMPREPLY+=($(compgen -W "-i -h --interval --help --priority --json --record --root" -- "$word"))
}

# Options that may differ between queue pairs; no space is added after their =.
_ccshim_set() {
	local word=${COMP_WORDS[COMP_CWORD]}
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-p | --pid) COMPREPLY=($(compgen -W "$(pgrep -u "$EUID" . 2> /dev/null)" -- "$word")); return ;;
	--qp | --peer | --timeout) return ;;
	esac
	case $word in
	-*) COMPREPLY=($(compgen -W "-p -h --pid --help --all --qp --peer --new --show --timeout" -- "$word")) ;;
	*)
		COMPREPLY=($(compgen -W "tenant weight= cap= guarantee= class= floor= mode= cc= line_rate= max_rate= base_rtt= rtt_jitter= segment= max_inflight=
			split= split_imm= impair= linger= fallback= dscp=" -- "$word"))
		compopt -o nospace
		;;
	esac
}

_ccshim() {
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "run impair check doctor info stat set top serve replay plot plan lab debug -h --version" -- "${COMP_WORDS[1]}"))
		return
	fi
	case ${COMP_WORDS[1]} in
	run) _ccshim_run ;;
	impair) _ccshim_impair ;;
	check) _ccshim_check ;;
	doctor) _ccshim_doctor ;;
	info) _ccshim_info ;;
	stat) _ccshim_stat ;;
	set) _ccshim_set ;;
	top) _ccshim_top ;;
	serve) _ccshim_serve ;;
	replay) _ccshim_replay ;;
	plot) _ccshim_plot ;;
	plan) _ccshim_plan ;;
	lab) _ccshim_lab ;;
	debug) _ccshim_debug ;;
	esac
}

complete -F _ccshim ccshim
