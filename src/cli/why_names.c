/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/why_names.h"

#include "base/str.h"
#include <ctype.h>

enum kind { HOST, USER, MAIL, IP, MAC, UUID, SERIAL };
static const char *const kind_names[] = { "host", "user", "mail", "ip", "mac", "uuid", "serial" };

enum { LONGEST = 255 };

/* No names of a place or a person, or those that everybody has. */
static const char *const common[] = {
	"localhost", "root",   "none",   "null",   "true",    "false",  "unknown", "ubuntu",
	"ec2-user",  "user",   "users",  "runner", "jenkins", "app",    "admin",   "work",
	"model",     "models", "data",   "shared", "nobody",  "device", "memory",  "cuda",
	"kernel",    "info",   "warn",   "error",  "debug",   "trace",  "rank",    "the",
	"and",       "not",    "failed", "error:", "pinned",  "python", "python3", "default",
};
static const char *const public_sites[] = {
	"github.com",
	"gitlab.com",
	"huggingface.co",
	"docs.nvidia.com",
	"developer.nvidia.com",
	"forums.developer.nvidia.com",
	"rocm.docs.amd.com",
	"pytorch.org",
	"docs.pytorch.org",
	"discuss.pytorch.org",
	"pypi.org",
	"docs.vllm.ai",
	"kernel.org",
	"www.kernel.org",
	"docs.kernel.org",
	"jax.readthedocs.io",
	"www.intel.com",
	"docs.docker.com",
	"kubernetes.io",
	"stackoverflow.com",
	"json-schema.org",
	"in-toto.io",
	"instinct.docs.amd.com",
};

void names_release(struct names *n)
{
	json_decref(n->known);
	json_decref(n->keep);
	*n = (struct names){ 0 };
}

static void lower(char *to, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (char)tolower((unsigned char)p[i]);
	to[n] = '\0';
}

void names_keep(struct names *n, const char *word)
{
	char key[LONGEST + 1];

	if (!word || !*word || strlen(word) > LONGEST)
		return;
	if (!n->keep)
		n->keep = json_object();
	lower(key, word, strlen(word));
	(void)json_object_set_new(n->keep, key, json_true());
}

static bool listed(const char *const *list, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (streq(list[i], key))
			return true;
	return false;
}

/* The placeholder of a name, a new one when it has none yet; NULL: it stays. */
static const char *placeholder(struct names *n, enum kind kind, const char *p, size_t len)
{
	char key[LONGEST + 1];
	const char *is;

	if (!len || len > LONGEST)
		return NULL;
	lower(key, p, len);
	if (json_object_get(n->keep, key))
		return NULL;
	if (!n->known)
		n->known = json_object();
	is = json_string_value(json_object_get(n->known, key));
	if (!is) {
		AUTO_FREE char *text = xasprintf("<%s-%u>", kind_names[kind], ++n->count[kind]);

		json_put_str(n->known, key, text);
		is = json_string_value(json_object_get(n->known, key));
	}
	return is;
}

static bool alnum_at(const char *p)
{
	return isalnum((unsigned char)*p) || *p == '_';
}

static size_t name_len(const char *p)
{
	size_t k = 0;

	while (alnum_at(p + k) || ((p[k] == '.' || p[k] == '-') && alnum_at(p + k + 1)))
		k++;
	return k;
}

static bool all_of(const char *p, size_t n, const char *chars)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr(chars, p[i]))
			return false;
	return true;
}

