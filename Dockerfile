# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# The image of both processes. `make image` builds the wheel and then this:
#   docker build --build-arg WHEEL=dist/enbloc-….whl .

# Debian and its distroless image of Python: the same release, so the same /usr/bin/python3. They
# are named by tag here, so that a build gets their security fixes. A release names both by digest:
#   make image ARGS="--build-arg=BUILD_IMAGE=…@sha256:… --build-arg=RUNTIME_IMAGE=…@sha256:…"
ARG BUILD_IMAGE=debian:12-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/python3-debian12:nonroot

FROM ${BUILD_IMAGE} AS build
# Nothing of this stage but /opt/enbloc is kept, so its tools may be of any version.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/tools
COPY requirements/sbom.txt requirements/image.txt /build/requirements/
RUN /opt/tools/bin/pip install --no-cache-dir --disable-pip-version-check \
      --only-binary :all: --require-hashes -r /build/requirements/sbom.txt
COPY hack/image_tree.py hack/licences.py /build/hack/
# No default: one wheel, and the caller says which.
ARG WHEEL
COPY ${WHEEL} /build/wheel/
# The time of all files that the image gets.
ARG SOURCE_DATE_EPOCH=0
RUN /opt/tools/bin/python /build/hack/image_tree.py /opt/enbloc \
      --lock=/build/requirements/image.txt --wheel /build/wheel/*.whl

# Neither shell nor package manager nor compiler.
FROM ${RUNTIME_IMAGE}
ARG VERSION=dev
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=""
LABEL org.opencontainers.image.title="enbloc" \
      org.opencontainers.image.description="A gang scheduler for Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /opt/enbloc /opt/enbloc
# One thread per process is the design; arenas per thread only cost memory.
ENV PATH="/opt/enbloc/bin:/usr/bin:/bin" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    MALLOC_ARENA_MAX=2
USER 65532:65532
ENTRYPOINT ["enbloc"]
