/*
 * cdfz_json.h - a reader of JSON under the rules of section 5.1. Private to cdfz.c.
 *
 * It reads a text from its beginning to its end, and keeps nothing of it. Strings are decoded
 * where they are: a decoded string is never longer than the text of it.
 */
#ifndef CDFZ_JSON_H
#define CDFZ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JSON_LEVELS = 32, /* of values that are skipped */
	JSON_OTHERS = 32  /* members of an object that have no meaning */
};

typedef struct {
	const char *bytes;
	size_t size;
} text;

typedef struct {
	char *start, *p, *end;
	const char *fault; /* what is wrong, at p; NULL if nothing is */
} json;

static bool json_fail(json *j, const char *fault)
{
	if (j->fault == NULL)
		j->fault = fault;
	return false;
}

static void json_space(json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

/* Moves behind a character, and spaces before it. */
static bool json_take(json *j, char c, const char *fault)
{
	json_space(j);
	if (j->p == j->end || *j->p != c)
		return json_fail(j, fault);
	j->p++;
	return true;
}

static bool json_next_is(json *j, char c)
{
	json_space(j);
	return j->p < j->end && *j->p == c;
}

/* Returns the bytes of the character of UTF-8 at p, or 0 if there is none. */
static unsigned utf8_length(const char *s, size_t left)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	if (n == 0 || n > left)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

static bool json_hex(json *j, uint32_t *v)
{
	*v = 0;
	if (j->end - j->p < 4)
		return json_fail(j, "expected four hexadecimal digits");
	for (int i = 0; i < 4; i++) {
		char c = *j->p++;
		uint32_t digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
		if (digit == 16)
			return json_fail(j, "expected four hexadecimal digits");
		*v = *v << 4 | digit;
	}
	return true;
}

/* Reads a string. Its bytes remain valid as long as the text. */
static bool json_string(json *j, text *s)
{
	if (!json_take(j, '"', "expected a string"))
		return false;
	char *out = j->p;
	s->bytes = out;
	for (;;) {
		if (j->p == j->end)
			return json_fail(j, "a string does not end");
		char c = *j->p;
		if (c == '"') {
			j->p++;
			s->size = (size_t)(out - s->bytes);
			return true;
		}
		if (c != '\\') {
			unsigned n = (unsigned char)c < 0x20 ? 0 : utf8_length(j->p, (size_t)(j->end - j->p));
			if (n == 0)
				return json_fail(j, "a string is not UTF-8, or has a control character");
			memmove(out, j->p, n);
			out += n;
			j->p += n;
			continue;
		}
		if (++j->p == j->end)
			return json_fail(j, "a string does not end");
		static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
		c = *j->p++;
		const char *at = c ? strchr(names, c) : NULL;
		if (at != NULL) {
			*out++ = values[at - names];
			continue;
		}
		uint32_t v, low;
		if (c != 'u')
			return json_fail(j, "a string has an unknown escape");
		if (!json_hex(j, &v))
			return false;
		if (v >= 0xd800 && v < 0xe000) {
			if (v >= 0xdc00 || j->end - j->p < 6 || j->p[0] != '\\' || j->p[1] != 'u')
				return json_fail(j, "a string has an unpaired surrogate");
			j->p += 2;
			if (!json_hex(j, &low))
				return false;
			if (low < 0xdc00 || low >= 0xe000)
				return json_fail(j, "a string has an unpaired surrogate");
			v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
		}
		if (v < 0x80) {
			*out++ = (char)v;
		} else if (v < 0x800) {
			*out++ = (char)(0xc0 | v >> 6);
			*out++ = (char)(0x80 | (v & 63));
		} else if (v < 0x10000) {
			*out++ = (char)(0xe0 | v >> 12);
			*out++ = (char)(0x80 | (v >> 6 & 63));
			*out++ = (char)(0x80 | (v & 63));
		} else {
			*out++ = (char)(0xf0 | v >> 18);
			*out++ = (char)(0x80 | (v >> 12 & 63));
			*out++ = (char)(0x80 | (v >> 6 & 63));
			*out++ = (char)(0x80 | (v & 63));
		}
	}
}

/* Reads a string of at most so many bytes. */
static bool json_short_string(json *j, size_t most, text *s)
{
	return json_string(j, s) && (s->size <= most || json_fail(j, "a string is too long"));
}

/* Reads a string of hexadecimal digits in lower case. */
static bool json_hexadecimal(json *j, text *s)
{
	if (!json_string(j, s))
		return false;
	for (size_t i = 0; i < s->size; i++)
		if (memchr("0123456789abcdef", s->bytes[i], 16) == NULL)
			return json_fail(j, "expected hexadecimal digits in lower case");
	return true;
}

/* The same with so many digits. */
static bool json_digits(json *j, size_t count, text *s)
{
	return json_hexadecimal(j, s) && (s->size == count || json_fail(j, "expected another number of hexadecimal digits"));
}

/* Reads an integer of at most most. */
static bool json_integer(json *j, uint64_t most, uint64_t *v)
{
	json_space(j);
	*v = 0;
	if (j->p == j->end || *j->p < '0' || *j->p > '9')
		return json_fail(j, "expected an integer");
	if (*j->p == '0' && j->p + 1 < j->end && j->p[1] >= '0' && j->p[1] <= '9')
		return json_fail(j, "an integer begins with 0");
	for (; j->p < j->end && *j->p >= '0' && *j->p <= '9'; j->p++) {
		uint64_t digit = (uint64_t)(*j->p - '0');
		if (*v > (most - digit) / 10 || digit > most)
			return json_fail(j, "an integer is too large");
		*v = *v * 10 + digit;
	}
	if (j->p < j->end && (*j->p == '.' || *j->p == 'e' || *j->p == 'E'))
		return json_fail(j, "expected an integer");
	return true;
}

static bool json_boolean(json *j, bool *v)
{
	json_space(j);
	size_t left = (size_t)(j->end - j->p);
	*v = left >= 4 && memcmp(j->p, "true", 4) == 0;
	if (!*v && (left < 5 || memcmp(j->p, "false", 5) != 0))
		return json_fail(j, "expected true or false");
	j->p += *v ? 4 : 5;
	return true;
}

/* Begins a list. */
static bool json_list(json *j)
{
	return json_take(j, '[', "expected a list");
}

/* Moves to the next item of a list. Returns false at its end and after a fault. *count is
 * the number of items so far, and 0 at first. */
static bool json_item(json *j, uint64_t *count)
{
	if (j->fault != NULL)
		return false;
	if (json_next_is(j, ']')) {
		j->p++;
		return false;
	}
	if ((*count)++ > 0 && !json_take(j, ',', "expected a comma or the end of a list"))
		return false;
	return true;
}

static bool json_digit(const json *j)
{
	return j->p < j->end && *j->p >= '0' && *j->p <= '9';
}

/* Moves behind any number. */
static bool json_number(json *j)
{
	j->p += *j->p == '-';
	if (!json_digit(j))
		return json_fail(j, "expected a value");
	if (*j->p == '0')
		j->p++;
	else
		while (json_digit(j))
			j->p++;
	for (int part = 0; part < 2; part++) {
		if (j->p == j->end || (part == 0 ? *j->p != '.' : *j->p != 'e' && *j->p != 'E'))
			continue;
		j->p++;
		if (part == 1 && j->p < j->end && (*j->p == '+' || *j->p == '-'))
			j->p++;
		if (!json_digit(j))
			return json_fail(j, "expected a digit");
		while (json_digit(j))
			j->p++;
	}
	return true;
}

/* Moves behind any value of at most so many levels. */
static bool json_skip(json *j, unsigned levels)
{
	text s;
	json_space(j);
	if (levels == 0)
		return json_fail(j, "a value has more than 32 levels");
	if (j->p == j->end)
		return json_fail(j, "expected a value");
	char c = *j->p;
	if (c == '"')
		return json_string(j, &s);
	if (c == '[' || c == '{') {
		uint64_t count = 0;
		char end = c == '[' ? ']' : '}';
		j->p++;
		while (!json_next_is(j, end)) {
			if (count++ > 0 && !json_take(j, ',', "expected a comma"))
				return false;
			if (c == '{' && (!json_string(j, &s) || !json_take(j, ':', "expected a colon")))
				return false;
			if (!json_skip(j, levels - 1))
				return false;
		}
		j->p++;
		return true;
	}
	static const char *const words[] = {"true", "false", "null"};
	for (unsigned i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(j->end - j->p) >= n && memcmp(j->p, words[i], n) == 0) {
			j->p += n;
			return true;
		}
	}
	return json_number(j);
}

