#define KILO 1024
#define PAGES(n) n * 4 * KILO
#define HALF(n) ((n) / 2)
#define RESERVE 2
