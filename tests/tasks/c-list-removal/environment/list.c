#include "list.h"

#include <stdlib.h>

void list_push(struct list *list, int value) {
    struct node *node = malloc(sizeof *node);
    if (!node) abort();
    node->value = value;
    node->next = NULL;
    if (list->last) list->last->next = node;
    else list->first = node;
    list->last = node;
    list->length++;
}

int list_remove(struct list *list, int value) {
    int removed = 0;
    struct node *before = NULL;
    for (struct node *node = list->first; node; node = node->next) {
        if (node->value == value) {
            before->next = node->next;
            free(node);
            removed++;
        }
        before = node;
    }
    return removed;
}

void list_free(struct list *list) {
    for (struct node *node = list->first; node; node = node->next) free(node);
}
