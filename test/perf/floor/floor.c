// floor is a client that does as little as possible: one thread, epoll, a request that is built once, and just enough of HTTP to find the
// status and the end of each response. Nearly all of its CPU time is that of the kernel, and of OpenSSL if it is compiled with -DTLS.
//
// It counts a request when the last octet of its response has arrived. A status other than 200 is a failure, and so is a reset stream. It
// ends with exit code 1 if the server breaks the protocol or ends a connection with requests in flight.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#ifdef TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#else
typedef void SSL;
#endif

enum {
	MAX_CONNECTIONS = 1024,
	MAX_STREAMS = 1024,
	MAX_TEXT = 100,    // octets of authority and path, each
	CONTROL = 4096,    // octets of control frames that can wait for the socket
	BATCH = 1 << 17,   // octets of a read
	FRAME_HEAD = 9,
	FRAME = 16384,     // octets of a frame's payload: the default of SETTINGS_MAX_FRAME_SIZE
	TICK = 500000,     // ns between two turns at a fixed rate
	DRAIN = 100000000, // ns for the last responses at a fixed rate
};

#define SECOND INT64_C(1000000000) // ns
#define WINDOW UINT32_C(0x7fffffff) // the largest window, and the bits of a stream ID

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PUSH_PROMISE = 5, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4, PADDED = 8, PRIORITIZED = 0x20 };

// stream is a request in flight. One with id 0 is free.
struct stream {
	uint32_t id;
	bool ok; // its status is 200
};

static struct connection {
	int fd;
	SSL *tls;
	bool watches_writes; // epoll reports when the socket takes more
	bool leaving;        // the server sent GOAWAY
	int open, limit;     // requests in flight, and how many there may be
	uint32_t most;       // SETTINGS_MAX_CONCURRENT_STREAMS
	uint32_t next;       // stream ID
	uint32_t used;       // octets of the connection's window since the last WINDOW_UPDATE
	uint64_t skip;       // octets of content that are still to come
	struct stream *ends; // the stream that ends after them
	size_t nrest, nout;
	uint8_t *out;                        // what is not sent yet
	struct stream ring[2 * MAX_STREAMS]; // by half the stream ID, modulo the size that is used
	uint8_t rest[FRAME_HEAD + FRAME];    // the begin of a frame or of a head
} connections[MAX_CONNECTIONS];

static bool http2, closes; // closes: one request on each connection
static bool tls;
static struct sockaddr_in server;
static int nconnections, alive, streams, epoll;
static uint32_t mask;   // size of the used part of a ring, less 1
static size_t capacity; // of out
static uint8_t request[FRAME_HEAD + 2 * MAX_TEXT + 100], batch[FRAME_HEAD + FRAME + BATCH];
static size_t nrequest;
static int64_t begin; // of the time to send: the first request
static uint64_t sent, requests, failed;

static _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("floor: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return ntohl(v);
}

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

// send_some and receive_some return the number of octets, 0 at the end of the connection, or one of these.
enum { WAIT_TO_READ = -1, WAIT_TO_WRITE = -2 };

static ssize_t socket_result(ssize_t n, int wait)
{
	if (n < 0 && errno != EAGAIN)
		die("a connection ended: %s", strerror(errno));
	return n < 0 ? wait : n;
}

#ifdef TLS
static _Noreturn void die_of_tls(void) { die("TLS: %s", ERR_error_string(ERR_get_error(), NULL)); }

static void start_tls(struct connection *c)
{
	static SSL_CTX *context;
	if (context == NULL) {
		context = SSL_CTX_new(TLS_client_method());
		if (context == NULL || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) || SSL_CTX_set_alpn_protos(context, (uint8_t *)"\2h2", 3) != 0)
			die_of_tls();
		SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
		SSL_CTX_set_read_ahead(context, 1);
		SSL_CTX_set_default_read_buffer_len(context, BATCH);
	}
	c->tls = SSL_new(context);
	if (c->tls == NULL || !SSL_set_fd(c->tls, c->fd))
		die_of_tls();
	SSL_set_connect_state(c->tls); // the first SSL_write begins the handshake
}

