# rocketns in a small image: docker build -t rocketns . && docker run -p 9876:9876 rocketns
FROM python:3.12-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
RUN python -m venv --without-pip /opt/rocketns
WORKDIR /source
COPY . .
RUN pip --python /opt/rocketns/bin/python install --no-cache-dir .

FROM python:3.12-slim
COPY --from=build /opt/rocketns /opt/rocketns
RUN useradd --system --uid 10001 --user-group --create-home --home-dir /var/lib/rocketns rocketns
ENV PATH=/opt/rocketns/bin:$PATH HOME=/var/lib/rocketns
USER rocketns
WORKDIR /var/lib/rocketns
# The KV configuration and what updateNamesrvConfig changed: ~/namesrv/kvConfig.json and ~/namesrv/namesrv.properties.
VOLUME /var/lib/rocketns
EXPOSE 9876
# Healthy means it answers request 106 (cluster info) with code 0.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD python -c '\
import socket, struct; \
header = b"{\"code\":106,\"opaque\":1}"; \
peer = socket.create_connection(("127.0.0.1", 9876), 3); \
peer.sendall(struct.pack(">iI", 4 + len(header), len(header)) + header); \
answer = peer.makefile("rb"); \
_, length = struct.unpack(">iI", answer.read(8)); \
raise SystemExit(b"\"code\":0," not in answer.read(length))'
ENTRYPOINT ["rocketns"]
