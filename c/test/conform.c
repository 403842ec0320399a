/*
 * conform.c - answers the runner of the conformance suite (testdata/conformance/README.md) with the library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cdfz.h"
#include "../cdfz_sha256.h"
#include "../lorenz.h"

static int add(void *context, const void *p, size_t n)
{
	sha256_add(context, p, n);
	return 0;
}

static void put_image(sha256 *s)
{
	char digits[65];
	sha256_end(s, digits);
	printf("image %s\n", digits);
}

static void put_error(const char *class, const char *text)
{
	printf("%s ", class);
	for (; *text != 0; text++)
		putchar(*text == '\n' ? ' ' : *text);
	putchar('\n');
}

static void archive(const char *path)
{
	cdfz_archive *a = NULL;
	cdfz_error e;
	sha256 s;
	sha256_begin(&s);
	cdfz_status status = cdfz_open_path(&a, path, NULL, &e);
	if (status == CDFZ_OK)
		status = cdfz_restore(a, add, &s, &e);
	cdfz_close(a);
	switch (status) {
	case CDFZ_OK:
		put_image(&s);
		break;
	case CDFZ_DAMAGED:
		put_error("damaged", e.text);
		break;
	case CDFZ_NOT_ARCHIVE:
	case CDFZ_UNSUPPORTED:
		put_error("refused", e.text);
		break;
	default:
		put_error("error", e.text);
	}
}

static void block(char *parameters, const char *path)
{
	uint32_t list[64];
	size_t count = 0;
	for (char *p = parameters; count < 64 && *p != 0; p += *p == ',')
		list[count++] = (uint32_t)strtoul(p, &p, 10);
	lorenz_params p;
	lorenz_status status = lorenz_parse(&p, list, count);
	FILE *f = fopen(path, "rb");
	static uint8_t stored[1 << 22];
	if (f == NULL) {
		put_error("error", "cannot be opened");
		return;
	}
	size_t length = fread(stored, 1, sizeof stored, f);
	fclose(f);
	if (status == LORENZ_OK) {
		uint64_t size = lorenz_size(&p);
		size_t need = lorenz_scratch_size(&p);
		void *out = malloc(size + 1), *scratch = malloc(need + 1);
		if (out == NULL || scratch == NULL)
			exit(1);
		status = lorenz_decode(&p, stored, length, out, size, scratch, need);
		if (status == LORENZ_OK) {
			sha256 s;
			sha256_begin(&s);
			sha256_add(&s, out, size);
			put_image(&s);
		}
		free(out);
		free(scratch);
	}
	if (status != LORENZ_OK)
		put_error(status == LORENZ_CORRUPT ? "damaged" : "error", lorenz_strerror(status));
}

int main(void)
{
	static char line[1 << 16];
	while (fgets(line, sizeof line, stdin) != NULL) {
		line[strcspn(line, "\n")] = 0;
		char *path = strchr(line, ' ');
		if (path == NULL)
			return 1;
		*path++ = 0;
		if (strcmp(line, "archive") == 0) {
			archive(path);
		} else if (strcmp(line, "block") == 0 && strchr(path, ' ') != NULL) {
			char *file = strchr(path, ' ');
			*file++ = 0;
			block(path, file);
		} else {
			puts("skipped");
		}
		fflush(stdout);
	}
	return 0;
}
