/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that a command executes in the end, through wrappers and interpreters. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_needed.h"
#include "command.h"
#include "tools/ccshim/shared/preload.h"

enum { WRAPPERS = 8, SCRIPTS = 4 };      /* nested; the kernel's limit of interpreters */

/*
 * Programs that execute what their arguments name; the short options that take a word; and the
 * number of words before the program that are no options. after: the option, or the words, that the
 * program follows; without it they start no program.
 */
static const struct wrapper {
	const char *name, *valued;
	unsigned words;
	const char *after;
} wrappers[] = {
	{ "catchsegv", "", 0, NULL }, { "cgexec", "g", 0, NULL }, { "chrt", "TPD", 1, NULL },
	{ "eatmydata", "", 0, NULL }, { "env", "uCS", 0, NULL }, { "fakeroot", "lsifb", 0, NULL },
	{ "faketime", "p", 1, NULL }, { "flock", "wE", 1, NULL }, { "gdb", "", 0, "--args" },
	{ "gdbserver", "", 1, NULL }, { "ionice", "cnpPu", 0, NULL }, { "ip", "", 1, "netns exec" },
	{ "ld.so", "", 0, NULL }, { "ltrace", "aeFlnopsuwx", 0, NULL }, { "mpiexec", "nHNfx", 0, NULL },
	{ "mpiexec.hydra", "nf", 0, NULL }, { "mpirun", "cnHNfx", 0, NULL }, { "nice", "n", 0, NULL },
	{ "nohup", "", 0, NULL }, { "nsenter", "tSG", 0, NULL }, { "numactl", "ipPmMCNO", 0, NULL },
	{ "orterun", "cnHNx", 0, NULL }, { "perf", "eopCcFGIkmrtuxjD", 1, NULL },
	{ "prlimit", "op", 0, NULL }, { "prterun", "cnHNx", 0, NULL }, { "prun", "cnHNx", 0, NULL },
	{ "rr", "ocpv", 0, "record" }, { "setarch", "", 0, NULL }, { "setpriv", "", 0, NULL },
	{ "setsid", "", 0, NULL }, { "srun", "ABcCdDeGiIJmMnNopPqrStTwxz", 0, NULL },
	{ "stdbuf", "ioe", 0, NULL }, { "strace", "aeEIOopPsSuUXb", 0, NULL },
	{ "taskset", "", 1, NULL }, { "time", "fo", 0, NULL }, { "timeout", "ks", 1, NULL },
	{ "unshare", "RwSG", 0, NULL }, { "valgrind", "", 0, NULL },
	{ "x86_64", "", 0, NULL },
};

/* Programs that start others where LD_PRELOAD or the library may not be. */
static const struct elsewhere {
	const char *name, *reason;
} elsewhere[] = {
	{ "apptainer", "in a container" }, { "at", "later, by another process" },
	{ "chroot", "in another root directory" }, { "crictl", "in a container" },
	{ "ctr", "in a container" }, { "docker", "in a container" }, { "doas", "as another user" },
	{ "enroot", "in a container" }, { "kubectl", "in a container" }, { "lxc-attach", "in a container" },
	{ "machinectl", "in a container" }, { "nerdctl", "in a container" },
	{ "nsenter", "in other namespaces" }, { "parallel-ssh", "on other hosts" },
	{ "pdsh", "on other hosts" }, { "podman", "in a container" }, { "rsh", "on another host" },
	{ "runuser", "as another user" }, { "singularity", "in a container" },
	{ "ssh", "on another host" }, { "su", "as another user" }, { "sudo", "as another user" },
	{ "systemd-nspawn", "in a container" }, { "systemd-run", "by another process" },
};

/* "/lib64/ld-linux-x86-64.so.2 ./app" runs the program as "./app" does. */
static bool is_linker(const char *name)
{
	return strncmp(name, "ld", 2) == 0 && strstr(name, ".so.");
}

