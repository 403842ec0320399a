/*
 * cdfz_layout.h - where the bytes of the image are: blocks (section 8), and the permutation
 * (section 10). It checks the plan against the netCDF header and the manifest. Private to
 * cdfz.c.
 */
#ifndef CDFZ_LAYOUT_H
#define CDFZ_LAYOUT_H

#include "cdfz_netcdf.h"
#include "cdfz_plan.h"

/* A blocked variable or a pool: a run of bytes that is cut into blocks of its own. */
typedef struct {
	uint64_t first, blocks;    /* its first block, and how many there are */
	uint64_t size;             /* bytes */
	uint64_t run, full, per;   /* (section 8.1) */
	uint32_t chain;
	int64_t variable;          /* the blocked one, or -1 */
	const uint64_t *block;     /* shape */
} unit;

/* The segment of a variable, and its place in a unit. */
typedef struct {
	segment s;
	uint64_t unit, at;
	uint64_t before; /* bytes of those before it: of fixed ones, or of others in a record */
} laid;

#define NOWHERE UINT64_MAX

typedef struct {
	const plan *plan;
	const netcdf *netcdf;
	uint64_t unit_count;
	unit *units;       /* vars, then pools */
	uint64_t *unit_of; /* of each variable of the header, or NOWHERE */
	uint64_t *at;      /* its place in the unit */
	uint64_t rest_number, rest_blocks, blocks;
	/* Segments with bytes, by off: those with one run, then those with several. */
	laid *segments;
	uint64_t fixed, records;
	uint64_t record_first, record_end; /* the bytes of the image from the first to the last of them */
	uint64_t stride, count, record_sum; /* record_sum: bytes of them in a record */
} layout;

typedef struct {
	const char *fault; /* NULL if nothing is wrong */
	int64_t variable;
	bool no_memory;
	arena *memory;
} checks;

static bool check_fail(checks *c, int64_t variable, const char *fault)
{
	c->fault = fault;
	c->variable = variable;
	return false;
}

static void *check_memory(checks *c, uint64_t count, size_t size)
{
	void *p = arena_get(c->memory, count, size);
	if (p == NULL)
		c->no_memory = !check_fail(c, -1, "out of memory");
	return p;
}

/* Cuts the bytes of a variable or a pool into blocks. */
static bool lay_unit(checks *c, const plan *p, const planned *v, int64_t variable, uint64_t first, unit *u)
{
	const uint64_t *n = p->numbers + v->shape, *b = p->numbers + v->block;
	uint64_t j = 0, outer = 1, inner = cdfz_type_size(v->type);
	if (v->block_rank != v->rank)
		return check_fail(c, variable, "block and shape have different numbers of dimensions");
	if (v->chain >= p->chain_count)
		return check_fail(c, variable, "there is no such chain");
	while (j + 1 < v->rank && b[j] == 1)
		j++;
	uint64_t k = v->rank > 0 ? b[j] : 1, length = v->rank > 0 ? n[j] : 1;
	if (k < 1 || k > greatest(length, 1))
		return check_fail(c, variable, "the block shape exceeds the shape");
	for (uint64_t i = j + 1; i < v->rank; i++)
		if (b[i] != greatest(n[i], 1))
			return check_fail(c, variable, "the block shape is not a run of elements");
	bool empty = false;
	for (uint64_t i = 0; i < v->rank; i++)
		empty |= n[i] == 0;
	for (uint64_t i = j + 1; i < v->rank; i++)
		if (!multiply(inner, b[i], &inner))
			return check_fail(c, variable, "a block has more than 2^30 bytes");
	if (!multiply(inner, k, &u->full) || u->full > MOST_BLOCK)
		return check_fail(c, variable, "a block has more than 2^30 bytes");
	u->chain = v->chain;
	u->variable = variable;
	u->first = first;
	u->block = b;
	u->size = u->blocks = u->run = 0;
	u->per = 1;
	if (empty)
		return true;
	for (uint64_t i = 0; i < j; i++)
		if (!multiply(outer, n[i], &outer))
			return check_fail(c, variable, "the shape is too large");
	u->per = divide_up(length, k);
	if (!multiply(length, inner, &u->run) || !multiply(outer, u->run, &u->size) || !multiply(outer, u->per, &u->blocks))
		return check_fail(c, variable, "the shape is too large");
	return true;
}

