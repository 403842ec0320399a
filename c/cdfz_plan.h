/*
 * cdfz_plan.h - the text of the plan (section 7). What it says of the netCDF header and of the
 * manifest is checked in cdfz_layout.h. Private to cdfz.c.
 */
#ifndef CDFZ_PLAN_H
#define CDFZ_PLAN_H

#include "cdfz_filters.h"
#include "cdfz_manifest.h"

enum {
	MOST_STORED_PLAN = 1 << 28, /* bytes (section 13) */
	MOST_HEADER = 1 << 28,
	MOST_BLOCK = 1 << 30,
	MOST_FIRST = 1 << 21,      /* of rest.first, if the header is shorter */
	MOST_FEATURES = 64,
	MOST_CHAINS = 4096,
	MOST_FILTERS = 4096,
	MOST_PARAMS = 65536,
	MOST_CODEC = 4096,
	MOST_RANK = 1024,
	MOST_POOLS = 4096,
	MOST_STRING = 255,
	PLAN_OFFSET = 45           /* of the stored bytes of the plan (section 5.2) */
};

typedef struct {
	uint64_t off, len, stride, count;
} segment;

typedef struct {
	uint32_t first, count; /* of its filters */
} chain;

/* An element of vars or pools. Lists are places in the list of all numbers. */
typedef struct {
	uint32_t var;             /* of an element of vars */
	uint64_t vars, var_count; /* of a pool: the numbers of its variables */
	cdfz_type type;
	uint32_t chain;
	uint64_t shape, rank;
	uint64_t block, block_rank;
	segment segment;
} planned;

typedef struct {
	uint64_t image_size, image_header;
	uint64_t rest_len, rest_first, rest_block;
	uint32_t rest_chain, rest_head;
	filter *filters;
	uint32_t *params;
	chain *chains;
	planned *vars, *pools;
	uint64_t *numbers;
	uint64_t filter_count, filter_room, param_count, param_room, chain_count, chain_room, var_count, var_room, pool_count,
		pool_room, number_count, number_room;
	uint64_t most_numbers; /* of shapes and blocks */
	uint64_t shape_numbers;
	uint64_t most_pooled;  /* variables in pools: more than any netCDF header has */
	uint64_t pooled;
	bool no_memory;
	const char *refused;   /* why the plan cannot be read, NULL if it can */
	char refused_name[64]; /* the format or the feature */
} plan;

static void plan_free(plan *p)
{
	free(p->filters);
	free(p->params);
	free(p->chains);
	free(p->vars);
	free(p->pools);
	free(p->numbers);
	memset(p, 0, sizeof *p);
}

static bool plan_grow(json *j, plan *p, void *list, uint64_t count, uint64_t *room, size_t size)
{
	if (grow(list, count, room, size))
		return true;
	p->no_memory = true;
	return json_fail(j, "out of memory");
}

/* Copies printable ASCII, and a question mark for each other byte. */
static void printable(char *to, size_t room, const char *bytes, size_t size)
{
	size_t n = 0;
	for (; n < size && n < room - 1; n++)
		to[n] = bytes[n] < 32 || bytes[n] > 126 ? '?' : bytes[n];
	to[n] = 0;
}

/* Reads the numbers of a shape or a block, or else of variables, into the list of all numbers. */
static bool plan_numbers(json *j, plan *p, uint64_t most, bool shape, uint64_t *first, uint64_t *count)
{
	*first = p->number_count;
	*count = 0;
	for (json_list(j); json_item(j, count);) {
		if (shape && ++p->shape_numbers > p->most_numbers)
			return json_fail(j, "too many numbers in shapes and blocks");
		if (!shape && ++p->pooled > p->most_pooled)
			return json_fail(j, "more variables in pools than the netCDF header can have");
		if (!plan_grow(j, p, &p->numbers, p->number_count, &p->number_room, sizeof *p->numbers))
			return false;
		if (!json_integer(j, most, &p->numbers[p->number_count++]))
			return false;
	}
	return j->fault == NULL;
}

static bool plan_position(json *j, uint32_t *position)
{
	uint64_t v;
	if (!json_integer(j, MOST_NUMBER, &v))
		return false;
	*position = (uint32_t)v;
	return true;
}

