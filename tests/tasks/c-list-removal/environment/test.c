#include "list.h"

#include <assert.h>
#include <stdio.h>

int main(void) {
    struct list list = {0};
    for (int i = 0; i < 3; i++) list_push(&list, i);
    assert(list_remove(&list, 0) == 1);
    assert(list.length == 2 && list.first->value == 1);
    list_free(&list);
    puts("ok");
    return 0;
}
