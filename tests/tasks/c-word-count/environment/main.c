#include "count.h"
#include "options.h"

int main(int count, char **words) {
    static struct table table;
    struct options options;
    int status = options_read(&options, count, words);
    if (status) return status;
    count_file(&table, stdin);
    table_print(&table, stdout);
    return 0;
}
