#!/bin/sh
# In the build stage: what rocketns needs, each file checked against its hash. Argument: the folder of wheels, or nothing.
set -eu
here=$(dirname "$0")

lacks() { ! python3 -c "$1" 2>/dev/null; }

packages=
if [ -z "${1:-}" ]; then
    packages="gcc libc6-dev"
    if lacks 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'; then
        packages="$packages python3-dev"
    fi
fi
if lacks 'import ensurepip'; then
    packages="$packages python3-venv"
fi
if [ -n "$packages" ]; then
    apt-get update
    apt-get install --yes --no-install-recommends $packages
fi

# The tools are in an environment of their own, so that nothing of them gets into the image.
python3 -m venv /opt/build
python3 -m venv --without-pip /opt/rocketns
/opt/build/bin/pip --python /opt/rocketns install --no-cache-dir --require-hashes -r "$here/requirements.txt" \
    --report /opt/build/dependencies.json
/opt/build/bin/pip install --no-cache-dir --require-hashes -r "$here/requirements-sbom.txt"
if [ -z "${1:-}" ]; then
    /opt/build/bin/pip install --no-cache-dir --require-hashes -r "$here/requirements-build.txt"
fi