static const struct wrapper *find_wrapper(const char *name)
{
	if (is_linker(name))
		name = "ld.so";
	for (unsigned i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
		if (strcmp(wrappers[i].name, name) == 0)
			return &wrappers[i];
	return NULL;
}

/* A long option of the dynamic linker that takes the next word, which may be a file. */
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

/* The words after an option, or after two words that follow each other. */
static char *const *find_after(char *const *word, const char *after)
{
	const size_t len = strcspn(after, " ");

	for (; *word; word++)
		if (strncmp(*word, after, len) == 0 && !(*word)[len])
			return !after[len] ? word + 1
			     : word[1] && strcmp(word[1], after + len + 1) == 0 ? word + 2 : NULL;
	return NULL;
}

static char *const *find_wrapped(const struct wrapper *w, char *const *argv)
{
	if (w->after)
		argv = find_after(argv + 1, w->after);
	else
		argv++;
	return argv ? find_program(argv, w->valued, w->words) : NULL;
}

/* Whether env(1) removes LD_PRELOAD, or replaces it by a list without the shim. */
static bool removes_preload(char *const *word, char *const *end)
{
	bool removed = false;

	for (; word < end; word++) {
		const char *w = *word;

		if (strcmp(w, "-") == 0 || strcmp(w, "--ignore-environment") == 0 ||
		    (w[0] == '-' && w[1] != '-' && strcspn(w, "i") < strcspn(w, "uCS")) ||
		    (strcmp(w, "-u") == 0 && word[1] && strcmp(word[1], "LD_PRELOAD") == 0) ||
		    strcmp(w, "-uLD_PRELOAD") == 0 || strcmp(w, "--unset=LD_PRELOAD") == 0)
			removed = true;
		else if (strncmp(w, "LD_PRELOAD=", 11) == 0)
			removed = !strstr(w, "ccshim");
	}
	return removed;
}

/* Note what a wrapper does to LD_PRELOAD, or that this is not known. */
static void note_effect(struct command *c, const char *name, char *const *argv, char *const *next)
{
	if (strcmp(name, "env") == 0 && next && removes_preload(argv + 1, next))
		snprintf(c->removed, sizeof(c->removed), "env removes LD_PRELOAD, or replaces it");
	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere) && !*c->unknown && argv[1]; i++)
		if (strcmp(elsewhere[i].name, name) == 0)
			snprintf(c->unknown, sizeof(c->unknown), "%s starts programs %s, where "
				 "LD_PRELOAD or the library may be missing", name, elsewhere[i].reason);
}

static bool is_shell(const char *name)
{
	return strcmp(name, "sh") == 0 || strcmp(name, "bash") == 0 || strcmp(name, "dash") == 0 ||
	       strcmp(name, "ksh") == 0 || strcmp(name, "zsh") == 0;
}

/* The words of a shell's -c. Only one shell is followed: its words are kept in *c. */
static char *const *find_in_shell(struct command *c, char *const *argv)
{
	unsigned n = 0;
	char *save;

	if (!argv[1] || argv[1][0] != '-' || argv[1][1] == '-' || !strchr(argv[1], 'c') || !argv[2] || *c->text)
		return NULL;
	snprintf(c->text, sizeof(c->text), "%s", argv[2]);
	for (char *w = strtok_r(c->text, " \t\n;&|()'\"", &save); w && n < 63;
	     w = strtok_r(NULL, " \t\n;&|()'\"", &save))
		c->words[n++] = w;
	return find_program(c->words, "", 0);
}

static bool is_open_mpi(void *arg, const struct ccs_elf_needed *lib)
{
	bool *found = arg;

	*found |= strncmp(lib->name, "libopen-rte.so", 14) == 0 || strncmp(lib->name, "libprrte.so", 11) == 0;
	return *found;
}

/* The command that a wrapper runs; NULL if argv is not a wrapper. */
static char *const *unwrap(struct command *c, char *const *argv)
{
	const char *name = basename(*argv);
	const struct wrapper *w = find_wrapper(name);
	char *const *next = w ? find_wrapped(w, argv) : is_shell(name) ? find_in_shell(c, argv) : NULL;
	const size_t at = strlen(c->started_by);
	char buf[PATH_MAX];
	const char *file = next ? preload_which(*argv, buf, sizeof(buf)) : NULL;

	note_effect(c, name, argv, next);
	if (!file)
		return NULL;
	snprintf(c->started_by + at, sizeof(c->started_by) - at, "%s%s", at ? ", " : "", name);
	if (strncmp(name, "mpi", 3) == 0 || strstr(name, "run"))
		ccs_elf_needed_walk(file, is_open_mpi, &c->open_mpi);
	return next;
}