static bool source_file(const char *key)
{
	static const char *const ends[] = {
		".cpp", ".cc", ".c",   ".h",   ".hpp", ".cu",   ".py",
		".go",  ".rs", ".hip", ".cxx", ".so",  ".json", ".yaml"
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (str_ends(key, ends[i]))
			return true;
	return false;
}

static void learn(struct names *n, enum kind kind, const char *p, size_t len)
{
	char key[LONGEST + 1];
	size_t dot;

	if (len < 3 || len > LONGEST)
		return;
	lower(key, p, len);
	if (listed(common, ARRAY_SIZE(common), key) ||
	    (kind == HOST && (listed(public_sites, ARRAY_SIZE(public_sites), key) ||
			      all_of(key, len, "0123456789.:") || source_file(key) ||
			      (str_starts(key, "rank") && all_of(key + 4, len - 4, "0123456789")))))
		return;
	(void)placeholder(n, kind, p, len);
	/* A host is also called by its first part. */
	dot = strcspn(key, ".");
	if (kind == HOST && dot < len && dot >= 3)
		learn(n, HOST, p, dot);
}

/* ---- where names stand ----------------------------------------------------------------------- */

/* Words in front of ':' or '='; a blank in them may be '_', '-' or nothing. */
static const struct {
	const char *word;
	enum kind kind;
} labels[] = {
	{ "host name", HOST },
	{ "host", HOST },
	{ "node name", HOST },
	{ "node", HOST },
	{ "node list", HOST },
	{ "job nodelist", HOST },
	{ "peer", HOST },
	{ "master addr", HOST },
	{ "server name", HOST },
	{ "fqdn", HOST },
	{ "remote", HOST },
	{ "slurmd nodename", HOST },
	{ "slurm nodelist", HOST },
	{ "slurm job nodelist", HOST },
	{ "rdzv endpoint", HOST },
	{ "user name", USER },
	{ "user", USER },
	{ "log name", USER },
	{ "run by", USER },
	{ "who", USER },
	{ "owner user", USER },
	{ "serial number", SERIAL },
	{ "serial no", SERIAL },
	{ "serial", SERIAL },
	{ "s/n", SERIAL },
	{ "asset tag", SERIAL },
	{ "board serial", SERIAL },
	{ "unique id", SERIAL },
	{ "chassis serial", SERIAL },
	{ "machine id", SERIAL },
	{ "node guid", SERIAL },
	{ "port guid", SERIAL },
};

static size_t label_len(const char *p, const char *word)
{
	size_t k = 0;

	for (; *word; word++) {
		if (*word == ' ') {
			if (p[k] == ' ' || p[k] == '_' || p[k] == '-')
				k++;
			continue;
		}
		if (tolower((unsigned char)p[k]) != *word)
			return 0;
		k++;
	}
	return k;
}

/* "Serial Number   : 16505", "host=gpu-7", "\"hostname\": \"gpu-7\"" */
static void labelled(struct names *n, const char *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		size_t k = label_len(p, labels[i].word);

		if (!k)
			continue;
		k += strspn(p + k, "\"'\\");
		k += strspn(p + k, " \t");
		if (p[k] != ':' && p[k] != '=')
			continue;
		k++;
		if (p[k] == '=' || p[k] == ':') /* a comparison, a C++ name */
			continue;
		k += strspn(p + k, " \t\"'\\");
		learn(n, labels[i].kind, p + k, name_len(p + k));
	}
}

/* "scheme://[user@]host", "/home/NAME/", "user@host:". */
static void in_paths(struct names *n, const char *p)
{
	static const char *const homes[] = { "/home/", "/Users/", "/homes/", "/scratch/users/" };

	if (strncmp(p, "://", 3) == 0) {
		size_t end = 3 + strcspn(p + 3, "/ \t\n\"'<>"), at = 3;

		for (size_t i = 3; i < end; i++)
			if (p[i] == '@')
				at = i + 1;
		learn(n, HOST, p + at, name_len(p + at));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (str_starts(p, homes[i]))
			learn(n, USER, p + strlen(homes[i]), name_len(p + strlen(homes[i])));
}

/* At the beginning of a line: NCCL's "host:pid:tid [", the kernel's log, mpirun's "[host:pid]". */
static void line_start(struct names *n, const char *p)
{
	const char *at = *p == '[' ? p + 1 : p;
	size_t k = name_len(at), d;

	if (at[k] == ':' && k) {
		d = strspn(at + k + 1, "0123456789");
		if (d &&
		    ((*p == '[' && at[k + 1 + d] == ']') ||
		     (*p != '[' && at[k + 1 + d] == ':' && isdigit((unsigned char)at[k + d + 2]))))
			learn(n, HOST, at, k);
	}
	/* "Dec  1 14:05:41 host kernel: ", "2026-12-01T14:05:41.1+00:00 host app[7]: " */
	for (k = 0; p[k] && p[k] != '\n' && k < 40; k++) {
		const char *t = p + k;

		if (!(isdigit((unsigned char)t[0]) && isdigit((unsigned char)t[1]) && t[2] == ':' &&
		      isdigit((unsigned char)t[3]) && isdigit((unsigned char)t[4]) && t[5] == ':' &&
		      isdigit((unsigned char)t[6])))
			continue;
		t += strcspn(t, " \t\n");
		t += strspn(t, " \t");
		d = name_len(t);
		if (t[d] == ' ' && d) {
			const char *who = t + d + 1;
			size_t w = strcspn(who, " :[\n");

			if (w && (who[w] == ':' ||
				  (who[w] == '[' && isdigit((unsigned char)who[w + 1]))))
				learn(n, HOST, t, d);
		}
		return;
	}
}

/* Names that only such a network has. */
static bool private_zone(const char *p, size_t len)
{
	static const char *const zones[] = { ".local",         ".internal", ".lan",
					     ".corp",          ".intra",    ".localdomain",
					     ".cluster.local", ".svc",      ".private" };
	char key[LONGEST + 1];

	if (len > LONGEST)
		return false;
	lower(key, p, len);
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++)
		if (str_ends(key, zones[i]) && len > strlen(zones[i]))
			return true;
	return false;
}

void names_learn(struct names *n, const char *text)
{
	for (const char *p = text; *p; p++) {
		bool first = p == text || p[-1] == '\n';
		bool word = first || !alnum_at(p - 1);
		size_t len;

		if (first)
			line_start(n, p);
		if (*p == ':' || *p == '/')
			in_paths(n, p);
		if (!word || !alnum_at(p))
			continue;
		labelled(n, p);
		if (!first && (p[-1] == '.' || p[-1] == '-'))
			continue;
		len = name_len(p);
		if (private_zone(p, len))
			learn(n, HOST, p, len);
		if (p[len] == '@' && len >= 3 && name_len(p + len + 1) &&
		    (memchr(p + len + 1, '.', name_len(p + len + 1)) ||
		     p[len + 1 + name_len(p + len + 1)] == ':')) {
			learn(n, USER, p, len);
			learn(n, HOST, p + len + 1, name_len(p + len + 1));
		}
	}
}