/* Returns the segment of a variable (section 10.1). */
static segment segment_of(const netcdf *n, uint64_t i)
{
	const cdfz_variable *v = &n->variables[i];
	const placed *at = &n->placed[i];
	if (v->bytes == 0)
		return (segment){0, 0, 0, 0};
	if (!v->is_record || n->records == 1)
		return (segment){at->begin, v->bytes, 0, 1};
	return (segment){at->begin, at->each, n->recsize, n->records};
}

static int by_offset(const void *a, const void *b)
{
	uint64_t x = ((const laid *)a)->s.off, y = ((const laid *)b)->s.off;
	return x < y ? -1 : x > y;
}

static void lay_segment(layout *l, uint64_t variable, uint64_t unit, uint64_t at)
{
	segment s = segment_of(l->netcdf, variable);
	l->unit_of[variable] = unit;
	l->at[variable] = at;
	if (s.len == 0)
		return;
	/* Fixed ones from the front, the others from the back. */
	uint64_t place = s.count == 1 ? l->fixed++ : l->netcdf->variable_count - ++l->records;
	l->segments[place] = (laid){s, unit, at, 0};
}

/* The blocked variables (section 7.4). */
static bool lay_variables(checks *c, layout *l)
{
	const plan *p = l->plan;
	const netcdf *n = l->netcdf;
	for (uint64_t i = 0; i < p->var_count; i++) {
		const planned *v = &p->vars[i];
		if (v->var >= n->variable_count)
			return check_fail(c, -1, "vars name a variable that the netCDF header does not have");
		const cdfz_variable *h = &n->variables[v->var];
		segment s = segment_of(n, v->var);
		if (v->type != h->type)
			return check_fail(c, v->var, "its type is not that of the netCDF header");
		if (v->rank != h->rank || (v->rank > 0 && memcmp(p->numbers + v->shape, h->shape, v->rank * sizeof *h->shape) != 0))
			return check_fail(c, v->var, "its shape is not that of the netCDF header");
		if (memcmp(&s, &v->segment, sizeof s) != 0)
			return check_fail(c, v->var, "its segment is not that of the netCDF header");
		if (!lay_unit(c, p, v, v->var, l->blocks, &l->units[i]))
			return false;
		lay_segment(l, v->var, i, 0);
		if (!add(l->blocks, l->units[i].blocks, &l->blocks))
			return check_fail(c, v->var, "too many blocks");
	}
	return true;
}

/* The pools (section 7.6). */
static bool lay_pools(checks *c, layout *l)
{
	const plan *p = l->plan;
	const netcdf *n = l->netcdf;
	for (uint64_t i = 0; i < p->pool_count; i++) {
		const planned *v = &p->pools[i];
		uint64_t number = p->var_count + i, at = 0;
		if (!lay_unit(c, p, v, -1, l->blocks, &l->units[number]))
			return false;
		for (uint64_t k = 0; k < v->var_count; k++) {
			uint64_t var = p->numbers[v->vars + k];
			if (var >= n->variable_count)
				return check_fail(c, -1, "a pool names a variable that the netCDF header does not have");
			if (l->unit_of[var] != NOWHERE)
				return check_fail(c, (int64_t)var, "it is in a pool and elsewhere in the plan");
			if (n->variables[var].type != v->type)
				return check_fail(c, (int64_t)var, "its pool has another type");
			if (n->variables[var].bytes == 0)
				return check_fail(c, (int64_t)var, "it is in a pool, but has no bytes");
			lay_segment(l, var, number, at);
			if (!add(at, n->variables[var].bytes, &at))
				return check_fail(c, (int64_t)var, "its pool is too long");
		}
		if (at != l->units[number].size)
			return check_fail(c, -1, "the shape of a pool is not that of its variables");
		if (!add(l->blocks, l->units[number].blocks, &l->blocks))
			return check_fail(c, -1, "too many blocks");
	}
	return true;
}

