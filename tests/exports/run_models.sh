#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every model that export_models.py wrote into a folder, once on the host alone and once placed over all rules, compares
# with PyTorch, and prints a table.
#
#     run_models.sh COLLAGEC FOLDER [NAME …]      NAME is a folder name or a pattern: 'lstm*' '*.opset17.*'
#
# Columns: the model; for the host alone, then for all rules, whether the results agree, and the greatest difference of an
# output relative to its largest value; for all rules the share of multiply-adds that do not run in the host's generated code,
# seconds, and the operators of each backend. A model that runs in stages has their number instead of a share. What collagec
# says of a failure stands below the line. Exits 1 if one failed. From the environment: TOLERANCE (of the largest value,
# default 2e-5), TIMEOUT (seconds, default 120), HOST_RUN and RULES_RUN: the arguments of the two runs; `-` leaves one out.
collagec=$1
folder=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
host_run=${HOST_RUN:-"-r $root/rules --strategy=single:host --costs=estimate"}
rules_run=${RULES_RUN:-"-r $root/rules"}
limits="--timeout ${TIMEOUT:-120} --tolerance ${TOLERANCE:-2e-5}"
[ $# -eq 0 ] && set -- '*'
failed=0
said=$(mktemp)
trap 'rm -f "$said" "$said.errors" "$said.wrong"' EXIT

# Runs the model with the arguments $1. Sets `verdict` and `error`; leaves the summary in $said, what was wrong in $said.wrong.
run() {
  # Unquoted on purpose: these are lists of arguments.
  if "$collagec" run "$here/model.onnx" $1 $limits $options >"$said" 2>"$said.errors"; then
    verdict=pass
  else
    verdict=FAIL
    failed=1
    grep 'error: ' "$said.errors" | head -n 6 | cut -c 1-240 | sed 's/^/    /' >>"$said.wrong"
  fi
  error=$(awk '/^expected .* = / && $NF + 0 >= worst { worst = $NF + 0; text = $NF }
    END { print text == "" ? "-" : text }' "$said")
}

# The share of multiply-adds off the host, and the operators of each backend, from the table of the summary in $said.
share() {
  awk '/^stage / { stages++ }
    $1 == "placement" { table = 1; next }
    $1 == "conversions" { table = 0 }
    table && $4 ~ /^[0-9.]+$/ { if ($1 == "host") host = $4; if ($2 > 0) used = used " " $1 " " $2 }
    END { if (stages) print "stages " stages; else if (used) print 100 - host " %" used; else print "- -" }' "$said"
}

printf '%-40s %-4s %-8s  %-5s %-8s  %-8s %4s  %s\n' model host error rules error 'off host' s 'operators by backend'
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
    : >"$said.wrong"
    verdict=-
    error=-
    [ "$host_run" = - ] || run "$host_run"
    printf '%-40s %-4s %-8s  ' "$(basename "$here")" "$verdict" "$error"
    if [ "$rules_run" = - ]; then
      echo
    else
      start=$(date +%s)
      run "$rules_run"
      share | while read -r amount unit used; do
        printf '%-5s %-8s  %-8s %4s  %s\n' "$verdict" "$error" "$amount $unit" $(($(date +%s) - start)) "$used"
      done
    fi
    cat "$said.wrong"
  done
done
exit $failed
