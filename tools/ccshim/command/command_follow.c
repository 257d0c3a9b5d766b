/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that a command executes in the end, through wrappers and interpreters. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_needed.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "command.h"
#include "tools/ccshim/shared/preload.h"

enum { NESTED = 16 };                    /* programs that start others, and interpreters */

/*
 * Programs that execute the program that their arguments name; the short options that take a word; and
 * the number of words before the program that are no options. after: the word that the program
 * follows; without it they start no program.
 */
static const struct wrapper {
	const char *names, *valued;
	unsigned words;
	const char *after;
} wrappers[] = {
	{ " catchsegv eatmydata i386 ld.so linux32 linux64 nohup setarch setpriv setsid valgrind x86_64 ",
	  "", 0, NULL },
	{ " gdbserver taskset ", "", 1, NULL }, { " ccshim ", "armtoc", 0, "run" },
	{ " cgexec ", "g", 0, NULL }, { " choom ", "np", 0, NULL }, { " chrt ", "TPD", 1, NULL },
	{ " env ", "uC", 0, NULL }, { " fakeroot ", "lsifb", 0, NULL }, { " faketime ", "p", 1, NULL },
	{ " flock ", "wE", 1, NULL }, { " gdb ", "", 0, "--args" }, { " ionice ", "cnpPu", 0, NULL },
	{ " ip ", "", 1, "exec" }, { " ltrace ", "aeFlnopsuwx", 0, NULL },
	{ " mpiexec mpiexec.hydra mpirun orterun prterun prun ", "cnHNfx", 0, NULL },
	{ " nice ", "n", 0, NULL }, { " nsenter ", "tSG", 0, NULL }, { " numactl ", "ipPmMCNO", 0, NULL },
	{ " perf ", "eopCcFGIkmrtuxjD", 1, NULL }, { " prlimit ", "op", 0, NULL },
	{ " rr ", "ocpv", 0, "record" }, { " srun ", "ABcCdDeGiIJmMnNopPqrStTwxz", 0, NULL },
	{ " stdbuf ", "ioe", 0, NULL }, { " strace ", "aeEIOopPsSuUXb", 0, NULL },
	{ " time ", "fo", 0, NULL }, { " timeout ", "ks", 1, NULL }, { " unshare ", "RwSG", 0, NULL },
};

/* Programs that start others where LD_PRELOAD or the library may not be. */
static const struct elsewhere {
	const char *names, *reason;
} elsewhere[] = {
	{ " apptainer buildah bwrap ch-run crictl crun ctr docker enroot firejail flatpak kubectl lxc "
	  "lxc-attach machinectl nerdctl podman runc sarus shifter singularity systemd-nspawn ",
	  "in a container" },
	{ " clush mosh parallel-ssh pdsh rsh ssh sshpass ", "on another host" },
	{ " doas gosu pkexec runuser setuidgid su su-exec sudo ", "as another user" },
	{ " at batch bsub qsub sbatch screen systemd-run tmux ", "by another process" },
	{ " chroot proot ", "in another root directory" }, { " nsenter ", "in other namespaces" },
	{ " memusage ", "with another LD_PRELOAD" },
};

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static bool is_listed(const char *name, const char *names)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(names, word);
}

/* "/lib64/ld-linux-x86-64.so.2 ./app" runs the program as "./app" does. */
static const struct wrapper *find_wrapper(const char *name)
{
	if (strncmp(name, "ld", 2) == 0 && strstr(name, ".so."))
		name = "ld.so";
	for (unsigned i = 0; i < LENGTH(wrappers); i++)
		if (is_listed(name, wrappers[i].names))
			return &wrappers[i];
	return NULL;
}

/* The reason why the program starts others elsewhere, or NULL. */
static const char *find_elsewhere(const char *name)
{
	for (unsigned i = 0; i < LENGTH(elsewhere); i++)
		if (is_listed(name, elsewhere[i].names))
			return elsewhere[i].reason;
	return NULL;
}

static bool is_shell(const char *name)
{
	return is_listed(name, " sh bash dash ksh zsh ");
}

static bool is_python(const char *name)
{
	return strncmp(name, "python", 6) == 0;
}

/* Whether a launcher of MPI or Slurm, which passes a variable that is named without a value. */
static bool is_launcher(const char *name)
{
	return strncmp(name, "mpi", 3) == 0 || strstr(name, "run");
}

