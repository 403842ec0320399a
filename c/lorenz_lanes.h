/*
 * lorenz_lanes.h - the steps of decoding that depend on the width of lanes. Private to
 * lorenz.c, which includes it once for each width, with these macros:
 *
 *	BITS      32 or 64
 *	LANE      the unsigned integer of that width
 *	SIGNED    the signed one
 *	FLOAT     the floating-point type of that width
 *	LIMIT     the FLOAT nearest to 1e37
 *	VECTOR    32 bytes of them
 *	FN(name)  the name with the width appended
 */

static inline LANE FN(unzigzag)(LANE u)
{
	return (u >> 1) ^ (0 - (u & 1));
}

static inline void FN(widen)(const uint8_t *numbers, LANE *out)
{
	uint8_t copy[GROUP]; /* tells the compiler that out is other memory */
	memcpy(copy, numbers, GROUP);
	for (unsigned i = 0; i < GROUP; i++)
		out[i] = copy[i];
}

/* Makes the values of a group of their numbers and their k low bits. Eight values begin at
 * a whole byte. 16 bytes after the low bits can be read. */
static inline void FN(add_low_bits)(const uint8_t *low, unsigned k, LANE *out)
{
	LANE mask = ((LANE)1 << k) - 1, bits[GROUP];
	for (unsigned i = 0; i < GROUP; i += 8, low += k) {
		for (unsigned j = 0, at = 0; j < 8; j++, at += k) {
			const uint8_t *p = low + (at >> 3);
			uint64_t v = load64(p) >> (at & 7);
			if (BITS == 64 && k > 56)
				v |= (uint64_t)p[8] << 1 << (63 - (at & 7));
			bits[i + j] = (LANE)v;
		}
	}
	for (unsigned i = 0; i < GROUP; i++)
		out[i] = out[i] << k | (bits[i] & mask);
}

/* Decodes count groups to 32 * count residuals (section 8). */
static bool FN(groups_read)(groups *g, LANE *out, uint64_t count)
{
	for (; count > 0; count--, out += GROUP) {
		unsigned class = g->classes[g->next];
		unsigned shift = g->zeros ? g->zeros[g->next] : 0;
		g->next++;
		if (class == 0) {
			memset(out, 0, GROUP * sizeof *out);
			continue;
		}
		source *s = &g->sources[g->source_of[class < 6 ? class : 6]];
		uint8_t spread[GROUP];
		const uint8_t *numbers = source_group(s, spread);
		if (numbers == NULL)
			return false;
		unsigned long_number = GROUP; /* the first with extra bits */
		uint64_t v = 0;
		if (s->extra) {
			long_number = 0;
			if (!source_extra(s, numbers, &long_number, &v))
				return false;
		}
		if (long_number == GROUP && FN(group_at_once)(g, numbers, class, shift, out)) {
			if (!source_advance(s, GROUP >> s->content))
				return false;
			continue;
		}
		FN(widen)(numbers, out);
		while (long_number < GROUP) {
			out[long_number++] = (LANE)v;
			if (!source_extra(s, numbers, &long_number, &v))
				return false;
		}
		if (!source_advance(s, GROUP >> s->content))
			return false;
		if (class > 5) {
			unsigned k = class - 5;
			uint8_t padded[4 * 64 + 16];
			const uint8_t *low = g->low;
			g->low += 4 * k;
			if ((size_t)(g->limit - low) < 4 * k + 16) {
				memcpy(padded, low, 4 * k);
				memset(padded + 4 * k, 0, 16);
				low = padded;
			}
			FN(add_low_bits)(low, k, out);
		}
		if (!g->plain)
			for (unsigned i = 0; i < GROUP; i++)
				out[i] = FN(unzigzag)(out[i]);
		if (shift > 0)
			for (unsigned i = 0; i < GROUP; i++)
				out[i] <<= shift;
	}
	return true;
}

/* Decodes the adaptive residuals of the next n elements (section 10). kinds is NULL if
 * none of them is masked. */
