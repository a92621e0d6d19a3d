#include "buf.h"

#include <stdlib.h>
#include <string.h>

void buf_add(struct buf *buf, const char *text) {
    size_t more = strlen(text);
    while (buf->length + more + 1 > buf->room) {
        buf->room = buf->room ? buf->room * 2 : BUF_START;
        buf->data = realloc(buf->data, buf->room);
        if (!buf->data) abort(); /* buf_add never fails */
    }
    memcpy(buf->data + buf->length, text, more + 1);
    buf->length += more;
}

const char *buf_text(const struct buf *buf) { return buf->data ? buf->data : ""; }

void buf_free(struct buf *buf) {
    free(buf->data);
    *buf = (struct buf)BUF_EMPTY;
}
