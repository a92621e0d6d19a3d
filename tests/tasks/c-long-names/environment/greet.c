#include <stdio.h>
#include <string.h>

static char *greeting(const char *name) {
    char text[40] = "Good morning, ";
    strcat(text, name);
    strcat(text, "!");
    return strdup(text);
}

int main(int count, char **words) {
    (void)count;
    printf(greeting(words[1]));
    printf("\n");
    return 0;
}