static ssize_t tls_result(struct connection *c, int n)
{
	switch (SSL_get_error(c->tls, n)) {
	case SSL_ERROR_NONE:
		return n;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_WANT_READ:
		return WAIT_TO_READ;
	case SSL_ERROR_WANT_WRITE:
		return WAIT_TO_WRITE;
	}
	die_of_tls();
}
#endif

static ssize_t send_some(struct connection *c, const uint8_t *p, size_t n)
{
#ifdef TLS
	if (tls)
		return tls_result(c, SSL_write(c->tls, p, n));
#endif
	return socket_result(send(c->fd, p, n, MSG_NOSIGNAL), WAIT_TO_WRITE);
}

static ssize_t receive_some(struct connection *c, uint8_t *p, size_t n)
{
#ifdef TLS
	if (tls)
		return tls_result(c, SSL_read(c->tls, p, n));
#endif
	return socket_result(recv(c->fd, p, n, 0), WAIT_TO_READ);
}

// more returns whether TLS has octets, which epoll does not report.
static bool more(struct connection *c)
{
#ifdef TLS
	return tls && SSL_has_pending(c->tls);
#endif
	return c == NULL;
}

static void watch(struct connection *c, int operation, bool writes)
{
	struct epoll_event e = {.events = writes ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};
	if (epoll_ctl(epoll, operation, c->fd, &e) != 0)
		die("epoll_ctl: %s", strerror(errno));
	c->watches_writes = writes;
}

static void flush(struct connection *c)
{
	size_t sent = 0;
	ssize_t n = 0;
	while (sent < c->nout && (n = send_some(c, c->out + sent, c->nout - sent)) >= 0)
		sent += n;
	c->nout -= sent;
	memmove(c->out, c->out + sent, c->nout);
	if ((n == WAIT_TO_WRITE) != c->watches_writes)
		watch(c, EPOLL_CTL_MOD, n == WAIT_TO_WRITE);
}

static void append(struct connection *c, const void *p, size_t n)
{
	if (n > capacity - c->nout)
		die("the server causes more control frames than it reads");
	memcpy(c->out + c->nout, p, n);
	c->nout += n;
}

// append_frame adds a frame of the connection.
static void append_frame(struct connection *c, uint8_t type, uint8_t flags, const void *payload, uint8_t n)
{
	append(c, (uint8_t[FRAME_HEAD]){0, 0, n, type, flags}, FRAME_HEAD);
	append(c, payload, n);
}

static void append_window(struct connection *c, uint32_t n)
{
	n = htonl(n);
	append_frame(c, WINDOW_UPDATE, 0, &n, sizeof n);
}

// add adds a request if the connection can have one more.
static bool add(struct connection *c)
{
	if (c->open >= c->limit || capacity - c->nout < nrequest + CONTROL)
		return false;
	struct stream *s = c->ring;
	if (http2) {
		while (s = &c->ring[c->next / 2 & mask], s->id != 0) // it waits for its response; the ID of this one remains unused
			c->next += 2;
		if (c->next > WINDOW - 2)
			die("a connection has used all stream IDs");
		memcpy(request + 5, &(uint32_t){htonl(c->next)}, 4);
	}
	*s = (struct stream){.id = c->next};
	c->next += 2;
	c->open++;
	sent++;
	append(c, request, nrequest);
	return true;
}

