# A ready-made Runtime for shell scripts: bash and the tools that most scripts call.
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    bash ca-certificates curl git jq openssh-client unzip xz-utils \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/* \
  && useradd --uid 65532 --user-group --home-dir /workspace --no-create-home --shell /bin/bash kruntimes \
  && install -d -o 65532 -g 65532 /workspace
ENV LANG=C.UTF-8
USER 65532:65532
WORKDIR /workspace
CMD ["bash"]
