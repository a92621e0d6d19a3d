#include <stdio.h>

#include "greet.h"
#include "version.h"

int main(int count, char **words) {
    printf("%s (%s)\n", greet(count > 1 ? words[1] : "world"), VERSION);
    return 0;
}
