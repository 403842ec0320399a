/*
 * cdfz_memory.h - memory that is freed at once, growing lists, and sums that do not overflow.
 * Private to cdfz.c.
 */
#ifndef CDFZ_MEMORY_H
#define CDFZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST UINT64_C(0x7fffffffffffffff) /* the greatest offset or length: 2^63 - 1 */

/* *sum = a + b. Returns false if that exceeds 2^63 - 1. */
static inline bool add(uint64_t a, uint64_t b, uint64_t *sum)
{
	return !__builtin_add_overflow(a, b, sum) && *sum <= MOST;
}

static inline bool multiply(uint64_t a, uint64_t b, uint64_t *product)
{
	return !__builtin_mul_overflow(a, b, product) && *product <= MOST;
}

/* a div b, rounded up. */
static inline uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t greatest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Memory that belongs to an archive. */
typedef struct chunk {
	struct chunk *next;
	size_t used, size;
	uint64_t data[]; /* aligned for all that is put there */
} chunk;

typedef struct {
	chunk *chunks; /* the one in use first */
} arena;

/* Returns count times size bytes of zeros, or NULL without memory. */
static void *arena_get(arena *a, uint64_t count, size_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	size_t need = ((size_t)bytes + 7) / 8 * 8;
	if (a->chunks == NULL || need > a->chunks->size - a->chunks->used) {
		size_t room = a->chunks == NULL ? 1024 : 4096; /* small archives need few */
		room = need > room ? need : room;
		chunk *c = calloc(1, sizeof *c + room);
		if (c == NULL)
			return NULL;
		c->size = room;
		c->next = a->chunks;
		a->chunks = c;
	}
	void *p = (char *)a->chunks->data + a->chunks->used;
	a->chunks->used += need;
	return p;
}

static void arena_free(arena *a)
{
	for (chunk *c = a->chunks, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	a->chunks = NULL;
}

/* Makes room for one more element in a list of count elements. Returns false without memory. */
static bool grow(void *list, uint64_t count, uint64_t *room, size_t size)
{
	void *old, *more;
	if (count < *room)
		return true;
	uint64_t wanted = *room < 8 ? 8 : *room + *room / 2;
	if (wanted > SIZE_MAX / 2 / size)
		return false;
	memcpy(&old, list, sizeof old);
	more = realloc(old, (size_t)wanted * size);
	if (more == NULL)
		return false;
	memcpy(list, &more, sizeof more);
	*room = wanted;
	return true;
}

#endif
