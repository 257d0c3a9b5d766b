/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_LEN 1024

struct input {
	int fd, error;
	size_t at, len;
	char chunk[512];
};

static int next_char(struct input *in)
{
	ssize_t n;

	if (in->at == in->len) {
		n = TEMP_FAILURE_RETRY(read(in->fd, in->chunk, sizeof(in->chunk)));
		if (n < 0)
			in->error = errno;
		if (n <= 0)
			return EOF;
		in->at = 0;
		in->len = (size_t)n;
	}
	return (unsigned char)in->chunk[in->at++];
}

/* False at the end of the file. *bad: why the line cannot be used, or NULL. */
static bool next_line(struct input *in, char line[LINE_LEN], const char **bad)
{
	size_t len = 0;
	int c;

	*bad = NULL;
	while ((c = next_char(in)) != EOF && c != '\n') {
		if (c == '\0')
			*bad = "the line holds a zero byte";
		else if (len == LINE_LEN - 1)
			*bad = "the line is too long";
		else
			line[len++] = (char)c;
	}
	line[len] = '\0';
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

/* The inside of a text that begins and ends with a quote, or NULL. */
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
};

static void read_section(struct file *f, const char *line)
{
	char err[256], sentence[320];

	f->item.section++;
	f->item.bad = ccs_match_parse(&f->item.match, line, err, sizeof(err));
	if (!f->item.bad)
		return;
	snprintf(sentence, sizeof(sentence), "%s; the section is ignored", err);
	f->reader->complain(f->reader->arg, f->item.where, sentence);
}

/* Report an unusable line. If it was the header of a section, the section is ignored too. */
static void skip_line(struct file *f, char *line, const char *why)
{
	f->reader->complain(f->reader->arg, f->item.where, why);
	if (*trim(line) != '[')
		return;
	f->item.section++;
	f->item.bad = true;
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
		f->reader->complain(f->reader->arg, f->item.where,
				    "malformed line; expected name = value");
}

static int read_lines(struct input *in, const char *path, struct file *f)
{
	char *line = malloc(2 * LINE_LEN), *where = line + LINE_LEN;
	const char *bad;

	if (!line)
		return ENOMEM;
	f->item.where = where;
	for (unsigned n = 1; next_line(in, line, &bad); n++) {
		snprintf(where, LINE_LEN, "%s:%u", path, n);
		if (bad)
			skip_line(f, line, bad);
		else
			read_line(f, line);
	}
	free(line);
	return in->error;
}

int ccs_conf_read(const char *path, const struct ccs_conf_reader *reader)
{
	struct file f = { .reader = reader };
	struct input in = { .error = 0 };
	struct stat st;
	int error;

	/* O_NONBLOCK: the path may be a FIFO. */
	in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (in.fd < 0)
		return errno;
	if (fstat(in.fd, &st) != 0)
		error = errno;
	else if (S_ISDIR(st.st_mode))
		error = EISDIR;
	else if (reader->own && st.st_uid && st.st_uid != geteuid())
		error = EPERM;
	else
		error = read_lines(&in, path, &f);
	close(in.fd);
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
