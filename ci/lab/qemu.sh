# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # it shares ci/lab/lab's variables
#
# Engine qemu: the hosts' kernel is Debian's own, unmodified and with several
# CPUs, under QEMU's emulation; no KVM, so it runs anywhere, slowly. Root is
# the host's tree over 9p, read-only, under a throw-away layer.

qemu_dir=''   # cache: vmlinuz, initrd, modules/

# What the kernel needs before it has modules from the host: the first RAM disk.
readonly QEMU_MODULES="virtio_pci 9p 9pnet_virtio overlay"

engine_prepare() {
  local package
  need qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio dpkg-deb:dpkg
  package=$(qemu_package)
  qemu_dir=$cache/qemu-${package#linux-image-}-$(cat "$parts/qemu-init" "$parts/qemu.sh" |
    sha256sum | cut -c1-12)
  once "$qemu_dir" qemu_fetch "$package"
}

# The kernel package that Debian's meta package stands for today, as NAME=VERSION.
qemu_package() {
  local package
  package=$(apt-cache show --no-all-versions linux-image-amd64 2>/dev/null |
    sed -n 's/^Depends: \(linux-image-[^ ,]*\) (= \([^)]*\)).*/\1=\2/p')
  [[ -n $package ]] ||
    fail "apt knows no linux-image-amd64: apt-get update (on Debian, amd64)"
  echo "$package"
}

qemu_fetch() {
  local build
  build=$(mktemp -d "$cache/build.XXXXXX")
  scratch+=("$build")
  say "fetching $1 into $qemu_dir (once)"
  mkdir "$build/deb"
  # As root: apt's own user cannot write there.
  (cd "$build/deb" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) ||
    fail "cannot download $1"
  dpkg-deb -x "$build"/deb/*.deb "$build/image" || fail "cannot unpack $1"
  mkdir "$build/done"
  mv "$build"/image/boot/vmlinuz-* "$build/done/vmlinuz"
  mv "$build"/image/lib/modules "$build/done/modules"
  qemu_initrd "$build" || fail "cannot make the first RAM disk"
  mv -T "$build/done" "$qemu_dir"
  rm -rf -- "$build"
}

# qemu_initrd BUILD: busybox, the modules in the order of their dependencies,
# and the script that mounts the real root. The modules are unpacked for good,
# so that busybox can load them where the host has no kmod.
qemu_initrd() {
  local root=$1/initrd version path
  version=$(ls "$1/done/modules")
  mkdir -p "$root"/{bin,modules,proc,dev,new,lower,upper} "$1/lib"
  find "$1/done/modules" -name '*.ko.xz' -exec xz -d {} +
  mv "$1/done/modules" "$1/lib/modules"
  busybox depmod -b "$1" "$version" || return
  mv "$1/lib/modules" "$1/done/modules"
  cp "$(command -v busybox)" "$root/bin/busybox"
  cp "$parts/qemu-init" "$root/init"
  qemu_modules "$1/done/modules/$version" | while read -r path; do
    cp "$1/done/modules/$version/$path" "$root/modules"
    echo "${path##*/}"
  done >"$root/modules/order"
  (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$1/done/initrd"
}

# qemu_modules DIR: the paths of QEMU_MODULES, each after what it depends on.
qemu_modules() {
  awk -v wanted="$QEMU_MODULES" '
    {
      path = substr($1, 1, length($1) - 1)
      name = path
      sub(/.*\//, "", name)
      sub(/\.ko$/, "", name)
      gsub(/-/, "_", name)
      where[name] = path
      # A line names its dependencies in the order to load them backwards.
      for (i = NF; i > 1; i--)
        needs[path] = needs[path] " " $i
    }
    function load(path) {
      if (!done[path]++)
        print path
    }
    END {
      n = split(wanted, names)
      for (i = 1; i <= n; i++) {
        m = split(needs[where[names[i]]], before)
        for (j = 1; j <= m; j++)
          load(before[j])
        if (names[i] in where)
          load(where[names[i]])
      }
    }' "$1/modules.dep"
}

# By default the kernel rejects emulated cycle counters as not synchronised. Without them each
# reading of the clock is a system call to a device, which serialises all CPUs.
engine_start() {
  local cpus
  write_command /run/lab/out
  cpus=$(nproc)
  session qemu-system-x86_64 -accel tcg,thread=multi -machine q35 -cpu max \
    -smp $((cpus > 4 ? 4 : cpus)) -m 2048 -nodefaults -no-user-config \
    -display none -monitor none -no-reboot -serial "file:$work/console" \
    -kernel "$qemu_dir/vmlinuz" -initrd "$qemu_dir/initrd" \
    -append "console=ttyS0 panic=-1 mitigations=off nokaslr tsc=reliable quiet loglevel=4" \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$qemu_dir/modules,mount_tag=modules,security_model=none,readonly=on" \
    -virtfs "local,path=$work,mount_tag=work,security_model=none" \
    </dev/null >"$work/log" 2>&1
}
