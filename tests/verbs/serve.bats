#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# ccshim serve, of shown.c, which executes commands.

bats_require_minimum_version 1.5.0
load shown.bash

setup() {
	: "${top_builddir:=$PWD}" "${top_srcdir:=$(realpath "$BATS_TEST_DIRNAME/../..")}"
	top_builddir=$(realpath "$top_builddir") top_srcdir=$(realpath "$top_srcdir")
	export top_builddir
	for name in ${!CCSHIM_@}; do unset "$name"; done
	ccshim=$top_builddir/tools/ccshim/ccshim
	cd "$BATS_TEST_TMPDIR"
	see_own_only
	export XDG_RUNTIME_DIR=$PWD CCSHIM_AGENT=$PWD/no-agent
	export RIG_KEEP=1 CCSHIM_SEGMENT=4k CCSHIM_MAX_INFLIGHT=8k CCSHIM_BASE_RTT=20us CCSHIM_CC=timely
	export ASAN_OPTIONS=detect_leaks=0 # shown.c leaves on purpose what it made
}

teardown() {
	[ -z "${agent:-}" ] || { kill "$agent" 2>/dev/null; wait "$agent"; } || true
	[ -z "${slow:-}" ] || kill "$slow" 2>/dev/null || true
	[ -z "${server:-}" ] || { kill "$server" 2>/dev/null; wait "$server"; } || true
	[ -z "${app:-}" ] || { exec 8>&-; kill "$app" 2>/dev/null; wait "$app"; } || true
}