static bool FN(adaptive_read)(adaptive *a, const uint8_t *kinds, LANE *out, uint64_t n)
{
	for (uint64_t i = 0; i < n;) {
		if (kinds != NULL && kinds[i] != 0) {
			a->states[a->i & a->ring] = (uint16_t)(state_size(a->states[(a->i - 1) & a->ring]) << 3 | 2);
			a->i++;
			out[i++] = 0;
			continue;
		}
		if (a->unmasked % GROUP == 0 && !adaptive_group(a, BITS))
			return false;
		uint64_t end = i + GROUP - a->unmasked % GROUP, run = 1;
		while (i + run < end && i + run < n && (kinds == NULL || kinds[i + run] == 0))
			run++;
		a->unmasked += run;
		if (a->empty) {
			for (uint64_t j = 0; j < run; j++) {
				a->states[a->i++ & a->ring] = 2;
				out[i++] = 0;
			}
			continue;
		}
		uint64_t first = a->i, r;
		if (!adaptive_run(a, BITS, run))
			return false;
		for (uint64_t j = 0; j < run; j++) {
			if (!adaptive_residual(&a->low, a->shift, a->states[(first + j) & a->ring], &r))
				return false;
			out[i++] = (LANE)r;
		}
	}
	return true;
}

/* Puts the next count residuals where they belong. The lanes of masked elements are 0
 * already. */
static void FN(place)(const view *v, place *at, const uint8_t *kinds, const LANE *r, uint64_t count, LANE *lanes)
{
	LANE spare[8];
	while (count > 0) {
		uint64_t first = at->cell * v->cell;
		uint64_t length = (v->plane - first < v->cell ? v->plane - first : v->cell) - at->i;
		bool wanted = at->plane < v->planes;
		LANE *dst = wanted ? lanes + at->plane * v->width + (first - v->left) + at->i : NULL;
		uint64_t i = 0;
		if (kinds == NULL) {
			i = length < count ? length : count;
			if (wanted)
				memcpy(dst, r, i * sizeof *r);
			r += i;
			count -= i;
		} else {
			const uint8_t *kind = kinds + at->plane * v->plane + first + at->i;
			while (i < length && count > 0) {
				if (length - i >= 8 && count >= 8) {
					uint64_t word = load64(kind + i);
					if (word == 0) {
						if (wanted)
							memcpy(dst + i, r, 8 * sizeof *r);
						r += 8;
						count -= 8;
					} else {
						unsigned unmasked = FN(place_eight)(word, r, wanted ? dst + i : spare);
						r += unmasked;
						count -= unmasked;
					}
					i += 8;
				} else {
					if (kind[i] == 0) {
						if (wanted)
							dst[i] = *r;
						r++;
						count--;
					}
					i++;
				}
			}
		}
		at->i += i;
		if (i == length) {
			at->i = 0;
			if (++at->plane == v->all_planes) {
				at->plane = 0;
				at->cell++;
			}
		}
	}
}

/* Moves the residuals of unmasked elements from the beginning of lanes to the places of
 * the elements. */
static void FN(spread)(const uint8_t *kinds, uint64_t n, uint64_t m, LANE *lanes)
{
	for (uint64_t i = n; i-- > 0;)
		lanes[i] = kinds[i] == 0 ? lanes[--m] : 0;
}

/* Residuals of a group stream that are wanted a few at a time. */
typedef struct {
	groups *g;
	LANE *piece;
	uint64_t at, have;
	uint64_t left; /* values after the piece */
} FN(queue);

static bool FN(queue_fill)(FN(queue) *q)
{
	uint64_t n = q->left < PIECE ? q->left : PIECE;
	q->at = 0;
	q->have = n;
	q->left -= n;
	return FN(groups_read)(q->g, q->piece, groups_of(n));
}

static bool FN(queue_take)(FN(queue) *q, LANE *out, uint64_t count)
{
	while (count > 0) {
		if (q->at == q->have && !FN(queue_fill)(q))
			return false;
		uint64_t n = q->have - q->at < count ? q->have - q->at : count;
		memcpy(out, q->piece + q->at, n * sizeof *out);
		q->at += n;
		out += n;
		count -= n;
	}
	return true;
}

/* Decodes the residuals first to first + count - 1 of a group stream, which are those of
 * the cells of the view, and puts them into the order of elements. */
