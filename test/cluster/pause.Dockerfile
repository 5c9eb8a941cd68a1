# The first process of every Pod, and the probe that shows that Pods run.
FROM scratch
COPY pause /pause
USER 65535:65535
ENTRYPOINT ["/pause"]
