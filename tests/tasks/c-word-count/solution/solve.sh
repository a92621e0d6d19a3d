#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
cat > options.h <<'END'
#ifndef OPTIONS_H
#define OPTIONS_H

struct options {
    int ignore_case;
    int rarest_first;
    /* 0: all of them. */
    long limit;
    long shortest;
    /* The files, which end with NULL. */
    char **files;
    int is_help;
};

/* 0, or the exit status with which to end. */
int options_read(struct options *options, char **words);

#endif
END
cat > options.c <<'END'
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: words [-i] [-n N] [-m LENGTH] [-r] [--help] [FILE]...\n"
    "  -i         upper and lower case are the same\n"
    "  -n N       show the N most frequent words only\n"
    "  -m LENGTH  leave out shorter words\n"
    "  -r         show the least frequent first\n"
    "  --help     show this\n";

static int wrong(const char *what, const char *word) {
    fprintf(stderr, "words: %s: %s\n%s", what, word, usage);
    return 2;
}

static int number(const char *word, long from, long *value) {
    char *end;
    errno = 0;
    *value = word ? strtol(word, &end, 10) : 0;
    return word && *word && !*end && !errno && *value >= from;
}

int options_read(struct options *options, char **words) {
    memset(options, 0, sizeof *options);
    while (*++words && (*words)[0] == '-' && (*words)[1]) {
        if (strcmp(*words, "-i") == 0) {
            options->ignore_case = 1;
        } else if (strcmp(*words, "-r") == 0) {
            options->rarest_first = 1;
        } else if (strcmp(*words, "-n") == 0) {
            if (!words[1] || !number(*++words, 1, &options->limit)) return wrong("a number from 1 is needed", "-n");
        } else if (strcmp(*words, "-m") == 0) {
            if (!words[1] || !number(*++words, 0, &options->shortest)) return wrong("a number is needed", "-m");
        } else if (strcmp(*words, "--help") == 0) {
            fputs(usage, stdout);
            options->is_help = 1;
            return 0;
        } else {
            return wrong("unknown option", *words);
        }
    }
    options->files = words;
    return 0;
}
END
cat > count.h <<'END'
#ifndef COUNT_H
#define COUNT_H

#include <stdio.h>

#include "options.h"

struct entry {
    char *word;
    long count;
};

/* A hash table of the words; `slots` is a power of two. */
struct table {
    struct entry *entries;
    size_t slots;
    size_t length;
};

void count_file(struct table *table, FILE *file, const struct options *options);
void table_print(struct table *table, FILE *to, const struct options *options);

#endif
END
cat > count.c <<'END'
#include "count.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory) {
    if (!memory) abort();
    return memory;
}

static struct entry *find(struct table *table, const char *word) {
    size_t hash = 5381;
    for (const char *c = word; *c; c++) hash = hash * 33 + (unsigned char)*c;
    size_t at = hash & (table->slots - 1);
    while (table->entries[at].word && strcmp(table->entries[at].word, word) != 0) {
        at = (at + 1) & (table->slots - 1);
    }
    return &table->entries[at];
}

static void add(struct table *table, const char *word) {
    if (table->length * 2 >= table->slots) {
        struct table larger = {0};
        larger.slots = table->slots ? table->slots * 2 : 64;
        larger.entries = checked(calloc(larger.slots, sizeof *larger.entries));
        larger.length = table->length;
        for (size_t i = 0; i < table->slots; i++) {
            if (table->entries[i].word) *find(&larger, table->entries[i].word) = table->entries[i];
        }
        free(table->entries);
        *table = larger;
    }
    struct entry *entry = find(table, word);
    if (!entry->word) {
        entry->word = checked(strdup(word));
        table->length++;
    }
    entry->count++;
}

void count_file(struct table *table, FILE *file, const struct options *options) {
    size_t room = 64, length = 0;
    char *word = checked(malloc(room));
    int c;
    do {
        c = getc(file);
        if (c != EOF && isalpha(c)) {
            if (length + 1 == room) word = checked(realloc(word, room *= 2));
            word[length++] = (char)(options->ignore_case ? tolower(c) : c);
        } else if (length > 0) {
            word[length] = 0;
            if ((long)length >= options->shortest) add(table, word);
            length = 0;
        }
    } while (c != EOF);
    free(word);
}

static int by_word(const struct entry *left, const struct entry *right) {
    return strcmp(left->word, right->word);
}

static int frequent_first(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    if (left->count != right->count) return left->count < right->count ? 1 : -1;
    return by_word(left, right);
}

static int rare_first(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    if (left->count != right->count) return left->count < right->count ? -1 : 1;
    return by_word(left, right);
}

void table_print(struct table *table, FILE *to, const struct options *options) {
    size_t length = 0;
    for (size_t i = 0; i < table->slots; i++) {
        if (table->entries[i].word) table->entries[length++] = table->entries[i];
    }
    if (length) qsort(table->entries, length, sizeof *table->entries, options->rarest_first ? rare_first : frequent_first);
    for (size_t i = 0; i < length && (!options->limit || (long)i < options->limit); i++) {
        fprintf(to, "%ld %s\n", table->entries[i].count, table->entries[i].word);
    }
    for (size_t i = 0; i < length; i++) free(table->entries[i].word);
    free(table->entries);
}
END
cat > main.c <<'END'
#include <errno.h>
#include <string.h>

#include "count.h"
#include "options.h"

int main(int count, char **words) {
    (void)count;
    struct table table = {0};
    struct options options;
    int status = options_read(&options, words);
    if (status || options.is_help) return status;
    if (!*options.files) count_file(&table, stdin, &options);
    for (char **name = options.files; *name; name++) {
        FILE *file = strcmp(*name, "-") == 0 ? stdin : fopen(*name, "r");
        if (!file) {
            fprintf(stderr, "words: %s: %s\n", *name, strerror(errno));
            status = 1;
            continue;
        }
        count_file(&table, file, &options);
        if (file != stdin) fclose(file);
    }
    table_print(&table, stdout, &options);
    return status;
}
END
cat >> check.sh <<'END'
[ "$(echo "A a" | ./words -i)" = "2 a" ]
[ "$(echo "b a b" | ./words -n 1)" = "2 b" ]
[ "$(echo "abc ab" | ./words -m 3)" = "1 abc" ]
[ "$(echo "b a b" | ./words -r)" = "1 a
2 b" ]
./words --help | grep -q usage
END
