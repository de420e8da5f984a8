# In a fresh Debian without a compiler: the wheel, the server, and the audit's demo with Debian's Java runtime.
# sh wheel.sh WHEEL
set -eu
for compiler in cc gcc clang; do
    if command -v $compiler; then echo "there is a compiler, so this shows nothing" >&2; exit 1; fi
done
python3 --version
python3 -m venv /opt/venv
/opt/venv/bin/pip install -q --only-binary :all: "$1"
/opt/venv/bin/rocketns --version
/opt/venv/bin/rocketns > /tmp/log 2>&1 &
server=$!
for try in $(seq 100); do
    if grep -q "boot success" /tmp/log; then break; fi
    sleep 0.2
done
/opt/venv/bin/rocketns health
kill $server
wait $server || true

# pyspark is published as source, of which nothing is compiled.
/opt/venv/bin/pip install -q --only-binary :all: --no-binary pyspark "$1[spark]"
apt-get -qq update
# Java's package makes links here, and images without manuals do not have the folder.
mkdir -p /usr/share/man/man1
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends default-jre-headless > /dev/null
/opt/venv/bin/rocketns audit demo --out /tmp/demo
test -s /tmp/demo/report.html
echo "the demo found every fault"
