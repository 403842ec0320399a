/*
 * cdfz_convert.h - numbers as another type, by netCDF-C's rules, which cdfz.h has. Private to cdfz.c.
 */
#ifndef CDFZ_CONVERT_H
#define CDFZ_CONVERT_H

#include <float.h>

#include "cdfz_archive.h"

/* Checks that values of a type can be read as those of another. */
static cdfz_status can_convert(const cdfz_archive *a, where at, cdfz_type from, cdfz_type to, cdfz_error *e)
{
	if (cdfz_type_size(to) == 0)
		return fail(a, e, CDFZ_ARGUMENT, at, "there is no type %d", (int)to);
	if ((from == CDFZ_CHAR) != (to == CDFZ_CHAR))
		return fail(a, e, CDFZ_ARGUMENT, at, "%s cannot be read as %s", cdfz_type_name(from), cdfz_type_name(to));
	return CDFZ_OK;
}

static bool is_real(cdfz_type t)
{
	return t == CDFZ_FLOAT || t == CDFZ_DOUBLE;
}

static bool is_unsigned(cdfz_type t)
{
	return t == CDFZ_UBYTE || t == CDFZ_USHORT || t == CDFZ_UINT || t == CDFZ_UINT64;
}

/* Reads an integer of this machine, with its sign in all 64 bits if it has one. */
static uint64_t integer_of(const void *p, cdfz_type type)
{
	union {
		uint8_t u1;
		int8_t s1;
		uint16_t u2;
		int16_t s2;
		uint32_t u4;
		int32_t s4;
		uint64_t u8;
	} v = {0};
	memcpy(&v, p, cdfz_type_size(type));
	switch (type) {
	case CDFZ_BYTE: return (uint64_t)v.s1;
	case CDFZ_SHORT: return (uint64_t)v.s2;
	case CDFZ_INT: return (uint64_t)v.s4;
	case CDFZ_UBYTE: return v.u1;
	case CDFZ_USHORT: return v.u2;
	case CDFZ_UINT: return v.u4;
	default: return v.u8;
	}
}

/* Writes the low bits of an integer. */
static void put_integer(void *p, size_t size, uint64_t v)
{
	uint8_t v1 = (uint8_t)v;
	uint16_t v2 = (uint16_t)v;
	uint32_t v4 = (uint32_t)v;
	memcpy(p, size == 1 ? (void *)&v1 : size == 2 ? (void *)&v2 : size == 4 ? (void *)&v4 : (void *)&v, size);
}

static double real_of(const void *p, cdfz_type type)
{
	float f;
	double d;
	if (type == CDFZ_DOUBLE) {
		memcpy(&d, p, sizeof d);
		return d;
	}
	memcpy(&f, p, sizeof f);
	return (double)f;
}

/* Writes an integer, and returns whether it fits the type. */
static bool from_integer(uint64_t v, bool negative, cdfz_type type, void *out)
{
	size_t size = cdfz_type_size(type);
	if (is_real(type)) {
		/* Once rounded: not by way of double for float. */
		float f = negative ? (float)(int64_t)v : (float)v;
		double d = negative ? (double)(int64_t)v : (double)v;
		memcpy(out, type == CDFZ_FLOAT ? (void *)&f : (void *)&d, size);
		return true;
	}
	put_integer(out, size, v);
	uint64_t most = UINT64_MAX >> (64 - 8 * size + !is_unsigned(type)); /* of the type */
	return negative ? !is_unsigned(type) && ~v <= most : v <= most;
}

/* Writes a floating-point number if it fits the type, and returns whether it does. */
static bool from_real(double x, cdfz_type type, void *out)
{
	unsigned bits = 8 * (unsigned)cdfz_type_size(type);
	if (type == CDFZ_DOUBLE) {
		memcpy(out, &x, sizeof x);
		return true;
	}
	if (type == CDFZ_FLOAT) {
		bool fits = !(x > (double)FLT_MAX) && !(x < -(double)FLT_MAX);
		float f = fits ? (float)x : x > 0 ? FLT_MAX : -FLT_MAX;
		memcpy(out, &f, sizeof f);
		return fits;
	}
	/* 2^bits or 2^(bits-1): the first number that is too large. netCDF-C takes just that for the
	 * greatest integer of 64 bits, which as a double is the same. */
	double beyond = (double)(UINT64_C(1) << (bits - 2)) * (is_unsigned(type) ? 4 : 2), least_one = is_unsigned(type) ? 0 : -beyond;
	uint64_t greatest_one = UINT64_MAX >> (64 - bits + !is_unsigned(type));
	if (bits == 64 && x == beyond) {
		put_integer(out, 8, greatest_one);
		return true;
	}
	double most = bits == 64 ? beyond : (double)greatest_one;
	if (!(x >= least_one && x <= most))
		return false;
	put_integer(out, bits / 8, x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x);
	return true;
}

/* Converts count numbers of this machine. Not for text. */
static cdfz_status convert(const cdfz_archive *a, where at, cdfz_type from, const void *in, uint64_t count, cdfz_type to, void *out,
	cdfz_error *e)
{
	size_t each = cdfz_type_size(from), size = cdfz_type_size(to);
	const uint8_t *p = in;
	uint8_t *q = out;
	uint64_t misfits = 0, first = 0;
	if (from == CDFZ_BYTE && to == CDFZ_UBYTE && a->netcdf.version < 5)
		from = CDFZ_UBYTE;
	for (uint64_t i = 0; i < count; i++, p += each, q += size) {
		bool fits;
		if (is_real(from))
			fits = from_real(real_of(p, from), to, q);
		else {
			uint64_t v = integer_of(p, from);
			fits = from_integer(v, !is_unsigned(from) && v >> 63, to, q);
		}
		if (!fits && misfits++ == 0)
			first = i;
	}
	if (misfits == 0)
		return CDFZ_OK;
	return fail(a, e, CDFZ_RANGE, at, "%" PRIu64 " of %" PRIu64 " values do not fit %s, the first is number %" PRIu64, misfits, count,
		cdfz_type_name(to), first);
}

#endif
