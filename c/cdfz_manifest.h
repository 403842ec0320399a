/*
 * cdfz_manifest.h - the text of the manifest (section 5). Private to cdfz.c.
 */
#ifndef CDFZ_MANIFEST_H
#define CDFZ_MANIFEST_H

#include "cdfz_json.h"
#include "cdfz_memory.h"

enum {
	MOST_MANIFEST = 1 << 16, /* bytes, stored and inflated (section 13) */
	MOST_LOSS = 4096,
	MOST_LOSS_PARAMS = 256
};

#define MOST_NUMBER UINT64_C(0x7fffffff)    /* of a number or a position (section 5.1) */
#define MOST_PARAMETER UINT64_C(0xffffffff) /* of a filter id, a parameter or a mask */

/* The bit of a member. */
#define HAS(member) ((uint32_t)1 << (member))

static uint32_t hexadecimal(const text *s)
{
	uint32_t v = 0;
	for (size_t i = 0; i < s->size; i++)
		v = v << 4 | (uint32_t)(s->bytes[i] <= '9' ? s->bytes[i] - '0' : s->bytes[i] - 'a' + 10);
	return v;
}

static bool json_crc(json *j, uint32_t *crc)
{
	text s;
	if (!json_digits(j, 8, &s))
		return false;
	*crc = hexadecimal(&s);
	return true;
}

typedef struct {
	uint64_t off, len;
	uint32_t mask, crc32;
} stretch; /* stored bytes */

typedef struct {
	text name; /* bytes is NULL if it is unknown */
	bool has_name, has_loss, has_copies;
	uint64_t size, blocks, front;
	char sha256[65];
	stretch plan, header;
	uint64_t plan_copy, header_copy;
} manifest;

/* Reads an object with the members off, len, crc32 and perhaps mask. */
static bool manifest_stretch(json *j, stretch *s, bool mask)
{
	static const char *const names[] = {"off", "len", "crc32", "mask", NULL};
	static const char *const unmasked[] = {"off", "len", "crc32", NULL};
	json_object o;
	uint64_t v;
	json_begin(j, &o, mask ? names : unmasked);
	s->mask = 0;
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case 0: json_integer(j, MOST, &s->off); break;
		case 1: json_integer(j, MOST, &s->len); break;
		case 2: json_crc(j, &s->crc32); break;
		case 3:
			json_integer(j, MOST_PARAMETER, &v);
			s->mask = (uint32_t)v;
		}
	return json_has(j, &o, 7);
}

static bool manifest_front(json *j, uint64_t *len)
{
	static const char *const names[] = {"len", "crc32", NULL};
	json_object o;
	uint32_t crc;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		if (m == 0)
			json_integer(j, MOST, len);
		else
			json_crc(j, &crc);
	return json_has(j, &o, 3);
}

static bool manifest_copies(json *j, manifest *to)
{
	static const char *const names[] = {"plan", "header", NULL};
	json_object o;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		json_integer(j, MOST, m == 0 ? &to->plan_copy : &to->header_copy);
	return json_has(j, &o, 3);
}

/* What was rounded (section 5.4). Nothing of it is kept. */
static bool manifest_loss(json *j)
{
	static const char *const names[] = {"source_sha256", "vars", NULL};
	static const char *const of_var[] = {"var", "filter", "params", NULL};
	json_object o, each;
	text s;
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;) {
		if (m == 0) {
			json_digits(j, 64, &s);
			continue;
		}
		uint64_t count = 0, var = 0, before, v;
		for (json_list(j); json_item(j, &count);) {
			if (count > MOST_LOSS)
				return json_fail(j, "loss has more than 4096 variables");
			before = var;
			json_begin(j, &each, of_var);
			for (int n; (n = json_member(j, &each)) >= 0;) {
				uint64_t params = 0;
				if (n == 0)
					json_integer(j, MOST_NUMBER, &var);
				else if (n == 1)
					json_integer(j, MOST_PARAMETER, &v);
				else
					for (json_list(j); json_item(j, &params); json_integer(j, MOST_PARAMETER, &v))
						if (params > MOST_LOSS_PARAMS)
							return json_fail(j, "loss has more than 256 parameters");
			}
			if (!json_has(j, &each, 3))
				return false;
			if (count > 1 && var <= before)
				return json_fail(j, "the variables of loss do not increase");
		}
		if (count == 0)
			return json_fail(j, "loss names no variable");
	}
	return json_has(j, &o, 3);
}

/* Reads the text of a manifest. Its name refers to the text. */
static bool manifest_read(json *j, manifest *to)
{
	static const char *const names[] = {
		"name", "name_hex", "size", "sha256", "tree", "entries", "blocks", "stored", "front", "plan", "header", "copies",
		"parity", "loss", NULL
	};
	enum { NAME, NAME_HEX, SIZE, SHA256, TREE, ENTRIES, BLOCKS, STORED, FRONT, PLAN, HEADER, COPIES, PARITY, LOSS };
	json_object o;
	text s;
	uint64_t unused;
	memset(to, 0, sizeof *to);
	json_begin(j, &o, names);
	for (int m; (m = json_member(j, &o)) >= 0;)
		switch (m) {
		case NAME:
			json_string(j, &to->name);
			break;
		case NAME_HEX:
			if (!json_hexadecimal(j, &s) || s.size % 2 != 0)
				return json_fail(j, "expected pairs of hexadecimal digits");
			to->name = s;
			for (size_t i = 0; i < s.size / 2; i++) {
				text pair = {s.bytes + 2 * i, 2};
				char *bytes = j->start + (s.bytes - j->start); /* the text, which may be changed */
				bytes[i] = (char)hexadecimal(&pair);
			}
			to->name.size = s.size / 2;
			break;
		case SIZE: json_integer(j, MOST, &to->size); break;
		case SHA256:
			if (json_digits(j, 64, &s))
				memcpy(to->sha256, s.bytes, 64);
			break;
		case TREE: json_digits(j, 32, &s); break;
		case BLOCKS: json_integer(j, MOST, &to->blocks); break;
		case ENTRIES:
		case STORED:
		case PARITY:
			json_integer(j, MOST, &unused);
			break;
		case FRONT: manifest_front(j, &to->front); break;
		case PLAN: manifest_stretch(j, &to->plan, false); break;
		case HEADER: manifest_stretch(j, &to->header, true); break;
		case COPIES: manifest_copies(j, to); break;
		case LOSS: manifest_loss(j); break;
		}
	if (!json_has(j, &o, HAS(SIZE) | HAS(SHA256) | HAS(ENTRIES) | HAS(BLOCKS) | HAS(STORED) | HAS(FRONT) | HAS(PLAN) | HAS(HEADER)))
		return false;
	if ((o.seen & HAS(NAME)) && (o.seen & HAS(NAME_HEX)))
		return json_fail(j, "name and name_hex exclude each other");
	to->has_name = o.seen & (HAS(NAME) | HAS(NAME_HEX));
	to->has_copies = o.seen & HAS(COPIES);
	to->has_loss = o.seen & HAS(LOSS);
	return json_finished(j);
}

#endif
