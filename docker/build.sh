#!/usr/bin/env bash
# Build the image with what is there: make image
# IMAGE: its name. BASE_IMAGE, EXTRAS, PIP_INDEX_URL, PIP_CERT: arguments of docker/Dockerfile, from the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

image=${IMAGE:-contextfind:local}
arguments=()
for name in BASE_IMAGE EXTRAS PIP_INDEX_URL PIP_CERT; do
  if [ -n "${!name:-}" ]; then arguments+=(--build-arg "$name=${!name}"); fi
done

if docker info >/dev/null 2>&1; then
  exec docker build --file docker/Dockerfile --tag "$image" "${arguments[@]}" .
fi
if ! command -v buildah >/dev/null 2>&1; then
  echo "Neither a running Docker engine nor buildah was found (Debian and Ubuntu: apt-get install buildah)." >&2
  exit 1
fi
# Trust what this machine trusts while building; nothing of it stays in the image.
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then arguments+=(--volume /etc/ssl/certs:/etc/ssl/certs:ro); fi
# chroot also works inside a container. The format is the one that knows health checks.
exec buildah build --isolation "${BUILDAH_ISOLATION:-chroot}" --format docker --layers \
  --file docker/Dockerfile --tag "localhost/${image#localhost/}" "${arguments[@]}" .
