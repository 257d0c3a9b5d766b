/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_PRELOAD_LIST_H
#define CCS_PRELOAD_LIST_H
/* Values of LD_PRELOAD: lists of libraries, separated by spaces and colons. */

/* The list with the library appended, unless it contains it; allocated. NULL: no memory. */
char *preload_list_append(const char *list, const char *library);

#endif