/* (section 7.2) */
static bool plan_filter(json *j, plan *p)
{
	static const char *const names[] = {"id", "params", "optional", "name", "codec", NULL};
	json_object o;
	text s;
	uint64_t v, count;
	bool optional;
	if (p->filter_count == MOST_FILTERS)
		return json_fail(j, "more than 4096 filters");
	if (!plan_grow(j, p, &p->filters, p->filter_count, &p->filter_room, sizeof *p->filters))
		return false;
	filter *f = &p->filters[p->filter_count++];
	memset(f, 0, sizeof *f);
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case 0:
			json_integer(j, MOST_PARAMETER, &v);
			f->id = (uint32_t)v;
			break;
		case 1:
			count = 0;
			for (json_list(j); json_item(j, &count);) {
				if (p->param_count == MOST_PARAMS)
					return json_fail(j, "more than 65536 parameters");
				if (!plan_grow(j, p, &p->params, p->param_count, &p->param_room, sizeof *p->params))
					return false;
				json_integer(j, MOST_PARAMETER, &v);
				p->params[p->param_count++] = (uint32_t)v;
			}
			f->param_count = (uint32_t)count;
			break;
		case 2: json_boolean(j, &optional); break;
		case 3:
			if (json_short_string(j, MOST_STRING, &s))
				printable(f->name, sizeof f->name, s.bytes, s.size);
			break;
		case 4: {
			json_space(j);
			char *begin = j->p;
			if (!json_next_is(j, '{'))
				return json_fail(j, "expected an object");
			if (json_skip(j, JSON_LEVELS) && j->p - begin > MOST_CODEC)
				return json_fail(j, "a codec has more than 4096 bytes");
		}
		}
	return json_has(j, &o, 1);
}

static bool plan_chains(json *j, plan *p)
{
	uint64_t chains = 0;
	for (json_list(j); json_item(j, &chains);) {
		if (chains > MOST_CHAINS)
			return json_fail(j, "more than 4096 chains");
		if (!plan_grow(j, p, &p->chains, p->chain_count, &p->chain_room, sizeof *p->chains))
			return false;
		chain *c = &p->chains[p->chain_count++];
		uint64_t filters = 0;
		c->first = (uint32_t)p->filter_count;
		for (json_list(j); json_item(j, &filters);) {
			if (filters > CHAIN)
				return json_fail(j, "a chain has more than 32 filters");
			if (!plan_filter(j, p))
				return false;
		}
		c->count = (uint32_t)filters;
	}
	if (j->fault != NULL)
		return false;
	const uint32_t *params = p->params; /* which has its place now */
	for (uint64_t i = 0; i < p->filter_count; i++) {
		p->filters[i].params = params;
		params += p->filters[i].param_count;
	}
	return true;
}

static bool plan_image(json *j, plan *p)
{
	static const char *const names[] = {"size", "header", NULL};
	json_object o;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		json_integer(j, MOST, m == 0 ? &p->image_size : &p->image_header);
	return json_has(j, &o, 3);
}

/* (section 7.3) */
static bool plan_rest(json *j, plan *p)
{
	static const char *const names[] = {"len", "first", "block", "chain", "head", NULL};
	json_object o;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case 0: json_integer(j, MOST, &p->rest_len); break;
		case 1: json_integer(j, MOST, &p->rest_first); break;
		case 2: json_integer(j, MOST, &p->rest_block); break;
		case 3: plan_position(j, &p->rest_chain); break;
		case 4: plan_position(j, &p->rest_head); break;
		}
	if (!json_has(j, &o, 15))
		return false;
	if (!(o.seen & 16))
		p->rest_head = p->rest_chain;
	return true;
}

static bool plan_segment(json *j, segment *s)
{
	static const char *const names[] = {"off", "len", "stride", "count", NULL};
	json_object o;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;) {
		uint64_t *const to[] = {&s->off, &s->len, &s->stride, &s->count};
		json_integer(j, MOST, to[m]);
	}
	return json_has(j, &o, 15);
}

static bool plan_type(json *j, cdfz_type *type)
{
	text s;
	if (!json_short_string(j, MOST_STRING, &s))
		return false;
	for (int t = CDFZ_BYTE; t <= CDFZ_UINT64; t++) {
		const char *name = cdfz_type_name((cdfz_type)t);
		if (strlen(name) == s.size && memcmp(name, s.bytes, s.size) == 0) {
			*type = (cdfz_type)t;
			return true;
		}
	}
	return json_fail(j, "an unknown type");
}

