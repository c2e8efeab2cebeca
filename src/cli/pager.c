/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pager.h"

#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fits(const char *text)
{
	struct winsize w;
	size_t lines = 0;

	if (isatty(1) != 1 || ioctl(1, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		return true;
	for (; *text; text++)
		lines += *text == '\n';
	return lines < w.ws_row;
}

static const char *chosen(void)
{
	const char *p = getenv("TWICE_PAGER");

	if (!p)
		p = getenv("PAGER");
	return p ? p : "less";
}

static void child(int in, const char *pager)
{
	/* Short enough after all: quit; leave it on the screen; colours as they are. */
	(void)setenv("LESS", "FRX", /* overwrite= */ 0);
	(void)dup2(in, 0);
	(void)execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

bool pager_show(const char *text)
{
	const char *pager = chosen();
	int fds[2], status;
	size_t n = strlen(text);
	pid_t pid;

	if (!*pager || streq(pager, "cat") || fits(text) || pipe2(fds, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)close(fds[1]);
		child(fds[0], pager);
	}
	(void)close(fds[0]);
	for (ssize_t k; pid > 0 && n; text += k, n -= (size_t)k) {
		k = write(fds[1], text, n);
		if (k < 0 && errno == EINTR)
			k = 0;
		if (k < 0)
			break; /* it was left before its end */
	}
	(void)close(fds[1]);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !(WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126));
}
