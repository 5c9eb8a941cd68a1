#!/bin/sh
# Collects the files of the platform's image below DIRECTORY: ours, and of Debian only what they need.
#   usr/lib/kruntimes   what the injector copies, but for the program: tini, Node with its own loader and libraries, the launcher
#   the rest            git, ssh, sh and cat for the agent; certificates of authorities; the libraries of all of them
# usage: collect.sh BUILD-FILES DIRECTORY
set -eu
files=$1
image=$2
ours=$image/usr/lib/kruntimes

# Debian's merged /usr: the loader's path begins with /lib64.
mkdir -p "$image/usr/bin" "$image/usr/lib" "$image/usr/lib64" "$ours/lib"
for name in bin lib lib64; do ln -s "usr/$name" "$image/$name"; done

# needed FILE...: the shared libraries and the loader of programs, by their real paths below /usr.
needed() {
  ldd "$@" | sed -nE 's/^\s+(\S+ => )?(\/\S+) \(0x.*/\2/p' | sort -u | while read -r library; do
    echo "$(realpath "$(dirname "$library")")/$(basename "$library")"
  done | sort -u
}

# keep FILE...: programs with all that they need, at the paths that they have in Debian.
keep() {
  for file in "$@" $(needed "$@"); do
    [ -e "$image$file" ] && continue
    mkdir -p "$image$(dirname "$file")"
    cp -L "$file" "$image$file"
  done
}

cp "$files/node" "$ours/node"
strip "$ours/node" # 126 MB become 108
cp /usr/bin/tini-static "$ours/tini"
gcc -Os -static -s -Wall -Wextra -Werror -I "$files" -o "$ours/kruntimes" "$files/launcher.c"
for library in $(needed "$ours/node"); do
  case $library in
    */ld-linux*) cp -L "$library" "$ours/lib/ld.so" ;;
    *) cp -L "$library" "$ours/lib/$(basename "$library")" ;;
  esac
done
chmod -R a+rX,go-w "$ours"

keep $(needed "$ours/node") /usr/bin/git /usr/lib/git-core/git-remote-http /usr/bin/ssh /usr/bin/dash /usr/bin/cat
ln -s dash "$image/usr/bin/sh"
ln -s git-remote-http "$image/usr/lib/git-core/git-remote-https"
mkdir -p "$image/etc/ssl/certs"
cp -L /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
# ssh refuses to work for a user without a name, and the user of a Pod can be any.
keep "/usr/lib/$(uname -m)-linux-gnu/libnss_unknown.so.2"
printf 'passwd: files unknown\nhosts: files dns\n' >"$image/etc/nsswitch.conf"
printf 'root:x:0:0:root:/:/sbin/nologin\nkruntimes:x:65532:65532:kruntimes:/tmp:/sbin/nologin\n' >"$image/etc/passwd"
printf 'root:x:0:\nkruntimes:x:65532:\n' >"$image/etc/group"
mkdir -m 1777 "$image/tmp"
