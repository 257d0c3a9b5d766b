#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The files for deployments: they are parsed, and agree with each other.

load tools.bash
bats_require_minimum_version 1.5.0

deploy=$top_builddir/tools/deploy source=$top_srcdir/tools/deploy

# yaml FILE: its documents as an array of JSON.
yaml() {
	/usr/bin/python3 -c 'import yaml' 2> /dev/null || skip "no python3-yaml"
	/usr/bin/python3 -c 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))' "$1"
}

holds() { yaml "$1" > json; jq -e "$2" json > /dev/null || { echo "not so: $2"; cat json; return 1; }; }

@test "all placeholders are replaced" {
	run -1 grep -E '@[A-Za-z]+@' "$deploy"/*
}

@test "the CDI specification has devices, mounts and variables as the format defines them" {
	holds "$deploy/cdi.yaml" '.[0] | .cdiVersion == "0.6.0" and (.devices | length == 3) and
		(.kind | test("^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]/[A-Za-z0-9][A-Za-z0-9_.-]*$")) and
		all(.containerEdits, .devices[].containerEdits; (keys - ["env", "mounts"]) == []) and
		all(.containerEdits.mounts[], .devices[].containerEdits.mounts[]?; (.hostPath, .containerPath | startswith("/")) and
			(.options | type == "array")) and
		all(.devices[].containerEdits.env[]; test("^[A-Z_]+=.")) and
		all(.devices[].name; test("^[A-Za-z0-9][A-Za-z0-9_.:-]*$"))'
	# The variables are options, with valid values.
	for mode in $(jq -r '.[0].devices[].containerEdits.env[]' json); do
		env "$mode" "$ccshim" info -c > /dev/null
	done
}

@test "the CDI specification preloads the library, and leaves LD_PRELOAD to the image" {
	yaml "$deploy/cdi.yaml" > json
	! grep -q LD_PRELOAD= json
	dir=$(jq -r '.[0].containerEdits.mounts[0].containerPath' json)
	[ "$(jq -r '.[0].containerEdits.mounts[-1].containerPath' json)" = /etc/ld.so.preload ]
	[ "$(jq -r '.[0].containerEdits.mounts[-1].hostPath' json)" = \
		"$(jq -r '.[0].containerEdits.mounts[0].hostPath' json)/ld.so.preload" ]
	[ "$(cat "$source/ld.so.preload")" = "$dir/libccshim.so" ]
}

@test "a CDI device for hosts without an agent mounts only what is installed" {
	holds "$deploy/cdi.yaml" '.[0] | (.devices[] | select(.name == "no-agent").containerEdits | has("mounts") | not) and
		all(.containerEdits.mounts[]; .hostPath | endswith("/ccshim") or endswith("/ccshim/ld.so.preload"))'
}

@test "no file gives a container the agent's directory for writing" {
	holds "$deploy/cdi.yaml" '[.[0] | .. | objects | select(.hostPath == "/run/ccshim")] |
		length == 2 and all(.options | index("ro") and (index("rw") | not))'
	for file in "$deploy/enroot-hook.sh" "$source/apptainer.def" "$top_srcdir/docs/guide/operate.md"; do
		grep -E '(-v|--bind|^ *echo) "?/run/ccshim[ :]' "$file" > binds
		run -1 grep -vE '[:,]ro\b' binds
	done
}

@test "the manifests of Kubernetes name the kinds, selectors and volumes that they use" {
	holds "$source/kubernetes.yaml" 'map(.kind) == ["Namespace", "DaemonSet"]'
	holds "$source/kubernetes.yaml" '.[1] | .metadata.namespace == "ccshim" and .apiVersion == "apps/v1" and
		.spec.selector.matchLabels == .spec.template.metadata.labels'
	holds "$source/kubernetes.yaml" '.[1].spec.template.spec | (.volumes | map(.name)) as $volumes |
		all(.containers[]; .name and .image and .command and
			all(.volumeMounts[]; .name as $n | $volumes | index($n)))'
	sh -n <(jq -r '.[1].spec.template.spec.containers[1].command[2]' json)
	# What Pod Security's profile "restricted" asks for, as far as hostPath and the two capabilities permit.
	holds "$source/kubernetes.yaml" '.[1].spec.template.spec | .securityContext.seccompProfile.type == "RuntimeDefault" and
		all(.containers[]; .securityContext.allowPrivilegeEscalation == false and
			.securityContext.readOnlyRootFilesystem and .securityContext.capabilities.drop == ["ALL"] and
			.resources.limits.memory and .livenessProbe)'
	holds "$source/kubernetes.yaml" '.[1].spec.template.spec.volumes | any(.secret.defaultMode == 256)'
	holds "$source/kubernetes-pod.yaml" '.[0] | .kind == "Pod" and .apiVersion == "v1"'
	device=$(jq -r '.[0].metadata.annotations["cdi.k8s.io/ccshim"]' json)
	holds "$deploy/cdi.yaml" ".[0] | .kind as \$k | .devices | any(\"\(\$k)=\(.name)\" == \"$device\")"
}

# ./check debian builds and installs these packages; the image itself needs a registry.
@test "the image of the manifests is the one that the Containerfile makes, of packages that exist" {
	recipe=$(sed -n 's/^# *podman build -t \([^ ]*\) -f tools\/deploy\/Containerfile \.$/\1/p' "$source/Containerfile")
	[ -n "$recipe" ]
	holds "$source/kubernetes.yaml" "[.[1].spec.template.spec.containers[].image] | unique == [\"$recipe\"]"
	grep -q "podman build -t $recipe -f tools/deploy/Containerfile \." "$top_srcdir/docs/guide/operate.md"
	packages=$(grep -o '\./[a-z-]*_\*\.deb' "$source/Containerfile" | sed 's,./\(.*\)_.*,\1,')
	[ "$(wc -w <<< "$packages")" -eq 3 ]
	for package in $packages; do
		grep -qx "Package: $package" "$top_srcdir/debian/control"
	done
	# The commands of the DaemonSet are in these packages.
	for program in $(jq -r '.[1].spec.template.spec.containers[].command[0]' json) ccshim; do
		[ "$program" = sh ] || cat $(printf "$top_srcdir/debian/%s.install\n" $packages) | grep -q "bin/$program$"
	done
	grep '^RUN ' "$source/Containerfile" | cut -c5- | sh -n
}

# Processes read the file as their users.
@test "slurm-tenant leaves the mode of the file, and a last line without newline" {
	mkdir partitions
	echo 'weight = 2' > partitions/all
	tenant() {
		(umask 077 && SLURM_JOB_ID=$1 SLURM_JOB_PARTITION=all SLURM_SCRIPT_CONTEXT=$2 CCSHIM_TENANTS=$PWD/conf \
			CCSHIM_PARTITIONS=$PWD/partitions CCSHIM_RELOAD=: "$source/slurm-tenant")
	}
	printf 'mode = observe' > conf
	chmod 644 conf
	tenant 7 prolog_slurmd
	tenant 8 prolog_slurmd
	grep -x 'mode = observe' conf
	[ "$(grep -cx 'match = job:[78]' conf)" -eq 2 ]
	tenant 7 epilog_slurmd
	tenant 8 epilog_slurmd
	[ "$(cat conf)" = 'mode = observe' ]
	[ "$(stat -c %a conf)" = 644 ]
	# The agent refuses a file with more than 64 tenants.
	for n in {1..65}; do tenant $n prolog_slurmd; done 2> err
	[[ "$(cat err)" == "ccshim: job 65 is no tenant: "*"has 64 tenants" ]]
	[ "$(grep -c '^\[tenant ' conf)" -eq 64 ]
	tenant 1 epilog_slurmd
	tenant 65 prolog_slurmd
	grep -x 'match = job:65' conf
	rm conf
	tenant 9 prolog_slurmd
	[ "$(stat -c %a conf)" = 644 ]
}

# The agent would refuse the whole file, and no tenant would be in force after its next start.
@test "slurm-tenant leaves out a job whose guarantee exceeds what the others leave" {
	mkdir partitions
	echo 'guarantee = 40g' > partitions/all
	printf 'weight = 2\nguarantee=10gbit/s\n' > partitions/small
	echo 'weight = 3' > partitions/free
	tenant() {
		SLURM_JOB_ID=$1 SLURM_JOB_PARTITION=$2 SLURM_SCRIPT_CONTEXT=$3 CCSHIM_TENANTS=$PWD/conf \
			CCSHIM_GUARANTEES=90e9 CCSHIM_PARTITIONS=$PWD/partitions CCSHIM_RELOAD=: "$source/slurm-tenant"
	}
	for job in 1:all 2:all 3:all 4:small 5:free; do tenant ${job%:*} ${job#*:} prolog_slurmd; done 2> err
	[ "$(cat err)" = "ccshim: job 3 is no tenant: the guarantees of $PWD/conf would exceed .9 of the fastest port, or CCSHIM_GUARANTEES" ] ||
		{ cat err; false; }
	[ "$(sed -n 's/^match = job://p' conf | paste -sd ' ')" = '1 2 4 5' ] || { cat conf; false; }
	tenant 1 all epilog_slurmd
	tenant 3 all prolog_slurmd
	[ "$(sed -n 's/^match = job://p' conf | paste -sd ' ')" = '2 4 5 3' ] || { cat conf; false; }
}

@test "the unit of the metrics leaves little" {
	command -v systemd-analyze > /dev/null || skip "no systemd"
	cp "$top_srcdir/tools/metrics/ccshim-metrics.service" .
	run2 systemd-analyze verify --man=no ./ccshim-metrics.service
	[ -z "$errors$output" ]
	systemd-analyze --help | grep -q -e --threshold || skip "this systemd-analyze has no threshold"
	systemd-analyze security --offline=true --threshold=30 ./ccshim-metrics.service
}

@test "the packages say what is open when they are installed" {
	run -0 sh "$top_srcdir/debian/ccshimd.postinst" configure ""
	[[ $output == *"UDP port 4793 is open"* ]]
	run -0 sh "$top_srcdir/debian/ccshimd.postinst" configure 0.0.1 # an update
	[ -z "$output" ]
	grep -q 'UDP port 4793 is open' "$top_srcdir/ccshim.spec.in"
}

# As the unit runs it: one file, through no link, and its directory belongs to root.
@test "the command of the metrics writes through no link" {
	mkdir bin
	printf '#!/bin/sh\necho metrics\n' > bin/ccshim
	chmod +x bin/ccshim
	ln -s "$PWD/victim" .ccshim.new
	command=$(sed -n "s/^ExecStart=.*sh -Cc '\(.*\)'$/\1/p" "$top_srcdir/tools/metrics/ccshim-metrics.service")
	PATH=$PWD/bin:$PATH sh -Cc "$command"
	[ ! -e victim ]
	[ "$(cat ccshim.prom)" = metrics ]
	PATH=$PWD/bin:$PATH sh -Cc "$command"
	ln -s "$PWD/victim" .ccshim.new
	! PATH=$PWD/bin:$PATH sh -Cc "${command#*&& }"
	[ ! -e victim ]
}

# fits EXPRESSION: each document in json, after the change, has the form of the API's objects.
fits() {
	jq -c ".[] | $1" json | while read -r object; do
		/usr/bin/python3 "$top_srcdir/tests/tools/schema.py" \
			"$top_srcdir/tests/data/kubernetes.schema.json" <<< "$object" || exit 1
	done
}

@test "the manifests of Kubernetes have the members and types of its API, and no others" {
	/usr/bin/python3 -c 'import jsonschema' 2> /dev/null || skip "no python3-jsonschema"
	for file in kubernetes-pod kubernetes; do
		yaml "$source/$file.yaml" > json
		fits .
	done
	for wrong in '.spec.template.spec.hostPid = true' 'del(.spec.selector)' '.apiVersion = "apps/v2"' \
		'.spec.template.spec.containers[0].command = "ccshimd"' \
		'.spec.template.spec.containers[0].securityContext.capabilities.add = ["CAP_NET_RAW"]' \
		'.spec.template.spec.volumes[0].hostPath.type = "Folder"' \
		'.spec.template.spec.volumes[0].emptyDir = {}' \
		'del(.spec.template.spec.containers[0].volumeMounts[0].mountPath)'; do
		if fits "select(.kind == \"DaemonSet\") | $wrong"; then echo "accepted: $wrong"; false; fi
	done
}

# hook: run it with the stand-in for enroot-mount, in which the lines of mounts are.
hook() {
	mkdir -p bin lib
	printf '#!/bin/sh\necho "$*: $(cat)" >> mounts\n' > bin/enroot-mount
	chmod +x bin/enroot-mount
	: > mounts
	touch environ
	PATH=$PWD/bin:$PATH ENROOT_ENVIRON=environ ENROOT_ROOTFS=/rootfs CCSHIM_DIR=$PWD/lib \
		sh "$deploy/enroot-hook.sh"
}

@test "enroot's hook changes only containers that ask" {
	echo HOME=/root > environ
	hook
	[ "$(cat environ)" = HOME=/root ] && [ ! -s mounts ]
	echo CCSHIM_MODE=off >> environ
	hook
	[ "$(wc -l < environ)" -eq 2 ] && [ ! -s mounts ]
}

@test "enroot's hook mounts the library and preloads it in front of others" {
	mkdir lib
	touch lib/libccshim.so
	printf 'CCSHIM_MODE=observe\nLD_PRELOAD=/x/other.so\n' > environ
	hook
	grep -qx -- "--root /rootfs -: $PWD/lib /opt/ccshim none x-create=dir,bind,ro,nosuid,nodev" mounts
	[ "$(tail -n 2 environ | paste -sd ' ')" = \
		"CCSHIM_MODE=observe LD_PRELOAD=/opt/ccshim/libccshim.so:/x/other.so" ]
	rm lib/libccshim.so
	run ! hook
	[[ $output == *"lib/libccshim.so does not exist; install libccshim on this node" ]]
}

@test "the module preloads the library" {
	command -v tclsh > /dev/null || skip "no tclsh"
	cat > module.tcl <<-'TCL'
		proc module-whatis {text} {}
		proc conflict {name} {}
		proc prepend-path {name value} { puts "$name $value" }
		source [lindex $argv 0]
	TCL
	run -0 tclsh module.tcl "$deploy/modulefile"
	[[ $output == *"LD_PRELOAD /"*"/ccshim/libccshim.so" && $output == *"PATH /"*/bin* ]]
}

@test "the recipe of Apptainer has the sections that a build needs" {
	grep -qx 'Bootstrap: docker' "$source/apptainer.def"
	for section in files post runscript; do grep -qx "%$section" "$source/apptainer.def"; done
	sh -n <(sed -n '/^%post/,/^%runscript/{/^%/d;p}' "$source/apptainer.def")
}
