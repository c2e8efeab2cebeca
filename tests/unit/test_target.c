/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target.h"

#include "base/err.h"
#include "test.h"

static void is(const char *url, enum load_endpoint e, const char *host, int port, const char *path)
{
	struct target t CLEANUP(target_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(target_parse(url, e, &t, &err), err);
	CHECK_STR(t.host, host);
	CHECK_INT(t.port, port);
	CHECK_STR(t.path, path);
}

static void refused(const char *url, const char *want)
{
	struct target t = { 0 };
	struct err err = ERR_INIT;

	CHECK_INT(target_parse(url, LOAD_CHAT, &t, &err), -ERR_PARSE);
	CHECK_HAS(err.msg, want);
}

static void adds_the_endpoint(void)
{
	is("http://h", LOAD_CHAT, "h", 80, "/v1/chat/completions");
	is("http://h:8000/", LOAD_CHAT, "h", 8000, "/v1/chat/completions");
	is("http://h/v1", LOAD_COMPLETIONS, "h", 80, "/v1/completions");
	is("http://h/v1/", LOAD_CHAT, "h", 80, "/v1/chat/completions");
	is("http://h/openai/v1/chat/completions", LOAD_CHAT, "h", 80,
	   "/openai/v1/chat/completions");
	is("http://h/gate", LOAD_EMBEDDINGS, "h", 80, "/gate/v1/embeddings");
	is("https://h", LOAD_RESPONSES, "h", 443, "/v1/responses");
	is("http://h", LOAD_PLAIN, "h", 80, "/");
	is("http://h/a/b?c=d", LOAD_PLAIN, "h", 80, "/a/b?c=d");
}

static void reads_addresses(void)
{
	is("http://[::1]:81/", LOAD_PLAIN, "::1", 81, "/");
	is("http://127.0.0.1:65535", LOAD_PLAIN, "127.0.0.1", 65535, "/");
	is("http+unix://%2Frun%2fs.sock/v1", LOAD_CHAT, "/run/s.sock", 0, "/v1/chat/completions");
}

static void refuses_bad_ones(void)
{
	refused("ftp://h", "begins with none");
	refused("h:80", "begins with none");
	refused("http://", "no host");
	refused("http://:80", "no host");
	refused("http://h:0", "port is not");
	refused("http://h:x", "port is not");
	refused("http://h:65536", "port is not");
	refused("http://[::1", "'['");
	refused("http://[::1]x", "after ']'");
	refused("http://user:pw@h", "refused");
	refused("http://h/a b", "blank");
	refused("http://h/a\r\nX: y", "control");
	refused("http://h/#x", "'#'");
	refused("http+unix:///x", "socket path");
}

static void resolves_without_asking_when_there_is_one(void)
{
	struct target t CLEANUP(target_release) = { 0 };
	struct err err = ERR_INIT;

	CHECK_OK(target_parse("http://127.0.0.1:9", LOAD_PLAIN, &t, &err), err);
	CHECK_OK(target_resolve(&t, &err), err);
	CHECK_INT(t.addr.ss_family, AF_INET);
	target_release(&t);
	CHECK_OK(target_parse("http://no-such-host.invalid", LOAD_PLAIN, &t, &err), err);
	CHECK_INT(target_resolve(&t, &err), -ERR_IO);
	CHECK_HAS(err.msg, "cannot resolve host 'no-such-host.invalid'");
}

TEST_MAIN(TEST(adds_the_endpoint), TEST(reads_addresses), TEST(refuses_bad_ones),
	  TEST(resolves_without_asking_when_there_is_one))
