/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PRELOAD_LIST_H
#define CCS_PRELOAD_LIST_H
/* Values of LD_PRELOAD: lists of libraries, separated by spaces and colons. */

/*
 * Add the library to a list that does not contain it. Returns allocated memory; NULL: no memory. The
 * library precedes others: they may define the same functions and not call the next definition. Only
 * runtimes of sanitizers precede it, since programs with such a runtime end if it is not first.
 */
char *preload_list_add(const char *list, const char *library);

#endif
