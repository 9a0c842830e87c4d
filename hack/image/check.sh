#!/bin/sh
# Builds the image from the Dockerfile and looks at what came out, without a
# container engine and without a registry of images: buildah builds in a chroot,
# and both base images are made here, from this machine's Go toolchain and from
# nothing.
#
# usage: check.sh [context]    (default: the repository that holds this script)
# VERSION  the version that the binary must call itself (default: image-check)
# Needs root, as a chroot does. Everything it makes is in one folder that goes
# away at the end; the module and build caches of Go are lent to the build.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
context=${1:-$here/../..}
version=${VERSION:-image-check}

say() { echo "image-check: $*"; }
fail() { echo "image-check: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "buildah's chroot isolation needs root: run it as root, or build the Dockerfile with your own engine"
command -v go >/dev/null || fail "go isn't on the PATH: install Go 1.26 or newer"
if ! command -v buildah >/dev/null; then
	command -v apt-get >/dev/null || fail "buildah isn't on the PATH and there is no apt-get to install it with: install buildah"
	say "installing buildah"
	apt-get -qq -o DPkg::Lock::Timeout=300 update
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 install --no-install-recommends buildah >/dev/null
fi
certificates=/etc/ssl/certs/ca-certificates.crt
[ -e "$certificates" ] || fail "$certificates is missing: install the package ca-certificates"

work=$(mktemp -d "${TMPDIR:-/tmp}/recoup-image.XXXXXX")
export TMPDIR="$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$work/policy.json"

# buildah SUBCOMMAND ARGUMENTS..., with storage of its own.
buildah() {
	command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"
}
# image NAME FOLDER: an image of that folder's contents.
image() {
	container=$(buildah from scratch)
	buildah copy --quiet "$container" "$2" / >/dev/null
	buildah config --env PATH=/usr/local/go/bin --env GOROOT=/usr/local/go --env GOPATH=/go --env GOCACHE=/go/build "$container"
	buildah commit --quiet --signature-policy "$work/policy.json" "$container" "$1" >/dev/null
	buildah rm "$container" >/dev/null
}

say "making a build image from $(go version)"
goroot=$(go env GOROOT)
rootfs=$work/rootfs
mkdir -p "$rootfs/usr/local/go" "$rootfs/etc/ssl/certs" "$rootfs/tmp" "$rootfs/go"
for part in bin lib pkg src go.env VERSION; do
	[ ! -e "$goroot/$part" ] || cp -RL "$goroot/$part" "$rootfs/usr/local/go/"
done
cp -L "$certificates" "$rootfs/$certificates"
# A distribution's go may need its loader and libraries beside it.
ldd "$goroot/bin/go" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
	cp -L --parents "$library" "$rootfs"
done
image localhost/recoup-build "$rootfs"
rm -rf "$rootfs"

say "making an empty base image"
mkdir "$work/empty"
image localhost/recoup-base "$work/empty"

say "building the Dockerfile"
(cd "$context" && go mod download)
mkdir -p "$(go env GOMODCACHE)" "$(go env GOCACHE)"
buildah build --isolation chroot --pull-never --quiet \
	--signature-policy "$work/policy.json" \
	--build-arg BUILD_IMAGE=localhost/recoup-build \
	--build-arg BASE_IMAGE=localhost/recoup-base \
	--build-arg VERSION="$version" \
	--build-arg GOPROXY=off \
	--volume "$(go env GOMODCACHE):/go/pkg/mod" \
	--volume "$(go env GOCACHE):/go/build" \
	--file "$context/Dockerfile" --tag localhost/recoup "$context" >/dev/null

user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' localhost/recoup)
[ "$user" = 65532:65532 ] || fail "the image's user is \"$user\", want 65532:65532: see USER in the Dockerfile"
entrypoint=$(buildah inspect --type image --format '{{.OCIv1.Config.Entrypoint}}' localhost/recoup)
[ "$entrypoint" = "[/recoup]" ] || fail "the image's entry point is $entrypoint, want [/recoup]: see ENTRYPOINT in the Dockerfile"
say "user $user, entry point $entrypoint"

container=$(buildah from --pull-never --signature-policy "$work/policy.json" localhost/recoup)
mounted=$(buildah mount "$container")
files=$(cd "$mounted" && find . ! -type d | sort | tr '\n' ' ')
[ "$files" = "./etc/ssl/certs/ca-certificates.crt ./recoup " ] ||
	fail "the image holds $files, want the binary and the CA certificates alone: no shell, no loader"
say "it holds $files($(du -h "$mounted/recoup" | cut -f1))"
settings=$(go version -m "$mounted/recoup")
case $settings in
*CGO_ENABLED=0*) ;;
*) fail "the binary was built with cgo: see CGO_ENABLED in the Dockerfile" ;;
esac
buildah umount "$container" >/dev/null

# With no loader in the image, only a static binary can run at all.
run() { buildah run --isolation chroot "$container" -- /recoup "$@"; }
run --help >"$work/help" 2>&1 || fail "/recoup --help failed in the image: $(cat "$work/help")"
grep -q recoup "$work/help" || fail "/recoup --help doesn't name itself: $(cat "$work/help")"
run version >"$work/version" 2>&1 || fail "/recoup version failed in the image: $(cat "$work/version")"
grep -qF "$version" "$work/version" || fail "/recoup version says \"$(cat "$work/version")\", want $version in it"
say "/recoup --help and /recoup version run in it: $(head -n 1 "$work/version")"
say "good"