static bool FN(residuals)(space *x, groups *g, const view *v, const uint8_t *kinds, uint64_t first, uint64_t count,
	LANE *lanes)
{
	if (kinds == NULL && v->all_planes == 1 && first == 0)
		return FN(groups_read)(g, lanes, groups_of(count));
	if (kinds != NULL)
		memset(lanes, 0, v->planes * v->width * sizeof *lanes);
	if (count == 0)
		return true;
	if (!groups_skip(g, first / GROUP))
		return false;
	place at = {v->left / v->cell, 0, 0};
	LANE *piece = (LANE *)x->piece;
	uint64_t skip = first % GROUP;
	while (count > 0) {
		uint64_t n = count < PIECE - skip ? count : PIECE - skip;
		if (!FN(groups_read)(g, piece, groups_of(skip + n)))
			return false;
		FN(place)(v, &at, kinds, piece + skip, n, lanes);
		count -= n;
		skip = 0;
	}
	return true;
}

/* Decodes the m residuals of a block with count repeats (section 7). The sources of
 * literals, lengths and codes are open, and a fourth one is free. in is at the group
 * stream. */
static bool FN(repeats)(space *x, reader *in, uint64_t m, uint64_t count, source *parts, LANE *lanes)
{
	uint64_t stored = m;
	source *lengths = &parts[3]; /* once to sum them up, once to use them */
	*lengths = parts[1];
	for (uint64_t i = 0; i < count; i++) {
		uint64_t length;
		if (!source_number(lengths, &length) || length >= stored)
			return false;
		stored -= length + 1;
	}
	if (!groups_open(in, &x->groups[0], stored, BITS))
		return false;
	FN(queue) q = {&x->groups[0], (LANE *)x->piece, 0, 0, stored};
	recent distances = {{1, 1, 1}};
	uint64_t at = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t literals, length, code;
		if (!source_number(&parts[0], &literals) || !source_number(&parts[1], &length) ||
		    !source_number(&parts[2], &code))
			return false;
		if (literals > q.have - q.at + q.left)
			return false;
		if (!FN(queue_take)(&q, lanes + at, literals))
			return false;
		at += literals;
		uint64_t d = recent_distance(&distances, code, code - 3);
		if (d == 0 || d > at)
			return false;
		length++;
		if (d >= length) {
			memcpy(lanes + at, lanes + at - d, length * sizeof *lanes);
		} else {
			for (uint64_t j = 0; j < length; j++)
				lanes[at + j] = lanes[at + j - d];
		}
		at += length;
	}
	return FN(queue_take)(&q, lanes + at, m - at);
}

/* Decodes the m residuals of mode 5 (section 11). */
static bool FN(references)(space *x, reader *in, uint64_t m, LANE *lanes)
{
	uint8_t options;
	if (!read_byte(in, &options) || options & ~3u)
		return false;
	bool complements = options & 1, mixed = options & 2;
	groups *codes = &x->groups[0], *differences = &x->groups[1];
	if (!groups_open(in, codes, m, 32) || (m > 0 && !codes->plain))
		return false;
	adaptive *a = x->adaptive;
	if (mixed) {
		if (!adaptive_open(a, in, 4, 8, tables_of(x)))
			return false;
	} else if (!groups_open(in, differences, m, BITS)) {
		return false;
	}
	recent distances = {{1, 1, 1}};
	uint32_t *code = (uint32_t *)x->piece;
	for (uint64_t i = 0; i < m;) {
		uint64_t n = m - i < PIECE ? m - i : PIECE;
		if (!groups_read32(codes, code, groups_of(n)))
			return false;
		if (!(mixed ? FN(adaptive_read)(a, NULL, lanes + i, n) :
			FN(groups_read)(differences, lanes + i, groups_of(n))))
			return false;
		for (uint64_t j = 0; j < n; j++, i++) {
			uint64_t c = complements ? code[j] >> 1 : code[j];
			uint64_t d = recent_distance(&distances, c, c - 3);
			if (d == 0 || d > i + 1)
				return false;
			LANE from = d <= i ? lanes[i - d] : 0;
			lanes[i] += complements && code[j] & 1 ? ~from : from;
		}
	}
	return !mixed || adaptive_finished(a);
}

/* Adds to each of the count lanes at y the lane s before it. */
static void FN(add_before)(LANE *y, uint64_t s, uint64_t count)
{
	const unsigned lanes = sizeof(VECTOR) / sizeof(LANE);
	uint64_t i = 0;
	if (s == 1) {
		i = FN(add_up)(y, count);
		for (LANE sum = *(y + i - 1); i < count; i++)
			y[i] = sum += y[i];
	} else if (s >= lanes) {
		for (; count - i >= lanes; i += lanes) {
			VECTOR v, before;
			memcpy(&v, y + i, sizeof v);
			memcpy(&before, y + i - s, sizeof before);
			v += before;
			memcpy(y + i, &v, sizeof v);
		}
	}
	for (; i < count; i++)
		y[i] += *(y + i - s);
}