static void open_connection(struct connection *c)
{
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket: %s", strerror(errno));
	if (!closes)
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	if (connect(c->fd, (struct sockaddr *)&server, sizeof server) != 0 && errno != EINPROGRESS)
		die("connect: %s", strerror(errno));
	watch(c, EPOLL_CTL_ADD, false);
	c->next = c->limit = 1;
	if (http2) {
		static const uint8_t settings[] = {0, 2, 0, 0, 0, 0, /* no push */ 0, 4, 0x7f, 0xff, 0xff, 0xff /* a stream's window */};
		append(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
		append_frame(c, SETTINGS, 0, settings, sizeof settings);
		append_window(c, WINDOW - 65535);
		c->most = WINDOW;
		c->limit = 0; // until the server's SETTINGS
	}
#ifdef TLS
	if (tls)
		start_tls(c);
#endif
}

// finish counts a response.
static void finish(struct connection *c, struct stream *s)
{
	requests++;
	failed += !s->ok;
	s->id = 0;
	c->open--;
}

static struct stream *find(struct connection *c, uint32_t id)
{
	struct stream *s = &c->ring[id / 2 & mask];
	if (id == 0 || s->id != id)
		die("a frame of stream %u, which is not open", id);
	return s;
}

// status_is_200 reads the begin of a header block: updates of the dynamic table's size, if any, and then :status.
static bool status_is_200(const uint8_t *p, size_t n)
{
	size_t i = 0;
	while (i < n && (p[i] & 0xe0) == 0x20) {
		bool longer = (p[i++] & 0x1f) == 0x1f;
		while (longer && i < n)
			longer = p[i++] & 0x80;
	}
	return i < n && p[i] == 0x88; // entry 8 of the static table
}

static void take_headers(struct connection *c, uint32_t id, uint8_t flags, const uint8_t *p, size_t n)
{
	struct stream *s = find(c, id);
	size_t before = (flags & PADDED ? 1 : 0) + (flags & PRIORITIZED ? 5 : 0);
	if (n < before)
		die("HEADERS of %zu octets", n);
	if (!s->ok) // else these are trailers
		s->ok = status_is_200(p + before, n - before);
	if (flags & END_STREAM)
		finish(c, s);
}

static void take_settings(struct connection *c, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 6 <= n; i += 6)
		if (p[i] == 0 && p[i + 1] == 3)
			c->most = get32(p + i + 2);
	c->limit = c->leaving ? 0 : c->most < (uint32_t)streams ? (int)c->most : streams;
	append_frame(c, SETTINGS, ACK, "", 0);
}

// take_goaway forgets the requests that the server will not process.
static void take_goaway(struct connection *c, const uint8_t *p, size_t n)
{
	if (n < 8 || get32(p + 4) != 0)
		die("GOAWAY with error %u", n < 8 ? 0 : get32(p + 4));
	c->leaving = true;
	c->limit = 0;
	for (uint32_t i = 0; i <= mask; i++)
		if (c->ring[i].id > (get32(p) & WINDOW)) {
			c->ring[i].id = 0;
			c->open--;
		}
}

// take_frame takes a frame, or the head of a DATA frame, and returns its size. It returns 0 if octets are still to come.
static size_t take_frame(struct connection *c, const uint8_t *p, size_t n)
{
	if (n < FRAME_HEAD)
		return 0;
	size_t length = get32(p) >> 8;
	uint8_t type = p[3], flags = p[4];
	uint32_t id = get32(p + 5) & WINDOW;
	if (length > FRAME)
		die("a frame of %zu octets", length);
	if (type == DATA) {
		struct stream *s = find(c, id);
		c->ends = flags & END_STREAM ? s : NULL;
		c->skip = length;
		c->used += length;
		if (c->used > WINDOW / 2) {
			append_window(c, c->used);
			c->used = 0;
		}
		return FRAME_HEAD;
	}
	if (n < FRAME_HEAD + length)
		return 0;
	p += FRAME_HEAD;
	if (type == HEADERS) {
		take_headers(c, id, flags, p, length);
	} else if (type == RST_STREAM) {
		find(c, id)->ok = false;
		finish(c, find(c, id));
	} else if (type == SETTINGS && !(flags & ACK)) {
		take_settings(c, p, length);
	} else if (type == PUSH_PROMISE || (type == PING && length != 8)) {
		die("a frame of type %d and %zu octets", type, length);
	} else if (type == PING && !(flags & ACK)) {
		append_frame(c, PING, ACK, p, 8);
	} else if (type == GOAWAY) {
		take_goaway(c, p, length);
	} // WINDOW_UPDATE: the requests have no content. CONTINUATION: the status is in HEADERS. Unknown types are ignored.
	return FRAME_HEAD + length;
}

// content_length returns the value of Content-Length in a head. end is after a line.
static uint64_t content_length(const char *p, const char *end)
{
	static const char name[] = "\nContent-Length:";
	while ((p = memchr(p, '\n', end - p)) != NULL && ((size_t)(end - p) < sizeof name || strncasecmp(p, name, sizeof name - 1) != 0))
		p++;
	if (p == NULL)
		die("a response without Content-Length");
	uint64_t n = 0;
	for (p += sizeof name - 1; *p != '\r'; p++)
		if (*p >= '0' && *p <= '9' && n < INT32_MAX)
			n = n * 10 + (*p - '0');
	return n;
}

