#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every model that export_models.py wrote into a folder on the host, and compares with PyTorch.
#
#     run_models.sh COLLAGEC FOLDER [NAME …]      NAME is a folder name or a pattern: 'lstm*' '*.opset9.*'
#
# Prints one line per model; exits 1 if one failed. TOLERANCE (of the largest value, default 2e-6) and ARGUMENTS (of
# collagec, default: all of it on the host) are taken from the environment.
collagec=$1
folder=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
arguments=${ARGUMENTS:-"-r $root/rules --strategy=single:host"}
[ $# -eq 0 ] && set -- '*'
failed=0
for pattern; do
  for model in "$folder"/$pattern/model.onnx; do
    [ -f "$model" ] || continue
    here=$(dirname "$model")
    options=
    for file in "$here"/input_*.pb; do
      number=${file##*_}
      options="$options --input in${number%.pb}=$file"
    done
    for file in "$here"/output_*.pb; do
      number=${file##*_}
      options="$options --expect out${number%.pb}=$file"
    done
    [ -f "$here/shapes" ] && options="$options $(cat "$here/shapes")"
    # Unquoted on purpose: both are lists of arguments.
    if text=$("$collagec" "$model" $arguments --run $options --tolerance "${TOLERANCE:-2e-6}" 2>&1); then
      echo "pass $(basename "$here")"
    else
      failed=1
      echo "FAIL $(basename "$here")"
      echo "$text" | grep -v warning | head -n 8 | sed 's/^/    /'
    fi
  done
done
exit $failed