# serve OPTION...: start it; its page is at $page, what it serves at $base, with the token $token.
serve() {
	command -v curl > /dev/null || skip "curl is not installed"
	: > address
	"$ccshim" serve --port 0 "$@" > address 2> serve.err 7<&- 8>&- &
	server=$!
	until grep -q '#' address; do
		kill -0 "$server" 2> /dev/null || {
			! grep 'without libmicrohttpd' serve.err || skip "built without libmicrohttpd"
			cat serve.err
			return 1
		}
		sleep 0.1
	done
	page=$(cat address)
	base=${page%/#*} token=${page#*#}
	port=${base##*:}
}

# get PATH CURL-OPTION...: its status; the body is in the file body, the headers in the file headers.
get() {
	curl -s -o body -D headers -w '%{http_code}' "${@:2}" "$base$1"
}

# The same with the token.
ask() {
	get "$1" -H "Authorization: Bearer $token" "${@:2}"
}

# browser ACTION...: see browser.py.
browser() {
	command -v chromium > /dev/null || skip "chromium is not installed"
	python3 "$top_srcdir/tests/verbs/browser.py" "$page" "$@" 7<&- 8>&-
}

status_begins() { echo "until=document.getElementById('status').textContent.startsWith('$1')"; }

@test "the JSON that is served is that of ccshim stat, with what limits each flow" {
	begin
	tell 'write 10'
	serve
	[ "$(ask /flows.json)" = 200 ]
	grep -qi '^content-type: application/json' headers
	"$ccshim" stat --display deltas --json > stat.json
	# What remains when the times at which each was read are removed.
	same='del(.time, .interval_s, (.processes[] | .age_us, (.qps[] | .age_us, .idle_us)))
		| .processes |= map(select(.pid == $pid))'
	jq -S --argjson pid "$app" "$same" stat.json > expected
	jq -S --argjson pid "$app" "$same" body > found
	diff expected found
	[ "$(jq '.processes[0].qps | length' found)" -eq 2 ]
	[ "$(jq -r '.processes[0].qps[].limit' found | sort -u)" = idle ]
	[ "$(jq -r '.processes[0].qps[0].peer' found)" = 10.250.0.1 ]
	tell 'write 5'
	until # a reading is kept for half a second
		[ "$(ask /flows.json)" = 200 ]
		[ "$(jq --argjson pid "$app" '[.processes[] | select(.pid == $pid) | .qps[].wrs] | add' body)" -eq 5 ]
	do
		sleep 0.1
	done
	[ "$(ask /agent.json)" = 200 ]
	[ "$(cat body)" = null ]
}

@test "all files of the page are served, and nothing else" {
	serve
	[ "$(get /)" = 200 ]
	diff body "$top_srcdir/tools/ccshim/serve/page.html"
	grep -qi "^content-security-policy: default-src 'none'; script-src 'self';" headers
	grep -qi '^x-content-type-options: nosniff' headers
	run -1 grep -i unsafe headers
	for file in page.css page.js chart.js format.js live.js recorded.js views.js; do
		[ "$(get "/$file")" = 200 ]
		diff body "$top_srcdir/tools/ccshim/serve/$file"
	done
	for path in /page.html /no-such /../../etc/passwd /%2e%2e/etc/passwd /flows.json/; do
		[ "$(ask "$path" --path-as-is)" = 404 ]
	done
	# The page loads nothing from elsewhere.
	run -1 grep -nE '(src|href|url|from|import|fetch)[ (=]*["'\''(`]+(https?:)?//' \
		"$top_srcdir"/tools/ccshim/serve/*.{html,css,js}
	# Names of programs never become markup.
	run -1 grep -nE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|srcdoc' \
		"$top_srcdir"/tools/ccshim/serve/*.js
}

# slow N [PATH]: clients that send a line of a header now and then, and connect again if they are refused.
# With a path they first get that.
slow() {
	python3 - "$port" "$1" "${2:-}" <<-'PY' 7<&- 8>&- &
		import socket, sys, time
		port, clients, path = int(sys.argv[1]), [None] * int(sys.argv[2]), sys.argv[3]
		def send(s, text):
		    try:
		        s.send(text)
		        return True
		    except OSError:
		        return False
		def connect():
		    s = socket.socket()
		    if path:
		        s.settimeout(5)
		        try:
		            s.connect(("127.0.0.1", port))
		            s.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
		            s.recv(1 << 20)
		        except OSError:
		            pass
		    s.setblocking(False)
		    s.connect_ex(("127.0.0.1", port))
		    return s
		clients = [connect() for c in clients]
		time.sleep(0.2)
		for s in clients:
		    send(s, b"GET / HTTP/1.1\r\n")
		print("slow", flush=True)
		while True:
		    time.sleep(2 if path else 0.1) # the lines of a minute are no header that is too long
		    clients = [s if send(s, b"X: y\r\n") else connect() for s in clients]
	PY
	slow=$!
}

@test "slow clients do not keep the owner out" {
	serve
	slow 800 > slow.out
	until [ -s slow.out ]; do sleep 0.1; done
	for ((i = 0; i < 10; i++)); do
		# A request that takes more than 0.2 s to leave, on a busy machine, is repeated as browsers do.
		[ "$(ask /flows.json --retry 100000 --retry-all-errors --retry-delay 1)" = 200 ]
	done
	# A connection that has the token stays, beside further slow clients.
	[ "$(curl -s --retry 100000 --retry-all-errors --retry-delay 1 -o body -o body -w '%{num_connects} ' -H "Authorization: Bearer $token" \
		"$base/flows.json" "$base/agent.json")" = "1 0 " ]
	kill "$slow"
}

@test "slow clients that got metrics without the token do not keep the owner out" {
	serve --metrics
	slow 512 /metrics > slow.out # as many as have a place
	until [ -s slow.out ]; do sleep 0.1; done
	[ "$(ask /flows.json --retry 100000 --retry-all-errors --retry-delay 1)" = 200 ]
	kill "$slow"
}

@test "other methods are refused" {
	serve
	for method in POST PUT DELETE OPTIONS PATCH; do
		[ "$(ask / -X "$method")" = 405 ]
		grep -qi '^allow: GET, HEAD' headers
		[ "$(ask /flows.json -X "$method")" = 405 ]
	done
	[ "$(get / -I)" = 200 ]
}

@test "data require the token" {
	serve
	[ "${#token}" -eq 32 ]
	for path in /flows.json /agent.json; do
		[ "$(get $path)" = 401 ]
		grep -qi '^www-authenticate: bearer' headers
		[ "$(get $path -H "Authorization: Bearer ${token}0")" = 401 ]
		[ "$(get $path -H "Authorization: Bearer ${token%?}")" = 401 ]
		[ "$(get $path -H "Authorization: Bearer ")" = 401 ]
		[ "$(get "$path?token=$token")" = 401 ]
		[ "$(ask $path)" = 200 ]
	done
	[ "$(get /)" = 200 ]
	run -1 grep -r "$token" body headers
	first=$token
	kill "$server"
	wait "$server"
	serve
	[ "$token" != "$first" ]
}

@test "requests with the Host or Origin of another site are refused" {
	serve
	for host in evil.example "evil.example:$port" 127.0.0.1.evil.example localhost.evil.example "localhost:" \
		"[::1" ""; do
		[ "$(ask /flows.json -H "Host: $host")" != 200 ] || { echo "$host"; false; }
		[ "$(get / -H "Host: $host")" != 200 ]
	done
	[ "$(get / -H 'Host: evil.example')" = 403 ]
	grep -q 'neither localhost nor an IP address' body
	for host in "localhost:$port" "127.0.0.1:1" localhost '[::1]' "[::1]:$port"; do # ssh -L changes the port
		[ "$(ask /flows.json -H "Host: $host")" = 200 ] || { echo "$host"; false; }
	done
	for origin in http://evil.example null "https://127.0.0.1:$port" http://127.0.0.1:1 \
		"http://127.0.0.1:$port.evil.example"; do
		[ "$(ask /flows.json -H "Origin: $origin")" = 403 ] || { echo "$origin"; false; }
		grep -q 'page of another site' body
	done
	[ "$(ask /flows.json -H "Origin: $base")" = 200 ]
}

@test "a port in use, a foreign address and mistakes are refused with the reason" {
	serve
	run -1 "$ccshim" serve --port "$port"
	[[ $output == *"port $port of 127.0.0.1 is in use; give another port with --port"* ]]
	run -1 "$ccshim" serve --address 192.0.2.1 --port 0
	[[ $output == *"this host has no address 192.0.2.1"* ]]
	for args in "--port 65536" "--port x" "--port -1" "--address localhost" "--address 1.2.3" "more" "--no"; do
		run -2 "$ccshim" serve $args
	done
}

@test "a privileged port is refused with the reason" {
	local without=()
	[ "$(< /proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 1 ] || skip "port 1 needs no privilege here"
	[ "$EUID" -ne 0 ] || without=(setpriv --bounding-set -net_bind_service)
	run -1 "${without[@]}" "$ccshim" serve --port 1
	[[ $output == *"port 1 of 127.0.0.1 requires root; give a port above 1023 with --port, or 0 for any"* ]]
}

@test "another address is served after a warning" {
	serve --address 0.0.0.0
	grep -q 'warning: other hosts can connect to 0.0.0.0' serve.err
	[ "$(ask /flows.json)" = 200 ]
}

@test "SIGTERM and SIGINT end it with status 0, also with open connections" {
	for signal in TERM INT; do
		serve
		exec 5<> "/dev/tcp/127.0.0.1/$port"
		printf 'GET / HTTP/1.1\r\n' >&5
		[ "$(get /)" = 200 ]
		kill -$signal "$server"
		wait "$server"
		exec 5>&-
		run -7 curl -s "$base/"
		[ ! -s serve.err ]
	done
}

@test "an agent's ports are served" {
	"$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none --socket "$PWD/agent" \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.79 2> agent.err 3>&- 7<&- 8>&- &
	agent=$!
	until "$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" > status.json 2> /dev/null; do
		kill -0 "$agent" || { cat agent.err; return 1; }
		sleep 0.1
	done
	CCSHIM_AGENT=$PWD/agent serve
	[ "$(ask /agent.json)" = 200 ]
	[ "$(jq .pid body)" -eq "$agent" ]
	[ "$(jq -c keys body)" = "$(jq -c keys status.json)" ]
}

@test "the agent's status is answered without another reading of the flows" {
	local end
	begin
	tell 'write 10'
	serve
	[ "$(ask /flows.json)" = 200 ]
	cp body first
	end=$((${EPOCHREALTIME/.} + 1100000)) # readings are kept for half a second
	while [ "${EPOCHREALTIME/.}" -lt $end ]; do [ "$(ask /agent.json)" = 200 ]; done
	[ "$(ask /flows.json)" = 200 ]
	jq -s '.[1].time - .[0].time, .[1].interval_s' first body > seconds
	cat seconds
	jq -es '.[0] - .[1] | . < 0.3 and . > -0.3' seconds
}

@test "flows and metrics have the tenants of the agent" {
	printf '%s\n' '[tenant a]' 'match = app:shown' 'weight = 2.5' > conf
	"$top_builddir/tools/ccshimd/ccshimd" --no-capture --verify none --socket "$PWD/agent" --tenants conf \
		--port $((20000 + RANDOM % 10000)) --address 127.0.0.83 2> agent.err 3>&- 7<&- 8>&- &
	agent=$!
	until "$top_builddir/tools/ccshimd/ccshimd" --status --socket "$PWD/agent" > status.json 2> /dev/null; do
		kill -0 "$agent" || { cat agent.err; return 1; }
	done
	export CCSHIM_AGENT=$PWD/agent CCSHIM_CC=rcp
	begin
	tell 'write 10'
	ccshim=$top_builddir/tools/ccshim/ccshim # agents show root without capabilities no clients
	serve
	until [ "$(ask /flows.json)" = 200 ] &&
		jq -e ".processes | any(.pid == $app and .tenant == \"a\" and .weight == 2.5)" body > /dev/null; do :; done
	[ "$(ask /metrics)" = 200 ]
	grep -E "^ccshim_process_info\{program=\"shown\",pid=\"$app\".*,tenant=\"a\"\} 1\$" body
	grep -xF "ccshim_process_tenant_weight{program=\"shown\",pid=\"$app\"} 2.5" body
}

@test "metrics require the token, unless --metrics gives them to all" {
	begin
	tell 'write 10'
	serve
	[ "$(get /metrics)" = 401 ]
	[ "$(ask /metrics)" = 200 ]
	[ "$(grep -c "^ccshim_qp_info{program=\"shown\",pid=\"$app\"" body)" -eq 2 ]
	kill "$server"
	wait "$server"
	serve --metrics
	[ "$(get /metrics)" = 200 ]
	grep -P '^ccshim_process_completed_bytes_total\{program="shown",pid="\d+"\} 122880$' body
	grep -i '^content-type: text/plain; version=0.0.4' headers
	[ "$(get /flows.json)" = 401 ]
	[ "$(get /metrics -H 'Host: metrics.example')" = 403 ]
}

@test "the page shows live flows, a trace, a recording and a report" {
	export CCSHIM_TRACE=$PWD/trace.csv CCSHIM_REPORT=$PWD/report.json
	begin
	tell 'write 200'
	"$ccshim" stat -i 0.1 -n 4 --json > stat.jsonl
	serve
	browser "$(status_begins '2 flows')" "print=document.getElementById('flows').innerText" \
		"print=document.getElementById('charts').children.length" > live
	[ "$(grep -c "shown	$app	" live)" -eq 2 ]
	[ "$(tail -1 live)" = 4 ]
	exec 8>&-
	wait "$app"
	app=
	for file in trace.csv stat.jsonl report.json; do
		[ -s "$file" ]
		browser "drop=$file" "until=document.getElementById('status').textContent.includes('$file: 2 flows')" \
			"print=document.querySelectorAll('#flows tbody tr').length" \
			"print=document.getElementById('flows').innerText.split('10.250.0.1').length - 1" > dropped
		[ "$(paste -sd ' ' dropped)" = "2 2" ]
	done
	jq -c '.processes[0] |= (.program = "python3.11" | .qps = [.qps[0] as $qp | range(30) | $qp + {
		lqpn: (16384 + .), peer: "10.17.204.\(100 + .)", ifname: "mlx5_bond_0", u: 1, limit: "app",
		rate_bps: 123456789012, window_bytes: 12345678, inflight_bytes: 12345678, queued_bytes: 98765432 }])' \
		stat.jsonl > many.jsonl
	browser drop=many.jsonl "until=document.querySelectorAll('#flows tbody tr').length == 30" \
		"print=document.getElementById('flows').offsetWidth <= document.querySelector('.wide').clientWidth" > fits
	[ "$(cat fits)" = True ] # in a window of 1280 pixels
	cat trace.csv trace.csv > both.csv # as two processes write it
	browser drop=both.csv "until=document.getElementById('status').textContent.includes('both.csv: 2 flows')" \
		"print=document.body.innerText.includes('ignored')" > dropped
	[ "$(cat dropped)" = False ]
	# Two processes with the same numbers of queue pairs, as they write it and as a table.
	local pid; pid=$(sed -n 's/^# ccshim .*, process \([0-9]*\),.*/\1/p' trace.csv)
	sed "s/process $pid/process 1/; s/,$pid\$/,1/" trace.csv | cat trace.csv - > two.csv
	"$ccshim" replay --table two.csv > table.csv
	for file in two.csv table.csv; do
		browser "drop=$file" "until=document.getElementById('status').textContent.includes('$file: 4 flows')" \
			"print=[...document.querySelectorAll('#flows tbody tr')].map((tr) => tr.children[1].textContent).sort()" > dropped
		[ "$(tr -d "[',]" < dropped)" = "1 1 $pid $pid" ]
	done
	# A program without a text does not break the page, and numbers instead of texts are filtered.
	echo '{"qps": [{"lqpn": {"toString": 1}}]}' > wrong.json
	echo '{"program": "app", "qps": [{"lqpn": 7, "peer": 25}]}' > numbers.json
	browser drop=numbers.json "until=document.getElementById('status').textContent.includes('numbers.json: 1 flow')" \
		"print=(document.getElementById('filter').value = '25', document.getElementById('filter').dispatchEvent(new Event('input')))" \
		"print=document.querySelectorAll('#flows tbody tr').length" \
		drop=wrong.json "until=document.getElementById('notes').checkVisibility()" \
		"print=document.querySelectorAll('#flows tbody tr').length" > filtered
	[ "$(paste -sd ' ' filtered)" = "True 1 1" ]
	echo 'no, trace' > wrong.csv
	# The next reading of the live flows, which are shown again, leaves the reason there.
	browser drop=wrong.csv "until=document.getElementById('notes').textContent.startsWith('wrong.csv: it is not a trace')" \
		"$(status_begins '0 flows')" "print=document.getElementById('notes').checkVisibility()" > stays
	[ "$(cat stays)" = True ]
}

# After a script, wait for N readings more.
readings() {
	printf '%s\n' "print=void(until = readings + $1)" "until=readings >= until"
}

# The page with the readings of readings.js.
thousand() {
	local script
	script=$(cat "$top_srcdir/tests/verbs/readings.js")
	browser "$(status_begins '0 flows')" "print=$script" \
		"$(status_begins '1000 flows')" "$@" > out || { cat out; return 1; }
	sed -i 1d out
}

@test "among 1000 flows the busiest are drawn, each in a colour, and the sums count all" {
	local key='[...document.querySelectorAll("#flows tbody tr")]'
	serve
	thousand "until=readings >= 12" \
		"print=new Set($key.map((tr) => tr.style.getPropertyValue('--color'))).size" \
		"print=$key.slice(0, 12).every((tr) => tr.children[5].textContent.match(/^(1\\b.* G|9.. M)b/))" \
		"print=$key.length" "print=document.querySelector('#flows tfoot').textContent.includes('180 Gb/s')" \
		"print=document.getElementById('all').click()" "print=$key.length" \
		"print=(document.getElementById('by').value = 'process', document.getElementById('by').dispatchEvent(new Event('change')))" \
		"print=$key.length" "print=$key.every((tr) => tr.children[2].textContent === '20')" \
		"print=(document.getElementById('by').value = 'tenant', document.getElementById('by').dispatchEvent(new Event('change')))" \
		"print=$key.map((tr) => [0, 1].map((i) => tr.children[i].textContent)).join()"
	[ "$(paste -sd ' ' out)" = "13 True 50 True None 1000 True 50 True True -,1000" ] || { cat out; return 1; }
}

# Outside of the window neither rows nor charts are drawn, and a sum that stays is not written again.
@test "among 1000 flows only the visible ones are drawn again" {
	serve
	mapfile -t more < <(readings 3)
	thousand "until=readings >= 12" "print=document.getElementById('all').click()" \
		"print=void(sums = new MutationObserver(() => {}), sums.observe(document.querySelector('#flows tfoot'), { childList: true }))" \
		"print=void(drawn = new Set, stroke = CanvasRenderingContext2D.prototype.stroke,
			CanvasRenderingContext2D.prototype.stroke = function (...a) { drawn.add(this.canvas); return stroke.apply(this, a); })" \
		"until=document.querySelectorAll('#flows tbody tr').length === 1000" "${more[@]}" "print=drawn.size > 0" \
		"print=void(scrollTo(0, 1e6), cells = [...document.querySelectorAll('#flows tbody tr')].slice(0, 9))" "${more[@]}" \
		"print=void(drawn.clear(), rtts = cells.map((tr) => tr.innerText).join())" "${more[@]}" \
		"print=drawn.size" "print=cells.map((tr) => tr.innerText).join() === rtts" "print=sums.takeRecords().length" \
		"print=void scrollTo(0, 0)" "until=drawn.size > 0 && cells.map((tr) => tr.innerText).join() !== rtts"
	[ "$(grep -v None out | paste -sd ' ')" = "True 0 True 0" ] || { cat out; return 1; }
}

@test "focus, selected text and the order of rows survive new readings" {
	local row='document.querySelector("#flows tbody tr:nth-child(7)")'
	serve
	mapfile -t more < <(readings 3)
	thousand "until=readings >= 12" \
		"print=void($row.focus(), row = $row, key = row.dataset.key)" "${more[@]}" \
		"print=document.activeElement === row && row === $row && row.dataset.key === key" \
		"print=void getSelection().selectAllChildren($row.children[8])" "${more[@]}" \
		"print=getSelection().toString().endsWith('us') && row === $row"
	[ "$(grep -v None out | paste -sd ' ')" = "True True" ] || { cat out; return 1; }
}

@test "another source replaces selected rows, and ends the charts before" {
	local rows='document.querySelectorAll("#flows tbody tr")'
	printf '{"time":%d,"interval_s":1,"processes":[{"pid":1,"program":"x","qps":[{"lqpn":7,"rate_bps":5}]}]}\n' 1 2 > old.jsonl
	echo '{"runs": [{"cc": "copa", "bin_s": 1, "flows": [{"rate_bps": [1, 2]}]}]}' > bench.json
	serve
	thousand "print=void import('/uplot.js').then((m) => charts = m.default.sync('time'))" "until=window.charts" \
		"print=void getSelection().selectAllChildren($rows[3].children[8])" \
		"drop=$PWD/old.jsonl" "until=document.getElementById('status').textContent.includes('old.jsonl: 1 flow')" \
		"print=$rows.length" "drop=$PWD/bench.json" \
		"until=document.getElementById('status').textContent.includes('bench.json: 1 run')" \
		"print=charts.plots.length > 0 && charts.plots.every((plot) => plot.root.isConnected)"
	[ "$(grep -v None out | paste -sd ' ')" = "1 True" ] || { cat out; return 1; }
}

@test "the keyboard chooses a flow, and a title sorts" {
	local press='(key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}))'
	serve
	thousand "print=void(press = $press, document.querySelector('#flows tr[tabindex=\"0\"]').focus(), press('ArrowDown'),
			press('ArrowDown'), press('Enter'))" \
		"print=[...document.querySelectorAll('#flows tr')].indexOf(document.querySelector('[aria-selected=true]'))" \
		"print=document.querySelector('#charts .u-legend').querySelectorAll('.u-series').length" \
		"print=void document.querySelectorAll('#flows th button')[2].click()" \
		"print=document.querySelector('#flows tbody tr').children[2].textContent" \
		"print=document.querySelectorAll('#flows th')[2].getAttribute('aria-sort')"
	[ "$(grep -v None out | paste -sd ' ')" = "3 2 1099 descending" ] || { cat out; return 1; }
}

@test "a time that is dragged over is enlarged in all charts until a double click" {
	local at='(box => (list) => list.map(([kind, x, n]) => [kind, box.x + x, box.y + 50, n]))(
		document.querySelector("#charts .u-over").getBoundingClientRect())'
	serve
	thousand "until=readings >= 3" "mouse=($at)([['Moved', 300, 0], ['Pressed', 300, 1], ['Moved', 400, 0], ['Released', 400, 1]])" \
		"until=!document.getElementById('whole').hidden" \
		"mouse=($at)([['Pressed', 350, 1], ['Released', 350, 1], ['Pressed', 350, 2], ['Released', 350, 2]])" \
		"until=document.getElementById('whole').hidden"
}

@test "the page fits a window of 375 pixels" {
	serve
	thousand width=375 "until=document.documentElement.scrollWidth <= 375"
}

@test "results of ccbench are shown" {
	cat > bench.json <<-'END'
		{"schema": 1, "scenario": "4:1 incast", "runs": [
		 {"cc": "none", "goodput_bps": 6e7, "bin_s": 0.1, "drops": 21175, "victim_latency_us": {"p50": 9e3, "p99": 1e4, "max": 1e4},
		  "queue_series_bytes": [1, 2, 3], "flows": [{"rate_bps": [1e7, 2e7]}, {"rate_bps": [3e7, 1e7]}]},
		 {"cc": "auto", "goodput_bps": 1.9e8, "drops": 0}]}
	END
	serve
	browser drop=bench.json "until=document.getElementById('status').textContent.startsWith('bench bench.json: 2 runs')" \
		"print=document.querySelector('#flows tbody').innerText" "print=document.getElementById('notes').textContent" > out
	grep -q '^none	2	60 Mb/s	.*	9 ms	10 ms	21175' out
	grep -q '^auto	-	190 Mb/s	.*	0	' out
	[ "$(tail -1 out)" = "4:1 incast" ]
}

@test "markup in a recording is shown as text" {
	cat > evil.json <<-'END'
		{"program": "<img src=x onerror=\"document.title='run'\">", "pid": 1, "uncontrolled": {"<b>why</b>": 1},
		 "qps": [{"lqpn": "<script>document.title='run'</script>", "cc": "<i>cc</i>",
		          "ifname": "<u>", "rtt_us": {}}]}
	END
	serve
	browser drop=evil.json "until=document.getElementById('status').textContent.startsWith('report')" \
		"print=document.querySelectorAll('#flows img, #flows script, #flows i, #flows u, #notes b').length" \
		"print=document.getElementById('flows').innerText" "print=document.title" > found
	[ "$(head -1 found)" = 0 ]
	grep -qF '<img src=x onerror=' found
	[ "$(tail -1 found)" = ccshim ]
}

@test "no script of the page makes markup of text" {
	local made
	made=$(grep -En 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|DOMParser|eval\(|Function\(' \
		"$top_srcdir"/tools/ccshim/serve/*.js "$top_srcdir"/tools/ccshim/serve/*.html || true)
	[ -z "$made" ] || { echo "$made"; return 1; }
}

@test "an address that cannot be printed, and help, are errors" {
	for option in "--port 0" --help; do
		# shellcheck disable=SC2086
		status=0 output=$("$ccshim" serve $option 2>&1 > /dev/full) || status=$?
		[[ $output != *"without libmicrohttpd"* ]] || skip "built without libmicrohttpd"
		[ "$status: $output" = "1: ccshim serve: standard output: No space left on device" ]
	done
}