// take_head takes the head of an HTTP/1.1 response, as take_frame takes a frame.
static size_t take_head(struct connection *c, const char *p, size_t n)
{
	const char *end = memmem(p, n, "\r\n\r\n", 4);
	if (end == NULL)
		return 0;
	if (c->open == 0 || end - p < 12 || memcmp(p, "HTTP/1.1 ", 9) != 0)
		die("not a response of HTTP/1.1 to a request");
	c->ring->ok = memcmp(p + 9, "200", 3) == 0;
	c->ends = c->ring;
	c->skip = content_length(p, end + 2);
	return end + 4 - p;
}

// take takes n octets of batch, and keeps the begin of a frame or of a head for the next time.
static void take(struct connection *c, size_t n)
{
	const uint8_t *p = batch, *end = batch + n;
	for (size_t k = 1; k > 0; p += k) {
		k = c->skip < (size_t)(end - p) ? c->skip : (size_t)(end - p);
		c->skip -= k;
		p += k;
		if (c->skip > 0)
			break;
		if (c->ends != NULL)
			finish(c, c->ends);
		c->ends = NULL;
		k = http2 ? take_frame(c, p, end - p) : take_head(c, (const char *)p, end - p);
	}
	c->nrest = end - p;
	if (c->nrest > sizeof c->rest)
		die("a head of more than %zu octets", sizeof c->rest);
	memcpy(c->rest, p, c->nrest);
}

static void receive(struct connection *c)
{
	do {
		memcpy(batch, c->rest, c->nrest);
		ssize_t n = receive_some(c, batch + c->nrest, BATCH);
		if (n < 0)
			return;
		if (n == 0) {
			if (c->open > 0 || !c->leaving)
				die("the server ended a connection with %d requests in flight", c->open);
			if (--alive == 0)
				die("the server ended all connections");
			close(c->fd);
			c->nout = 0;
			return;
		}
		take(c, c->nrest + n);
	} while (more(c));
	if (closes && c->open == 0) {
		close(c->fd);
		open_connection(c);
	}
}

// fill adds as many requests as the connection can have.
static void fill(struct connection *c)
{
	while (add(c))
		;
	if (c->nout > 0)
		flush(c);
}

// closed_loop sends a request after each response for so many nanoseconds.
static void closed_loop(int64_t length)
{
	bool runs = false;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec at = {.it_value = {length / SECOND, length % SECOND}};
	struct epoll_event events[256] = {{.events = EPOLLIN}};
	if (timer < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, events) != 0)
		die("timer: %s", strerror(errno));
	for (int i = 0; i < nconnections; i++)
		fill(&connections[i]);
	for (;;) {
		if (!runs && sent > 0) {
			runs = timerfd_settime(timer, 0, &at, NULL) == 0;
			begin = now();
		}
		int n = epoll_wait(epoll, events, 256, -1);
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == NULL) // the timer
				return;
			if (events[i].events & ~EPOLLOUT)
				receive(events[i].data.ptr);
		}
		for (int i = 0; i < n; i++)
			fill(events[i].data.ptr);
	}
}

// fixed_rate sends a request every 1/rate seconds, on one connection after another. Like h2surge, it sleeps between its turns, and then
// sends what has become due.
static void fixed_rate(int64_t length, int64_t rate)
{
	struct epoll_event events[MAX_CONNECTIONS];
	int64_t turn = 0, stop = INT64_MAX;
	begin = now();
	for (int64_t t = 0; t < stop; t = now() - begin) {
		uint64_t due = (t < length ? t : length) / 1000 * rate / 1000000;
		if (t >= length && sent > 0 && stop == INT64_MAX) // after this turn, all are sent
			stop = t + DRAIN;
		int n = epoll_wait(epoll, events, MAX_CONNECTIONS, 0);
		for (int i = 0; i < n; i++)
			if (events[i].events & ~EPOLLOUT)
				receive(events[i].data.ptr);
		for (int full = 0; sent < due && full < nconnections; turn++)
			full = add(&connections[turn % nconnections]) ? 0 : full + 1;
		if (sent == 0 && due > 0)
			begin += t;
		for (int i = 0; i < nconnections; i++)
			if (connections[i].nout > 0)
				flush(&connections[i]);
		int64_t wake = now() / TICK * TICK + TICK;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){wake / SECOND, wake % SECOND}, NULL);
	}
}

