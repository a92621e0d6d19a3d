#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "lines.h"
#include "ringbuf.h"

int main(void) {
    const char *lines[] = {"one", "two", NULL};
    struct buf buf = lines_join(lines);
    assert(strcmp(buf_text(&buf), "one two") == 0);
    buf_free(&buf);
    struct ringbuf ring = {0};
    for (int i = 0; i < 6; i++) ringbuf_add(&ring, i);
    assert(ringbuf_sum(&ring) == 14);
    puts("buf_ ok");
    return 0;
}