/* Applies a stride of the chain (section 5). */
static void FN(stride)(const view *v, uint64_t s, LANE *lanes)
{
	if (s >= v->cell) {
		uint64_t back = s / v->plane * v->width, all = v->planes * v->width;
		if (back < all)
			FN(add_before)(lanes + back, back, all - back);
		return;
	}
	for (uint64_t p = 0; p < v->planes; p++) {
		for (uint64_t c = 0; c < v->width; c += v->cell) {
			uint64_t length = v->width - c < v->cell ? v->width - c : v->cell;
			if (s < length)
				FN(add_before)(lanes + p * v->width + c + s, s, length - s);
		}
	}
}

/* Returns the residual of a mark in mode 8 with low bits. */
static ALWAYS_INLINE LANE FN(contexts_residual)(const contexts *c, uint16_t mark, LANE low)
{
	LANE negative = 0 - (LANE)(mark < NO_SIGN), x = (LANE)c->upper[mark & 127] + low;
	return (x ^ negative) - negative;
}

/* Makes residuals of AT_ONCE marks, whose classes have at most 57 / together low bits each, without
 * looking where the bits end. Returns where the next bits are. */
static ALWAYS_INLINE uint64_t FN(contexts_some)(const contexts *c, const uint16_t *marks, const unsigned together, LANE *r)
{
	uint64_t at = c->low.at;
	for (unsigned i = 0; i < AT_ONCE; i += together) {
		uint64_t v = load64(c->low.p + (at >> 3)) >> (at & 7);
		for (unsigned k = i; k < i + together; k++) {
			unsigned class = marks[k] & 127, bits = c->low_bits[class];
			LANE low = (LANE)v & (LANE)c->mask[class];
			r[k] = BITS == 32 ? (LANE)c->upper[class] + low : FN(contexts_residual)(c, marks[k], low);
			v >>= bits;
			at += bits;
		}
	}
	if (BITS == 32)
		contexts_signs32(marks, (uint32_t *)r);
	return at;
}

/* Makes residuals of count marks in mode 8 (section 17), of their low bits and of t trailing zeros. */
static bool FN(contexts_low)(contexts *c, const uint16_t *marks, uint64_t count, unsigned t, LANE *r)
{
	bool plenty = c->low.length - c->low.at >= count * BITS + 128; /* the bits of the next elements are all there */
	if (plenty && count == AT_ONCE && t == 0) {
		unsigned most = c->low_bits[contexts_most(marks)];
		if (most <= 57 / 2) {
			c->low.at = most <= 57 / 4 ? FN(contexts_some)(c, marks, 4, r) : FN(contexts_some)(c, marks, 2, r);
			return true;
		}
	}
	for (uint64_t i = 0; i < count; i++) {
		uint64_t y;
		unsigned bits = c->low_bits[marks[i] & 127];
		bits = bits > t ? bits - t : 0;
		if (plenty && (BITS == 32 || bits <= 56)) {
			y = load64(c->low.p + (c->low.at >> 3)) >> (c->low.at & 7) & ~(~(uint64_t)0 << bits);
			c->low.at += bits;
		} else if (!bits_read(&c->low, bits, &y)) {
			return false;
		}
		r[i] = FN(contexts_residual)(c, marks[i], (LANE)y << t);
	}
	return true;
}

/* The same for marks in order. i is the position of the first one. */
static bool FN(contexts_ordered)(contexts *c, const uint16_t *marks, uint64_t count, uint64_t i, LANE *r)
{
	while (count > 0) {
		uint64_t k = count < GROUP - i % GROUP || !c->has_zeros ? count : GROUP - i % GROUP;
		unsigned t = c->has_zeros ? c->zeros[i / GROUP] : 0;
		i += k;
		count -= k;
		while (k > 0) {
			uint64_t done = FN(contexts_at_once)(&c->low, marks, k, t, r), n = k - done < AT_ONCE ? k - done : AT_ONCE;
			if (!FN(contexts_low)(c, marks + done, n, t, r + done))
				return false;
			marks += done + n;
			r += done + n;
			k -= done + n;
		}
	}
	return true;
}

