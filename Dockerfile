# The image, from the files that "make rootfs" builds: "make docker-build" runs both. "make image" packs the same files without a
# container engine, and "make image-test" compares the two images.
FROM scratch
ARG TARGETPLATFORM
ARG VERSION=unknown
COPY dist/root/${TARGETPLATFORM}/ /
LABEL org.opencontainers.image.title="h2surge" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/h2surge/h2surge" \
      org.opencontainers.image.version="${VERSION}"
ENV PATH=/
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/h2surge-manager"]
