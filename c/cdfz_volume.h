/*
 * cdfz_volume.h - finds a member of a volume, a tar file with an index at its end
 * (docs/volumes.md). Private to cdfz.c.
 *
 * The headers of the tar file are not read: without its end, a volume is damaged. What is refused, and
 * why, is what package archive/volume refuses.
 */
#ifndef CDFZ_VOLUME_H
#define CDFZ_VOLUME_H

#include "cdfz_front.h"

/* Part of the format. */
enum {
	UNIT = 512,            /* of tar files */
	TAIL = 64 << 10,       /* in which the trailer is looked for */
	FRONT = 2 * UNIT,      /* of the global header */
	MOST_PATH = 8192,      /* bytes of a path, and of a target */
	MOST_ENTRIES = 1 << 20, /* bytes of a block's contents */
	MOST_PATHS = 1 << 26   /* bytes of the paths in the top level, and in a block */
};

/* What this library takes on. */
enum {
	MOST_TOP = 1 << 28, /* bytes of the top level: 10^9 members have 10 times less */
	MOST_LINKS = 40,    /* symbolic links that a path may lead over */
	MOST_PARTS = 8192   /* parts of a path, and of the targets of its links */
};

static const char volume_magic[] = "cdfz volume ", index_name[] = ".cdfz-volume-index";

typedef struct {
	const char *bytes;
	size_t size;
} path;

/* An open volume. */
typedef struct {
	const cdfz_archive *whole; /* its source and its name; nothing else of it is used */
	uint64_t index;            /* offset of the first block of the index */
	uint64_t top, top_size;    /* offset and length of the top level */
	uint64_t members;
	uint8_t *list;             /* the top level */
} volume;

/* A member. */
typedef struct {
	char kind;
	uint64_t off, size;      /* of the contents of a file */
	char target[MOST_PATH];  /* of a link */
	size_t target_size;
} entry;

/* ---- Paths ---- */

/* Compares two paths byte by byte, where a slash counts less than any other byte. */
static int path_compare(path a, path b)
{
	size_t n = a.size < b.size ? a.size : b.size;
	for (size_t i = 0; i < n; i++) {
		unsigned char x = (unsigned char)a.bytes[i], y = (unsigned char)b.bytes[i];
		if (x == y)
			continue;
		if (x == '/' || y == '/')
			return x == '/' ? -1 : 1;
		return x < y ? -1 : 1;
	}
	return a.size < b.size ? -1 : a.size > b.size;
}

static bool path_is(path a, const char *string)
{
	return strlen(string) == a.size && memcmp(a.bytes, string, a.size) == 0;
}

/* The bytes before the first slash. *after is what follows it. */
static path path_cut(path p, path *after)
{
	const char *slash = p.size > 0 ? memchr(p.bytes, '/', p.size) : NULL;
	size_t n = slash ? (size_t)(slash - p.bytes) : p.size;
	*after = slash ? (path){slash + 1, p.size - n - 1} : (path){p.bytes + p.size, 0};
	return (path){p.bytes, n};
}

static bool path_is_hidden(path part)
{
	return part.size == 0 || path_is(part, ".") || path_is(part, "..");
}

/* Reports whether a member can have this path. */
static bool path_check(path p)
{
	if (p.size == 0 || p.size > MOST_PATH || memchr(p.bytes, 0, p.size) != NULL || path_is(p, index_name))
		return false;
	for (path rest = p;;) {
		const char *end = p.bytes + p.size;
		path part = path_cut(rest, &rest);
		if (path_is_hidden(part))
			return false;
		if (part.bytes + part.size == end)
			return true;
	}
}

/* ---- Numbers of an index ---- */

/* Bytes that are read from front to back. The first fault ends it. */
typedef struct {
	const uint8_t *p, *end;
	bool bad;
} numbers;

static uint64_t numbers_fail(numbers *s)
{
	s->bad = true;
	s->p = s->end;
	return 0;
}

/* Reads a varint of any size. */
static uint64_t number_raw(numbers *s)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 10; i++) {
		if (s->p == s->end)
			return numbers_fail(s);
		uint8_t b = *s->p++;
		if (i == 9 && b > 1)
			return numbers_fail(s);
		v |= (uint64_t)(b & 127) << 7 * i;
		if (b < 128)
			return v;
	}
	return numbers_fail(s);
}

