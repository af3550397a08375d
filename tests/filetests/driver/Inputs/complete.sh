# Prints what a completion script offers for the last word: complete.sh SCRIPT PROGRAM WORD…
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
function=$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')
"$function"
echo "${COMPREPLY[*]}"
