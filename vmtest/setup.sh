#!/bin/sh
# Brings what the virtual machine test needs: QEMU, swtpm, mkfs.ext4 and debootstrap from the release's packages; a
# Debian kernel of 6.12 or later, which is unpacked into .cache/vm/linux and never installed; and a disk with the system of
# packaging/testdata/root, .cache/vm/system-RELEASE-KEY.ext4, whose key says what it was made by.
# What is there already stays as it is.
#
#   vmtest/setup.sh      needs root where a program or the disk is missing, not for the kernel
set -eu

cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/vm
linux=$cache/linux
meta='linux-image-cloud-amd64'
oldest=6.12

say() { echo "vmtest/setup.sh: $*"; }
die() {
	say "$*" >&2
	exit 1
}

# Prints the packages of the programs that are missing.
missing_programs() {
	for pair in qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils swtpm:swtpm \
		/usr/sbin/mkfs.ext4:e2fsprogs /usr/sbin/debootstrap:debootstrap; do
		command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
	done
}

# Tells whether the kernel that apt would take now is new enough.
kernel_on_offer() {
	version=$(apt-cache policy "$meta" | sed -n 's/^  Candidate: //p')
	dpkg --compare-versions "${version:-0}" ge "$oldest"
}

# Lets apt see the release's backports and nothing else until this script ends, with lists of its own: the machine's
# configuration stays untouched. The mirror is the one that the machine uses already.
use_backports() {
	# shellcheck disable=SC2016 # a field that apt fills in
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" | head -n 1)
	[ -n "$mirror" ] || die "apt has no mirror of the release '$release': add Debian's main archive to its sources"
	mkdir -p "$work/lists/partial" "$work/archives/partial"
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$keys] $mirror $release-backports main" >"$work/sources.list"
	cat >"$work/apt.conf" <<-END
		APT::Sandbox::User "root";
		Dir::Etc::sourcelist "$work/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State::lists "$work/lists";
		Dir::Cache "$work";
	END
	export APT_CONFIG="$work/apt.conf"
	apt-get -q update
}

unpack_kernel() {
	kernel_on_offer || use_backports
	kernel_on_offer || die "no $meta of $oldest or later in this release or its backports: use a newer Debian"
	package=$(apt-cache depends "$meta" | sed -n 's/^  Depends: \(linux-image-.*\)/\1/p')
	say "unpacking $package"
	# Apt's own user may not enter the folder.
	(cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package")
	rm -rf "$linux.new"
	mkdir -p "$linux.new"
	dpkg-deb -x "$work/$package"_*.deb "$linux.new"
	mv "$linux.new" "$linux"
}

# Makes the disk of a system, without documents.
make_system() {
	say "making the disk of a system"
	cp -a "$("$root")" "$work/root"
	cd "$work/root"
	rm -rf usr/share/doc/* usr/share/man/* usr/share/locale/* var/cache/apt/* var/lib/apt/lists/*
	# Each machine draws its own.
	: >etc/machine-id
	cd "$work"
	/usr/sbin/mkfs.ext4 -q -d root disk 512M
	rm -f "$cache"/system-*.ext4
	mv disk "$system"
}

# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
root=$(cd "$(dirname "$0")/.." && pwd)/packaging/testdata/root
system=$cache/system-$release-$(cat "$0" "$root" | sha256sum | cut -c 1-16).ext4
mkdir -p "$cache"
work=$(mktemp -d "$cache/tmp.XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2046 # one argument a package
set -- $(missing_programs)
if [ "$(id -u)" = 0 ] && { [ $# -gt 0 ] || [ ! -d "$linux" ]; }; then
	apt-get -q update
fi
if [ $# -gt 0 ]; then
	[ "$(id -u)" = 0 ] || die "this needs root: apt-get install --no-install-recommends $*"
	say "installing $*"
	DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "$@"
fi
[ -d "$linux" ] || (unpack_kernel)
[ -f "$system" ] || {
	[ "$(id -u)" = 0 ] || die "the disk with a system needs root to be made: sudo vmtest/setup.sh"
	(make_system)
}
say "ready: $(qemu-system-x86_64 --version | head -n 1); kernel" "$linux"/boot/vmlinuz-*
