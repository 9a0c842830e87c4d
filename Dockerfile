# syntax=docker/dockerfile:1

# The image of the manager and the recoup command: one static binary, no shell.
# BUILD_IMAGE needs Go and the CA certificates, nothing else: every RUN below is
# in exec form, so not even a shell. BASE_IMAGE may be empty, as scratch is.
ARG BUILD_IMAGE=golang:1.26
ARG BASE_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
ARG VERSION=dev
# Empty: the default of Go itself.
ARG GOPROXY=
ENV CGO_ENABLED=0 \
    GOTOOLCHAIN=local \
    GOPROXY=${GOPROXY} \
    GOFLAGS="-trimpath -buildvcs=false '-ldflags=-s -w -X recoup.dev/recoup/internal/cli.Version=${VERSION}'"
WORKDIR /src
# The modules first: they change less often than the code does.
COPY go.mod go.sum ./
RUN ["go", "mod", "download"]
COPY *.go ./
COPY api/ api/
COPY controllers/ controllers/
COPY internal/ internal/
RUN ["go", "build", "-o", "/out/recoup", "."]

FROM ${BASE_IMAGE}
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/recoup /recoup
USER 65532:65532
ENTRYPOINT ["/recoup"]