/* Reads a varint below 2^63 - 2 TAIL, so that sums do not overflow. */
static uint64_t number(numbers *s)
{
	uint64_t v = number_raw(s);
	return v <= MOST - 2 * TAIL ? v : numbers_fail(s);
}

/* Returns the next n bytes, NULL if there are fewer. */
static const uint8_t *number_bytes(numbers *s, uint64_t n)
{
	if (n > (uint64_t)(s->end - s->p)) {
		numbers_fail(s);
		return NULL;
	}
	const uint8_t *p = s->p;
	s->p += n;
	return p;
}

/* Reads a path that is shortened by the one in to, and replaces that. */
static void number_path(numbers *s, char *to, size_t *size)
{
	uint64_t same = number(s), more = number(s);
	const uint8_t *rest = number_bytes(s, more);
	if (s->bad || same > *size || same + more > MOST_PATH) {
		numbers_fail(s);
		return;
	}
	memcpy(to + same, rest, (size_t)more);
	*size = (size_t)(same + more);
}

/* ---- The top level ---- */

typedef struct {
	uint64_t off, stored, length, count;
	uint32_t crc;
} index_block;

/* A walk over the blocks of the index. */
typedef struct {
	numbers in;
	uint64_t off;          /* of the next block */
	char first[MOST_PATH]; /* path of the first member of the block that was read last */
	size_t first_size;
} top_walk;

static void top_begin(const volume *v, top_walk *w)
{
	w->in = (numbers){v->list, v->list + v->top_size, false};
	w->off = v->index;
	w->first_size = 0;
}

static path top_first(const top_walk *w)
{
	return (path){w->first, w->first_size};
}

/* Reads the next block. Returns false at the end, or for malformed bytes. */
static bool top_next(top_walk *w, index_block *b)
{
	if (w->in.p == w->in.end || w->in.bad)
		return false;
	b->off = w->off;
	b->stored = number(&w->in);
	b->length = number(&w->in);
	b->count = number(&w->in);
	const uint8_t *crc = number_bytes(&w->in, 4);
	b->crc = crc ? little32(crc) : 0;
	number_path(&w->in, w->first, &w->first_size);
	if (w->in.bad)
		return false;
	w->off += b->stored; /* checked by check_top */
	return true;
}

static cdfz_status check_top(const volume *v, top_walk *w, cdfz_error *e)
{
	char *before = malloc(MOST_PATH);
	size_t size = 0;
	uint64_t members = 0, n = 0, off = v->index, firsts = 0;
	where at = {-1, -1, (int64_t)v->top};
	index_block b;
	cdfz_status status = CDFZ_OK;
	if (before == NULL)
		return no_memory(v->whole, e);
	for (top_begin(v, w); status == CDFZ_OK && top_next(w, &b); n++) {
		path first = top_first(w);
		if (b.stored < 1 || b.stored > v->top - off)
			status = fail(v->whole, e, CDFZ_DAMAGED, at, "block %" PRIu64 " of the index has %" PRIu64 " bytes", n, b.stored);
		else if (b.length < 1 || b.length > MOST_ENTRIES || b.count < 1 || b.count > b.length)
			status = fail(v->whole, e, CDFZ_DAMAGED, at, "block %" PRIu64 " of the index claims %" PRIu64 " members in %" PRIu64 " bytes",
				n, b.count, b.length);
		else if (!path_check(first) || (n > 0 && path_compare((path){before, size}, first) >= 0))
			status = fail(v->whole, e, CDFZ_DAMAGED, at, "block %" PRIu64 " of the index begins with a wrong path", n);
		else if ((firsts += first.size) > MOST_PATHS)
			status = fail(v->whole, e, CDFZ_DAMAGED, at, "the first paths of %" PRIu64 " blocks of the index take more than %d bytes", n + 1, MOST_PATHS);
		off = b.off + b.stored;
		members += b.count;
		memcpy(before, first.bytes, first.size);
		size = first.size;
	}
	free(before);
	if (status != CDFZ_OK)
		return status;
	if (w->in.bad)
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the top level of the index is malformed");
	if (off != v->top)
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the blocks of the index end at %" PRIu64 ", expected %" PRIu64, off, v->top);
	if (members != v->members)
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the index has %" PRIu64 " members, expected %" PRIu64, members, v->members);
	return CDFZ_OK;
}