/* Sorts and checks the segments (section 10.2). */
static bool lay_out_image(checks *c, layout *l)
{
	const plan *p = l->plan;
	uint64_t all = 0, end = p->image_header;
	if (l->records > 0) /* behind the fixed ones */
		memmove(l->segments + l->fixed, l->segments + (l->netcdf->variable_count - l->records), l->records * sizeof *l->segments);
	qsort(l->segments, l->fixed, sizeof *l->segments, by_offset);
	laid *r = l->segments + l->fixed;
	qsort(r, l->records, sizeof *r, by_offset);
	if (l->records > 0) {
		l->stride = r[0].s.stride;
		l->count = r[0].s.count;
		l->record_first = r[0].s.off;
		for (uint64_t i = 0; i < l->records; i++) {
			if (r[i].s.len > l->stride)
				return check_fail(c, -1, "a record of a variable is longer than all records");
			if (i > 0 && r[i].s.off < r[i - 1].s.off + r[i - 1].s.len)
				return check_fail(c, -1, "records of variables overlap");
			r[i].before = l->record_sum;
			l->record_sum += r[i].s.len;
		}
		uint64_t last = r[l->records - 1].s.off + r[l->records - 1].s.len;
		if (last - l->record_first > l->stride)
			return check_fail(c, -1, "the variables of a record are farther apart than records");
		/* The netCDF header bounds all ends. */
		l->record_end = last + (l->count - 1) * l->stride;
		if (l->record_first < p->image_header || l->record_end > p->image_size)
			return check_fail(c, -1, "a record lies outside of the image, or in its header");
	}
	for (uint64_t i = 0; i < l->fixed; i++) {
		laid *f = &l->segments[i];
		if (f->s.off < end)
			return check_fail(c, -1, "variables overlap, or lie in the header");
		end = f->s.off + f->s.len;
		if (end > p->image_size)
			return check_fail(c, -1, "a variable ends beyond the image");
		if (l->records > 0 && f->s.off < l->record_end && end > l->record_first)
			return check_fail(c, -1, "a variable overlaps the records");
		f->before = all;
		all += f->s.len;
	}
	return true;
}

/* Computes where everything is. plan and netcdf must remain. */
static bool lay_out(checks *c, layout *l, const plan *p, const netcdf *n, const manifest *m)
{
	uint64_t sum = p->rest_len;
	memset(l, 0, sizeof *l);
	l->plan = p;
	l->netcdf = n;
	l->unit_count = p->var_count + p->pool_count;
	l->units = check_memory(c, l->unit_count, sizeof *l->units);
	l->unit_of = check_memory(c, n->variable_count, sizeof *l->unit_of);
	l->at = check_memory(c, n->variable_count, sizeof *l->at);
	l->segments = check_memory(c, n->variable_count, sizeof *l->segments);
	if (c->no_memory)
		return false;
	for (uint64_t i = 0; i < n->variable_count; i++)
		l->unit_of[i] = NOWHERE;
	if (!lay_variables(c, l) || !lay_pools(c, l))
		return false;
	for (uint64_t i = 0; i < l->unit_count; i++)
		if (!add(sum, l->units[i].size, &sum))
			return check_fail(c, -1, "variables and rest exceed the image");
	if (sum != p->image_size)
		return check_fail(c, -1, "variables, pools and rest are not as long as the image");
	l->rest_number = l->blocks;
	l->rest_blocks = 1 + divide_up(p->rest_len - p->rest_first, p->rest_block);
	if (!add(l->blocks, l->rest_blocks, &l->blocks) || l->blocks != m->blocks)
		return check_fail(c, -1, "the plan has another number of blocks than the manifest");
	return lay_out_image(c, l);
}

