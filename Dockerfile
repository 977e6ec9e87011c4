# The image with Docker; "make image" makes the same one without. Built on the machine's own platform and cross-compiled, because
# Go does that faster than an emulator runs.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=unknown
RUN mkdir -p /root-fs/tmp /root-fs/etc && chmod 1777 /root-fs/tmp && \
    printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' >/root-fs/etc/passwd && \
    for c in h2surge-manager=manager h2surge-runner=runner h2surge=h2surge; do \
      CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
        -ldflags "-s -w -X github.com/h2surge/h2surge/internal/version.Version=$VERSION" \
        -o /root-fs/${c%%=*} ./cmd/${c##*=} || exit 1; \
    done

FROM scratch
COPY --from=build /root-fs/ /
USER 65532:65532
ENTRYPOINT ["/h2surge-manager"]
