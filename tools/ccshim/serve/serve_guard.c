/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which requests may be answered. */
#include "serve.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* "" or ":" and a port. */
static bool is_port(const char *text)
{
	return !*text || (*text == ':' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1));
}

bool serve_accepts_host(const char *host)
{
	const bool bracket = host && *host == '[';
	char name[64];
	size_t len;
	struct in6_addr v6;
	struct in_addr v4;

	if (!host)
		return false;
	host += bracket;
	len = strcspn(host, bracket ? "]" : ":");
	if (len >= sizeof(name) || (bracket && host[len] != ']') || !is_port(host + len + bracket))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (bracket)
		return inet_pton(AF_INET6, name, &v6) == 1;
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &v4) == 1;
}

bool serve_accepts_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return !origin || (host && strncasecmp(origin, scheme, strlen(scheme)) == 0 &&
			   strcasecmp(origin + strlen(scheme), host) == 0);
}

bool serve_accepts_token(const char *authorization, const char *token)
{
	static const char scheme[] = "Bearer ";
	const size_t len = strlen(token);
	unsigned differ = 0;

	if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return false;
	authorization += strlen(scheme);
	if (!len || strlen(authorization) != len)
		return false;
	for (size_t i = 0; i < len; i++) /* in a time that does not depend on the text */
		differ |= (unsigned char)authorization[i] ^ (unsigned char)token[i];
	return !differ;
}

int serve_make_token(char token[SERVE_TOKEN_LEN])
{
	unsigned char random[(SERVE_TOKEN_LEN - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -1;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return 0;
}
