#!/usr/bin/env bash
# usage: in-root.sh ROOT [-u USER] [-e NAME=VALUE]... [-b SOURCE:TARGET]... COMMAND...
# Runs a command as a container would: in a root directory with only the given variables and directories, as its own first
# process, without privileges. Nothing outlives it: mounts and processes are in namespaces that end with it.
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  # The first process of the new process namespace ends with this one, and all others of it with the first.
  exec unshare --mount --pid --fork --kill-child -- "$0" --inside "$@"
fi
root=$2
shift 2
user=65532
variables=()
while getopts u:e:b: option; do
  case $option in
    u) user=$OPTARG ;;
    e) variables+=("$OPTARG") ;;
    b)
      mkdir -p "$root${OPTARG#*:}"
      mount --bind "${OPTARG%%:*}" "$root${OPTARG#*:}"
      ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
chmod 1777 "$root/tmp"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec setpriv --no-new-privs -- \
  env -i "${variables[@]}" "$(command -v chroot)" --userspec="$user:$user" --groups="$user" "$root" "$@"
