# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What ./check checks in other Debians than this one: its packages installed, and one
# binary with older and newer libraries. They are fresh each time; what they begin with
# comes from wherever this machine gets its own packages, and is kept in ~/.cache.

# Variables of ./check and setup.sh, and the caller's set -e, shellcheck cannot see:
# shellcheck disable=SC2154,SC2164

readonly roots=${XDG_CACHE_HOME:-$HOME/.cache}/ccshim-roots

mirror() {
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "main" && $1 ~ /debian\/?$/ { print $1; exit }'
}

# This Debian's code name.
this_suite() {
  # shellcheck disable=SC1091
  (. /etc/os-release && echo "${VERSION_CODENAME:-}")
}

# sources_list SUITE: the lines of sources.list for it and its updates, from where this Debian has its own.
sources_list() {
  # shellcheck disable=SC2016 # apt fills these in
  apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -nE "s/ $(this_suite)(-updates|-security)? main\$/ $1\\1 main/p" | sort -u
}

# base SUITE PACKAGE…: the directory of a Debian with these packages. Not to be written to.
base() {
  local suite=$1 site dir proxy=() packages=()
  shift
  dir=$roots/$suite-$(echo "$@" | sha256sum | cut -c 1-12)
  if [[ ! -d $dir ]]; then
    site=$(mirror)
    [[ -n $site ]] || skip "no source of Debian's packages here"
    mkdir -p "$roots"
    rm -rf "$dir.new"
    mapfile -t proxy < <(apt-config dump | grep -iE '^Acquire::https?::Proxy ')
    [[ $# -eq 0 ]] || packages=(--include="$(IFS=,; echo "$*")")
    mmdebstrap --variant=minbase "${packages[@]}" "${proxy[@]/#/--aptopt=}" \
      "$suite" "$dir.new" "$site" >"$dir.log" 2>&1 || {
      cat "$dir.log" >&2
      # To be offline is no failure of what is checked; anything else is.
      ! grep -qE '^E: .*(resolve|connect|fetch|Release file)' "$dir.log" ||
        skip "Debian's packages ($suite) cannot be had"
      return 1
    }
    mv -T "$dir.new" "$dir"
  fi
  echo "$dir"
}

# fresh DIR SUITE PACKAGE…: DIR becomes a Debian of its own.
fresh() {
  local dir=$1 from
  shift
  [[ $EUID -eq 0 ]] || skip "another Debian wants root"
  have mmdebstrap || skip "no mmdebstrap"
  unshare --mount --pid --fork true || skip "namespaces are not permitted here"
  from=$(base "$@") || { local status=$?; echo "$from"; return "$status"; }
  rm -rf "$dir"
  mkdir -p "${dir%/*}"
  cp -a --reflink=auto "$from" "$dir"
  cp /etc/resolv.conf /etc/hosts "$dir/etc"
}

# inside DIR CMD…: as root in there, with nothing of the caller's environment but proxies.
inside() {
  local dir=$1
  shift
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    unshare --mount --pid --fork --kill-child --mount-proc="$dir/proc" chroot "$dir" "$@"
}

install_inside() {
  inside "$1" apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 install "${@:2}"
}

# -- packages --------------------------------------------------------------------

# debian_build DIR: from the release tarball, as anybody would; the tests have run already.
debian_build() {
  local version tarball
  make -C "$builds/gcc" -s dist
  tarball=$(echo "$builds"/gcc/ccshim-*.tar.xz)
  version=${tarball##*/ccshim-}
  version=${version%.tar.xz}
  rm -rf "$1"
  mkdir -p "$1"
  cp "$tarball" "$1/ccshim_$version.orig.tar.xz"
  tar -xf "$tarball" -C "$1"
  cd "$1/ccshim-$version"
  [[ $(dpkg-parsechangelog -S Version) == "$version"-* ]]
  DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$jobs" dpkg-buildpackage -us -uc -F >"$1/build.log" 2>&1 ||
    { tail -n 40 "$1/build.log"; return 1; }
}

# A verbs program of Debian's on a device of the fake provider, and what the report says.
debian_traffic() {
  local dir=$1
  cat >"$dir/tmp/traffic" <<'SH'
    export FAKERDMA_WIRE=/tmp/wire CCSHIM_REPORT=/tmp/%p.json
    pingpong() {
      timeout 200 ccshim run -a timely -- ccshim-fake ibv_rc_pingpong -g 1 "$@"
    }
    mkdir /tmp/wire
    pingpong -p "$1" -d fake0 &
    tries=0
    until pingpong -p "$1" -d fake1 127.0.0.1; do
      kill -0 $! && [ $((tries += 1)) -lt 500 ]
      sleep 0.1
    done
    wait $!
SH
  inside "$dir" sh -e /tmp/traffic $((20000 + RANDOM % 10000))
  [[ $(cat "$dir"/tmp/*.json | jq -s '[.[].qps[] | select(.cc == "timely" and .wrs == 1000)] |
    length') -eq 2 ]]
}

# booted DIR CMD: as root in there, when its systemd has started everything. Not every
# machine lets one be booted.
booted() {
  local dir=$1 machine=(systemd-nspawn -q -D "$1" --register=no --keep-unit --private-network)
  cat >"$dir/root/booted" <<SH
#!/bin/bash
systemctl is-system-running --wait
"$2" >/root/booted.log 2>&1; echo \$? >/root/booted.status
systemctl poweroff
SH
  chmod +x "$dir/root/booted"
  cat >"$dir/etc/systemd/system/booted.service" <<'UNIT'
[Service]
ExecStart=/root/booted
UNIT
  ln -s ../booted.service "$dir/etc/systemd/system/multi-user.target.wants/"
  timeout -k 10 300 "${machine[@]}" --boot </dev/null >"$dir/root/boot.log" 2>&1 || true
  [[ -e $dir/root/booted.log ]] || {
    tail -n 20 "$dir/root/boot.log"
    echo "ok $2, booted # SKIP systemd cannot be booted here"
    return
  }
  cat "$dir/root/booted.log"
  [[ $(<"$dir/root/booted.status") -eq 0 ]]
}

# Nothing of ours is left where it was installed. What man keeps is man's to tidy up.
debian_purged() {
  local left
  inside "$1" apt-get -qq -y purge 'ccshim*' 'libccshim*' 'libfakerdma*'
  left=$(cd "$1" &&
    find . -xdev -path '*ccshim*' ! -path './tmp/*' ! -path './var/log/*' ! -path './var/cache/man/*')
  [[ -z $left ]] || { printf 'left behind:\n%s\n' "$left"; return 1; }
}

check_debian() {
  local work=$builds/debian root=$builds/debian/root suite
  have lintian || skip "no lintian"
  have dh || skip "no debhelper"
  debian_build "$work"
  # The tarball has debian/ itself, and no bug of Debian's asks for it.
  lintian --allow-root --fail-on error,warning \
    --suppress-tags no-debian-changes,initial-upload-closes-no-bugs "$work"/*.changes
  suite=$(this_suite)
  fresh "$root" "$suite" bash-completion gcc libc6-dev libibverbs-dev man-db pkg-config systemd
  rm "$work"/ccshim-bench-mpi_*.deb # all of MPI, for one program
  cp "$work"/*.deb "$root/tmp"
  cp "$work"/ccshim-*/debian/tests/{installed,unit} "$root/root"
  inside "$root" apt-get -qq update
  inside "$root" bash -ec 'apt-get -qq -y --no-install-recommends install /tmp/*.deb'
  inside "$root" ccshim info --versions
  install_inside "$root" ibverbs-utils
  inside "$root" /root/installed
  debian_traffic "$root"
  booted "$root" /root/unit
  debian_purged "$root"
  rm -rf "$root"
}

# README's ways to install, in a Debian with what a build and the documents' programs need, and then
# all commands of all documents, as they are printed.
check_fresh() {
  local work=$builds/fresh root=$builds/fresh/root suite
  suite=$(this_suite)
  fresh "$root" "$suite" "${build_packages[@]}" "${lab_packages[@]}" "${documents_packages[@]}"
  sources_list "$suite" >"$root/etc/apt/sources.list"
  release "$root/root/ccshim"
  mkdir -p "$root/root/.cache" "$root/usr/src"
  cp -r "${CCSHIM_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ccshim-lab}" "$root/root/.cache/ccshim-lab"
  echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/yes"
  make -C "$builds/gcc" -s libfakerdma.la
  cp "$builds/gcc/.libs/libfakerdma.so" "$root/root"
  # shellcheck disable=SC2016 # in there
  inside "$root" env DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$jobs" bash -ec '
    mkdir -p /dev/shm /dev/pts
    mount -t tmpfs none /dev/shm
    mount -t devpts none /dev/pts
    apt-get -qq update
    commands="/root/ccshim/tests/docs/commands --full --fake /root/libfakerdma.so"
    $commands --places debian README.md
    make -C /root/ccshim/out/mine -s check TESTS= >/dev/null
    $commands'
  bare_recipes "$work/bare" bookworm
  bare_recipes "$work/bare" trixie
  rm -rf "$work"
}

# bare_recipes DIR SUITE: the commands of the action, GitLab's template and the Containerfile in a Debian
# without packages, where the cache has a kernel.
bare_recipes() {
  local root=$1 kind
  fresh "$root" "$2"
  sources_list "$2" >"$root/etc/apt/sources.list"
  release "$root/root/ccshim"
  git -C "$root/root/ccshim" init -q
  git -C "$root/root/ccshim" add -f .
  git -C "$root/root/ccshim" -c user.name=check -c user.email=check commit -q -m release
  mkdir "$root/root/.cache"
  cp -r "${CCSHIM_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ccshim-lab}" "$root/root/.cache/ccshim-lab"
  ln -s .cache/ccshim-lab "$root/root/.ccshim-lab"
  ln -s root/.cache/ccshim-lab "$root/ccshim-lab"
  # The template clones /ccshim, which the others use.
  for kind in gitlab container github; do
    "$top/tests/lab/recipes" "$top" "$kind" >"$root/root/$kind"
    # shellcheck disable=SC2016 # in there
    inside "$root" env CCSHIM_URL=/root/ccshim CI_PROJECT_DIR=/root bash -ec '
      mkdir -p /dev/shm
      mount -t tmpfs none /dev/shm
      if [[ $0 == github ]]; then apt-get -qq update; apt-get -qq -y install sudo; fi
      cd /root && bash "$0"' "$kind"
    echo "ok $kind on a bare Debian, $2"
  done
  rm -rf "$root"
}

# shellcheck disable=SC2016 # for rpm
# What the macros of systemd-rpm-macros, which Debian has not, become on a system with RPM.
readonly rpm_macros=(
  _unitdir=/usr/lib/systemd/system
  'systemd_post()=if [ $1 -eq 1 ] && [ -x /usr/bin/systemctl ]; then systemctl --no-reload preset %{?*} || :; fi'
  'systemd_preun()=if [ $1 -eq 0 ] && [ -x /usr/bin/systemctl ]; then systemctl --no-reload disable --now %{?*} || :; fi'
  'systemd_postun_with_restart()=if [ $1 -ge 1 ] && [ -x /usr/bin/systemctl ]; then systemctl try-restart %{?*} || :; fi'
)

# rpm_packages DIR: the packages, in DIR/RPMS. What they need to be built has other names here.
rpm_packages() {
  local macro defines=()
  for macro in "_topdir=$1" "_smp_mflags=-j$jobs" "${rpm_macros[@]}"; do
    defines+=(--define "${macro%%=*} ${macro#*=}")
  done
  mkdir -p "$1/SOURCES"
  cp "$builds"/gcc/ccshim-*.tar.xz "$1/SOURCES"
  rpmbuild -bb --quiet --nodeps "${defines[@]}" "$builds/gcc/ccshim.spec" >"$1/log" 2>&1 ||
    { tail -n 40 "$1/log"; return 1; }
}

# in_rpm_root ROOT CMD…: rpm with a database in ROOT, which is a Debian: its libraries have other
# package names there.
in_rpm_root() { rpm --root "$1" --nodeps "${@:2}"; }

# The packages installed, used and removed in a root with a database of RPM.
rpm_installed() {
  local work=$1 root=$1/root suite left
  suite=$(this_suite)
  fresh "$root" "$suite" ibverbs-utils libmicrohttpd12 libseccomp2 libsodium23 systemd
  rpm --root "$root" --initdb
  rm -f "$work"/RPMS/*/*-debug*.rpm
  rpm -qp --requires "$work"/RPMS/*/*.rpm >"$work/requires"
  ! grep busybox "$work/requires" || return
  in_rpm_root "$root" --install "$work"/RPMS/*/*.rpm
  rpm --root "$root" --query --all | sort
  rpm --root "$root" --verify --nodeps --all
  inside "$root" ccshim info --versions
  inside "$root" ccshim run --dry-run true | grep -F /usr/lib64/ccshim/libccshim.so
  inside "$root" ccshimd --help >/dev/null
  inside "$root" systemctl is-enabled ccshimd.service || true # as the system's presets say
  # shellcheck disable=SC2046 # words
  in_rpm_root "$root" --erase $(rpm --root "$root" --query --all)
  left=$(cd "$root" && find . -xdev -path '*ccshim*' ! -path './tmp/*')
  [[ -z $left ]] || { printf 'left behind:\n%s\n' "$left"; return 1; }
}

# That it is a spec of this version; with --full its packages, installed. rpmlint's error and its
# URL are Mageia's customs.
check_rpm() {
  local said
  have rpmspec || skip "no rpm"
  cd "$builds/gcc"
  rpmspec -P -D '_unitdir /usr/lib/systemd/system' ccshim.spec >/dev/null
  said=$(rpmlint ccshim.spec | grep -E ' [EW]: ' |
    grep -vE 'no-buildroot-tag|mklibname|invalid-url Source0: ccshim-[0-9.]+\.tar\.xz') || true
  [[ -z $said ]] || { printf '%s\n' "$said"; return 1; }
  [[ -n $full ]] || return 0
  make -s dist
  rm -rf "$builds/rpm"
  rpm_packages "$builds/rpm"
  rpm_installed "$builds/rpm"
  rm -rf "$builds/rpm"
}

# -- one binary, several libraries -------------------------------------------------

readonly compat_tests=(post wr split life cq_ex qp_ex)
# Debian 13 for these tests and for the verbs suite, with rdma-core 56.
readonly trixie=(libibverbs1 ibverbs-providers libcmocka0)

# compat_run CMD…: the tests, in the build tree that CMD has as the current directory.
# Older cmockas call what they skip not ok, and that on stderr.
compat_run() {
  # shellcheck disable=SC2016 # in there
  "$@" sh -ec 'export top_builddir="$PWD" CMOCKA_MESSAGE_OUTPUT=TAP
    for t; do timeout 200 "tests/verbs/test_$t"; done' - "${compat_tests[@]}" 2>&1 |
    sed 's/^not ok \(.*# SKIP\)/ok \1/'
}

# Libraries that not every host has are linked statically.
readonly static_libs='SODIUM_LIBS="-l:libsodium.a -lpthread" SECCOMP_LIBS=-l:libseccomp.a'

# relocated DIR: with what was built in DIR/11, unpacked at two places, a program on fake devices is
# controlled.
relocated() {
  local dir=$1/a/ccshim place
  make -C "$builds/gcc" -s libfakerdma.la
  inside "$1/11" make -C /b -s -j"$jobs" relocatable >/dev/null
  cp "$1"/11/b/ccshim-*-linux-*.tar.xz "$1"
  mkdir -p "$1/a"
  tar -xf "$builds"/compat/ccshim-*-linux-*.tar.xz -C "$1/a"
  mv "$1"/a/ccshim-* "$dir"
  for place in a b; do
    [[ $place == a ]] || { mv "$1/a" "$1/b"; dir=$1/b/ccshim; }
    "$dir/bin/ccshim" run --dry-run true | grep -F "$dir/lib/ccshim/libccshim.so"
    "$dir/bin/ccshim" debug --help >/dev/null
    "$dir/sbin/ccshimd" --help >/dev/null
    [[ $("$dir/bin/ccfabric" matrix --only none 2>&1) == *'no model has a name like'* ]]
    APP_FAKE=$builds/gcc/.libs/libfakerdma.so CCSHIM_CONFIG='' "$dir/bin/ccshim" run -a timely \
      -o report="$1/$place.%p.json" -- "$top/tests/docs/app"
    [[ $(jq -s '[.[].qps[] | select(.cc == "timely" and .wrs == 1000)] | length' "$1/$place".*.json) -eq 2 ]]
    echo "ok unpacked in $place"
  done
}

# Built with the libibverbs and libc of Debian 11 it works with those of 11, 13 and this one.
check_compat() {
  local work=$builds/compat programs
  printf -v programs ' tests/verbs/test_%s' "${compat_tests[@]}"
  make -C "$builds/gcc" -s dist
  fresh "$work/11" bullseye gcc libc6-dev make pkg-config libibverbs-dev \
    libmicrohttpd-dev libseccomp-dev libsodium-dev libcmocka-dev xz-utils
  mkdir "$work/11/src" "$work/11/b"
  tar -xf "$builds"/gcc/ccshim-*.tar.xz --strip-components=1 -C "$work/11/src"
  inside "$work/11" sh -ec "cd /b; /src/configure -q $static_libs --sysconfdir=/etc
    make -s -j$jobs libccshim.la libfakerdma.la$programs"
  echo "# Debian 11"
  compat_run inside "$work/11" env -C /b
  echo "# this system"
  compat_run env -C "$work/11/b"
  # All of it takes two minutes to build.
  [[ -z $full ]] || relocated "$work"
  echo "# Debian 13"
  fresh "$work/13" trixie "${trixie[@]}"
  cp -r "$work/11/b" "$work/13"
  compat_run inside "$work/13" env -C /b
  rm -rf "$work"
}
