/*
 * lorenz_lanes.h - the steps of decoding that depend on the width of lanes. Private to
 * lorenz.c, which includes it once for each width, with these macros:
 *
 *	BITS      32 or 64
 *	LANE      the unsigned integer of that width
 *	SIGNED    the signed one
 *	FLOAT     the floating-point type of that width
 *	LIMIT     the FLOAT nearest to 1e37
 *	FN(name)  the name with the width appended
 */

static inline LANE FN(unzigzag)(LANE u)
{
	return (u >> 1) ^ (0 - (u & 1));
}

/* Makes the values of a group of their numbers and their k low bits. Eight values begin at
 * a whole byte. 16 bytes after the low bits can be read. */
static inline void FN(add_low_bits)(const uint8_t *low, unsigned k, LANE *out)
{
	LANE mask = ((LANE)1 << k) - 1;
	for (unsigned i = 0; i < GROUP; i += 8, low += k) {
		for (unsigned j = 0, at = 0; j < 8; j++, at += k) {
			const uint8_t *p = low + (at >> 3);
			uint64_t v = load64(p) >> (at & 7);
			if (BITS == 64 && k > 56)
				v |= (uint64_t)p[8] << 1 << (63 - (at & 7));
			out[i + j] = out[i + j] << k | ((LANE)v & mask);
		}
	}
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
		for (unsigned i = 0; i < GROUP; i++)
			out[i] = numbers[i];
		for (unsigned i = s->extra ? 0 : GROUP; i < GROUP; i++) {
			uint64_t v;
			if (!source_extra(s, numbers, &i, &v))
				return false;
			if (i < GROUP)
				out[i] = (LANE)v;
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
	for (uint64_t i = 0; i < n; i++) {
		uint64_t r;
		if (!adaptive_next(a, BITS, kinds != NULL && kinds[i] != 0, &r))
			return false;
		out[i] = (LANE)r;
	}
	return true;
}

/* Puts the next count residuals where they belong. The lanes of masked elements are 0
 * already. */
static void FN(place)(const view *v, place *at, const uint8_t *kinds, const LANE *r, uint64_t count, LANE *lanes)
{
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
						for (unsigned j = 0; j < 8; j++) {
							LANE unmasked = kind[i + j] == 0;
							if (wanted)
								dst[i + j] = *r & (0 - unmasked);
							r += unmasked;
							count -= unmasked;
						}
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
	adaptive *a = NULL;
	if (mixed) {
		a = adaptive_open(x, in, 4, 8);
		if (a == NULL)
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
	uint64_t i = 0;
	if (s == 1) {
		for (LANE sum = y[-1]; i < count; i++)
			y[i] = sum += y[i];
		return;
	}
	for (; s >= 16 && count - i >= 16; i += 16) {
		LANE before[16]; /* tells the compiler that they are others */
		memcpy(before, y + i - s, sizeof before);
		for (unsigned j = 0; j < 16; j++)
			y[i + j] += before[j];
	}
	for (; i < count; i++)
		y[i] += y[i - s];
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

/* Turns the residuals of a row into lanes with the float predictor. north, past and
 * past_north are the same places in the row before, in the earlier plane, and in the row
 * before there. They are NULL if there is no such row. */
static inline void FN(float_row)(unsigned kind, LANE *y, const LANE *north, const LANE *past,
	const LANE *past_north, uint64_t length)
{
	FLOAT w = 0, ww = 0, nw = 0, pw = 0, pnw = 0;
	for (uint64_t i = 0; i < length; i++) {
		FLOAT n = north ? FN(float_of)(north[i]) : 0;
		FLOAT b = past ? FN(float_of)(past[i]) : 0;
		FLOAT bn = past_north ? FN(float_of)(past_north[i]) : 0;
		FLOAT p;
		switch (kind) {
		case 1: p = w + (n - nw); break;
		case 2: p = w + (b - pw); break;
		case 3: p = n + (b - bn); break;
		case 4: p = w + ((n - nw) + ((b - pw) - (bn - pnw))); break;
		default: p = w + (w - ww); break;
		}
		if (!(p >= -LIMIT && p <= LIMIT))
			p = 0;
		y[i] += FN(lane_of)(p);
		ww = w;
		w = FN(float_of)(y[i]);
		nw = n;
		pw = b;
		pnw = bn;
	}
}

/* Applies the float predictor (section 5). distance is 0 for kinds without one. */
static void FN(float_predictor)(const view *v, unsigned kind, uint64_t row, uint64_t distance, LANE *lanes)
{
	uint64_t back = distance / v->plane * v->width;
	for (uint64_t p = 0; p < v->planes; p++) {
		for (uint64_t c = 0; c < v->width; c += v->cell) {
			LANE *y = lanes + p * v->width + c;
			uint64_t length = v->width - c < v->cell ? v->width - c : v->cell;
			bool has_past = back > 0 && p * v->plane >= distance;
			for (uint64_t r = 0; r < length; r += row) {
				LANE *at = y + r;
				const LANE *north = r > 0 ? at - row : NULL;
				const LANE *past = has_past ? at - back : NULL;
				const LANE *past_north = has_past && r > 0 ? at - back - row : NULL;
				FN(float_row)(kind, at, north, past, past_north, length - r < row ? length - r : row);
			}
		}
	}
}

/* Transform 0: writes count elements of size bytes, in the byte order of the processor
 * or, if swap is set, the other one. */
static ALWAYS_INLINE void FN(order_as)(const LANE *y, uint64_t count, unsigned size, bool floats, bool swap, uint8_t *out)
{
	uint64_t i = 0;
	for (; count - i >= 16; i += 16)
		for (unsigned j = 0; j < 16; j++) {
			LANE v = floats ? FN(bits_of)(y[i + j]) : y[i + j];
			store_element(out + (i + j) * size, v, size, swap);
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
	uint64_t i = 0;
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
#undef LIMIT
#undef FN
