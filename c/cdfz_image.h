/*
 * cdfz_image.h - the bytes of the image from those of blocks (sections 10 and 11). Private to
 * cdfz.c.
 */
#ifndef CDFZ_IMAGE_H
#define CDFZ_IMAGE_H

#include "cdfz_blocks.h"

/* Copies the bytes of a segment that lie in the size bytes of the image from x on to their places
 * in out. */
static cdfz_status copy_segment(cdfz_archive *a, const laid *s, uint64_t x, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const unit *u = &a->layout.units[s->unit];
	uint64_t q = bytes_before(&s->s, x), end = bytes_before(&s->s, x + size);
	while (q < end) {
		uint64_t block;
		size_t within, left;
		piece p;
		find_block(u, s->at + q, &block, &within, &left);
		left = (size_t)least(left, end - q);
		cdfz_status status = load(a, block, u->chain, (size_t)u->full, u->variable, within, left, &p, e);
		if (status != CDFZ_OK)
			return status;
		for (size_t done = 0; done < left;) {
			uint64_t run = q / s->s.len, in = q % s->s.len, n = least(s->s.len - in, left - done);
			memcpy(out + (s->s.off + run * s->s.stride + in - x), p.p + done, (size_t)n);
			done += (size_t)n;
			q += n;
		}
		piece_free(a, &p);
	}
	return CDFZ_OK;
}

/* A place in the rest, whose block remains loaded. */
typedef struct {
	piece piece;
	uint64_t from, to; /* the bytes of the rest that the block has; none if to is 0 */
} rest_place;

/* Copies size bytes of the rest from c on. */
static cdfz_status copy_rest(cdfz_archive *a, rest_place *r, uint64_t c, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const plan *p = &a->plan;
	while (size > 0) {
		if (c < a->head_size) {
			uint64_t n = least(size, a->head_size - c);
			memcpy(out, a->head + c, (size_t)n);
			out += n;
			c += n;
			size -= n;
			continue;
		}
		if (r->to == 0 || c < r->from || c >= r->to) {
			piece_free(a, &r->piece);
			r->to = 0;
			uint64_t from = 0, length = p->rest_first;
			cdfz_status status;
			if (c < p->rest_first) {
				status = load_head(a, &r->piece, e);
			} else {
				uint64_t i = (c - p->rest_first) / p->rest_block;
				from = p->rest_first + i * p->rest_block;
				length = least(p->rest_block, p->rest_len - from);
				status = load(a, a->layout.rest_number + 1 + i, p->rest_chain, (size_t)length, -1, 0, (size_t)length, &r->piece, e);
			}
			if (status != CDFZ_OK)
				return status;
			r->from = from;
			r->to = from + length;
		}
		uint64_t n = least(size, r->to - c);
		memcpy(out, r->piece.p + (c - r->from), (size_t)n);
		out += n;
		c += n;
		size -= n;
	}
	return CDFZ_OK;
}

/* Makes the size bytes of the image from x on, which lie in it. Each block is decoded once. A block
 * of the rest remains in *rest for the next call; the caller frees its piece. */
static cdfz_status make_image(cdfz_archive *a, rest_place *rest, uint64_t x, uint64_t size, uint8_t *out, cdfz_error *e)
{
	const layout *l = &a->layout;
	uint64_t end = x + size;
	cdfz_status status = CDFZ_OK;
	for (uint64_t i = fixed_after(l, x); i < l->fixed && l->segments[i].s.off < end && status == CDFZ_OK; i++)
		status = copy_segment(a, &l->segments[i], x, size, out, e);
	uint64_t i, last;
	for (records_between(l, x, end, &i, &last); i < last && status == CDFZ_OK; i++)
		status = copy_segment(a, &l->segments[i], x, size, out, e);
	uint64_t c = x - runs_before(l, x);
	for (uint64_t at = x; at < end && status == CDFZ_OK;) {
		uint64_t from, to;
		next_run(l, at, &from, &to);
		if (from > at) {
			uint64_t n = least(from, end) - at;
			status = copy_rest(a, rest, c, n, out + (at - x), e);
			c += n;
		}
		at = to;
	}
	return status;
}

#endif
