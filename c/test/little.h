/*
 * little.h - little-endian numbers in what programs of tests read and write, on machines of
 * either byte order.
 */
#ifndef TEST_LITTLE_H
#define TEST_LITTLE_H

#include <stdint.h>
#include <stdio.h>

/* Reads a number of up to 8 bytes from standard input. Returns whether there was one. */
static inline int get_little(uint64_t *v, int size)
{
	*v = 0;
	for (int i = 0; i < size; i++) {
		int byte = getchar();
		if (byte == EOF)
			return 0;
		*v |= (uint64_t)byte << 8 * i;
	}
	return 1;
}

/* Stores a number of up to 8 bytes. */
static inline void store_little(unsigned char *p, uint64_t v, int size)
{
	for (int i = 0; i < size; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* Writes a number of up to 8 bytes to standard output. */
static inline void put_little(uint64_t v, int size)
{
	unsigned char p[8];
	store_little(p, v, size);
	fwrite(p, 1, (size_t)size, stdout);
}

#endif