/* Whether a path has one of the two forms of section 3.2. */
static bool path_allowed(const text *s, uint32_t var)
{
	static const char prefix[] = ".cdfz/v/";
	size_t n = sizeof prefix - 1;
	if (s->size > n && memcmp(s->bytes, prefix, n) == 0) {
		uint64_t v = 0;
		if (s->bytes[n] == '0' && s->size > n + 1)
			return false;
		for (size_t i = n; i < s->size; i++) {
			if (s->bytes[i] < '0' || s->bytes[i] > '9' || v > MOST_NUMBER)
				return false;
			v = v * 10 + (uint64_t)(s->bytes[i] - '0');
		}
		return v == var;
	}
	if (s->size < 1 || s->size > 200 || s->bytes[0] == '.')
		return false;
	for (size_t i = 0; i < s->size; i++) {
		unsigned char c = (unsigned char)s->bytes[i];
		if (c < 0x20 || c == 0x7f || c == '/' || c == '\\')
			return false;
		if (c == 0xc2 && i + 1 < s->size && (unsigned char)s->bytes[i + 1] < 0xa0) /* U+0080 to U+009F */
			return false;
	}
	return true;
}

static bool plan_view(json *j)
{
	static const char *const reasons[] = {"path", "no-codec", "optional", "unaligned"};
	text s;
	if (!json_short_string(j, MOST_STRING, &s))
		return false;
	for (unsigned i = 0; i < 4; i++)
		if (strlen(reasons[i]) == s.size && memcmp(reasons[i], s.bytes, s.size) == 0)
			return true;
	return json_fail(j, "an unknown reason for view");
}

/* (section 7.4) */
static bool plan_variable(json *j, plan *p)
{
	static const char *const names[] = {"var", "path", "type", "shape", "block", "chain", "segment", "view", NULL};
	json_object o;
	text path = {NULL, 0};
	if (!plan_grow(j, p, &p->vars, p->var_count, &p->var_room, sizeof *p->vars))
		return false;
	planned *v = &p->vars[p->var_count++];
	memset(v, 0, sizeof *v);
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case 0: plan_position(j, &v->var); break;
		case 1: json_short_string(j, MOST_STRING, &path); break;
		case 2: plan_type(j, &v->type); break;
		case 3: plan_numbers(j, p, MOST, true, &v->shape, &v->rank); break;
		case 4: plan_numbers(j, p, MOST, true, &v->block, &v->block_rank); break;
		case 5: plan_position(j, &v->chain); break;
		case 6: plan_segment(j, &v->segment); break;
		case 7: plan_view(j); break;
		}
	if (!json_has(j, &o, 127))
		return false;
	if (!path_allowed(&path, v->var))
		return json_fail(j, "a path has none of the allowed forms");
	if (v->rank > MOST_RANK)
		return json_fail(j, "a variable has more than 1024 dimensions");
	if (p->var_count > 1 && v->var <= v[-1].var)
		return json_fail(j, "the numbers of vars do not increase");
	return true;
}

/* (section 7.6) */
static bool plan_pool(json *j, plan *p)
{
	static const char *const names[] = {"vars", "type", "shape", "block", "chain", NULL};
	json_object o;
	if (p->pool_count == MOST_POOLS)
		return json_fail(j, "more than 4096 pools");
	if (!plan_grow(j, p, &p->pools, p->pool_count, &p->pool_room, sizeof *p->pools))
		return false;
	planned *v = &p->pools[p->pool_count++];
	memset(v, 0, sizeof *v);
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case 0: plan_numbers(j, p, MOST_NUMBER, false, &v->vars, &v->var_count); break;
		case 1: plan_type(j, &v->type); break;
		case 2: plan_numbers(j, p, MOST, true, &v->shape, &v->rank); break;
		case 3: plan_numbers(j, p, MOST, true, &v->block, &v->block_rank); break;
		case 4: plan_position(j, &v->chain); break;
		}
	if (!json_has(j, &o, 31))
		return false;
	if (v->var_count == 0)
		return json_fail(j, "a pool has no variables");
	if (v->rank > MOST_RANK)
		return json_fail(j, "a pool has more than 1024 dimensions");
	return true;
}

