# The platform: all server components (`kruntimes COMPONENT`) and what the injector brings into the images of Runtimes.
# Before: npm ci && npm run bundle
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN} AS files
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    binutils ca-certificates gcc git libc6-dev libnss-unknown libstdc++6 openssh-client tini \
  && rm -rf /var/lib/apt/lists/*
COPY images/launcher.c images/collect.sh dist/launcher.h dist/node /build/
RUN /build/collect.sh /build /image

FROM scratch
COPY --from=files /image /
COPY dist/app /usr/lib/kruntimes/app
ENV PATH=/usr/bin HOME=/tmp
USER 65532:65532
# Node has less room for new objects the less memory a container may have: within 512 MiB the log of a busy Pod took half of its processor
# time for the garbage collector. The room is taken when it is needed.
ENTRYPOINT ["/usr/lib/kruntimes/tini", "--", "/usr/lib/kruntimes/node", "--max-semi-space-size=16", "/usr/lib/kruntimes/app/kruntimes.mjs"]
