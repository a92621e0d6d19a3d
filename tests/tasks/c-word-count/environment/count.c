#include "count.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void add(struct table *table, const char *word) {
    for (int i = 0; i < table->length; i++) {
        if (strcmp(table->entries[i].word, word) == 0) {
            table->entries[i].count++;
            return;
        }
    }
    strcpy(table->entries[table->length].word, word);
    table->entries[table->length++].count = 1;
}

void count_file(struct table *table, FILE *file) {
    char word[32];
    int length = 0, c;
    do {
        c = getc(file);
        if (c != EOF && isalpha(c)) {
            word[length++] = (char)c;
        } else if (length > 0) {
            word[length] = 0;
            add(table, word);
            length = 0;
        }
    } while (c != EOF);
}

static int compare(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    if (left->count != right->count) return right->count - left->count;
    return strcmp(left->word, right->word);
}

void table_print(struct table *table, FILE *to) {
    qsort(table->entries, (size_t)table->length, sizeof table->entries[0], compare);
    for (int i = 0; i < table->length; i++) {
        fprintf(to, "%d %s\n", table->entries[i].count, table->entries[i].word);
    }
}
