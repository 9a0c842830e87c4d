# Becomes PostgreSQL, as an unprivileged user, in the folder that has it. Runs in a mount namespace of its own, so that
# nothing stays mounted afterwards.
#
# usage: root data port programs
root=$1 data=$2 port=$3 programs=$4

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount --bind "$data" "$root/mnt"
chroot "$root" chown postgres:postgres /mnt

# An initdb that is cut short leaves nothing that looks complete.
if [ ! -e "$data/cluster" ]; then
	rm -rf "$data/new"
	chroot --userspec=postgres:postgres "$root" "$programs/initdb" --pgdata=/mnt/new --auth=trust --username=postgres --locale=C.UTF-8 --encoding=UTF8 --no-sync
	mv "$data/new" "$data/cluster"
fi
# It is a test's data: speed goes before surviving a power cut.
exec chroot --userspec=postgres:postgres "$root" "$programs/postgres" -D /mnt/cluster \
	-c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories= -c max_connections=300 \
	-c shared_preload_libraries=pg_cron,pg_documentdb_core,pg_documentdb -c cron.database_name=postgres -c cron.host=127.0.0.1 \
	-c fsync=off -c synchronous_commit=off -c full_page_writes=off
