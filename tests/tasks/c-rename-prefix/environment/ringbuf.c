#include "ringbuf.h"

void ringbuf_add(struct ringbuf *ring, int value) { ring->values[ring->count++ % RINGBUF_SIZE] = value; }

int ringbuf_sum(const struct ringbuf *ring) {
    int sum = 0;
    for (int i = 0; i < RINGBUF_SIZE && i < ring->count; i++) sum += ring->values[i];
    return sum;
}