static size_t read_start(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(buf, 1, size - 1, file) : 0;

	if (file)
		fclose(file);
	buf[n] = '\0';
	return n;
}

/* The command that env(1) would run, after its options and assignments. */
static const char *command_of_env(char *words, char *buf, size_t len)
{
	char *save, *word = strtok_r(words, " \t", &save);
	const char *found;

	while (word && (*word == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t", &save);
	found = word ? preload_which(word, buf, len) : NULL;
	if (found != buf)
		snprintf(buf, len, "%s", found ? found : word ? word : "");
	return found ? buf : NULL;
}

/*
 * The interpreter of a file that is not ELF: the program that its first line names, or the shell if
 * it names none, as in execvp(3). NULL if it does not exist: *why is the reason, buf its name.
 */
static const char *find_interpreter(const char *path, char *buf, size_t len, const char **why)
{
	char start[256], *save, *word;
	const size_t n = read_start(path, start, sizeof(start));

	*buf = '\0';
	if (memchr(start, '\0', n)) {
		*why = "it is neither an ELF file nor a script";
		return NULL;
	}
	if (strncmp(start, "#!", 2) != 0)
		return "/bin/sh";
	start[strcspn(start, "\n")] = '\0';
	if (strchr(start, '\r')) {
		*why = "its first line ends with a carriage return";
		return NULL;
	}
	*why = "its interpreter does not exist";
	word = strtok_r(start + 2, " \t", &save);
	if (!word)
		return NULL;
	if (strcmp(basename(word), "env") == 0)
		return command_of_env(save, buf, len);
	snprintf(buf, len, "%s", word);
	return access(buf, X_OK) == 0 ? buf : NULL;
}

/* Follow interpreters from the file in path to an ELF file; it reads the file *script. */
static bool follow_scripts(struct command *c)
{
	const char *why = "its interpreters are nested too deeply", *next;
	char buf[PATH_MAX] = "", first[PATH_MAX];
	struct ccs_elf e;

	snprintf(first, sizeof(first), "%s", c->path);
	for (unsigned i = 0; i <= SCRIPTS; i++) {
		if (ccs_elf_open(&e, c->path) == 0) {
			ccs_elf_close(&e);
			return true;
		}
		next = find_interpreter(c->path, buf, sizeof(buf), &why);
		if (!next)
			break;
		if (i == 0)
			snprintf(c->script, sizeof(c->script), "%s", c->path);
		snprintf(c->path, sizeof(c->path), "%s", next);
	}
	snprintf(c->problem, sizeof(c->problem), "%s: %s%s%s", first, why,
		 !next && *buf ? ": " : "", next ? "" : buf);
	return false;
}

/* Find the script among an interpreter's arguments, or Python's -m MODULE. */
static void find_script(struct command *c, char *const *argv)
{
	const char *name = basename(c->path);
	const bool python = strncmp(name, "python", 6) == 0;

	if (!python && !is_shell(name))
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

bool command_follow(struct command *c, char *const *argv)
{
	char buf[PATH_MAX];
	char *const *next;
	const char *found;

	*c = (struct command){ .open_mpi = false };
	for (unsigned i = 0; i < WRAPPERS && (next = unwrap(c, argv)); i++)
		argv = next;
	found = preload_which(*argv, buf, sizeof(buf));
	if (!found) {
		snprintf(c->problem, sizeof(c->problem), "%s: not found, or not executable", *argv);
		return false;
	}
	snprintf(c->path, sizeof(c->path), "%s%s", strchr(found, '/') ? "" : "./", found);
	if (!follow_scripts(c))
		return false;
	if (!*c->script)
		find_script(c, argv);
	return true;
}