/* ---- The trailer ---- */

/* Reads the trailer, a block of UNIT bytes, that ends at an offset. */
static cdfz_status parse_trailer(volume *v, const uint8_t *block, uint64_t end, uint32_t *top_crc, cdfz_error *e)
{
	static const char shape[] = "cdfz volume 1 index ................ top ................ ................ ........ members "
		"................ packed ................ ........\n";
	const char *p = (const char *)block;
	const uint8_t *newline = memchr(block, '\n', UNIT);
	size_t size = newline ? (size_t)(newline - block) : UNIT, magic = strlen(volume_magic), version = magic;
	uint64_t crc, top_sum, packed;
	where at = {-1, -1, (int64_t)(end - UNIT)};
	if (size < magic + 8 || !digits(p + size - 8, 8, &crc) || crc != (uint32_t)crc32(0, block, (uInt)(size - 8)))
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the trailer of the volume has another checksum");
	while (version < size && p[version] != ' ')
		version++;
	if (version != magic + 1 || p[magic] != '1') {
		char name[24];
		printable(name, sizeof name, p + magic, version - magic);
		return fail(v->whole, e, CDFZ_UNSUPPORTED, at, "the volume has version %s, this library reads version 1", name);
	}
	bool ok = size + 1 == strlen(shape);
	for (size_t i = 0; i < strlen(shape) && ok; i++)
		ok = shape[i] == '.' || shape[i] == p[i];
	for (size_t i = size + 1; i < UNIT && ok; i++)
		ok = block[i] == 0;
	ok = ok && digits(p + 20, 16, &v->index) && digits(p + 41, 16, &v->top) && digits(p + 58, 16, &v->top_size) &&
		digits(p + 75, 8, &top_sum) && digits(p + 92, 16, &v->members) && digits(p + 116, 16, &packed);
	if (!ok || v->index > MOST || v->top > MOST || v->top_size > MOST || v->members > MOST)
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the trailer of the volume is malformed");
	uint64_t last = end - UNIT;
	if (v->index < FRONT || v->index % UNIT != 0 || v->top < v->index || v->top > last || v->top_size > last - v->top ||
		last - v->top - v->top_size >= UNIT)
		return fail(v->whole, e, CDFZ_DAMAGED, at, "the trailer of the volume has impossible places");
	*top_crc = (uint32_t)top_sum;
	return CDFZ_OK;
}

/* Reports whether a file begins like a volume. */
static cdfz_status is_volume(const cdfz_archive *whole, bool *yes, cdfz_error *e)
{
	uint8_t b[FRONT];
	static const char comment[] = " comment=cdfz volume ";
	*yes = false;
	if (whole->source.size < FRONT)
		return CDFZ_OK;
	cdfz_status status = read_at(whole, 0, b, FRONT, e);
	if (status != CDFZ_OK || b[156] != 'g' || memcmp(b + 257, "ustar", 5) != 0)
		return status;
	for (size_t i = UNIT; i + strlen(comment) <= FRONT && !*yes; i++)
		*yes = memcmp(b + i, comment, strlen(comment)) == 0;
	return CDFZ_OK;
}

