#include <stdio.h>

#include "limits.h"

/* Half of the pages that are left once the reserve is taken from ten. */
int main(void) {
    printf("%d\n", HALF(PAGES(10 - RESERVE)));
    return 0;
}
