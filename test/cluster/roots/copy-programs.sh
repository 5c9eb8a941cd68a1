#!/bin/sh
# usage: copy-programs.sh DIRECTORY PROGRAM...: makes a root of these programs and the libraries that they are linked to.
set -eu
root=$1
shift
for program in "$@"; do
  for file in "$program" $(ldd "$program" 2>/dev/null | sed -nE 's/^\s+(\S+ => )?(\/\S+) \(0x.*/\2/p'); do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
done
