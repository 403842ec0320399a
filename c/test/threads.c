/*
 * threads.c - opens an archive in several threads at once, reads one from several threads, in a child after fork,
 * and from sources that fail. The first argument is the archive, the second its image.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cdfz.h"

enum { THREADS = 4, ROUNDS = 60 };

static uint8_t *bytes, *image;
static size_t size, image_size;

static void fail(const char *what, const cdfz_error *e)
{
	fprintf(stderr, "threads: %s: %s\n", what, e ? e->text : "");
	exit(1);
}

static uint8_t *read_file(const char *name, size_t *length)
{
	FILE *f = fopen(name, "rb");
	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		fail(name, NULL);
	*length = (size_t)ftell(f);
	rewind(f);
	uint8_t *p = malloc(*length + 1);
	if (p == NULL || fread(p, 1, *length, f) != *length)
		fail(name, NULL);
	fclose(f);
	return p;
}

static void *read_parts(void *archive)
{
	uint64_t seed = (uintptr_t)&seed;
	uint8_t *out = malloc(image_size + 1);
	cdfz_error e;
	for (int i = 0; i < ROUNDS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		size_t from = (size_t)(seed >> 33) % (image_size + 1), n = (size_t)(seed >> 20) % (image_size + 1 - from);
		if (i % 3 != 0 && n > 5000)
			n = 5000;
		if (cdfz_read_image(archive, from, out, n, &e) != CDFZ_OK)
			fail("a part", &e);
		if (memcmp(out, image + from, n) != 0)
			fail("a part has other bytes", NULL);
	}
	free(out);
	return NULL;
}

/* A source that fails at its call number `left`. */
struct failing {
	long left;
	ptrdiff_t (*how)(size_t size); /* what it returns then */
};

static ptrdiff_t an_error(size_t n) { (void)n; return -1; }
static ptrdiff_t another_error(size_t n) { (void)n; return PTRDIFF_MIN; }
static ptrdiff_t early_end(size_t n) { (void)n; return 0; }
static ptrdiff_t too_many(size_t n) { return (ptrdiff_t)n + 1; }
static ptrdiff_t far_too_many(size_t n) { (void)n; return PTRDIFF_MAX; }

static ptrdiff_t read_failing(void *context, void *buffer, size_t n, uint64_t offset)
{
	struct failing *f = context;
	if (f->left-- <= 0)
		return f->how(n);
	n = n < size - offset ? n : (size_t)(size - offset);
	memcpy(buffer, bytes + offset, n);
	return (ptrdiff_t)n;
}

/* Opens archives of its own. The first calls of a process also make what all decoders share. */
static void *open_many(void *start)
{
	cdfz_error e;
	pthread_barrier_wait(start);
	for (int i = 0; i < ROUNDS; i++) {
		cdfz_archive *a;
		cdfz_source source = {read_failing, NULL, &(struct failing){LONG_MAX, an_error}, size, NULL};
		uint8_t first[4];
		if (cdfz_open(&a, &source, NULL, &e) != CDFZ_OK || cdfz_read_image(a, 0, first, sizeof first, &e) != CDFZ_OK)
			fail("opening in a thread", &e);
		if (memcmp(first, image, sizeof first) != 0)
			fail("opening in a thread", NULL);
		cdfz_close(a);
	}
	return NULL;
}

static int drop(void *context, const void *p, size_t n)
{
	(void)p;
	(void)n;
	return context != NULL;
}

/* Each failure of the source is reported as one, never as damage. */
static void failures(void)
{
	ptrdiff_t (*const ways[])(size_t) = {an_error, early_end, too_many, far_too_many, another_error};
	for (long left = 0;; left++) {
		struct failing f = {left, ways[left % 5]};
		cdfz_source source = {read_failing, NULL, &f, size, NULL};
		cdfz_archive *a;
		cdfz_error e;
		cdfz_status status = cdfz_open(&a, &source, NULL, &e);
		if (status == CDFZ_OK)
			status = cdfz_restore(a, drop, NULL, &e);
		if (status == CDFZ_OK) {
			if (cdfz_restore(a, drop, &f, &e) != CDFZ_SINK)
				fail("a failing destination", &e);
			cdfz_close(a);
			printf("%ld failures of the source\n", left);
			return;
		}
		if (status != CDFZ_SOURCE)
			fail("a failing source", &e);
		cdfz_close(a);
	}
}

int main(int argc, char **argv)
{
	cdfz_archive *a;
	cdfz_error e;
	if (argc != 3)
		return 2;
	bytes = read_file(argv[1], &size);
	image = read_file(argv[2], &image_size);
	pthread_t threads[THREADS];
	pthread_barrier_t start;
	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, open_many, &start) != 0)
			fail("a thread", NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	failures();
	const size_t budgets[] = {1, 100000, 0};
	for (int b = 0; b < 3; b++) {
		cdfz_options options = {budgets[b], 0};
		if (cdfz_open_path(&a, argv[1], &options, &e) != CDFZ_OK)
			fail("open", &e);
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, read_parts, a) != 0)
				fail("a thread", NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		int status;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			read_parts(a);
			_exit(0);
		}
		read_parts(a);
		if (waitpid(child, &status, 0) != child || status != 0)
			fail("a child", NULL);
		cdfz_close(a);
	}
	cdfz_options options = {0, 1000};
	if (cdfz_open_path(&a, argv[1], &options, &e) != CDFZ_OK)
		fail("open", &e);
	if (cdfz_restore(a, drop, NULL, &e) != CDFZ_MEMORY)
		fail("blocks above max_block", &e);
	cdfz_close(a);
	if (cdfz_open_path(&a, "/", NULL, &e) != CDFZ_SOURCE || a != NULL || cdfz_open_path(&a, argv[2], NULL, NULL) != CDFZ_NOT_ARCHIVE)
		fail("files that are no archives", &e);
	/* A pipe without a writer: opening it must not wait for one. */
	char pipe[4096];
	if (snprintf(pipe, sizeof pipe, "%s.pipe", argv[1]) >= (int)sizeof pipe)
		fail("a long name", NULL);
	unlink(pipe);
	if (mkfifo(pipe, 0600) != 0)
		fail(pipe, NULL);
	alarm(20);
	if (cdfz_open_path(&a, pipe, NULL, &e) != CDFZ_SOURCE || a != NULL)
		fail("a pipe", &e);
	alarm(0);
	unlink(pipe);
	printf("%d threads\n", THREADS);
	free(bytes);
	free(image);
	return 0;
}
