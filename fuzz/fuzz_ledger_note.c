/* SPDX-License-Identifier: Apache-2.0 */
/* Signed notes, checkpoints, verifier keys and the ledger's key file. */
#include "base/err.h"
#include "ledger/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv text = { (const char *)data, size };
	struct note n CLEANUP(note_release) = { 0 };
	struct note_key k CLEANUP(note_key_release) = { 0 };
	struct str again CLEANUP(str_release) = { 0 };
	struct ed25519 key;
	struct checkpoint c;
	struct err err = ERR_INIT;
	char *name = NULL;

	if (note_parse(text, &n, &err) == 0) {
		assert(n.lines.n > 0);
		if (checkpoint_parse(n.text, &c, &err) == 0) {
			AUTO_FREE char *origin = sv_dup(c.origin);

			checkpoint_text(origin, c.size, c.root, &again);
			assert(sv_eq(sv_str(&again), n.text));
		}
	}
	if (note_key_parse(text, &k, &err) == 0) {
		AUTO_FREE char *vkey = note_vkey(&k);

		assert(sv_eq(sv_of(vkey), sv_trim(text)));
		for (size_t i = 0; i < n.lines.n; i++)
			(void)note_line_check(&n, &n.lines.v[i], &k, NULL);
	}
	if (note_secret_parse(text, &name, &key, &err) == 0)
		free(name);
	return 0;
}
