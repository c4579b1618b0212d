#!/usr/bin/env bash
# A base image made of Debian's packages, for machines that reach no image registry: make image-base
# Needs root, debootstrap and buildah (apt-get install debootstrap buildah). Then: make image BASE_IMAGE=the name printed here
set -euo pipefail

suite=${SUITE:-bookworm}
name=${NAME:-localhost/contextfind-base:$suite}
root=$(mktemp --directory)
trap 'rm -rf "$root"' EXIT

debootstrap --variant=minbase --include=ca-certificates,python3 "$suite" "$root" ${MIRROR:+"$MIRROR"}
# Nobody reads manuals in a container, and lists and archives of packages are old by tomorrow.
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/man/* \
  "$root"/usr/share/locale/* "$root"/usr/share/info/*
find "$root/usr/share/doc" -type f ! -name copyright -delete

container=$(buildah from scratch)
buildah add --quiet "$container" "$root" /
buildah config --env LANG=C.UTF-8 --cmd python3 "$container"
buildah commit --quiet --rm "$container" "$name"
echo "$name"
