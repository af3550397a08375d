#!/usr/bin/env bash
# install_packages.sh PART…: installs the packages of these parts of packages.txt, if any of them is missing. `all` is every part.
# Debian 12; asks for sudo when not root.
set -euo pipefail
list="$(dirname "$0")/../packages.txt"
[ $# -gt 0 ] || { echo "usage: install_packages.sh all | PART…; packages.txt lists the parts" >&2; exit 2; }
packages=()
for part in "$@"; do
  mapfile -t found < <(awk -v part="[$part]" '/^\[/ { inside = part == "[all]" || $1 == part; next } inside && /^[^#]/ { print $1 }' "$list")
  [ ${#found[@]} -gt 0 ] || { echo "install_packages.sh: packages.txt has no part [$part]" >&2; exit 2; }
  packages+=("${found[@]}")
done
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
