#!/bin/sh
# Installs what lies beside this file.   ./install.sh [--prefix FOLDER]      /usr/local as root, otherwise ~/.local
# Everything also works where it was unpacked: bin/collagec. To remove it: the files that `tar -tf` of the archive names.
set -eu
usage() { echo "usage: install.sh [--prefix FOLDER]" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd -P)"
prefix="${HOME:-/root}/.local"
[ "$(id -u)" -ne 0 ] || prefix=/usr/local
case "$#,${1:-}" in
  0,) ;;
  2,--prefix) prefix="$2" ;;
  1,--prefix=?*) prefix="${1#--prefix=}" ;;
  *) usage ;;
esac
case "$prefix" in '') usage ;; /*) ;; *) prefix="$PWD/$prefix" ;; esac

# What the loader does not find, with the Debian packages that have it.
problems="$(find "$here/bin" "$here/lib" -type f ! -path '*/collage_mpi_*' ! -path '*/python3/*' \( -perm -u+x -o -name '*.so*' \) \
  -exec ldd {} + 2>&1 | grep 'not found' | sort -u || true)"
missing="$(printf '%s\n' "$problems" | awk '$2 == "=>" && $3 == "not" { print $1 }')"
if [ -n "$missing" ]; then
  packages="$(printf '%s\n' "$missing" | awk 'NR == FNR { package[$1] = $2; next } package[$1] ~ /^[a-z]/ { print package[$1] }' \
    "$here/share/collage/libraries.txt" - | sort -u | tr '\n' ' ')"
  echo "install.sh: nothing was installed; these libraries are missing:" $missing >&2
  echo "on Debian 12:  apt-get install --no-install-recommends $packages" >&2
  exit 1
elif [ -n "$problems" ]; then
  printf 'install.sh: nothing was installed; this system is older than the one that the archive is for:\n%s\n' "$problems" >&2
  exit 1
fi

mkdir -p "$prefix"
for folder in bin include lib share; do
  [ ! -d "$here/$folder" ] || cp -R -P --preserve=mode,links --remove-destination "$here/$folder" "$prefix/"
done
# Programs that link the libraries find them where the loader looks.
[ "$(id -u)" -ne 0 ] || ldconfig 2> /dev/null || true
echo "installed   $prefix"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "programs    export PATH=\"$prefix/bin:\$PATH\"" ;; esac

# The package of Python goes where this python3 looks, if it was built for this version.
package="$prefix/lib/python3/dist-packages"
[ -d "$package/collage" ] && command -v python3 > /dev/null || exit 0
python3 - "$prefix" "$package" << 'END'
import importlib.machinery, os, pathlib, site, sys
prefix, package = map(pathlib.Path, sys.argv[1:])
version = f"python{sys.version_info.major}.{sys.version_info.minor}"
if not any((package / f"collage/_collage{suffix}").exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
    print(f"python      the package is for another version than {version}")
    raise SystemExit
searched = [os.path.realpath(one) for one in [*site.getsitepackages(), site.getusersitepackages()]]
for folder in (prefix / "lib" / version / name for name in ("dist-packages", "site-packages")):
    if os.path.realpath(folder) in searched:
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "collage"
        if link.is_symlink():
            link.unlink()
        if not link.exists():
            link.symlink_to("../../python3/dist-packages/collage")
        print(f"python      {link}")
        break
else:
    print(f'python      export PYTHONPATH="{package}"')
END
