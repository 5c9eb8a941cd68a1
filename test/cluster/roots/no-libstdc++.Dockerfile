# A glibc without the C++ library that Node needs: what slim images of C, Go or Rust programs have.
ARG DEBIAN
FROM ${DEBIAN} AS build
COPY copy-programs.sh /
RUN /copy-programs.sh /image /bin/sh /bin/cat /bin/sleep
FROM scratch
COPY --from=build /image /
