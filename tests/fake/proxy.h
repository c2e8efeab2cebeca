/* SPDX-License-Identifier: Apache-2.0 */
/* A proxy that knows only CONNECT, one process a tunnel; ends with the test. */
#pragma once

#include "load_lib.h"

#include <poll.h>
#include <sys/prctl.h>

struct proxy {
	pid_t pid;
	int port;
};

static inline bool proxy_copy(int from, int to)
{
	char buf[16384];
	ssize_t n = read(from, buf, sizeof(buf));

	return n > 0 && write(to, buf, (size_t)n) == n;
}

static inline void proxy_tunnel(int fd, const char *answer)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .events = POLLIN } };
	char head[1024] = "", host[64];
	unsigned port;
	size_t n = 0;

	while (n < sizeof(head) - 1 && !strstr(head, "\r\n\r\n")) {
		if (read(fd, head + n, 1) != 1)
			_exit(0);
		n++;
	}
	if (sscanf(head, "CONNECT %63[^:]:%u HTTP/1.1\r\nHost: ", host, &port) != 2)
		_exit(1);
	a.sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, host, &a.sin_addr);
	p[1].fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(p[1].fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		_exit(1);
	dprintf(fd, "%s", answer);
	for (;;) {
		poll(p, 2, -1);
		for (int i = 0; i < 2; i++)
			if (p[i].revents && !proxy_copy(p[i].fd, p[!i].fd))
				_exit(0);
	}
}

/* answer: what it says before the tunnel stands, such as "HTTP/1.1 200 OK\r\n\r\n". */
static inline struct proxy proxy_start(const char *answer)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const struct sigaction reaped = { .sa_handler = SIG_IGN };
	struct proxy p;

	CHECK(bind(fd, (struct sockaddr *)&a, n) == 0 && listen(fd, 64) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	p.port = ntohs(a.sin_port);
	p.pid = fork();
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		sigaction(SIGCHLD, &reaped, NULL);
		for (;;) {
			int c = accept(fd, NULL, NULL);

			if (c >= 0 && fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
				proxy_tunnel(c, answer);
			}
			close(c);
		}
	}
	close(fd);
	return p;
}

static inline void proxy_stop(struct proxy *p)
{
	kill(p->pid, SIGKILL);
	(void)test_reap(p->pid);
}
