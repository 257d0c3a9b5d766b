/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/suggest.h"

#define LINE_LEN 1024
#define ENDLESS (1 << 20)

static const char endless[] = "the line is longer than 1 MB, and the rest of the file is not read";

/* False at the end of the file. *bad: why the line cannot be used, or NULL. */
static bool next_line(FILE *f, char line[LINE_LEN], const char **bad)
{
	size_t len = 0;
	int c;

	*bad = NULL;
	while ((c = getc_unlocked(f)) != EOF && c != '\n') {
		if (len < LINE_LEN - 1)
			line[len] = (char)c;
		if (c == '\0')
			*bad = "the line holds a zero byte";
		else if (len >= LINE_LEN - 1)
			*bad = "the line is too long";
		if (++len > ENDLESS) {
			*bad = endless;
			break;
		}
	}
	line[len < LINE_LEN ? len : LINE_LEN - 1] = '\0';
	return c != EOF || len || *bad;
}

static char *trim(char *text)
{
	size_t len;

	while (ccs_is_blank(*text))
		text++;
	len = strlen(text);
	while (len && ccs_is_blank(text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

/* A # begins a comment where a word could begin. */
static void cut_comment(char *text)
{
	for (char *p = text; *p; p++)
		if (*p == '#' && (p == text || ccs_is_blank(p[-1]))) {
			*p = '\0';
			return;
		}
}

static char *unquote(char *text)
{
	const size_t len = strlen(text);

	if (len < 2 || text[0] != '"' || text[len - 1] != '"')
		return NULL;
	text[len - 1] = '\0';
	return text + 1;
}

static bool is_name(const char *text)
{
	for (const char *p = text; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || *p == '_' || *p == '-'))
			return false;
	return *text;
}

/* Terminate the name in line and return the value; NULL if the line is not "name = value". */
static char *split_assignment(char *line)
{
	char *eq = strchr(line, '='), *value;

	if (!eq)
		return NULL;
	*eq = '\0';
	if (!is_name(trim(line)))
		return NULL;
	value = trim(eq + 1);
	if (*value == '"')
		return unquote(value);
	cut_comment(value);
	return trim(value);
}

/* State across the lines of one file. */
struct file {
	const struct ccs_conf_reader *reader;
	struct ccs_conf_item item;
	char tenant[64];
};

static void complain(const struct file *f, const char *sentence)
{
	if (!f->reader->handle_tenant == !f->item.tenant)
		f->reader->complain(f->reader->arg, f->item.where, sentence);
}

/* The header of a tenant, after the bracket: its first word is tenant. */
static bool is_tenant(const char *text)
{
	return strncmp(text, "tenant", 6) == 0 && (ccs_is_blank(text[6]) || text[6] == ']');
}

static void read_tenant(struct file *f, char *text)
{
	char *end = strchr(text, ']'), *after = end ? end + 1 : NULL;

	f->item.tenant = f->tenant;
	f->item.bad = true;
	if (!end)
		return complain(f, "the section has no ]; it is ignored");
	*end = '\0';
	text = trim(text + 6);
	cut_comment(after);
	if (*trim(after) || !is_name(text) || strlen(text) >= sizeof(f->tenant))
		return complain(f, "expected [tenant NAME], with a name of up to 63 letters, digits, _ and -; "
				"the section is ignored");
	f->item.bad = false;
	strcpy(f->tenant, text);
	if (f->reader->handle_tenant)
		f->reader->handle_tenant(f->reader->arg, &f->item);
}

/* The header of a section without a valid one: its tenant would have no effect. */
static bool resembles_tenant(const char *text)
{
	struct ccs_suggestion near;
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, " \t]:=\""), text);
	near = ccs_suggest_for(word);
	ccs_suggest_offer(&near, "tenant");
	return near.best;
}

static void read_section(struct file *f, char *line)
{
	char err[256], sentence[320];

	f->item.section++;
	f->item.tenant = NULL;
	if (is_tenant(trim(line + 1))) {
		read_tenant(f, trim(line + 1));
		return;
	}
	f->item.bad = ccs_match_parse(&f->item.match, line, err, sizeof(err));
	if (!f->item.bad)
		return;
	if (f->reader->handle_tenant && !resembles_tenant(trim(line + 1)))
		return;
	snprintf(sentence, sizeof(sentence), "%s; the section is ignored",
		 f->reader->handle_tenant ? "expected [tenant NAME]" : err);
	f->reader->complain(f->reader->arg, f->item.where, sentence);
}

/* Report an unusable line. If it was the header of a section, the section is ignored too. */
static void skip_line(struct file *f, char *line, const char *why)
{
	if (*trim(line) == '[')
		f->item.tenant = is_tenant(trim(trim(line) + 1)) ? f->tenant : NULL;
	complain(f, why);
	if (*trim(line) != '[')
		return;
	f->item.section++;
	f->item.bad = true;
}

/* Some editors begin a file in UTF-8 with a mark. */
static char *skip_mark(char *line)
{
	return strncmp(line, "\xef\xbb\xbf", 3) == 0 ? line + 3 : line;
}

static void read_line(struct file *f, char *line)
{
	line = trim(line);
	if (*line == '\0' || *line == '#')
		return;
	if (*line == '[') {
		read_section(f, line);
		return;
	}
	f->item.name = line;
	f->item.value = split_assignment(line);
	if (f->item.value)
		f->reader->handle_item(f->reader->arg, &f->item);
	else
		complain(f, "malformed line; expected name = value");
}

static int read_lines(FILE *in, const char *path, struct file *f)
{
	char *line = malloc(2 * LINE_LEN), *where = line + LINE_LEN;
	const char *bad = NULL;
	int error;

	if (!line)
		return ENOMEM;
	f->item.where = where;
	for (unsigned n = 1; bad != endless && next_line(in, line, &bad); n++) {
		snprintf(where, LINE_LEN, "%s:%u", path, n);
		if (bad)
			skip_line(f, line, bad);
		else
			read_line(f, n == 1 ? skip_mark(line) : line);
	}
	error = ferror(in) ? errno : 0;
	free(line);
	return error;
}

int ccs_conf_read(const char *path, const struct ccs_conf_reader *reader)
{
	/* O_NONBLOCK: the path may be a FIFO. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct file f = { .reader = reader };
	FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
	struct stat st;
	int error;

	if (!in || fstat(fd, &st))
		error = errno;
	else if (S_ISDIR(st.st_mode))
		error = EISDIR;
	else if (reader->own && st.st_uid && st.st_uid != geteuid())
		error = EPERM;
	else
		error = read_lines(in, path, &f);
	if (in)
		fclose(in);
	else
		ccs_close(fd);
	return error;
}

char *ccs_conf_quote(const char *value, char *buf, size_t len)
{
	const size_t n = strlen(value);
	const bool plain = !n || (value[0] != '"' && !ccs_is_blank(value[0]) &&
				  !ccs_is_blank(value[n - 1]) && !strchr(value, '#'));

	snprintf(buf, len, plain ? "%s" : "\"%s\"", value);
	return buf;
}
