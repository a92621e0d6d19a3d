#ifndef COUNT_H
#define COUNT_H

#include <stdio.h>

struct entry {
    char word[32];
    int count;
};

struct table {
    struct entry entries[1000];
    int length;
};

void count_file(struct table *table, FILE *file);
void table_print(struct table *table, FILE *to);

#endif
