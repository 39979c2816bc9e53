# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# The image of both processes, from the wheel: `make image` builds the wheel and then this.

# The oldest Python that is supported, and the one that the tests run on.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
RUN python -m venv /opt/enbloc
# What is locked changes seldom, so it has a layer of its own.
COPY requirements/image.txt /tmp/
RUN /opt/enbloc/bin/pip install --no-cache-dir --disable-pip-version-check \
      --only-binary :all: --require-hashes -r /tmp/image.txt
COPY dist/enbloc-*.whl /tmp/
RUN /opt/enbloc/bin/pip install --no-cache-dir --disable-pip-version-check \
      --no-deps --no-index /tmp/enbloc-*.whl \
    && /opt/enbloc/bin/pip uninstall --yes --quiet pip setuptools
# The servers need neither; `enbloc sandbox` and `enbloc demo` say so here.
RUN cd /opt/enbloc/lib/python*/site-packages/enbloc && rm -r demo sandbox

FROM python:${PYTHON}-slim
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="enbloc" \
      org.opencontainers.image.description="A gang scheduler for Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/enbloc /opt/enbloc
# One thread per process is the design; arenas per thread only cost memory.
ENV PATH="/opt/enbloc/bin:${PATH}" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    MALLOC_ARENA_MAX=2
USER 65532:65532
ENTRYPOINT ["enbloc"]
