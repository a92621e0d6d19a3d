#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > backup.sh <<'END'
#!/bin/bash
# backup.sh FOLDER TARGET: copies all .txt files below FOLDER into TARGET.
set -eu

if [ $# != 2 ] || [ ! -d "$1" ]; then
  echo "usage: backup.sh FOLDER TARGET" >&2
  exit 2
fi
mkdir -p -- "$2"
count=0
while IFS= read -r -d '' file; do
  name=$(basename -- "$file" .txt; printf x)
  name=${name%$'\nx'}
  to=$2/$name.txt
  number=2
  while [ -e "$to" ]; do
    to=$2/$name-$number.txt
    number=$((number + 1))
  done
  cp -- "$file" "$to"
  count=$((count + 1))
done < <(find "$1" -name '*.txt' -type f -print0 | LC_ALL=C sort -z)
echo "$count files"
END
