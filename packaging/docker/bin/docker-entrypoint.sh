#!/bin/sh
# The entry point's contract is that of apache/rocketmq: `nameserver` or NODE_ROLE=nameserver starts the name server,
# any other command runs as it is. Options alone are for the name server too.
set -e

role=${NODE_ROLE:-}
case ${1:-} in
nameserver | broker | controller) role=$1 ;;
-*) role=nameserver ;;
esac

case $role in
nameserver)
    # With NODE_ROLE Java's image drops the first word, whatever it is; its name server ignores other words.
    while [ $# -gt 0 ]; do
        case $1 in
        -*) break ;;
        esac
        shift
    done
    exec "$ROCKETMQ_HOME/bin/mqnamesrv" "$@"
    ;;
broker | controller)
    echo "this image has only the name server; for a $role use a RocketMQ image" >&2
    exit 1
    ;;
esac
exec "$@"
