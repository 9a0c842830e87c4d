# Installs PostgreSQL with DocumentDB into a folder, by Debian's own tools.
#
# usage: root suite mirror package keyring
root=$1 suite=$2 mirror=$3 package=$4 keyring=$5

# An older debootstrap has no script named after the suite; the one of sid serves.
debootstrap --variant=minbase --include=ca-certificates --keyring="$keyring" "$suite" "$root" "$mirror" /usr/share/debootstrap/scripts/sid

# The authorities that this machine trusts, in case its mirror has a certificate of its own.
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
fi
# A mirror may lag behind the date at which the suite's Release file expires.
echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99recoup"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/etc/postgresql-common"
echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"

mount -t proc proc "$root/proc"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
chroot "$root" apt-get update
chroot "$root" apt-get install -y --no-install-recommends "$package"
chroot "$root" apt-get clean
rm -rf "$root"/var/lib/apt/lists/*
mkdir -p "$root/dev/shm"