// build_request builds the only request. Its header block has no entries of the dynamic table; the first octet sets the table's size to 0.
static void build_request(const char *authority, const char *path)
{
	size_t a = strlen(authority), p = strlen(path);
	if (a > MAX_TEXT || p > MAX_TEXT || path[0] != '/')
		die("PATH: %s; allowed: up to %d octets, the first is /", path, MAX_TEXT);
	if (!http2) {
		nrequest = snprintf((char *)request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, authority, closes ? "Connection: close\r\n" : "");
		return;
	}
	uint8_t begin[] = {0x20, 0x82 /* :method GET */, tls ? 0x87 : 0x86 /* :scheme */, 0x04 /* :path */, p};
	uint8_t *w = mempcpy(mempcpy(request + FRAME_HEAD, begin, sizeof begin), path, p);
	*w++ = 0x01; // :authority
	*w++ = a;
	nrequest = (uint8_t *)mempcpy(w, authority, a) - request;
	request[1] = (nrequest - FRAME_HEAD) >> 8;
	request[2] = nrequest - FRAME_HEAD;
	request[3] = HEADERS;
	request[4] = END_STREAM | END_HEADERS;
}

static int64_t number(const char *name, const char *text, int64_t least, int64_t most)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != 0 || n < least || n > most)
		die("%s: %s; allowed: %lld to %lld", name, text, (long long)least, (long long)most);
	return n;
}

int main(int argc, char **argv)
{
	if (argc != 9)
		die("usage: floor MODE IPV4 PORT PATH CONNECTIONS STREAMS RATE MILLISECONDS (RATE 0: a closed loop)");
	tls = strcmp(argv[1], "h2") == 0;
	http2 = tls || strcmp(argv[1], "h2c") == 0;
	closes = strcmp(argv[1], "http1-close") == 0;
	if (!http2 && !closes && strcmp(argv[1], "http1") != 0)
		die("MODE: %s; allowed: h2c, h2, http1, http1-close", argv[1]);
#ifndef TLS
	if (tls)
		die("MODE: h2 needs a program that is compiled with -DTLS");
#endif
	server.sin_family = AF_INET;
	if (inet_pton(AF_INET, argv[2], &server.sin_addr) != 1)
		die("IPV4: %s", argv[2]);
	server.sin_port = htons(number("PORT", argv[3], 1, 65535));
	nconnections = alive = number("CONNECTIONS", argv[5], 1, MAX_CONNECTIONS);
	streams = number("STREAMS", argv[6], 1, http2 ? MAX_STREAMS : 1);
	int64_t rate = number("RATE", argv[7], 0, 10000000), length = number("MILLISECONDS", argv[8], 1, 600000) * 1000000;
	char authority[MAX_TEXT];
	snprintf(authority, sizeof authority, "%s:%s", argv[2], argv[3]);
	build_request(authority, argv[4]);
	for (mask = 1; mask < 2 * (uint32_t)streams - 1; mask = 2 * mask + 1)
		;
	capacity = streams * nrequest + 2 * CONTROL;
	alarm(length / SECOND + 10); // the end, if a server causes work without an end
	signal(SIGPIPE, SIG_IGN);

	epoll = epoll_create1(0);
	for (int i = 0; i < nconnections; i++) {
		if (epoll < 0 || (connections[i].out = malloc(capacity)) == NULL)
			die("%s", strerror(errno));
		open_connection(&connections[i]);
	}
	if (rate == 0)
		closed_loop(length);
	else
		fixed_rate(length, rate);
	unsigned long long unanswered = 0;
	for (int i = 0; rate > 0 && i < nconnections; i++)
		unanswered += connections[i].open;
	printf("requests %llu failed %llu unanswered %llu seconds %.6f\n", (unsigned long long)requests, (unsigned long long)failed, unanswered,
		rate > 0 ? (double)length / SECOND : (double)(now() - begin) / SECOND);
#ifdef TLS
	if (tls)
		printf("tls %s %s\n", SSL_get_version(connections->tls), SSL_get_cipher_name(connections->tls));
#endif
	return 0;
}
