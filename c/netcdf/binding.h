/*
 * binding.h - finds the netCDF-C of the program. Private to nccdfz.c.
 *
 * The library is not linked with netCDF-C: a program that does not use that, such as each that a
 * shell with LD_PRELOAD starts, would load it with HDF5 and curl, and that takes 20 ms. So it
 * finds a netCDF-C that is loaded already, at one of these moments:
 *
 *   - in the constructor: the program is linked with netCDF-C, or has loaded it before;
 *   - in nc_initialize, which netCDF-C calls before it opens or creates its first file, and which
 *     this library replaces: a library that is loaded later, such as a module of Python;
 *   - in nc_open and nc__open, too: there are builds whose own calls cannot be replaced (linked with
 *     -Bsymbolic-functions). These names also keep "-lnccdfz -lnetcdf" from being dropped by a
 *     linker with --as-needed.
 *
 * The first netCDF-C of a process gets the format. Others work as without this library.
 */
#ifndef BINDING_H
#define BINDING_H

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <netcdf.h>
#include <netcdf_dispatch.h>

/* What this library calls of netCDF-C. */
static struct {
	int (*def_user_format)(int, NC_Dispatch *, char *);
	int (*inq_user_format)(int, NC_Dispatch **, char *);
	int (*open_mem)(const char *, int, size_t, void *, int *);
	int (*close)(int);
	/* Of netCDF-C, but not in its public headers. The first two read with get_vara. The third is the
	 * table of classic files; what it points to is NULL before the first file. */
	int (*get_vars)(int, int, const size_t *, const size_t *, const ptrdiff_t *, void *, nc_type);
	int (*get_varm)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *, nc_type);
	const NC_Dispatch **classic;
	char path[PATH_MAX]; /* of the library; empty if none was found */
} netcdf;

/* Looks a name up in a library that is loaded, and in those that it needs. */
static void *look_up(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD), *found;
	if (library == NULL)
		return NULL;
	found = dlsym(library, name);
	dlclose(library); /* it remains loaded, as it was before */
	return found;
}

/* Writes the path of a library that is loaded and whose name begins with libnetcdf. dlopen must not
 * be called from here. */
static int is_netcdf(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	const char *file = strrchr(info->dlpi_name, '/');
	file = file ? file + 1 : info->dlpi_name;
	if (strncmp(file, "libnetcdf", 9) != 0 || strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

/* The last answer of meant: looking up takes as long as opening a small file. */
typedef struct {
	void *caller;
	void *found;
	bool bound; /* it is of the library that is bound */
} answer;

/* Returns the function of netCDF-C that a caller at this address means, which is not own. Returns
 * NULL if there is none. */
static void *meant(void *caller, const char *name, void *own)
{
	char path[PATH_MAX];
	Dl_info at;
	void *found = NULL;
	if (dladdr(caller, &at) != 0 && at.dli_fname != NULL)
		found = look_up(at.dli_fname, name); /* that of netCDF-C itself, or of a library that needs it */
	if (found == NULL || found == own)
		found = dlsym(RTLD_NEXT, name); /* the program itself needs it */
	if ((found == NULL || found == own) && dl_iterate_phdr(is_netcdf, path))
		found = look_up(path, name);
	return found == own ? NULL : found;
}

/* Pointers to functions and to data have one size in POSIX. */
#define BIND(member, name) \
	do { \
		void *found = look_up(path, name); \
		memcpy(&netcdf.member, &found, sizeof found); \
		complete = complete && found != NULL; \
	} while (0)

/* Binds the library, unless one is bound. Returns whether this one is. */
static bool bind_path(const char *path)
{
	bool complete = true;
	if (netcdf.path[0] != 0)
		return strcmp(path, netcdf.path) == 0;
	if (strlen(path) >= sizeof netcdf.path)
		return false;
	BIND(def_user_format, "nc_def_user_format");
	BIND(inq_user_format, "nc_inq_user_format");
	BIND(open_mem, "nc_open_mem");
	BIND(close, "nc_close");
	BIND(get_vars, "NCDEFAULT_get_vars");
	BIND(get_varm, "NCDEFAULT_get_varm");
	BIND(classic, "NC3_dispatch_table");
	if (!complete || dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) == NULL) /* it is used until the end */
		return false;
	strcpy(netcdf.path, path);
	return true;
}

/* Binds the library that has this function. */
static bool bind_owner(void *function)
{
	Dl_info at;
	return dladdr(function, &at) != 0 && at.dli_fname != NULL && bind_path(at.dli_fname);
}

#endif