/* Returns the bytes of a segment's runs before byte x of the image. */
static uint64_t bytes_before(const segment *s, uint64_t x)
{
	if (x <= s->off)
		return 0;
	x -= s->off;
	if (s->count == 1)
		return least(x, s->len);
	uint64_t run = x / s->stride;
	return run >= s->count ? s->len * s->count : run * s->len + least(x % s->stride, s->len);
}

/* Returns the number of the first fixed segment that ends after byte x of the image. */
static uint64_t fixed_after(const layout *l, uint64_t x)
{
	uint64_t low = 0, high = l->fixed;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (l->segments[mid].s.off + l->segments[mid].s.len <= x)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the number, among those with several runs, of the first segment whose run ends after
 * byte y of a record. */
static uint64_t record_after(const layout *l, uint64_t y)
{
	const laid *r = l->segments + l->fixed;
	uint64_t low = 0, high = l->records;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (r[mid].s.off - l->record_first + r[mid].s.len <= y)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Returns the bytes of all runs before byte x of the image. */
static uint64_t runs_before(const layout *l, uint64_t x)
{
	uint64_t i = fixed_after(l, x), sum = 0;
	if (i < l->fixed)
		sum = l->segments[i].before + bytes_before(&l->segments[i].s, x);
	else if (l->fixed > 0)
		sum = l->segments[l->fixed - 1].before + l->segments[l->fixed - 1].s.len;
	if (l->records == 0 || x <= l->record_first)
		return sum;
	uint64_t record = (x - l->record_first) / l->stride, y = (x - l->record_first) % l->stride;
	if (record >= l->count)
		return sum + l->count * l->record_sum;
	sum += record * l->record_sum;
	i = record_after(l, y);
	if (i == l->records)
		return sum + l->record_sum;
	const laid *r = &l->segments[l->fixed + i];
	uint64_t from = r->s.off - l->record_first;
	return sum + r->before + (y > from ? y - from : 0);
}

/* Finds the segments with several runs that may have bytes in the bytes x to end - 1 of the image:
 * those with the numbers *i to *last - 1 among all. If the bytes lie in one record, these are
 * few. */
static void records_between(const layout *l, uint64_t x, uint64_t end, uint64_t *i, uint64_t *last)
{
	*i = l->fixed;
	*last = l->fixed + (x < l->record_end && end > l->record_first ? l->records : 0);
	if (*i == *last || x < l->record_first)
		return;
	uint64_t y = (x - l->record_first) % l->stride;
	if (end - x > l->stride - y)
		return;
	*i += record_after(l, y);
	uint64_t to = *i;
	while (to < *last && l->segments[to].s.off - l->record_first < y + (end - x))
		to++;
	*last = to;
}

/* Finds the first run that ends after byte x of the image: the bytes *from to *to - 1. Both
 * are UINT64_MAX if there is none. */
static void next_run(const layout *l, uint64_t x, uint64_t *from, uint64_t *to)
{
	uint64_t i = fixed_after(l, x);
	*from = *to = UINT64_MAX;
	if (i < l->fixed) {
		*from = l->segments[i].s.off;
		*to = *from + l->segments[i].s.len;
	}
	if (l->records == 0 || x >= l->record_end || *from < l->record_first)
		return;
	const laid *r = l->segments + l->fixed;
	uint64_t record = 0, y = 0;
	if (x > l->record_first) {
		record = (x - l->record_first) / l->stride;
		y = (x - l->record_first) % l->stride;
	}
	uint64_t low = record_after(l, y);
	if (low == l->records) {
		low = 0;
		record++;
	}
	*from = r[low].s.off + record * l->stride;
	*to = *from + r[low].s.len;
}

#endif
