#!/bin/sh
# Fails if a generated file isn't what its markers make today, or if a kustomize
# tree doesn't build. Changes nothing.
#
# usage: verify.sh CONTROLLER_GEN KUSTOMIZE
set -eu

controller_gen=$(realpath "$1")
kustomize=$(realpath "$2")
cd "$(dirname "$0")/.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
failed=0

hack/generate.sh "$controller_gen" "$fresh"
for file in $(cd "$fresh" && find . -type f | sort); do
	diff -u --label "$file, as committed" --label "$file, as generated" "$file" "$fresh/$file" || {
		echo "verify: $file is stale: run make generate manifests and commit what it changes" >&2
		failed=1
	}
done
for file in config/crd/bases/*.yaml; do
	[ -e "$fresh/$file" ] || {
		echo "verify: nothing generates $file any more: delete it" >&2
		failed=1
	}
done

for tree in $(find config -name kustomization.yaml -exec dirname {} \; | sort); do
	"$kustomize" build "$tree" >/dev/null || {
		echo "verify: $tree doesn't build" >&2
		failed=1
	}
done
exit "$failed"
