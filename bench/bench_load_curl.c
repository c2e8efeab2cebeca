/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's multi interface on epoll: receives and counts, reads no JSON, takes no stamps. */
#include "bench_load.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct at {
	CURLM *multi;
	int epoll_fd;
	int64_t timer_at; /* -1: none */
	uint64_t bytes;
};

static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
	(void)p;
	((struct at *)arg)->bytes += size * n;
	return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *mine)
{
	struct at *a = arg;
	struct epoll_event ev = { .data.fd = fd };

	(void)easy;
	(void)mine;
	if (what == CURL_POLL_REMOVE) {
		(void)epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	ev.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0U) |
		    (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0U);
	if (epoll_ctl(a->epoll_fd, EPOLL_CTL_MOD, fd, &ev) < 0)
		(void)epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
	struct at *a = arg;

	(void)multi;
	a->timer_at = ms < 0 ? -1 : clock_ns() + ms * NS_PER_MS;
	return 0;
}

static void turn(struct at *a)
{
	struct epoll_event ev[256];
	int running, wait = 1000, n;

	if (a->timer_at >= 0)
		wait = (int)(MAX(a->timer_at - clock_ns(), INT64_C(0)) / NS_PER_MS);
	n = epoll_wait(a->epoll_fd, ev, 256, wait);
	for (int i = 0; i < n; i++)
		(void)curl_multi_socket_action(
			a->multi, ev[i].data.fd,
			(ev[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
				(ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
				(ev[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
			&running);
	if (a->timer_at >= 0 && clock_ns() >= a->timer_at) {
		a->timer_at = -1;
		(void)curl_multi_socket_action(a->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

static CURL *request(struct at *a, const char *url, struct curl_slist *headers, bool post)
{
	CURL *c = curl_easy_init();

	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, a);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	if (post)
		curl_easy_setopt(c, CURLOPT_POSTFIELDS,
				 "{\"messages\":[],\"max_tokens\":64,\"stream\":true}");
	(void)curl_multi_add_handle(a->multi, c);
	return c;
}

/* `at_once` requests at a time until `count` are done; gives how many succeeded. */
static size_t run(struct at *a, const char *url, size_t at_once, size_t count, bool post)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	size_t begun = 0, ended = 0, good = 0;

	for (; begun < MIN(at_once, count); begun++)
		(void)request(a, url, headers, post);
	while (ended < count) {
		CURLMsg *m;
		int left;

		turn(a);
		while ((m = curl_multi_info_read(a->multi, &left))) {
			CURL *c = m->easy_handle;

			if (m->msg != CURLMSG_DONE)
				continue;
			good += m->data.result == CURLE_OK;
			ended++;
			(void)curl_multi_remove_handle(a->multi, c);
			if (begun < count) {
				begun++;
				(void)curl_multi_add_handle(a->multi, c);
			} else {
				curl_easy_cleanup(c);
			}
		}
	}
	curl_slist_free_all(headers);
	return good;
}

size_t bench_curl(const char *url, size_t at_once, size_t count, bool post)
{
	struct at a = { .multi = curl_multi_init(), .epoll_fd = epoll_create1(0), .timer_at = -1 };
	size_t good;

	curl_multi_setopt(a.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(a.multi, CURLMOPT_SOCKETDATA, &a);
	curl_multi_setopt(a.multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(a.multi, CURLMOPT_TIMERDATA, &a);
	curl_multi_setopt(a.multi, CURLMOPT_MAXCONNECTS, (long)at_once);
	good = run(&a, url, at_once, count, post);
	curl_multi_cleanup(a.multi);
	close(a.epoll_fd);
	return good;
}
