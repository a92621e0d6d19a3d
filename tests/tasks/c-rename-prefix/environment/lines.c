#include "lines.h"

struct buf lines_join(const char **lines) {
    struct buf buf = BUF_EMPTY;
    for (; *lines; lines++) {
        if (buf.length) buf_add(&buf, " ");
        buf_add(&buf, *lines);
    }
    return buf;
}
