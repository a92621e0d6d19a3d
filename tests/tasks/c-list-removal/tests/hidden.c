#include "list.h"

#include <assert.h>
#include <stddef.h>

int main(void) {
    struct list list = {0};
    for (int i = 0; i < 12; i++) list_push(&list, i % 3);
    assert(list_remove(&list, 0) == 4 && list.length == 8 && list.first->value == 1);
    assert(list_remove(&list, 2) == 4 && list.length == 4 && list.last->value == 1);
    list_push(&list, 9);
    assert(list.last->value == 9 && list.length == 5);
    assert(list_remove(&list, 7) == 0);
    assert(list_remove(&list, 1) == 4 && list.first == list.last);
    assert(list_remove(&list, 9) == 1 && !list.first && !list.last && list.length == 0);
    list_push(&list, 5);
    assert(list.first && list.first->value == 5);
    list_free(&list);
    assert(list.first == NULL && list.length == 0);
    return 0;
}
