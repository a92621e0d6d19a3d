#ifndef OPTIONS_H
#define OPTIONS_H

struct options {
    int unused;
};

/* 0, or the exit status with which to end. */
int options_read(struct options *options, int count, char **words);

#endif
