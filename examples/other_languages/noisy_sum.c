#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    double sum = 0, x;
    FILE *rows = fopen(words[2], "r");
    srand48(atol(words[1]));
    while (fscanf(rows, "%lf%*c", &x) == 1) sum += x;
    double u = drand48() - .5;
    printf("%.3f\n", sum - copysign(3 * log(1 - 2 * fabs(u)), u));
    return 0;
}
