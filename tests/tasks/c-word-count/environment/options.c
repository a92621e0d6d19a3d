#include "options.h"

#include <stdio.h>

int options_read(struct options *options, int count, char **words) {
    options->unused = 0;
    if (count > 1) {
        fprintf(stderr, "words: no arguments are known: %s\n", words[1]);
        return 2;
    }
    return 0;
}
