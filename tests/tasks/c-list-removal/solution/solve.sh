#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
python3 - <<'END'
text = open("list.c").read()
start = text.index("int list_remove")
open("list.c", "w").write(text[:start] + """int list_remove(struct list *list, int value) {
    int removed = 0;
    struct node *before = NULL;
    struct node *node = list->first;
    while (node) {
        struct node *next = node->next;
        if (node->value == value) {
            if (before) before->next = next;
            else list->first = next;
            if (list->last == node) list->last = before;
            list->length--;
            removed++;
            free(node);
        } else {
            before = node;
        }
        node = next;
    }
    return removed;
}

void list_free(struct list *list) {
    struct node *node = list->first;
    while (node) {
        struct node *next = node->next;
        free(node);
        node = next;
    }
    list->first = list->last = NULL;
    list->length = 0;
}
""")
END
