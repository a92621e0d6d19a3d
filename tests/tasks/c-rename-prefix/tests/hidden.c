#include "bytes.h"
#include "lines.h"
#include "ringbuf.h"

int main(void) {
    struct bytes it = BYTES_EMPTY;
    bytes_add(&it, "x");
    bytes_free(&it);
    const char *none[] = {0};
    it = lines_join(none);
    struct ringbuf ring = {0};
    ringbuf_add(&ring, 0);
    return bytes_text(&it)[0] + ringbuf_sum(&ring) + (BYTES_START != 16);
}
