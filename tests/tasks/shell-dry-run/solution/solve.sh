#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > clean.sh <<'END'
#!/bin/bash
# clean.sh [OPTION]... FOLDER: removes build leftovers.
set -eu

usage="usage: clean.sh [--dry-run|-n] [--exclude NAME]... [--] FOLDER"
fail() {
  printf 'clean.sh: %s\n%s\n' "$1" "$usage" >&2
  exit 2
}

dry=no
ended=no
folders=()
excluded=()
while [ $# -gt 0 ]; do
  word=$1
  shift
  if [ "$ended" = yes ]; then
    folders+=("$word")
    continue
  fi
  case $word in
    --) ended=yes ;;
    -n | --dry-run) dry=yes ;;
    --help)
      printf '%s\n' "$usage"
      exit 0
      ;;
    --exclude)
      [ $# -gt 0 ] || fail "--exclude needs a name"
      excluded+=(-name "$1" -o)
      shift
      ;;
    -*) fail "unknown option: $word" ;;
    *) folders+=("$word") ;;
  esac
done
[ ${#folders[@]} = 1 ] || fail "one folder is needed"
[ -d "${folders[0]}" ] || fail "there is no folder ${folders[0]}"

cd -- "${folders[0]}"
leftovers() {
  find . -mindepth 1 \( "${excluded[@]}" -false \) -prune -o \
    \( -name '*.o' -o -name '*.tmp' \) ! -type d -print0 -o \
    -name target \( -type d -o -type l \) -prune -print0
}
if [ "$dry" = yes ]; then
  leftovers | LC_ALL=C sort -z | sed -z 's|^\./||' | tr '\0' '\n'
else
  leftovers | xargs -0 -r rm -rf --
fi
END
cat >> README.md <<'END'

`--dry-run` (`-n`) only lists what would go. `--exclude NAME` keeps what is called NAME and all in it.
END
