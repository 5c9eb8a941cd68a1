# No glibc at all, as in Alpine: a shell linked to musl, everything else static.
ARG DEBIAN
FROM ${DEBIAN} AS build
RUN sed -i 's/^deb \(.*\)/&\ndeb-src \1/' /etc/apt/sources.list \
  && apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    autoconf automake busybox-static dpkg-dev make musl-tools \
  && apt-get source dash \
  && cd dash-*/ && autoreconf --install && CC=musl-gcc ./configure --without-libedit && make
RUN mkdir -p /image/bin /image/lib \
  && cp dash-*/src/dash /image/bin/sh \
  && cp -L /lib/ld-musl-* /image/lib/ \
  && cp /bin/busybox /image/bin/ \
  && for name in cat sleep; do ln -s busybox /image/bin/$name; done
FROM scratch
COPY --from=build /image /
