#include "greet.h"

#include <stdio.h>

#include "config.h"
#include "pad.h"

const char *greet(const char *name) {
    static char text[64];
    snprintf(text, sizeof text, "%s, %s%s", GREETING, name, pad(MARKS));
    return text;
}