/* Whether the option takes the next word. The long options are the dynamic linker's. */
static bool takes_word(const char *w, const char *valued)
{
	return (w[0] == '-' && w[1] && !w[2] && strchr(valued, w[1])) || strcmp(w, "--preload") == 0 ||
	       strcmp(w, "--audit") == 0 || strcmp(w, "--argv0") == 0;
}

/*
 * The first program, after `skip` words, that is not an option, the value of one or an assignment;
 * NULL: not found.
 */
static char *const *find_program(char *const *word, const char *valued, unsigned skip)
{
	char buf[PATH_MAX];

	for (; *word; word++) {
		const char *w = *word;

		if (takes_word(w, valued) && word[1])
			word++;
		else if (!*w || *w == '-' || strchr(w, '='))
			continue;
		else if (skip)
			skip--;
		else if (preload_which(w, buf, sizeof(buf)))
			return word;
	}
	return NULL;
}

/* The words after a word; NULL: it is not there. */
static char *const *find_after(char *const *word, const char *after)
{
	while (*word && strcmp(*word, after) != 0)
		word++;
	return *word ? word + 1 : NULL;
}

/* -- words of a text --------------------------------------------------------------------------- */

/* Arguments use half of the space, so that interpreters and scripts always find some. */
enum { ARGUMENTS = COMMAND_WORDS / 2 };

/* Add the parts of a word, if there is space for them among `most` words. */
static void add_text(struct command *c, const char *text, const char *separators, unsigned most)
{
	char *copy = c->text + c->used, *save;
	const size_t len = strlen(text) + 1;

	if (c->used + len > sizeof(c->text) / COMMAND_WORDS * most)
		return;
	c->used += len;
	memcpy(copy, text, len);
	for (char *w = strtok_r(copy, separators, &save); w && c->count < most;
	     w = strtok_r(NULL, separators, &save))
		c->words[c->count++] = w;
}

/* End a list by the parts of these words. The last of all words is NULL. */
static char **end_words(struct command *c, unsigned first, char *const *argv, const char *separators)
{
	for (; *argv; argv++)
		add_text(c, *argv, separators, ARGUMENTS);
	if (c->count < COMMAND_WORDS)
		c->words[c->count++] = NULL;
	return c->words + first;
}

/* Whether the word is a program that starts others or uses verbs. */
static bool is_worth_following(const char *word)
{
	const char *name = basename(word);
	char buf[PATH_MAX];
	const char *file = preload_which(word, buf, sizeof(buf));

	return file && (find_wrapper(name) || is_shell(name) || find_elsewhere(name) ||
			command_file_uses(file));
}

/* The first program, in these words or their parts, that is worth following; options may have values. */
static char *const *find_in_words(struct command *c, char *const *argv)
{
	char *value;

	for (char **w = end_words(c, c->count, argv, " \t\n;&|()'\""); *w; w++) {
		value = **w == '-' ? strchr(*w, '=') : NULL;
		if (is_worth_following(value ? value + 1 : *w)) {
			*w = value ? value + 1 : *w;
			*c->script = '\0';
			return w;
		}
	}
	return NULL;
}

/* -- what starts the program ------------------------------------------------------------------- */

/* A program that a shell's arguments name; otherwise the first program in the text of -c. */
static char *const *find_in_shell(struct command *c, char *const *argv)
{
	const unsigned first = c->count;
	char *const *next = find_in_words(c, argv + 1);

	while (!next && *++argv && **argv == '-')
		if ((*argv)[1] != '-' && strchr(*argv, 'c'))
			next = find_program(c->words + first, "", 0);
	return next;
}

/* Whether env has the option -S, which takes the words of a command. */
static bool has_split(char *const *word)
{
	while (*++word)
		if (strncmp(*word, "--s", 3) == 0 ||
		    (**word == '-' && (*word)[1] != '-' && strcspn(*word, "S") < strcspn(*word, "uC")))
			return true;
	return false;
}

static char *const *find_next(struct command *c, const char *name, const char *file, char *const *argv)
{
	const struct wrapper *w = find_wrapper(name);
	char *const *next = argv + 1;

	if (w && w->after)
		next = find_after(next, w->after);
	next = w && next ? find_program(next, w->valued, w->words) : NULL;
	if (next || is_python(name))
		return next;
	if (is_shell(name))
		return find_in_shell(c, argv);
	return w || !command_file_uses(file) ? find_in_words(c, argv + 1) : NULL;
}

