/*
 * cdfz_slab.h - the selected bytes of a variable (section 12). Private to cdfz.c.
 */
#ifndef CDFZ_SLAB_H
#define CDFZ_SLAB_H

#include "cdfz_image.h"

/* A walk over the selected bytes of a variable, in row-major order: intervals of equal length,
 * one for each index of the dimensions that are not contiguous. */
typedef struct {
	uint32_t rank;
	uint64_t *index;              /* of each dimension, 0 to count - 1 */
	const uint64_t *count;
	const uint64_t *step;         /* bytes from an index to the next */
	uint64_t length;              /* of an interval */
	uint64_t p;                   /* the next selected byte */
	uint64_t left;                /* of the interval */
	bool done;
} walk;

/* Moves behind n bytes, which the interval has. */
static void walk_on(walk *w, uint64_t n)
{
	w->p += n;
	w->left -= n;
	if (w->left > 0)
		return;
	w->p -= w->length;
	for (uint32_t i = w->rank; i-- > 0;) {
		if (++w->index[i] < w->count[i]) {
			w->p += w->step[i];
			w->left = w->length;
			return;
		}
		w->p -= (w->count[i] - 1) * w->step[i];
		w->index[i] = 0;
	}
	w->done = true;
}

/* Copies what a walk selects of a unit's bytes from base on. The index of again is another list
 * of as many numbers. */
static cdfz_status copy_walk(cdfz_archive *a, const unit *u, uint64_t base, int64_t variable, walk *w, walk *again, uint8_t *out,
	cdfz_error *e)
{
	while (!w->done) {
		uint64_t block, first = base + w->p, end = first;
		size_t within, left;
		piece p;
		find_block(u, first, &block, &within, &left);
		uint64_t limit = first + left;
		/* First what is needed of the block, then the bytes. */
		uint64_t *index = again->index;
		*again = *w;
		again->index = index;
		memcpy(index, w->index, w->rank * sizeof *index);
		while (!again->done && base + again->p < limit) {
			uint64_t n = least(again->left, limit - (base + again->p));
			end = base + again->p + n;
			walk_on(again, n);
		}
		cdfz_status status = load(a, block, u->chain, (size_t)u->full, variable, within, (size_t)(end - first), &p, e);
		if (status != CDFZ_OK)
			return status;
		while (!w->done && base + w->p < limit) {
			uint64_t n = least(w->left, limit - (base + w->p));
			memcpy(out, p.p + (base + w->p - first), (size_t)n);
			out += n;
			walk_on(w, n);
		}
		piece_free(a, &p);
	}
	return CDFZ_OK;
}

/* Copies what a walk selects of an unblocked variable from the image. Zeros follow its end. */
static cdfz_status copy_unblocked(cdfz_archive *a, int64_t variable, walk *w, uint8_t *out, cdfz_error *e)
{
	const placed *at = &a->netcdf.placed[variable];
	rest_place rest = {0};
	cdfz_status status = CDFZ_OK;
	while (!w->done) {
		uint64_t record = w->p / at->each, in = w->p % at->each, n = least(w->left, at->each - in);
		uint64_t x = at->begin + record * a->netcdf.recsize + in, size = a->plan.image_size;
		uint64_t have = x < size ? least(n, size - x) : 0;
		if (have > 0)
			status = make_image(a, &rest, x, have, out, e);
		if (status != CDFZ_OK)
			break;
		memset(out + have, 0, (size_t)(n - have));
		out += n;
		walk_on(w, n);
	}
	piece_free(a, &rest.piece);
	return status;
}

#endif
