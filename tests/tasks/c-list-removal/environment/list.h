#ifndef LIST_H
#define LIST_H

struct node {
    int value;
    struct node *next;
};

struct list {
    struct node *first;
    struct node *last;
    int length;
};

void list_push(struct list *list, int value);
/* Removes every node with this value, and gives how many there were. */
int list_remove(struct list *list, int value);
void list_free(struct list *list);

#endif
