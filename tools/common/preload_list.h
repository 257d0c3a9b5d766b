/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PRELOAD_LIST_H
#define CCS_PRELOAD_LIST_H
/* Values of LD_PRELOAD: lists of libraries, separated by spaces and colons. */

/*
 * The list with the library added, unless it contains it; allocated. NULL: no memory. The library
 * precedes others, which may define the same functions without calling the next definition: then a
 * library behind them would never be called. Only runtimes of sanitizers precede it: programs with
 * such a runtime end if it is not the first library.
 */
char *preload_list_add(const char *list, const char *library);

#endif
