/* Writes printf.txt: how C prints numbers. Type, format, value, text; tabs between.
   cc -o printf printf.c && ./printf > printf.txt (glibc 2.36) */
#include <stdio.h>

static const double doubles[] = {
    0, -0.0, 1, -1, 0.1, 1e-4, 1e-5, 9.5, 99.5, 0.5, 2.5, 3.5, 9999999, 9999999.5, 10000000, 12345678, 1234567.5,
    100000, 123456.75, 1e20, -1.5e-300, 1.7976931348623157e308, 4.9e-324, 1e15, 999999999999999, 1e16,
    0.30000000000000004, 3.14159265358979, 9.96921e36, 8388608.5, 2097152.25, 1234567.891, 1e-7, -2.5, 1e22, 1e23,
};
static const char *float_formats[] = {
    "%.7g", "%.15g", "%.3g", "%.1g", "%.9g", "%.17g", "%.20g", "%#.7g", "%#.15g", "%#.1g", "%#.3g",
    "%f", "%.2f", "%9.3f", "%-9.1f|", "%09.2f", "%+.1f", "% .1f", "%e", "%.2e", "%E", "%g", "%G",
    "%.0f", "%#.0f", "%.0e", "%#.0e", "%lf", "%8.2f m", "%+g", "%.g", "%F",
};
static const int ints[] = {0, 7, -7, 255, -300, 65};
static const char *int_formats[] = {
    "%d", "%5d", "%-5d|", "%05d", "%-05d", "%+d", "% d", "%.3d", "%6.3d", "%06.3d", "%x", "%#x", "%#6x", "%#08x", "%o",
    "%#o", "%X", "%#X", "%hd", "%hhd", "%hu", "%hhx", "%u", "v=%d%%", "%i m", "%3c", "%-3c", "%.0d", "%+.0d", "%%d",
};

int main(void) {
    for (int f = 0; f < sizeof float_formats / sizeof *float_formats; f++)
        for (int i = 0; i < sizeof doubles / sizeof *doubles; i++) {
            if (float_formats[f][1] == '#' && doubles[i] == 9999999.5)
                continue; /* %#.7g gives 1.e+07, which is a fault of glibc */
            printf("double\t%s\t%.17g\t", float_formats[f], doubles[i]);
            printf(float_formats[f], doubles[i]);
            putchar('\n');
        }
    for (int f = 0; f < sizeof int_formats / sizeof *int_formats; f++)
        for (int i = 0; i < sizeof ints / sizeof *ints; i++) {
            if (ints[i] == 0 && (f == 25 || f == 26))
                continue; /* a NUL */
            printf("int\t%s\t%d\t", int_formats[f], ints[i]);
            printf(int_formats[f], ints[i]);
            putchar('\n');
        }
}
