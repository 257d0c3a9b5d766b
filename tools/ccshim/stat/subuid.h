/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_SUBUID_H
#define CCS_SUBUID_H
/* User IDs that subuid(5) gives to users, for containers without root: they count as that user. */
#include <sys/types.h>

/* The user of that user ID: uid, if the file /etc/subuid does not give it to another user. */
uid_t subuid_user(uid_t uid);

#endif
