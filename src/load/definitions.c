/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in every result, so that a number never travels without what it means. */
#include "load/gather.h"

static const struct {
	const char *name, *text;
} all[] = {
	{ "scheduled",
	  "the time the arrival process set for a request before the run, from the seed" },
	{ "started", "the first byte of the request was written" },
	{ "ttft",
	  "from scheduled to the first event with non-empty content, reasoning or tool call" },
	{ "ttft_from_start", "the same, from the first byte sent" },
	{ "ttft_visible", "from scheduled to the first such event that is not reasoning alone" },
	{ "itl", "every gap between events that carry tokens, pooled over requests: per event" },
	{ "tpot", "of each request, (last token - first token) / tokens after the first event" },
	{ "e2e", "from scheduled to the end of the body" },
	{ "client_queue", "from scheduled to the moment this client took the request up" },
	{ "connect", "making the connection, of requests that made one; part of ttft" },
	{ "tls", "the TLS handshake, of requests that made a connection; part of ttft" },
	{ "percentiles",
	  "type 7 of all samples of requests that succeeded; .all: of all requests, a "
	  "failed one counting as infinite" },
	{ "throughput",
	  "requests that succeeded a second, from the first scheduled to the last end" },
	{ "output_tokens_per_s", "tokens of requests that succeeded a second, by when they came" },
	{ "steady", "from the first to the last moment at which at least 90 % of the usual number "
		    "of requests (the median over time) was in flight" },
	{ "ramp", "before the steady part, with the start cohort" },
	{ "drain", "behind the steady part" },
	{ "errors", "failed requests / requests scheduled" },
	{ "goodput", "requests that met every objective / requests scheduled" },
	{ "peak_concurrency",
	  "most requests in flight at once, by their begins and ends in order" },
	{ "answers.match", "answers that are the golden one / requests with a golden answer" },
	{ "answers.near", "answers within the tolerance / requests with a golden answer" },
	{ "usage_contradictions", "requests whose usage is over what was asked for or below the "
				  "number of events that carried tokens; it is not used" },
	{ "reconnects",
	  "requests sent again because a kept connection was closed before any byte of "
	  "the answer" },
	{ "requests.scheduled", "all but those cancelled" },
	{ "requests.ok", "ended as they had to" },
	{ "requests.short",
	  "ended cleanly with fewer tokens than they had to have, with none, or with "
	  "another finish reason than stop, length or a tool call" },
	{ "requests.no_finish", "ended cleanly without a finish reason" },
	{ "requests.error_event", "an error inside the stream" },
	{ "requests.http_status", "a status other than 2xx; redirections are not followed" },
	{ "requests.error_body", "2xx with an error, or with another protocol than was asked for" },
	{ "requests.cut", "the connection was closed inside the answer" },
	{ "requests.reset", "the connection was reset" },
	{ "requests.timeout", "no end within the timeout, counted from the request's begin" },
	{ "requests.connect", "no connection, or no TLS session" },
	{ "requests.dropped", "never sent: no free place within the timeout" },
	{ "requests.cancelled", "in flight when the run was interrupted; in no metric" },
	{ "usage_every", "tokens by the server's usage in every event" },
	{ "usage", "tokens by the server's usage at the end" },
	{ "event", "one token for each event that carries some: a lower bound" },
};

json_t *definitions_json(void)
{
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		json_put_str(o, all[i].name, all[i].text);
	return o;
}
