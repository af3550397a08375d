#!/usr/bin/env bash
# Installs what packages.txt lists, if anything of it is missing. Debian 12; asks for sudo when not root.
set -euo pipefail
list="$(dirname "$0")/../packages.txt"
mapfile -t packages < <(grep -v '^#' "$list")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
