# A plain Debian: what most images of users are built on.
ARG DEBIAN
FROM ${DEBIAN}
