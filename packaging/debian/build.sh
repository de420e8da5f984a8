#!/bin/sh
# Makes rocketns_VERSION_ARCH.deb from a wheel, for the Debian that it runs on: sh packaging/debian/build.sh WHEEL OUT
# Needs debhelper, dpkg-dev, python3-venv and python3-pip, and the package index.
set -eu
wheel=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
source=$(cd "$(dirname "$0")/../.." && pwd)
version=$(basename "$wheel" | cut -d- -f2)
. /etc/os-release
# Debian's next release has no number yet.
release=${VERSION_ID:-$VERSION_CODENAME}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/rocketns/packaging" "$folder/rocketns/wheels"
cd "$folder/rocketns"
cp -r "$source/packaging/debian" debian
cp -r "$source/packaging/systemd" packaging/systemd
cp "$source/NOTICE" .
cp "$wheel" wheels/
for unit in service socket; do cp packaging/systemd/rocketns.$unit debian/rocketns.$unit; done
cp packaging/systemd/rocketns.sysusers.conf debian/rocketns.sysusers
cp packaging/systemd/rocketns.tmpfiles.conf debian/rocketns.tmpfiles
cat > debian/changelog <<END
rocketns ($version+deb$release) unstable; urgency=medium

  * See CHANGELOG.md.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -R -d "@${SOURCE_DATE_EPOCH:-315532800}")
END
# Not the build dependencies, because dpkg-buildpackage counts a compiler among them.
dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
cp ../rocketns_*.deb "$out"