/* Decodes the residuals of the first rows of a column in mode 8. They begin at r, and those of
 * its planes are jump apart. */
static bool FN(contexts_read)(contexts *c, const uint8_t *kinds, uint64_t rows, LANE *r, uint64_t jump)
{
	const shape *s = &c->s;
	for (uint64_t row = 0; row < rows; row++) {
		uint64_t unmasked = kinds != NULL ? contexts_mask(c, row, kinds) : s->row;
		if (unmasked == 0)
			contexts_skip(c, row);
		else if (!contexts_row(c, row, unmasked < s->row))
			return false;
		const uint16_t *marks = contexts_in_order(c, row);
		uint64_t i = row * s->row;
		if (!s->turned) {
			if (!FN(contexts_ordered)(c, marks, s->row, i, r + row / s->each * jump + row % s->each * s->row))
				return false;
			continue;
		}
		LANE piece[AT_ONCE];
		LANE *to = r + row;
		for (uint64_t left = s->row, k; left > 0; left -= k, marks += k, i += k) {
			k = left < AT_ONCE ? left : AT_ONCE;
			if (!FN(contexts_ordered)(c, marks, k, i, piece))
				return false;
			for (uint64_t j = 0; j < k; j++, to += s->rows)
				*to = piece[j];
		}
	}
	return true;
}

/* The bits of the float that transform 0 makes of a lane, this float, and the reverse. */
static inline LANE FN(bits_of)(LANE y)
{
	LANE high = 0 - (y >> (BITS - 1)); /* all bits if y >= 2^(BITS-1) */
	return y ^ (~high | (LANE)1 << (BITS - 1));
}