/* Opens a volume. *found is false for another file. volume_close frees it, also after an error. */
static cdfz_status volume_open(volume *v, const cdfz_archive *whole, bool *found, cdfz_error *e)
{
	uint64_t size = whole->source.size, tail_size = least(size, TAIL), start = size - tail_size;
	uint32_t crc = 0;
	uint8_t *tail = malloc(TAIL);
	top_walk *w = NULL;
	*v = (volume){.whole = whole};
	*found = true;
	if (tail == NULL)
		return no_memory(whole, e);
	cdfz_status status = read_at(whole, start, tail, (size_t)tail_size, e);
	uint64_t used = tail_size;
	while (status == CDFZ_OK && used > 0 && tail[used - 1] == 0)
		used--;
	/* The trailer is the last block that is not empty. */
	uint64_t begin = used > 0 ? (start + used - 1) / UNIT * UNIT : 0;
	if (status == CDFZ_OK &&
		(used == 0 || begin < start || begin + UNIT > size || memcmp(tail + (begin - start), volume_magic, strlen(volume_magic)) != 0)) {
		status = is_volume(whole, found, e);
		if (status == CDFZ_OK && *found)
			status = fail(whole, e, CDFZ_DAMAGED, nowhere, "the end of the volume is lost; cdfz repair -o NEW.tar makes a new one");
		free(tail);
		return status;
	}
	if (status == CDFZ_OK)
		status = parse_trailer(v, tail + (begin - start), begin + UNIT, &crc, e);
	if (status == CDFZ_OK && v->top_size > MOST_TOP)
		status = fail(whole, e, CDFZ_MEMORY, nowhere, "the index of the volume has %" PRIu64 " bytes at its top", v->top_size);
	if (status == CDFZ_OK) {
		v->list = malloc(v->top_size > 0 ? (size_t)v->top_size : 1);
		w = malloc(sizeof *w);
		if (v->list == NULL || w == NULL)
			status = no_memory(whole, e);
	}
	if (status == CDFZ_OK && v->top >= start) {
		memcpy(v->list, tail + (v->top - start), (size_t)v->top_size);
	} else if (status == CDFZ_OK)
		status = read_at(whole, v->top, v->list, (size_t)v->top_size, e);
	if (status == CDFZ_OK && crc32(0, v->list, (uInt)v->top_size) != crc)
		status = fail(whole, e, CDFZ_DAMAGED, (where){-1, -1, (int64_t)v->top}, "the top level of the index has another checksum");
	if (status == CDFZ_OK)
		status = check_top(v, w, e);
	free(w);
	free(tail);
	return status;
}

static void volume_close(volume *v)
{
	free(v->list);
}

/* ---- Members ---- */

/* Reads a member of a block after the path, and checks it. end is the end of contents, *file the offset of
 * the last file in the block. */
static bool entry_read(numbers *s, path name, uint64_t end, uint64_t *file, entry *to)
{
	const uint8_t *head = number_bytes(s, 2);
	uint8_t flags = head ? head[1] : 0;
	to->kind = head ? (char)head[0] : 0;
	to->off = to->size = 0;
	to->target_size = 0;
	uint64_t mode = number(s), uid = number(s), gid = number(s), nanoseconds = 0;
	(void)number_raw(s); /* seconds */
	if (flags & 1)
		nanoseconds = number(s);
	if (s->bad || mode > 07777 || uid > UINT32_MAX || gid > UINT32_MAX || nanoseconds >= 1000000000 || (flags & ~3) != 0 ||
		((flags & 2) != 0 && to->kind != '0') || !path_check(name))
		return false;
	switch (to->kind) {
	case '0': {
		uint64_t units = number(s), size = number(s);
		if (s->bad || units > (end - *file) / UNIT || size > end - *file - units * UNIT)
			return false;
		*file += units * UNIT;
		to->off = *file;
		to->size = size;
		if (flags & 2)
			(void)number_bytes(s, 32);
		return !s->bad && to->off >= FRONT;
	}
	case '1':
	case '2': {
		uint64_t size = number(s);
		const uint8_t *target = number_bytes(s, size);
		if (target == NULL || size == 0 || size > MOST_PATH || memchr(target, 0, (size_t)size) != NULL)
			return false;
		memcpy(to->target, target, (size_t)size);
		to->target_size = (size_t)size;
		return to->kind == '2' || path_check((path){to->target, to->target_size});
	}
	case '5':
		return true;
	}
	return false;
}

/* The members of a block, without what compresses them. *to is to be freed. */
static cdfz_status block_contents(const volume *v, const index_block *b, uint8_t **to, cdfz_error *e)
{
	where at = {-1, -1, (int64_t)b->off};
	*to = NULL;
	if (b->stored > UINT32_MAX || b->stored > SIZE_MAX / 2)
		return fail(v->whole, e, CDFZ_MEMORY, at, "a block of the index of the volume has %" PRIu64 " bytes", b->stored);
	uint8_t *stored = malloc((size_t)b->stored);
	if (stored == NULL)
		return no_memory(v->whole, e);
	cdfz_status status = read_checked(v->whole, b->off, stored, (size_t)b->stored, b->crc, "index of the volume", e);
	step s = {.in = stored, .in_size = (size_t)b->stored, .last = true, .most = (size_t)b->length};
	if (status == CDFZ_OK) {
		s.out = malloc((size_t)b->length);
		if (s.out == NULL)
			status = no_memory(v->whole, e);
		else if (!inflate_all(&s, -15))
			status = fail(v->whole, e, s.status, at, "index of the volume: %s", s.fault);
	}
	free(stored);
	if (status == CDFZ_OK)
		*to = s.out;
	else
		free(s.out);
	return status;
}

