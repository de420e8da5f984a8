# The Debian package, built on this Debian from the wheel: sh deb-build.sh SOURCE WHEEL OUT
set -eu
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
    debhelper dpkg-dev python3-venv python3-pip > /dev/null
sh "$1/packaging/debian/build.sh" "$2" "$3"
