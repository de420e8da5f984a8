# In a fresh Debian: what README.md says of a checkout. sh checkout.sh SOURCE PACKAGES RUN INSTALL
set -eu
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $2 > /dev/null
cp -r "$1" /tmp/checkout
cd /tmp/checkout
# A process group of its own, so that make and what it started end together.
setsid $3 > /tmp/log 2>&1 &
server=$!
until grep "^The Name Server boot success" /tmp/log; do
    kill -0 $server 2> /dev/null || { tail -n 40 /tmp/log >&2; exit 1; }
    sleep 1
done
kill -- -$server
wait $server || true

python3 -m venv /tmp/venv
PATH=/tmp/venv/bin:$PATH
$4 -q
rocketns --version
mqnamesrv --version
