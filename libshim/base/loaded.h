/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_BASE_LOADED_H
#define CCS_BASE_LOADED_H
/*
 * Finds functions of loaded objects in their ELF tables. dlsym() is not used: a library may define
 * it, and its RTLD_NEXT is relative to that library, which can lead back to the caller.
 */

/*
 * The next definition after this object in the order of loading, in an object that was loaded with the
 * program or in the library (a prefix of its file name). Otherwise the definition of any object, in the
 * library if it is before this one. NULL: no other object has it. version: NULL for the default version.
 */
void *ccs_loaded_find(const char *library, const char *name, const char *version);

/*
 * The C library's definition, whichever library defines the function as well. A test program's own
 * definition precedes it. NULL: not found; an old C library has a function in another library.
 */
void *ccs_loaded_find_libc(const char *name);

/* The same as a pointer to the function, or else the definition that the dynamic linker chose. */
#define CCS_LIBC(function) ({ \
	union { void *object; __typeof__(function) *call; } libc_ = { ccs_loaded_find_libc(#function) }; \
	libc_.object ? libc_.call : function; \
})

#endif
