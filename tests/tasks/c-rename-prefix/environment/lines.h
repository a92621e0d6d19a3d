#ifndef LINES_H
#define LINES_H

#include "buf.h"

/* Joins the lines with spaces into a buf. */
struct buf lines_join(const char **lines);

#endif
