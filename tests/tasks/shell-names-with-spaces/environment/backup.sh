#!/bin/bash
cd $1
for file in $(find . -name *.txt); do
  cp $file $2/$(basename $file)
  count=$((count + 1))
done
echo $count files