/* What is looked for in a block, and what is found. */
typedef struct {
	path name;
	entry *to;
	bool found, beyond; /* beyond: all members of the block come before it */
	entry now;
	char before[MOST_PATH], at[MOST_PATH];
} search;

/* Looks for a member in a block whose first member is first. next is the first of the block after it, or
 * empty. All members are checked. */
static cdfz_status block_search(const volume *v, const index_block *b, path first, path next, search *s, cdfz_error *e)
{
	uint8_t *contents;
	uint64_t count = 0, file = 0, paths = 0;
	size_t size = 0, before = 0;
	where at = {-1, -1, (int64_t)b->off};
	cdfz_status status = block_contents(v, b, &contents, e);
	if (status != CDFZ_OK)
		return status;
	numbers in = {contents, contents + b->length, false};
	bool ok = true;
	while (ok && in.p < in.end) {
		number_path(&in, s->at, &size);
		path name = {s->at, size};
		ok = !in.bad && count < b->count && (paths += size) <= MOST_PATHS && entry_read(&in, name, v->index, &file, &s->now) &&
			(count == 0 ? path_compare(name, first) == 0 : path_compare((path){s->before, before}, name) < 0);
		if (ok && path_compare(name, s->name) == 0) {
			*s->to = s->now;
			s->found = true;
		}
		memcpy(s->before, s->at, size);
		before = size;
		count++;
	}
	free(contents);
	path last = {s->before, before};
	if (!ok || count != b->count || (next.size > 0 && path_compare(last, next) >= 0))
		return fail(v->whole, e, CDFZ_DAMAGED, at, "index of the volume: malformed after %" PRIu64 " members", count);
	s->beyond = path_compare(last, s->name) < 0;
	return CDFZ_OK;
}

/* Returns an error for a path that leads to no archive. */
static cdfz_status not_there(const volume *v, path name, const char *why, cdfz_error *e)
{
	char text[100];
	printable(text, sizeof text, name.bytes, name.size);
	return fail(v->whole, e, CDFZ_SOURCE, nowhere, "%s: %s", text, why);
}

static const char missing[] = "no such member of the volume";

/* Finds the member with a path. */
static cdfz_status volume_lookup(const volume *v, path name, entry *to, cdfz_error *e)
{
	struct {
		top_walk walk;
		search search;
		char first[MOST_PATH];
	} *m = malloc(sizeof *m);
	index_block b = {0}, next;
	size_t first = 0;
	bool more, any = false;
	if (m == NULL)
		return no_memory(v->whole, e);
	m->search.name = name;
	m->search.to = to;
	m->search.found = m->search.beyond = false;
	/* The last block that begins with the path or before it, else the first one. */
	for (top_begin(v, &m->walk); (more = top_next(&m->walk, &next)); any = true) {
		if (any && path_compare(top_first(&m->walk), name) > 0)
			break;
		b = next;
		first = m->walk.first_size;
		memcpy(m->first, m->walk.first, first);
	}
	cdfz_status status = CDFZ_OK;
	if (any)
		status = block_search(v, &b, (path){m->first, first}, more ? top_first(&m->walk) : (path){"", 0}, &m->search, e);
	/* The next block is read, too, as package archive/volume does: it may be damaged. */
	if (status == CDFZ_OK && any && !m->search.found && m->search.beyond && more) {
		b = next;
		first = m->walk.first_size;
		memcpy(m->first, m->walk.first, first);
		more = top_next(&m->walk, &next);
		status = block_search(v, &b, (path){m->first, first}, more ? top_first(&m->walk) : (path){"", 0}, &m->search, e);
	}
	if (status == CDFZ_OK && !m->search.found)
		status = not_there(v, name, missing, e);
	free(m);
	return status;
}