/* -- what becomes of LD_PRELOAD ---------------------------------------------------------------- */

/* Options that start the program without the variables of the environment. */
static bool clears_environment(const char *name, const char *w)
{
	const size_t len = strlen(w);

	if (strcmp(name, "env") == 0)
		return strcmp(w, "-") == 0 || (len > 9 && strncmp(w, "--ignore-environment", len) == 0) ||
		       (*w == '-' && w[1] != '-' && strcspn(w, "i") < strcspn(w, "uCS"));
	return (len > 4 && strncmp(w, "--reset-env", len) == 0) ||
	       (strncmp(w, "--export=", 9) == 0 && !strstr(w, "ALL") && !strstr(w, "LD_PRELOAD"));
}

/*
 * Note whether the words between a program and the program that it starts remove LD_PRELOAD, or change
 * the root directory.
 */
static void note_words(struct command *c, const char *name, char *const *word, char *const *end)
{
	const char *variable = is_launcher(name) ? "LD_PRELOAD=" : "LD_PRELOAD";
	const bool env = strcmp(name, "env") == 0; /* to which LD_PRELOAD+=x is another variable */
	bool removed = false, named = false;

	for (; *word && word != end; word++) {
		const char *at = strstr(*word, variable);
		const bool root = strcmp(name, "unshare") == 0 &&
			(strncmp(*word, "-R", 2) == 0 || strstr(*word, "--root"));
		const bool ours = strstr(*word, "libccshim");
		const bool names = root || (at && (!env || strchr("= \t\"'", at[10]))) || strstr(*word, "exec -c");

		removed = clears_environment(name, *word) || (removed && !(names && ours));
		named = names ? !ours : named;
	}
	if (removed || (named && env))
		snprintf(c->removed, sizeof(c->removed), "%s removes LD_PRELOAD, or replaces it", name);
	else if (named)
		snprintf(c->unknown, sizeof(c->unknown), "arguments of %s may remove LD_PRELOAD or "
			 "change the root", name);
}

/* Note whether a program removes LD_PRELOAD for the next, or that this is unknown. */
static void note_effect(struct command *c, const char *name, const char *file, char *const *argv,
			char *const *next)
{
	const char *reason = find_elsewhere(name);

	if (next && strcmp(name, "ccshim") == 0 && find_after(argv + 1, "run"))
		*c->removed = *c->unknown = '\0';
	else if (next && preload_obstacle(file) >= PRELOAD_SETUID)
		snprintf(c->removed, sizeof(c->removed), "%s gains privileges, which removes LD_PRELOAD",
			 name);
	else if (next)
		note_words(c, name, argv + 1, next);
	if (reason && argv[1] && !*c->unknown)
		snprintf(c->unknown, sizeof(c->unknown), "%s starts programs %s, where LD_PRELOAD or the "
			 "library may be missing", name, reason);
}

static bool is_open_mpi(void *arg, const struct ccs_elf_needed *lib)
{
	bool *found = arg;

	*found |= strncmp(lib->name, "libopen-rte.so", 14) == 0 || strncmp(lib->name, "libprrte.so", 11) == 0;
	return *found;
}

/* The words of the next program; NULL: no other program is known to follow. */
static char *const *unwrap(struct command *c, char *const *argv)
{
	const char *name = basename(*argv);
	char buf[PATH_MAX];
	const char *file = preload_which(*argv, buf, sizeof(buf));
	char *const *next;

	if (strcmp(name, "env") == 0 && has_split(argv))
		argv = end_words(c, c->count, argv, " \t\n'\"");
	next = file ? find_next(c, name, file, argv) : NULL;
	note_effect(c, name, file, argv, next);
	if (!next)
		return NULL;
	ccs_append(c->started_by, sizeof(c->started_by), "%s%s", *c->started_by ? ", " : "", name);
	if (is_launcher(name))
		ccs_elf_needed_walk(file, is_open_mpi, &c->open_mpi);
	return next;
}

/* -- scripts ----------------------------------------------------------------------------------- */

static char *const *refuse(struct command *c, const char *file, const char *why, const char *name,
			   const char *remedy)
{
	snprintf(c->problem, sizeof(c->problem), "%s: %s%s%s", file, why, *name ? ": " : "", name);
	c->remedy = remedy;
	return NULL;
}

