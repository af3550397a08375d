#!/bin/sh
# needed_libraries.sh FOLDER: prints `LIBRARY PACKAGE` for each shared library outside FOLDER that a program or library in it names:
#
#     libdnnl.so.2 libdnnl2
#
# PACKAGE is the Debian package that has it on this machine, `-` where there is none. The modules for MPI are left out: they are
# loaded where MPI is.
set -eu
folder="$(cd "$1" && pwd -P)"
found="$(mktemp)"
trap 'rm -f "$found"' EXIT
elf() { find "$folder" -type f ! -path '*/lib*/collage/collage_mpi_*' \( -perm -u+x -o -name '*.so*' \) -exec "$@" {} + 2> /dev/null || true; }

elf ldd | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u > "$found"
elf readelf -d | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | sort -u | while read -r library; do
  path="$(awk -v library="$library" '$1 == library { print $2; exit }' "$found")"
  case "$path" in
    '' | "$folder"/*) continue ;;  # the loader itself; what is in the folder
  esac
  package=-
  # The file, not links to it, which may be in another package. /lib is /usr/lib, and a package may have it under either name.
  path="$(realpath "$path")"
  for name in "$path" "${path#/usr}"; do
    if owner="$(dpkg-query -S "$name" 2> /dev/null)"; then
      package="${owner%%:*}"
      break
    fi
  done
  echo "$library $package"
done
