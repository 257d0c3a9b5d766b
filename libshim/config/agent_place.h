/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CCS_AGENT_PLACE_H
#define CCS_AGENT_PLACE_H
/* Whether a process of this host may become the host's agent without being told to. */

/*
 * Why not, as the end of a sentence; NULL: it may. A host where ccshimd is installed is to have
 * that one, with the site's key and the unit's sandbox. An agent in a container would have the port
 * of the host's network, but a socket and processes that nothing outside can see. root precedes
 * all paths; "" is this host's.
 */
const char *ccs_agent_place_obstacle(const char *root);

#endif