/*
 * The words that a script stands for: the interpreter that its first line names, with at most one
 * argument, or the shell as in execvp(3), then the file and its arguments. NULL: see problem.
 */
static char *const *interpret(struct command *c, char *const *argv)
{
	const unsigned first = c->count;
	const char *remedy = "correct its first line, or install the interpreter", *why;
	char start[256], buf[PATH_MAX], *word, *rest = start + 2;
	const size_t n = ccs_read_file(c->path, start, sizeof(start)); /* as the kernel */

	if (memchr(start, '\0', n))
		return refuse(c, c->script, "not an ELF file or a script", "",
			      "give the path of a program");
	if (strncmp(start, "#!", 2) != 0)
		strcpy(start, "#!/bin/sh");
	start[strcspn(start, "\n")] = '\0';
	if (strchr(start, '\r'))
		return refuse(c, c->script, "its first line ends with a carriage return", "", remedy);
	why = "its interpreter does not exist";
	word = strtok_r(rest, " \t", &rest);
	if (!word || access(word, X_OK))
		return refuse(c, c->script, why, word ? word : "", remedy);
	rest += strspn(rest, " \t");
	add_text(c, word, "", COMMAND_WORDS);
	add_text(c, rest, "", COMMAND_WORDS);
	add_text(c, c->path, "", COMMAND_WORDS);
	if (c->count < first + 2 + (*rest != '\0'))
		return refuse(c, c->script, "the words that start it are too long to be checked", "",
			      "give the script's name instead");
	word = strcmp(basename(word), "env") ? NULL : strtok_r(rest, " \t", &rest);
	if (word && *word != '-' && !strchr(word, '=') && !preload_which(word, buf, sizeof(buf)))
		return refuse(c, c->script, why, word, remedy);
	return end_words(c, first, argv + 1, "");
}

/* Find the script among an interpreter's arguments, or Python's -m MODULE. */
static void find_script(struct command *c, char *const *argv)
{
	const char *name = basename(c->path);
	const bool python = is_python(name);

	if (*c->script || (!python && !is_shell(name)))
		return;
	while (*++argv && argv[0][0] == '-') {
		if (strcmp(*argv, "-c") == 0)
			return;
		if (python && strcmp(*argv, "-m") == 0) {
			snprintf(c->module, sizeof(c->module), "%s", argv[1] ? argv[1] : "");
			return;
		}
		if (python && (strcmp(*argv, "-W") == 0 || strcmp(*argv, "-X") == 0) && argv[1])
			argv++;
	}
	if (*argv)
		snprintf(c->script, sizeof(c->script), "%s", *argv);
}

/* Whether the program is an ELF file; then whether its dynamic linker exists. */
static bool is_elf(struct command *c)
{
	const char *linker;
	struct ccs_elf e;

	if (ccs_elf_open(&e, c->path))
		return false;
	linker = ccs_elf_interpreter(&e);
	if (linker && access(linker, X_OK) && preload_obstacle(c->path) != PRELOAD_FOREIGN) {
		snprintf(c->problem, sizeof(c->problem), "%s: its dynamic linker %s does not exist", c->path,
			 linker);
		c->remedy = "install the C library that it was built for";
	}
	ccs_elf_close(&e);
	return true;
}

bool command_follow(struct command *c, char *const *argv)
{
	char *const *next;
	const char *found;
	char buf[PATH_MAX];

	*c = (struct command){ .open_mpi = false };
	for (unsigned i = 0; argv && i < NESTED; i++, argv = next) {
		const unsigned used = c->used, count = c->count;

		next = unwrap(c, argv);
		if (next)
			continue;
		c->used = used; /* no word was found among the copies that unwrap() has added */
		c->count = count;
		found = preload_which(*argv, buf, sizeof(buf));
		if (!found)
			return refuse(c, *argv, "not found, or not executable", "",
				      "give the name of an executable");
		snprintf(c->path, sizeof(c->path), "%s%s", strchr(found, '/') ? "" : "./", found);
		if (is_elf(c)) {
			find_script(c, argv);
			return !*c->problem;
		}
		if (!*c->script)
			snprintf(c->script, sizeof(c->script), "%s", c->path);
		next = interpret(c, argv);
	}
	return argv && refuse(c, c->script, "its interpreters are nested too deeply", "",
			      "correct its first line");
}
