#define GREETING "Hello"
#define MARKS 1
