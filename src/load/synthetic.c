/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prompts out of a seed. Lengths are in words of one list; what they are in tokens only the server
 * knows, and says (prompt_tokens). No word of one prompt depends on another prompt's length, so a
 * longer list of prompts begins with the shorter one.
 */
#include "load/load.h"

#include "base/err.h"
#include "base/vec.h"
#include "stat/stat.h"

#include <math.h>

#define MOST_WORDS   200000
#define MOST_PROMPTS 100000
#define MOST_TURNS   100

static const char *const words[] = {
	"time",  "water", "house", "paper", "light", "river", "table", "glass", "music", "stone",
	"bread", "field", "cloud", "train", "plant", "north", "sound", "night", "wheel", "metal",
	"green", "heart", "money", "story", "chair", "wind",  "road",  "sea",   "salt",  "iron",
	"fire",  "snow",  "rain",  "leaf",  "root",  "seed",  "bird",  "fish",  "horse", "ship",
	"wall",  "door",  "roof",  "floor", "hand",  "foot",  "eye",   "ear",   "voice", "word",
	"line",  "point", "ring",  "key",   "lock",  "clock", "map",   "book",  "page",  "ink",
	"wood",  "rope",  "cloth", "coat",
};

enum shape { SHAPE_FIXED, SHAPE_UNIFORM, SHAPE_NORMAL, SHAPE_LOGNORMAL, SHAPE_EXPONENTIAL };
struct lengths {
	enum shape shape;
	double a, b;
};
struct spec {
	struct lengths input, output; /* words, tokens; output.a 0: left to the configuration */
	int64_t n, prefix, prefixes, turns;
};

/* ---- reading --------------------------------------------------------------------------------- */

static bool two_numbers(struct sv v, double *a, double *b)
{
	struct sv part;

	return sv_split(&v, ',', &part) && sv_to_f64(sv_trim(part), a) && sv_to_f64(sv_trim(v), b);
}

/* "512", "uniform(64,256)", "normal(512,128)", "lognormal(512,0.5)", "exponential(256)" */
static bool read_lengths(struct sv v, struct lengths *ret)
{
	static const struct {
		const char *name;
		enum shape shape;
		bool two;
	} shapes[] = { { "uniform(", SHAPE_UNIFORM, true },
		       { "normal(", SHAPE_NORMAL, true },
		       { "lognormal(", SHAPE_LOGNORMAL, true },
		       { "exponential(", SHAPE_EXPONENTIAL, false } };

	*ret = (struct lengths){ 0 };
	if (sv_to_f64(v, &ret->a))
		return ret->a >= 1 && ret->a <= MOST_WORDS;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t k = strlen(shapes[i].name);
		struct sv in;

		if (!sv_starts(v, shapes[i].name) || !sv_ends(v, ")"))
			continue;
		in = (struct sv){ v.p + k, v.n - k - 1 };
		ret->shape = shapes[i].shape;
		if (shapes[i].two ? !two_numbers(in, &ret->a, &ret->b) : !sv_to_f64(in, &ret->a))
			return false;
		return ret->a >= 1 && ret->a <= MOST_WORDS && ret->b >= 0 && ret->b <= MOST_WORDS &&
		       (ret->shape != SHAPE_UNIFORM || ret->b >= ret->a);
	}
	return false;
}

static bool one_part(struct sv name, struct sv value, struct spec *s)
{
	if (sv_is(name, "input"))
		return read_lengths(value, &s->input);
	if (sv_is(name, "output"))
		return read_lengths(value, &s->output);
	if (sv_is(name, "prompts"))
		return sv_to_i64(value, 1, MOST_PROMPTS, &s->n);
	if (sv_is(name, "prefix"))
		return sv_to_i64(value, 0, MOST_WORDS, &s->prefix);
	if (sv_is(name, "prefixes"))
		return sv_to_i64(value, 1, MOST_PROMPTS, &s->prefixes);
	if (sv_is(name, "turns"))
		return sv_to_i64(value, 1, MOST_TURNS, &s->turns);
	return false;
}

