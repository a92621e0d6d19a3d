const char *pad(int count);
