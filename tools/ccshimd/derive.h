/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_TOOLS_CCSHIMD_DERIVE_H
#define CCS_TOOLS_CCSHIMD_DERIVE_H
/*
 * Keys per pair of hosts, derived from a site's key. A host that has only its derived keys cannot
 * authenticate messages of one other host to another.
 *
 * The file of hosts has a line for each host with all its addresses. For each key of the site that is
 * for all peers, and each two hosts, the key is BLAKE2b-256, keyed with the site's key, of "ccshim
 * pair" and the first addresses of the two lines as IPv6 addresses, the lower one first.
 */

/*
 * Print the key file of the host that has that address: for each address of another host, a line for
 * each of the site's keys, with the same ID and mark. 0, or -1 with an error text.
 */
int derive_keys(const char *site_file, const char *hosts_file, const char *address, char *err, unsigned long len);

#endif
