#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
mv buf.c bytes.c; mv buf.h bytes.h
sed -i -E 's/\bbuf_/bytes_/g; s/\bBUF_/BYTES_/g; s/struct buf\b/struct bytes/g; s/\bbuf\.([ch])\b/bytes.\1/g' *.c *.h Makefile README.md
sed -i 's/bytes_ ok/buf_ ok/' test.c
sed -i 's/^# buf/# bytes/' README.md
sed -i 's/into a buf\./into a bytes./' lines.h
