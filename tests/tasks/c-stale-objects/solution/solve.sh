#!/bin/bash
# Runs in the folder of the task, and solves it.
set -eu
printf '%b' 'CFLAGS = -std=c11 -Wall -Wextra -MMD -MP\nOBJECTS = main.o greet.o pad.o\n\napp: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n\n%.o: %.c\n\t$(CC) $(CFLAGS) -c $<\n\nmain.o: version.h\n\nversion.h: VERSION\n\techo "#define VERSION \\"$$(cat VERSION)\\"" > $@\n\n-include $(OBJECTS:.o=.d)\n\nclean:\n\trm -f *.o *.d app version.h\n\n.PHONY: clean\n' > Makefile
