/*
 * cdfz_cache.h - decoded blocks and pages of the index that are kept, the least recently used
 * being dropped first, and scratch memory. Private to cdfz.c.
 *
 * A lock protects the lists. The data of an item never change while it has users. All archives of
 * the process share the scratch memory, since thousands of them may be open.
 */
#ifndef CDFZ_CACHE_H
#define CDFZ_CACHE_H

#include "cdfz_memory.h"

#ifdef CDFZ_NO_THREADS
typedef int lock;
static void lock_make(lock *l) { *l = 0; }
static void lock_take(lock *l) { (void)l; }
static void lock_give(lock *l) { (void)l; }
static void lock_free(lock *l) { (void)l; }
#define LOCK_FREE 0
#else
#include <pthread.h>
typedef pthread_mutex_t lock;
#define LOCK_FREE PTHREAD_MUTEX_INITIALIZER
static void lock_make(lock *l) { pthread_mutex_init(l, NULL); }
static void lock_take(lock *l) { pthread_mutex_lock(l); }
static void lock_give(lock *l) { pthread_mutex_unlock(l); }
static void lock_free(lock *l) { pthread_mutex_destroy(l); }
#endif

enum {
	BUCKETS = 1024,
	TOUCHED = 64, /* blocks whose reads are remembered */
	SCRATCH = 4,  /* scratch buffers that are kept: as many threads decode without asking the system */
	SCRATCH_MOST = 1 << 24 /* bytes of each */
};

typedef struct item {
	struct item *newer, *older, *next; /* next: in its bucket */
	uint64_t key;
	size_t size;
	uint32_t users;
	bool listed;
	uint64_t data[];
} item;

typedef struct {
	lock lock;
	size_t budget, used;
	item *newest, *oldest;
	item **buckets; /* BUCKETS, from the first item that is kept on: most archives that are open are not read */
	uint64_t touched[TOUCHED]; /* numbers of blocks, plus 1 */
} cache;

/* Prepares a cache, all of whose bytes are 0. */
static void cache_make(cache *c, size_t budget)
{
	lock_make(&c->lock);
	c->budget = budget;
}

/* Returns a new item with one user, or NULL without memory. */
static item *item_make(uint64_t key, size_t size)
{
	item *i = size > SIZE_MAX / 2 ? NULL : malloc(sizeof *i + size);
	if (i == NULL)
		return NULL;
	memset(i, 0, sizeof *i);
	i->key = key;
	i->size = size;
	i->users = 1;
	return i;
}

static inline uint8_t *item_data(item *i)
{
	return (uint8_t *)i->data;
}

static void cache_unlink(cache *c, item *i)
{
	item **at = &c->buckets[i->key % BUCKETS];
	while (*at != i)
		at = &(*at)->next;
	*at = i->next;
	*(i->newer ? &i->newer->older : &c->newest) = i->older;
	*(i->older ? &i->older->newer : &c->oldest) = i->newer;
	c->used -= sizeof *i + i->size;
	i->listed = false;
	if (i->users == 0)
		free(i);
}

static void cache_link(cache *c, item *i)
{
	i->newer = NULL;
	i->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = i;
	c->newest = i;
}

static item *cache_find(cache *c, uint64_t key)
{
	item *i = c->buckets ? c->buckets[key % BUCKETS] : NULL;
	while (i != NULL && i->key != key)
		i = i->next;
	return i;
}

/* Returns an item, which has one more user then, or NULL. */
static item *cache_get(cache *c, uint64_t key)
{
	lock_take(&c->lock);
	item *i = cache_find(c, key);
	if (i != NULL) {
		i->users++;
		if (i != c->newest) {
			i->newer->older = i->older;
			*(i->older ? &i->older->newer : &c->oldest) = i->newer;
			cache_link(c, i);
		}
	}
	lock_give(&c->lock);
	return i;
}

/* Keeps an item, if it fits, memory for the buckets is there, and no other has its key. It keeps its user. */
static void cache_put(cache *c, item *i)
{
	size_t size = sizeof *i + i->size;
	lock_take(&c->lock);
	if (c->buckets == NULL && size <= c->budget)
		c->buckets = calloc(BUCKETS, sizeof *c->buckets);
	if (c->buckets != NULL && size <= c->budget && cache_find(c, i->key) == NULL) {
		while (c->used > c->budget - size)
			cache_unlink(c, c->oldest);
		i->next = c->buckets[i->key % BUCKETS];
		c->buckets[i->key % BUCKETS] = i;
		i->listed = true;
		c->used += size;
		cache_link(c, i);
	}
	lock_give(&c->lock);
}

/* Takes a user from an item. NULL is allowed. */
static void cache_release(cache *c, item *i)
{
	if (i == NULL)
		return;
	lock_take(&c->lock);
	if (--i->users == 0 && !i->listed)
		free(i);
	lock_give(&c->lock);
}

/* Notes that a block is read, and returns whether it was before, as far as is remembered. */
static bool cache_touch(cache *c, uint64_t block)
{
	lock_take(&c->lock);
	uint64_t *at = &c->touched[block % TOUCHED];
	bool before = *at == block + 1;
	*at = block + 1;
	lock_give(&c->lock);
	return before;
}

static struct {
	lock lock;
	void *free[SCRATCH];
	size_t size[SCRATCH];
} scratches = {.lock = LOCK_FREE};

/* Returns at least *size bytes of scratch memory for a filter, and sets *size to their number, or
 * returns NULL. */
static void *scratch_take(size_t *size)
{
	void *p = NULL;
	lock_take(&scratches.lock);
	for (int i = 0; i < SCRATCH && p == NULL; i++)
		if (scratches.free[i] != NULL && scratches.size[i] >= *size) {
			p = scratches.free[i];
			*size = scratches.size[i];
			scratches.free[i] = NULL;
		}
	lock_give(&scratches.lock);
	return p ? p : malloc(*size);
}

/* Gives scratch memory back, which is kept if it is of a moderate size, instead of the smallest. */
static void scratch_give(void *p, size_t size)
{
	if (p == NULL || size > SCRATCH_MOST) {
		free(p);
		return;
	}
	lock_take(&scratches.lock);
	int at = 0;
	for (int i = 0; i < SCRATCH; i++)
		if (scratches.free[i] == NULL || (scratches.free[at] != NULL && scratches.size[i] < scratches.size[at]))
			at = i;
	if (scratches.free[at] == NULL || scratches.size[at] < size) {
		void *before = scratches.free[at];
		scratches.free[at] = p;
		scratches.size[at] = size;
		p = before;
	}
	lock_give(&scratches.lock);
	free(p);
}

static void cache_free(cache *c)
{
	while (c->oldest != NULL)
		cache_unlink(c, c->oldest);
	free(c->buckets);
	lock_free(&c->lock);
}

#endif