static inline FLOAT FN(float_of)(LANE y)
{
	LANE bits = FN(bits_of)(y);
	FLOAT f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static inline LANE FN(lane_of)(FLOAT f)
{
	LANE bits;
	memcpy(&bits, &f, sizeof bits);
	LANE negative = 0 - (bits >> (BITS - 1));
	return bits ^ (negative | (LANE)1 << (BITS - 1));
}

/* One or eight lanes at places. */
static ALWAYS_INLINE void FN(gather)(const unsigned count, LANE r[8], const LANE *y, const uint64_t at[8])
{
	r[0] = y[at[0]];
	if (count == 1)
		return;
	r[1] = y[at[1]];
	r[2] = y[at[2]];
	r[3] = y[at[3]];
	r[4] = y[at[4]];
	r[5] = y[at[5]];
	r[6] = y[at[6]];
	r[7] = y[at[7]];
}

static ALWAYS_INLINE void FN(scatter)(const unsigned count, LANE *y, const uint64_t at[8], const LANE r[8])
{
	y[at[0]] = r[0];
	if (count == 1)
		return;
	y[at[1]] = r[1];
	y[at[2]] = r[2];
	y[at[3]] = r[3];
	y[at[4]] = r[4];
	y[at[5]] = r[5];
	y[at[6]] = r[6];
	y[at[7]] = r[7];
}

/* Turns the residuals from element i to the one before end of a row into lanes with the float
 * predictor, in several rows at once, which begin at the places at. A row may be there twice.
 * Each element waits for the one before it in its row, but rows do not wait for each other; in a wave,
 * each row is that before the next one, whose element is one behind. north and past are the distances to
 * the row before and to the earlier plane, 0 if there is none. */
static ALWAYS_INLINE void FN(float_rows)(const unsigned cells, const bool wave, const unsigned kind, LANE *y, const uint64_t at[8],
	uint64_t north, uint64_t past, uint64_t i, uint64_t end)
{
	FLOAT before[BEFORES][8] = {{0}}, *w = before[W], *ww = before[WW], *nw = before[NW], *pw = before[PW], *pnw = before[PNW];
	FLOAT p[8], n[8], b[8], bn[8];
	LANE r[8];
	const bool has_north = north > 0 && (kind == 1 || kind == 3 || kind == 4);
	const bool has_past = past > 0 && kind >= 2 && kind <= 4;
	for (unsigned c = 0; c < cells; c++)
		n[c] = b[c] = bn[c] = 0;
	for (unsigned c = 0; c < cells && i > 0; c++) {
		const LANE *last = y + at[c] + i - 1;
		w[c] = FN(float_of)(*last);
		ww[c] = kind == 5 && i > 1 ? FN(float_of)(last[-1]) : 0;
		nw[c] = has_north ? FN(float_of)(*(last - north)) : 0;
		pw[c] = has_past ? FN(float_of)(*(last - past)) : 0;
		pnw[c] = has_north && has_past ? FN(float_of)(*(last - past - north)) : 0;
	}
	if (cells == 8)
		i = FN(float_fours)(wave, kind, y, at, has_north ? north : 0, has_past ? past : 0, i, end, before);
	for (; i < end; i++) {
		if (has_north) {
			FN(gather)(cells, r, y + i - north, at);
			for (unsigned c = 0; c < cells; c++)
				n[c] = FN(float_of)(r[c]);
		}
		if (has_past) {
			FN(gather)(cells, r, y + i - past, at);
			for (unsigned c = 0; c < cells; c++)
				b[c] = FN(float_of)(r[c]);
		}
		if (has_north && has_past && kind != 2) {
			FN(gather)(cells, r, y + i - past - north, at);
			for (unsigned c = 0; c < cells; c++)
				bn[c] = FN(float_of)(r[c]);
		}
		FN(gather)(cells, r, y + i, at);
		for (unsigned c = 0; c < cells; c++) {
			switch (kind) {
			case 1: p[c] = w[c] + (n[c] - nw[c]); break;
			case 2: p[c] = w[c] + (b[c] - pw[c]); break;
			case 3: p[c] = n[c] + (b[c] - bn[c]); break;
			case 4: p[c] = w[c] + ((n[c] - nw[c]) + ((b[c] - pw[c]) - (bn[c] - pnw[c]))); break;
			default: p[c] = w[c] + (w[c] - ww[c]);
			}
		}
		for (unsigned c = 0; c < cells; c++) {
			LANE bits, inside = 0 - (LANE)(p[c] >= -LIMIT && p[c] <= LIMIT);
			memcpy(&bits, &p[c], sizeof bits);
			bits &= inside;
			r[c] += bits ^ ((0 - (bits >> (BITS - 1))) | (LANE)1 << (BITS - 1));
			ww[c] = w[c];
			w[c] = FN(float_of)(r[c]);
			nw[c] = n[c];
			pw[c] = b[c];
			pnw[c] = bn[c];
		}
		FN(scatter)(cells, y + i, at, r);
	}
}

/* The same for eight rows of one cell, the first of which begins at y and is not that of the cell. Each is an element behind
 * the one before it, so that it has what it needs of that. Two elements of each row are done before. */
static ALWAYS_INLINE void FN(float_wave)(const unsigned kind, LANE *y, uint64_t row, uint64_t past)
{
	uint64_t at[8], zero[8] = {0};
	for (uint64_t k = 0; k < 8; k++) {
		at[k] = k * (row - 1);
		FN(float_rows)(1, false, kind, y + k * row, zero, row, past, 0, 9 - k);
	}
	uint64_t i = 9 + FN(float_eights)(kind, y, row, past, 9, row);
	FN(float_rows)(8, true, kind, y, at, row, past, i, row);
	for (uint64_t k = 1; k < 8; k++)
		FN(float_rows)(1, false, kind, y + k * row, zero, row, past, row - k, row);
}

/* Applies the float predictor (section 5). distance is 0 for kinds without one. */
static ALWAYS_INLINE void FN(float_kind)(const view *v, const unsigned kind, uint64_t row, uint64_t distance, LANE *lanes)
{
	uint64_t back = distance / v->plane * v->width;
	for (uint64_t p = 0; p < v->planes; p++) {
		LANE *plane = lanes + p * v->width;
		uint64_t past = p * v->plane >= distance ? back : 0, c = 0;
		while (c < v->width) {
			uint64_t rest = v->width - c, length = rest < v->cell ? rest : v->cell;
			uint64_t cells = rest / v->cell, at[8] = {0}; /* whole ones */
			cells = cells > 8 ? 8 : cells;
			for (unsigned i = 0; i < 8 && cells > 0; i++)
				at[i] = (i < cells ? i : cells - 1) * v->cell;
			for (uint64_t r = 0; r < length; r += row) {
				uint64_t n = length - r < row ? length - r : row, north = r > 0 ? row : 0;
				if (cells > 1) {
					FN(float_rows)(8, false, kind, plane + c + r, at, north, past, 0, n);
					continue;
				}
				if (kind != 3 && north > 0 && row >= 16 && length - r >= 8 * row) {
					FN(float_wave)(kind, plane + c + r, row, past);
					r += 7 * row;
					continue;
				}
				FN(float_rows)(1, false, kind, plane + c + r, at, north, past, 0, n);
			}
			c += cells > 1 ? cells * v->cell : length;
		}
	}
}

static void FN(float_predictor)(const view *v, unsigned kind, uint64_t row, uint64_t distance, LANE *lanes)
{
	switch (kind) {
	case 1: FN(float_kind)(v, 1, row, distance, lanes); break;
	case 2: FN(float_kind)(v, 2, row, distance, lanes); break;
	case 3: FN(float_kind)(v, 3, row, distance, lanes); break;
	case 4: FN(float_kind)(v, 4, row, distance, lanes); break;
	default: FN(float_kind)(v, 5, row, distance, lanes);
	}
}

/* Transform 0: writes count elements of size bytes, in the byte order of the processor
 * or, if swap is set, the other one. */
static ALWAYS_INLINE void FN(order_as)(const LANE *y, uint64_t count, unsigned size, bool floats, bool swap, uint8_t *out)
{
	uint64_t i = 0;
	for (; count - i >= 16; i += 16) {
		LANE v[16]; /* tells the compiler that out is other memory */
		for (unsigned j = 0; j < 16; j++)
			v[j] = floats ? FN(bits_of)(y[i + j]) : y[i + j];
		if (size == sizeof(LANE)) {
			if (swap)
				FN(swap_lanes)(v);
			memcpy(out + i * size, v, sizeof v);
			continue;
		}
		for (unsigned j = 0; j < 16; j++)
			store_element(out + (i + j) * size, v[j], size, swap);
	}
	for (; i < count; i++)
		store_element(out + i * size, floats ? FN(bits_of)(y[i]) : y[i], size, swap);
}

static void FN(order)(const LANE *y, uint64_t count, unsigned size, bool floats, bool swap, uint8_t *out)
{
	if (floats && swap)
		FN(order_as)(y, count, BITS / 8, true, true, out);
	else if (floats)
		FN(order_as)(y, count, BITS / 8, true, false, out);
	else if (size == 1)
		FN(order_as)(y, count, 1, false, false, out);
	else if (size == 2)
		FN(order_as)(y, count, 2, false, swap, out);
	else
		FN(order_as)(y, count, BITS / 8, false, swap, out);
}

/* Rounds a number to the type of size bytes and writes it. */
static inline void FN(round)(double v, unsigned size, bool swap, uint8_t *out)
{
	float f = (float)v;
	uint32_t narrow;
	uint64_t wide;
	memcpy(&narrow, &f, sizeof narrow);
	memcpy(&wide, &v, sizeof wide);
	store_element(out, size == 4 ? narrow : wide, size, swap);
}

/* The transforms fixed (ratio is false, by is 2^q) and ratio (by is d). */
static ALWAYS_INLINE void FN(scaled_as)(const LANE *y, uint64_t count, bool ratio, double by, unsigned size, bool swap, uint8_t *out)
{
	uint64_t i = size == 4 ? FN(scaled_eights)(y, count, ratio, by, swap, out) : 0;
	for (; count - i >= 16; i += 16) {
		double v[16];
		for (unsigned j = 0; j < 16; j++)
			v[j] = ratio ? (double)(SIGNED)y[i + j] / by : (double)(SIGNED)y[i + j] * by;
		for (unsigned j = 0; j < 16; j++)
			FN(round)(v[j], size, swap, out + (i + j) * size);
	}
	for (; i < count; i++) {
		double v = (double)(SIGNED)y[i];
		FN(round)(ratio ? v / by : v * by, size, swap, out + i * size);
	}
}

static void FN(scaled)(const LANE *y, uint64_t count, bool ratio, double by, unsigned size, bool swap, uint8_t *out)
{
	if (size == 4 && ratio)
		FN(scaled_as)(y, count, true, by, 4, swap, out);
	else if (size == 4)
		FN(scaled_as)(y, count, false, by, 4, swap, out);
	else if (ratio)
		FN(scaled_as)(y, count, true, by, 8, swap, out);
	else
		FN(scaled_as)(y, count, false, by, 8, swap, out);
}

#undef BITS
#undef LANE
#undef SIGNED
#undef FLOAT
#undef VECTOR
#undef LIMIT
#undef FN