static int read_spec(const char *text, struct spec *ret, struct err *err)
{
	*ret = (struct spec){ .input = { .a = 256 }, .n = 100, .prefixes = 1, .turns = 1 };
	for (struct sv rest = sv_of(text), part; sv_word(&rest, &part);) {
		struct sv value = part, name;

		if (!sv_split(&value, '=', &name) || !one_part(name, value, ret)) {
			AUTO_FREE char *shown = sv_dup(part);

			return bail(err, ERR_PARSE,
				    "synthetic prompts: '%s' is not like 'input=normal(512,64)', "
				    "'output=128', 'prompts=100', 'prefix=64', 'prefixes=4' or "
				    "'turns=3'",
				    shown);
		}
	}
	return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A sum of 12 uniforms less 6 (Irwin and Hall): within 6 deviations, and the same everywhere. */
static double normal(struct rng *r)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += rng_unit(r);
	return sum;
}

static int64_t draw(const struct lengths *l, struct rng *r)
{
	double v = l->a;

	switch (l->shape) {
	case SHAPE_UNIFORM:
		v = l->a + floor(rng_unit(r) * (l->b - l->a + 1));
		break;
	case SHAPE_NORMAL:
		v = l->a + l->b * normal(r);
		break;
	case SHAPE_LOGNORMAL: /* a: the median */
		v = l->a * exp(l->b * normal(r));
		break;
	case SHAPE_EXPONENTIAL:
		v = -l->a * log(1 - rng_unit(r));
		break;
	default:
		break;
	}
	return (int64_t)fmin(fmax(round(v), 1), MOST_WORDS);
}

static void add_words(struct str *s, int64_t n, uint64_t seed)
{
	struct rng r = { seed };

	for (int64_t i = 0; i < n; i++) {
		if (s->n)
			str_addc(s, ' ');
		str_add(s, words[rng_below(&r, ARRAY_SIZE(words))]);
	}
}

static json_t *message(const char *role, const char *content)
{
	return json_pack("{s:s, s:s}", "role", role, "content", content);
}

static void put_line(json_t *o, const char *id, int64_t max_tokens, struct str *out)
{
	AUTO_FREE char *text = NULL;

	json_put_str(o, "id", id);
	if (max_tokens)
		json_put_int(o, "max_tokens", max_tokens);
	text = json_text(o, /* pretty= */ false);
	str_addf(out, "%s\n", text);
}

/* One prompt, or one conversation: each turn with all that was said before it, the answers made up
 * as well, so that turns can be sent at their times whatever the server says. */
static void one_prompt(const struct spec *s, int64_t i, struct rng *r, struct str *out)
{
	AUTO_JSON json_t *said = json_array();
	uint64_t own = rng_next(r);
	int64_t which = (int64_t)rng_below(r, (uint64_t)s->prefixes);

	for (int64_t turn = 0; turn < s->turns; turn++) {
		struct str text CLEANUP(str_release) = { 0 };
		AUTO_JSON json_t *o = json_object();
		AUTO_FREE char *id =
			s->turns > 1 ? xasprintf("s%lld.%lld", (long long)i, (long long)turn)
				     : xasprintf("s%lld", (long long)i);
		int64_t max_tokens = s->output.a > 0 ? draw(&s->output, r) : 0;

		if (turn == 0)
			add_words(&text, s->prefix, 0x707265ULL + (uint64_t)which);
		add_words(&text, draw(&s->input, r), own + (uint64_t)turn);
		if (s->turns == 1) {
			json_put_str(o, "prompt", str_text(&text));
			put_line(o, id, max_tokens, out);
			return;
		}
		json_array_append_new(said, message("user", str_text(&text)));
		json_put(o, "messages", json_deep_copy(said));
		put_line(o, id, max_tokens, out);
		str_clear(&text);
		add_words(&text, max_tokens ? max_tokens : 64, own + 1000 + (uint64_t)turn);
		json_array_append_new(said, message("assistant", str_text(&text)));
	}
}

int load_prompts_synthetic(const char *spec, uint64_t seed, struct load_prompts *ret,
			   struct err *err)
{
	struct str out CLEANUP(str_release) = { 0 };
	struct rng r = { seed ^ UINT64_C(0x73796e7468) };
	struct spec s;

	TRY(read_spec(spec, &s, err));
	str_init(&out, 1024 * MIB);
	for (int64_t i = 0; i < s.n; i++) {
		/* Numbers of one prompt's own, whatever the others need. */
		struct rng own = { rng_next(&r) };

		one_prompt(&s, i, &own, &out);
		if (out.over)
			return bail(err, ERR_LIMIT, "synthetic prompts of more than 1 GiB");
	}
	return load_prompts_parse(sv_str(&out), "synthetic prompts", ret, err);
}
