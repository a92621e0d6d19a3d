#ifndef BUF_H
#define BUF_H

#include <stddef.h>

#define BUF_START 16
#define BUF_EMPTY {0}

struct buf {
    char *data;
    size_t length, room;
};

void buf_add(struct buf *buf, const char *text);
const char *buf_text(const struct buf *buf);
void buf_free(struct buf *buf);

#endif