/* An object that is being read. */
typedef struct {
	const char *const *names; /* of the members that have a meaning, and NULL */
	uint32_t seen;            /* bit i: member i has been read */
	uint64_t count;
	unsigned others;
	text other[JSON_OTHERS];
} json_object;

static bool json_begin(json *j, json_object *o, const char *const *names)
{
	o->names = names;
	o->seen = 0;
	o->count = 0;
	o->others = 0;
	return json_take(j, '{', "expected an object");
}

/* Moves to the value of the next member that has a meaning and returns its number. Returns -1
 * at the end of the object and after a fault. */
static int json_member(json *j, json_object *o)
{
	text name;
	for (;;) {
		if (j->fault != NULL)
			return -1;
		if (json_next_is(j, '}')) {
			j->p++;
			return -1;
		}
		if (o->count++ > 0 && !json_take(j, ',', "expected a comma or the end of an object"))
			return -1;
		if (!json_string(j, &name) || !json_take(j, ':', "expected a colon"))
			return -1;
		for (int i = 0; o->names[i] != NULL; i++) {
			if (strlen(o->names[i]) != name.size || memcmp(o->names[i], name.bytes, name.size) != 0)
				continue;
			if (o->seen >> i & 1)
				json_fail(j, "an object has a member twice");
			o->seen |= (uint32_t)1 << i;
			return j->fault == NULL ? i : -1;
		}
		for (unsigned i = 0; i < o->others; i++)
			if (o->other[i].size == name.size && memcmp(o->other[i].bytes, name.bytes, name.size) == 0)
				json_fail(j, "an object has a member twice");
		if (o->others == JSON_OTHERS)
			json_fail(j, "an object has more than 32 unknown members");
		if (j->fault != NULL)
			return -1;
		o->other[o->others++] = name;
		json_skip(j, JSON_LEVELS);
	}
}

/* Whether an object that has ended has these members. */
static bool json_has(json *j, const json_object *o, uint32_t members)
{
	return j->fault == NULL && ((o->seen & members) == members || json_fail(j, "an object lacks a member"));
}

/* Checks that nothing follows. */
static bool json_finished(json *j)
{
	json_space(j);
	return j->fault == NULL && (j->p == j->end || json_fail(j, "something follows the value"));
}

#endif
