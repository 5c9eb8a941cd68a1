# DNS of the test cluster.
FROM scratch
COPY coredns /coredns
ENTRYPOINT ["/coredns"]
