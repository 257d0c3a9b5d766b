/* SPDX-License-Identifier: BSD-2-Clause */
/* A terminal's alternate screen without line editing, which is restored however the program ends. */
#include "top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tools/common/seconds.h"
#include "tools/common/terminal.h"

/* Enter and leave the alternate screen, and hide and show the cursor. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
/* The cursor to the first line; what follows on a line, and on the screen, is erased. */
#define HOME "\033[H"
#define ERASE_LINE "\033[K"
#define ERASE_REST "\033[J"

enum { ESCAPE = 27, PART_MS = 50 };

static struct termios saved;
static bool has_keys;                    /* stdin can be read */
static bool is_raw;
static unsigned char pending;            /* a key that followed Escape */
static volatile sig_atomic_t quit, stop, resized;

static void write_all(const char *text)
{
	size_t len = strlen(text);

	while (len) {
		const ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
}

static void on_signal(int sig)
{
	if (sig == SIGTSTP)
		stop = 1;
	else if (sig == SIGWINCH || sig == SIGCONT)
		resized = 1;
	else
		quit = 1;
}

static void enter(void)
{
	struct termios raw;

	is_raw = tcgetattr(STDIN_FILENO, &saved) == 0;
	if (is_raw) {
		raw = saved;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 1;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	write_all(ENTER);
}

bool top_screen_open(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
	const struct sigaction act = { .sa_handler = on_signal }; /* interrupts poll() */

	if (!terminal_obeys_sequences(stdout))
		return false;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &act, NULL);
	has_keys = true;
	enter();
	return true;
}

void top_screen_close(void)
{
	write_all(LEAVE);
	if (is_raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
}

/* As the shell's user expects of Ctrl-Z. */
static void suspend(void)
{
	stop = 0;
	top_screen_close();
	raise(SIGSTOP);
	enter();
	resized = 1;
}

void top_screen_size(size_t *rows, size_t *columns)
{
	struct winsize size;

	*rows = 24, *columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		*rows = size.ws_row, *columns = size.ws_col;
}

/* One write, in which each line erases only its rest, avoids flicker. The last line has no newline,
 * which would scroll. */
void top_screen_draw(const char *text, size_t rows)
{
	char *screen = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&screen, &len);

	if (!f)
		return;
	fputs(HOME, f);
	for (; *text && rows; text++) {
		if (*text != '\n')
			putc(*text, f);
		else
			fputs(--rows && text[1] ? ERASE_LINE "\r\n" : ERASE_LINE, f);
	}
	fputs(ERASE_REST, f);
	if (fclose(f) == 0)
		write_all(screen);
	free(screen);
}

static int event(void)
{
	if (quit)
		return TOP_QUIT;
	if (stop)
		suspend();
	if (!resized)
		return 0;
	resized = 0;
	return TOP_REDRAW;
}

/* The rest of a sequence that begins with Escape, as terminals send it for keys. It may arrive in parts.
 * Escape alone, or before another key, is the key. */
static int read_sequence(void)
{
	static const struct { const char *rest; int key; } keys[] = {
		{ "[A", TOP_UP }, { "OA", TOP_UP }, { "[B", TOP_DOWN }, { "OB", TOP_DOWN }, { "[5~", TOP_PAGE_UP },
		{ "[6~", TOP_PAGE_DOWN }, { "[H", TOP_HOME }, { "OH", TOP_HOME }, { "[1~", TOP_HOME },
		{ "[F", TOP_END }, { "OF", TOP_END }, { "[4~", TOP_END },
	};
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char rest[8] = "";

	for (size_t n = 0; n + 1 < sizeof(rest) && poll(&in, 1, PART_MS) > 0 && read(STDIN_FILENO, &rest[n], 1) == 1; n++) {
		if (n && rest[n] >= '@')
			break;
		if (n || rest[n] == '[' || rest[n] == 'O')
			continue;
		pending = (unsigned char)rest[n];
		return ESCAPE;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(rest, keys[i].rest) == 0)
			return keys[i].key;
	return *rest ? TOP_OTHER_KEY : ESCAPE;
}

int top_screen_key(double seconds)
{
	struct pollfd in = { .fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN };
	const double end_s = seconds_now(CLOCK_MONOTONIC) + seconds;
	unsigned char key = pending;
	double left_s;
	int e;

	pending = 0;
	if (key)
		return key == ESCAPE ? read_sequence() : key;
	for (;;) {
		e = event();
		left_s = end_s - seconds_now(CLOCK_MONOTONIC);
		if (e || left_s <= 0)
			return e ? e : TOP_TIMEOUT;
		if (poll(&in, 1, (int)(1e3 * (left_s < 1e6 ? left_s : 1e6)) + 1) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) == 1)
			return key == ESCAPE ? read_sequence() : key;
		has_keys = false;        /* the end of a file */
		in.fd = -1;
	}
}