/* Checks that groups hold each position in vars once. */
static bool plan_groups(json *j, plan *p)
{
	uint64_t groups = 0, all = 0;
	bool ok = true;
	uint8_t *seen = calloc(p->var_count ? p->var_count : 1, 1);
	if (seen == NULL) {
		p->no_memory = true;
		return json_fail(j, "out of memory");
	}
	for (json_list(j); ok && json_item(j, &groups);) {
		uint64_t count = 0, v;
		for (json_list(j); ok && json_item(j, &count);) {
			ok = json_integer(j, MOST_NUMBER, &v);
			if (ok && (v >= p->var_count || seen[v]))
				ok = json_fail(j, "groups have a position twice, or beyond vars");
			if (ok)
				seen[v] = 1;
			all++;
		}
		if (ok && count == 0)
			ok = json_fail(j, "a group is empty");
	}
	free(seen);
	return j->fault == NULL && (all == p->var_count || json_fail(j, "groups lack a position in vars"));
}

static bool plan_refuse(json *j, plan *p, const char *what, const char *bytes, size_t size)
{
	p->refused = what;
	printable(p->refused_name, sizeof p->refused_name, bytes, size);
	return json_fail(j, what);
}

/* Reads the text of a plan whose netCDF header is stored in header_len bytes. After a failure, either refused, no_memory or a fault of j is set. */
static bool plan_read(json *j, plan *p, uint64_t header_len)
{
	static const char *const names[] = {
		"format", "features", "writer", "image", "block", "chains", "rest", "vars", "groups", "zarr", "pools", NULL
	};
	enum { FORMAT, FEATURES, WRITER, IMAGE, BLOCK, CHAINS, REST, VARS, GROUPS, ZARR, POOLS };
	json_object o;
	text s, first = {NULL, 0};
	uint64_t v, count = 0;
	bool known = false;
	memset(p, 0, sizeof *p);
	/* A variable takes 28 bytes of the header, which is stored as it is if it is long (section 13). */
	p->most_pooled = greatest(MOST_FIRST, header_len) / 28;
	p->most_numbers = ((uint64_t)1 << 18) + (uint64_t)(j->end - j->start) / 16;
	/* These lists are never NULL, so that places in them can be computed. */
	if (!plan_grow(j, p, &p->numbers, 0, &p->number_room, sizeof *p->numbers) ||
	    !plan_grow(j, p, &p->filters, 0, &p->filter_room, sizeof *p->filters) ||
	    !plan_grow(j, p, &p->params, 0, &p->param_room, sizeof *p->params))
		return false;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;) {
		uint32_t before = o.seen & ~HAS(m);
		if (m == FORMAT ? before != 0 : m == FEATURES ? before != HAS(FORMAT) : !(before & HAS(FEATURES)))
			return json_fail(j, "format and features are not the first members");
		count = 0;
		switch (m) {
		case FORMAT:
			json_space(j);
			s.bytes = j->p;
			if (json_integer(j, MOST_NUMBER, &v) && v != 1)
				return plan_refuse(j, p, "the plan has format", s.bytes, (size_t)(j->p - s.bytes));
			break;
		case FEATURES:
			/* No feature is defined: the first one is unknown. The list has to be well-formed. */
			for (json_list(j); json_item(j, &count); first = count == 1 ? s : first)
				if (count > MOST_FEATURES)
					return json_fail(j, "more than 64 features");
				else if (!json_short_string(j, MOST_STRING, &s))
					return false;
			if (j->fault == NULL && count > 0)
				return plan_refuse(j, p, "the archive needs the feature", first.bytes, first.size);
			break;
		case WRITER: json_short_string(j, MOST_STRING, &s); break;
		case ZARR: { /* (section 7.5) */
			static const char *const views[] = {"viewed", "consolidated"};
			if (!json_short_string(j, MOST_STRING, &s))
				return false;
			for (unsigned i = 0; i < 2; i++)
				known |= strlen(views[i]) == s.size && memcmp(views[i], s.bytes, s.size) == 0;
			if (!known)
				return json_fail(j, "an unknown Zarr view");
			break;
		}
		case IMAGE: plan_image(j, p); break;
		case BLOCK: json_integer(j, MOST, &v); break;
		case CHAINS: plan_chains(j, p); break;
		case REST: plan_rest(j, p); break;
		case VARS:
			for (json_list(j); json_item(j, &count);)
				if (!plan_variable(j, p))
					return false;
			break;
		case GROUPS:
			if (!(before & HAS(VARS)))
				return json_fail(j, "groups come before vars");
			plan_groups(j, p);
			break;
		case POOLS:
			for (json_list(j); json_item(j, &count);)
				if (!plan_pool(j, p))
					return false;
			break;
		}
	}
	return json_has(j, &o, HAS(ZARR) - 1) && json_finished(j);
}

#endif
