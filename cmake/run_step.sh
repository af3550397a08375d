# For bash scripts that build: run_step LABEL COMMAND… runs a command and appends its output to $log. On a terminal one line
# shows the last line of that output, so what is built now, and is cleared at the end. A failure prints the end of the log and its path.
run_step() {
  local label="$1" status=0
  shift
  if [ -t 2 ]; then
    local width=$(($(tput cols 2> /dev/null || echo 80) - 13))
    "$@" 2>&1 | tee -a "$log" | while IFS= read -r line; do
      printf '\r\033[K%-12s%s' "$label" "${line:0:width}" >&2
    done || status=$?
    printf '\r\033[K' >&2
  else
    "$@" >> "$log" 2>&1 || status=$?
  fi
  [ "$status" -eq 0 ] || { tail -40 "$log" >&2; echo "$label failed; the whole log is $log" >&2; exit "$status"; }
}
