#!/bin/sh
# enter.sh ROOT USER FOLDER COMMAND...: run that in the root, as a machine of its own: with mounts, processes and a
# /proc that are not this machine's. A chroot alone would not do: in one the system forbids user namespaces, and with
# them every sandbox. Run by root as `unshare --mount --pid --ipc --fork --kill-child enter.sh ...`.
#
# SHOWN: files and folders of this machine, one a line, that can be read there too.
set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=0755 devices dev
# Made, not shown: what somebody does to this machine's would be seen there, and the other way round.
while read -r name major minor; do mknod -m 0666 "dev/$name" c "$major" "$minor"; done <<DEVICES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
ptmx 5 2
DEVICES
mkdir dev/pts dev/shm
mount --bind /dev/pts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s /proc/self/fd dev/fd
for number in 0 1 2; do ln -s "/proc/self/fd/$number" "dev/$(echo stdin stdout stderr | cut -d' ' -f$((number + 1)))"; done
echo "${SHOWN:-}" | while IFS= read -r path; do
    [ -e "$path" ] || continue
    if [ -d "$path" ]; then mkdir -p ".$path"; else mkdir -p ".$(dirname "$path")" && : >>".$path"; fi
    mount --bind -o ro "$path" ".$path"
done
mkdir -p old
pivot_root . old
umount -l old
rmdir old
user=$2 folder=$3
shift 3
home=$(getent passwd "$user" | cut -d: -f6)
cd "$folder"
# This shell stays: somebody has to be the first process, and to wait for orphans.
env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" USER="$user" LOGNAME="$user" \
    SHELL=/bin/sh TERM="${TERM:-dumb}" COLORTERM=truecolor ${MODEL:+"OI_TUI_MODEL=$MODEL"} \
    setpriv --reuid "$user" --regid "$user" --init-groups "$@" && code=0 || code=$?
exit "$code"
