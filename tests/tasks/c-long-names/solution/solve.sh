#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > greet.c <<'END'
#include <stdio.h>

int main(int count, char **words) {
    if (count != 2) {
        fprintf(stderr, "usage: greet NAME\n");
        return 2;
    }
    printf("Good morning, %s!\n", words[1]);
    return 0;
}
END
