# The Debian package in a fresh Debian: installed, used as the service uses it, removed, purged. sh deb-use.sh PACKAGE
# There is no systemd in this container: the unit's command is started by hand, as the unit's user.
set -eu
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$1" > /dev/null
rocketns --version
mqnamesrv --version
getent passwd rocketns
ls /lib/systemd/system/rocketns.service /lib/systemd/system/rocketns.socket 2>/dev/null ||
    ls /usr/lib/systemd/system/rocketns.service /usr/lib/systemd/system/rocketns.socket
install -d -o rocketns -g rocketns /var/lib/rocketns
command=$(sed -n 's/^ExecStart=//p' /*/systemd/system/rocketns.service /usr/lib/systemd/system/rocketns.service | head -n 1)
setpriv --reuid rocketns --regid rocketns --clear-groups $command > /tmp/log 2>&1 &
server=$!
for try in $(seq 100); do
    if grep -q "boot success" /tmp/log; then break; fi
    sleep 0.2
done
rocketns health
kill $server
wait $server || true

apt-get -qq remove -y rocketns > /dev/null
test -f /etc/rocketns/namesrv.properties
test -d /var/lib/rocketns
test ! -e /usr/bin/rocketns
test ! -e /usr/bin/mqnamesrv
apt-get -qq purge -y rocketns > /dev/null
test ! -e /etc/rocketns
test ! -e /var/lib/rocketns
test ! -e /opt/rocketns
echo "removed and purged"
