/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS by OpenSSL over our own BIO, so that the socket is read with recvmsg() and the kernel's
 * stamps are not lost: what tls_recv gives is stamped like the newest bytes it was made of.
 */
#include "load/loop.h"

#include "base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

struct tls {
	SSL *ssl;
	int fd;
	bool failed, ended;
	bool drained; /* the newest read took all that was there: another would only say so */
	size_t control_n;
	char control[128] __attribute__((aligned(8)));
};

static int bio_write(BIO *b, const char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	ssize_t got = send(t->fd, p, (size_t)n, MSG_NOSIGNAL);

	BIO_clear_retry_flags(b);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		BIO_set_retry_write(b);
	return (int)got;
}

static int bio_read(BIO *b, char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	struct iovec v = { p, (size_t)n };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = t->control,
			    .msg_controllen = sizeof(t->control) };
	ssize_t got;

	BIO_clear_retry_flags(b);
	if (t->drained) {
		BIO_set_retry_read(b);
		return -1;
	}
	got = recvmsg(t->fd, &m, MSG_DONTWAIT);
	t->drained = got < n && got != 0;
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		BIO_set_retry_read(b);
	if (got > 0)
		t->control_n = m.msg_controllen;
	t->ended |= got == 0;
	return (int)got;
}

static long bio_ctrl(BIO *b, int what, long n, void *p)
{
	(void)b;
	(void)n;
	(void)p;
	return what == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

/* One for the process, made at first use before any loop runs: OpenSSL's types are numbered
 * globally. */
static BIO_METHOD *method(void)
{
	static BIO_METHOD *m;

	if (!m) {
		m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stamped socket");
		if (m) {
			BIO_meth_set_write(m, bio_write);
			BIO_meth_set_read(m, bio_read);
			BIO_meth_set_ctrl(m, bio_ctrl);
			BIO_meth_set_create(m, bio_create);
		}
	}
	return m;
}

static const char *why(void)
{
	const char *text = ERR_reason_error_string(ERR_get_error());

	return text ? text : "unknown reason";
}

SSL_CTX *tls_context(const struct load_conf *c, struct err *err)
{
	SSL_CTX *ctx;

	ERR_clear_error();
	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx || !method()) {
		(void)bail(err, ERR_IO, "cannot set TLS up: %s", why());
		return NULL;
	}
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_read_ahead(ctx, 1);
	/* A write buffer of a whole record stays with a connection that only reads from then on. */
	SSL_CTX_set_max_send_fragment(ctx, 4096);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	/* A close without close_notify is an end like a bare FIN: HTTP framing tells a cut one. */
	SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_verify(ctx, c->tls_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (c->tls_insecure)
		return ctx;
	if (c->tls_ca ? !SSL_CTX_load_verify_locations(ctx, c->tls_ca, NULL)
		      : !SSL_CTX_set_default_verify_paths(ctx)) {
		(void)bail(err, ERR_IO, "cannot read trusted certificates%s%s: %s",
			   c->tls_ca ? " from " : "", c->tls_ca ? c->tls_ca : "", why());
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

static bool name_peer(SSL *ssl, const char *host)
{
	unsigned char addr[16];

	if (inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

struct tls *tls_new(SSL_CTX *ctx, int fd, const char *host)
{
	struct tls *t = xcalloc(1, sizeof(*t));
	BIO *b = BIO_new(method());

	t->fd = fd;
	t->ssl = SSL_new(ctx);
	if (!t->ssl || !b || !name_peer(t->ssl, host)) {
		BIO_free(b);
		tls_free(t);
		return NULL;
	}
	BIO_set_data(b, t);
	SSL_set_bio(t->ssl, b, b);
	SSL_set_connect_state(t->ssl);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	free(t);
}

/* What a failed call means, as errno. */
static int trouble(struct tls *t, int rc)
{
	switch (SSL_get_error(t->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		t->ended = true;
		return 0;
	case SSL_ERROR_SYSCALL:
		if (t->ended)
			return 0;
		return errno ? errno : ECONNRESET;
	default:
		t->failed = true;
		return EPROTO;
	}
}

int tls_handshake(struct tls *t)
{
	int rc;

	ERR_clear_error();
	t->drained = false;
	rc = SSL_do_handshake(t->ssl);
	if (rc == 1)
		return 1;
	return trouble(t, rc) == EAGAIN ? 0 : -1;
}

ssize_t tls_send(struct tls *t, const void *p, size_t n)
{
	size_t done = 0;
	int rc, error;

	ERR_clear_error();
	rc = SSL_write_ex(t->ssl, p, n, &done);
	if (rc == 1)
		return (ssize_t)done;
	error = trouble(t, rc);
	errno = error ? error : EPIPE;
	return -1;
}

ssize_t tls_recv(struct tls *t, struct msghdr *m)
{
	char *to = m->msg_iov[0].iov_base;
	size_t room = m->msg_iov[0].iov_len, n = 0;
	int error = 0;

	t->drained = false;
	while (n < room && !error) {
		size_t got = 0;
		int rc;

		ERR_clear_error();
		errno = 0;
		rc = SSL_read_ex(t->ssl, to + n, room - n, &got);
		if (rc != 1) {
			error = trouble(t, rc);
			break;
		}
		n += got;
		if (t->drained && !SSL_has_pending(t->ssl))
			break;
	}
	if (n) {
		m->msg_control = t->control;
		m->msg_controllen = t->control_n;
		return (ssize_t)n;
	}
	errno = error;
	return error ? -1 : 0;
}

bool tls_pending(const struct tls *t)
{
	return SSL_has_pending(t->ssl);
}