/* Replaces a hard link by the file that it leads to. */
static cdfz_status volume_regular(const volume *v, path name, entry *to, cdfz_error *e)
{
	if (to->kind == '0')
		return CDFZ_OK;
	if (to->kind != '1')
		return not_there(v, name, "it is a folder", e);
	entry *first = malloc(sizeof *first);
	if (first == NULL)
		return no_memory(v->whole, e);
	path target = {to->target, to->target_size};
	cdfz_error why;
	cdfz_status status = volume_lookup(v, target, first, &why);
	if (status == CDFZ_MEMORY || (status == CDFZ_SOURCE && why.offset >= 0)) { /* the source has failed */
		if (e != NULL)
			*e = why;
	} else if (status != CDFZ_OK || first->kind != '0' || path_compare(target, name) >= 0)
		status = fail(v->whole, e, CDFZ_DAMAGED, nowhere, "a hard link of the volume leads to no regular file before it");
	else
		*to = *first;
	free(first);
	return status;
}

/* A path that is followed. */
typedef struct {
	entry now;
	char done[MOST_PATH];    /* the folders so far, without links */
	size_t done_size, parts; /* parts: that were looked at */
	char *text;              /* of rest; is to be freed */
	path rest;               /* what follows */
	unsigned links;
} trail;

/* Puts a text before what follows, with a slash between. */
static bool trail_put(trail *t, const char *bytes, size_t size)
{
	size_t slash = t->rest.size > 0;
	char *more = malloc(size + slash + t->rest.size + 1);
	if (more == NULL)
		return false;
	memcpy(more, bytes, size);
	if (slash) {
		more[size] = '/';
		memcpy(more + size + 1, t->rest.bytes, t->rest.size);
	}
	t->rest = (path){more, size + slash + t->rest.size};
	free(t->text);
	t->text = more;
	return true;
}

/* Finds the file that a path leads to, over links. */
static cdfz_status follow(const volume *v, path name, trail *t, cdfz_error *e)
{
	if (name.size > MOST_PATH)
		return not_there(v, name, missing, e);
	if (!trail_put(t, name.bytes, name.size))
		return no_memory(v->whole, e);
	while (t->rest.size > 0) {
		path part = path_cut(t->rest, &t->rest);
		if (path_is(part, "..")) {
			if (t->done_size == 0)
				return not_there(v, name, "it leads out of the volume", e);
			while (t->done_size > 0 && t->done[--t->done_size] != '/')
				;
		}
		if (path_is_hidden(part))
			continue;
		size_t at = t->done_size;
		if (++t->parts > MOST_PARTS || at + 1 + part.size > MOST_PATH)
			return not_there(v, name, missing, e);
		if (at > 0)
			t->done[at++] = '/';
		memcpy(t->done + at, part.bytes, part.size);
		path here = {t->done, at + part.size};
		cdfz_status status = volume_lookup(v, here, &t->now, e);
		if (status != CDFZ_OK)
			return status;
		if (t->now.kind == '2') {
			if (++t->links > MOST_LINKS)
				return not_there(v, name, "too many symbolic links", e);
			if (t->now.target[0] == '/')
				return not_there(v, name, "it leads out of the volume", e);
			if (!trail_put(t, t->now.target, t->now.target_size))
				return no_memory(v->whole, e);
			continue;
		}
		if (t->rest.size == 0)
			return volume_regular(v, here, &t->now, e);
		if (t->now.kind != '5')
			return not_there(v, name, "a file is in the place of a folder", e);
		t->done_size = here.size;
	}
	return not_there(v, name, "it is a folder", e);
}

/* Finds the contents of a member of a volume. */
static cdfz_status volume_find(const volume *v, path name, uint64_t *off, uint64_t *size, cdfz_error *e)
{
	trail *t = calloc(1, sizeof *t);
	if (t == NULL)
		return no_memory(v->whole, e);
	cdfz_status status = follow(v, name, t, e);
	if (status == CDFZ_OK) {
		*off = t->now.off;
		*size = t->now.size;
	}
	free(t->text);
	free(t);
	return status;
}

#endif
