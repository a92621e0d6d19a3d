#!/bin/bash
# Runs in the folder of the task. Status 0: solved.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ ! -e buf.c ] && [ ! -e buf.h ]
rm -f test
[ "$(make -s check)" = "buf_ ok" ]
! grep -nE '(^|[^a-zA-Z_])(buf_[a-z]+|BUF_[A-Z]+|buf\.[ch]\b)|struct buf\b' *.c *.h Makefile README.md | grep -v '"buf_ ok'
cp "$here/hidden.c" hidden.c
cc -std=c11 -Wall -Wextra -Werror -o hidden hidden.c bytes.c ringbuf.c lines.c && ./hidden
grep -q 'ringbuf_add' README.md && grep -q 'bytes_add' README.md
