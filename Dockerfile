# rocketns in place of Java's name server: docker build -t rocketns . && docker run -p 9876:9876 rocketns
# docs/containers.md says how to use it and how to build for other processors.
#
# Targets: operator (the layout of rocketmq-operator's image), rocketns (that of apache/rocketmq; the last, so the default).

# Debian or Ubuntu with Python 3.11 or newer as python3. Name it by its digest if builds must repeat exactly.
ARG BASE=python:3.13-slim
# A folder of the context with wheels of rocketns. Without it rocketns is compiled here.
ARG WHEELS=
# The version of RocketMQ whose name server rocketns replaces.
ARG ROCKETMQ_VERSION=5.5.0

FROM ${BASE} AS build
ARG WHEELS
ARG ROCKETMQ_VERSION
WORKDIR /source
COPY packaging/docker packaging/docker
RUN sh packaging/docker/dependencies.sh "$WHEELS"
COPY . .
RUN sh packaging/docker/install.sh "$WHEELS"

FROM ${BASE} AS common
ARG ROCKETMQ_VERSION
# bash replaces itself by the last command of `sh -c`, so that SIGTERM reaches the name server; Debian's sh does not.
RUN groupadd --gid 3000 rocketmq \
 && useradd --no-log-init --no-create-home --uid 3000 --gid 3000 --shell /bin/bash rocketmq \
 && ln -sf bash /bin/sh
COPY --from=build /image/ /
ENV ROCKETMQ_VERSION=${ROCKETMQ_VERSION}
EXPOSE 9876
# Healthy means it answers request 101 for a KV item that nobody has.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 \
    CMD ["/home/rocketmq/rocketmq-5.5.0/bin/health"]

FROM common AS operator
RUN mkdir -p /root/rocketmq /root/logs /root/namesrv \
 && cp -r /home/rocketmq/rocketmq-${ROCKETMQ_VERSION} /root/rocketmq/nameserver
ENV ROCKETMQ_HOME=/root/rocketmq/nameserver PATH=/root/rocketmq/nameserver/bin:/opt/rocketns/bin:$PATH
VOLUME /root/namesrv
WORKDIR /root/rocketmq/nameserver/bin
CMD ["/bin/bash", "mqnamesrv"]

FROM common AS rocketns
ENV ROCKETMQ_HOME=/home/rocketmq/rocketmq-${ROCKETMQ_VERSION} \
    PATH=/home/rocketmq/rocketmq-${ROCKETMQ_VERSION}/bin:/opt/rocketns/bin:$PATH
# The KV configuration, and what updateNamesrvConfig changed.
VOLUME /home/rocketmq/namesrv
WORKDIR ${ROCKETMQ_HOME}/bin
USER 3000:3000
ENTRYPOINT ["./docker-entrypoint.sh"]
CMD ["nameserver"]