/* ---- what names look like -------------------------------------------------------------------- */

static size_t hex_run(const char *p)
{
	size_t k = 0;

	while (isxdigit((unsigned char)p[k]))
		k++;
	return k;
}

static size_t uuid_at(const char *p)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t k = 0;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (i && p[k++] != '-')
			return 0;
		if (hex_run(p + k) != groups[i])
			return 0;
		k += groups[i];
	}
	return alnum_at(p + k) ? 0 : k;
}

static size_t mac_at(const char *p)
{
	char sep = p[0] && p[1] ? p[2] : 0;
	size_t k = 2, groups = 1;

	if ((sep != ':' && sep != '-') || hex_run(p) != 2)
		return 0;
	while (p[k] == sep && hex_run(p + k + 1) == 2) {
		k += 3;
		groups++;
	}
	return groups >= 6 && !alnum_at(p + k) ? k : 0;
}

/* With a known beginning, so that no C++ name or time of day is one. */
static size_t ipv6_at(const char *p)
{
	size_t k = 0, groups = 0, colons = 0, first = hex_run(p);
	bool twice = false;

	while (isxdigit((unsigned char)p[k]) || p[k] == ':') {
		size_t h = hex_run(p + k);

		if (h > 4)
			return 0;
		groups += h > 0;
		k += h;
		if (p[k] != ':' ||
		    (!isxdigit((unsigned char)p[k + 1]) && p[k + 1] != ':' && !twice))
			break;
		if (p[k] == ':' && p[k + 1] == ':') {
			if (twice)
				return 0;
			twice = true;
			k++;
		} else if (!isxdigit((unsigned char)p[k + 1])) {
			break;
		}
		k++;
		colons++;
	}
	if (alnum_at(p + k) || colons == 0 || groups > 8)
		return 0;
	if (groups == 8 && !twice)
		return k;
	return twice && first == 4 && strchr("23fF", p[0]) ? k : 0;
}

static size_t ipv4_at(const char *p, const char *start)
{
	size_t k = 0;

	if ((p > start && p[-1] == '.') || (p > start + 1 && p[-1] == '=' && p[-2] == '='))
		return 0;
	for (int part = 0; part < 4; part++) {
		size_t d = strspn(p + k, "0123456789");

		if (part && p[k] != '.')
			return 0;
		k += part > 0;
		d = strspn(p + k, "0123456789");
		if (!d || d > 3 || (d == 3 && strncmp(p + k, "255", 3) > 0))
			return 0;
		k += d;
	}
	if (alnum_at(p + k) || (p[k] == '.' && alnum_at(p + k + 1)) || str_starts(p, "127.") ||
	    (k == 7 && str_starts(p, "0.0.0.0")))
		return 0;
	return k;
}

static size_t mail_at(const char *p)
{
	size_t a = name_len(p), b;

	if (!a || p[a] != '@')
		return 0;
	b = name_len(p + a + 1);
	return b && memchr(p + a + 1, '.', b) ? a + 1 + b : 0;
}

/* The longest beginning of the name here that is known. */
static const char *known_at(const struct names *n, const char *p, size_t *ret_len)
{
	char key[LONGEST + 1];
	size_t len = name_len(p);

	if (!n->known || len > LONGEST)
		return NULL;
	lower(key, p, len);
	for (size_t k = len; k >= 3; k--) {
		const char *is;

		if (k < len && key[k] != '.' && key[k] != '-')
			continue;
		key[k] = '\0';
		is = json_string_value(json_object_get(n->known, key));
		if (is) {
			*ret_len = k;
			return is;
		}
	}
	return NULL;
}

static const char *hidden_at(struct names *n, const char *p, const char *start, size_t *ret_len)
{
	enum kind kind = UUID;
	size_t len = uuid_at(p);

	if (!len) {
		kind = MAC;
		len = mac_at(p);
	}
	if (!len) {
		kind = IP;
		len = ipv6_at(p);
	}
	if (!len)
		len = ipv4_at(p, start);
	if (!len) {
		kind = MAIL;
		len = mail_at(p);
	}
	*ret_len = len;
	return len ? placeholder(n, kind, p, len) : NULL;
}

char *names_hide(struct names *n, const char *text)
{
	struct str s = { 0 };

	for (const char *p = text; *p;) {
		char before = p == text ? ' ' : p[-1];
		bool word = alnum_at(p) && !(isalnum((unsigned char)before) || before == '_');
		const char *is = NULL;
		size_t len = 0;

		if (word)
			is = hidden_at(n, p, text, &len);
		if (word && !is)
			is = known_at(n, p, &len);
		if (is)
			str_add(&s, is);
		else
			str_addc(&s, *p);
		p += is ? len : 1;
	}
	return str_steal(&s);
}
