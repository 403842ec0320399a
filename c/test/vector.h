/*
 * vector.h - the stored blocks of lorenz/testdata, for tests.
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	uint32_t list[64]; /* parameters */
	size_t count;
	unsigned char *block;
	size_t length;
} vector;

static void fail(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(1);
}

/* Reads a file: its first line has the parameters, and the block follows an empty line. The
 * block is valid until the next call. */
static vector read_vector(const char *name)
{
	static unsigned char file[1 << 20];
	vector v = {.count = 0};
	size_t at = 0;
	FILE *f = fopen(name, "rb");
	if (f == NULL)
		fail(name, "cannot be opened");
	size_t length = fread(file, 1, sizeof file - 1, f);
	fclose(f);
	file[length] = 0;
	while (at + 2 <= length && memcmp(file + at, "\n\n", 2) != 0)
		at++;
	if (at + 2 > length)
		fail(name, "has no empty line");
	for (char *p = (char *)file + strlen("parameters:"); *p == ' ' && v.count < 64;)
		v.list[v.count++] = (uint32_t)strtoul(p, &p, 10);
	v.block = file + at + 2;
	v.length = length - at - 2;
	return v;
}

#endif
