#!/bin/sh
# In the build stage: rocketns and the layout of apache/rocketmq below /image. Argument: the folder of wheels, or nothing.
set -eu
wheels=${1:-}

if [ -z "$wheels" ]; then
    wheels=/tmp/wheels
    /opt/build/bin/pip wheel --no-deps --no-index --no-build-isolation --wheel-dir "$wheels" .
fi
/opt/build/bin/pip --python /opt/rocketns install --no-cache-dir --no-deps --no-index --find-links "$wheels" rocketns \
    --report /opt/build/rocketns.json
/opt/build/bin/python packaging/docker/sbom.py /opt/build/dependencies.json /opt/build/rocketns.json \
    > /opt/rocketns/sbom.cdx.json

home=/image/home/rocketmq
mkdir -p /image/opt "$home/rocketmq-$ROCKETMQ_VERSION/conf"
mv /opt/rocketns /image/opt/rocketns
cp -r packaging/docker/bin "$home/rocketmq-$ROCKETMQ_VERSION/bin"

# Charts and compose files name the folder of a version; every version that they name is this one.
for version in 4.9.0 4.9.1 4.9.2 4.9.3 4.9.4 4.9.5 4.9.6 4.9.7 4.9.8 5.0.0 5.1.0 5.1.1 5.1.2 5.1.3 5.1.4 5.2.0 \
    5.3.0 5.3.1 5.3.2 5.3.3 5.3.4 5.4.0 5.5.0 5.5.1; do
    [ "$version" = "$ROCKETMQ_VERSION" ] || ln -s "rocketmq-$ROCKETMQ_VERSION" "$home/rocketmq-$version"
done

# Any user may write here, because Kubernetes may choose the user. A new volume gets the owner and the mode of the folder
# that it is mounted on: /journal is for those of `rocketns collect`.
mkdir -m 777 "$home/logs" "$home/namesrv" /image/journal
chown 3000:3000 "$home" "$home/logs" "$home/namesrv" /image/journal
