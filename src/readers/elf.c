/* SPDX-License-Identifier: Apache-2.0 */
/* The few facts of an ELF file that say which code it is: System V gABI, chapters 4 and 5. */
#include "readers/readers.h"

#include "base/err.h"
#include <elf.h>

#define MAX_HEADERS 64
#define MAX_DYNAMIC 4096
#define MAX_NOTES   (64 * KIB)
#define MAX_STRINGS (16 * MIB)
#define MAX_NAME    512

struct image {
	const struct elf_bytes *from;
	Elf64_Phdr ph[MAX_HEADERS];
	size_t n_ph;
};

static bool get(const struct image *im, uint64_t offset, void *buf, size_t n)
{
	if (offset > im->from->size || n > im->from->size - offset)
		return false;
	return im->from->at(im->from->arg, offset, buf, n);
}

/* File offset of a virtual address, through the PT_LOAD that holds it. */
static bool offset_of(const struct image *im, uint64_t addr, uint64_t *ret)
{
	for (size_t i = 0; i < im->n_ph; i++) {
		const Elf64_Phdr *p = &im->ph[i];

		if (p->p_type != PT_LOAD || addr < p->p_vaddr || addr - p->p_vaddr >= p->p_filesz)
			continue;
		*ret = p->p_offset + (addr - p->p_vaddr);
		return true;
	}
	return false;
}

static char *string_at(const struct image *im, uint64_t offset)
{
	char buf[MAX_NAME];
	size_t n = sizeof(buf);

	if (offset >= im->from->size)
		return NULL;
	n = (size_t)MIN((uint64_t)n, im->from->size - offset);
	if (!get(im, offset, buf, n) || !memchr(buf, '\0', n))
		return NULL;
	return text_clean(sv_of(buf));
}

static int read_headers(struct image *im, struct err *err)
{
	Elf64_Ehdr h;

	if (!get(im, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return bail(err, ERR_PARSE, "no ELF file");
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return bail(err, ERR_PARSE,
			    "an ELF file of another kind than 64-bit little-endian");
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > MAX_HEADERS)
		return bail(err, ERR_PARSE, "an ELF file with odd program headers");
	im->n_ph = h.e_phnum;
	if (im->n_ph && !get(im, h.e_phoff, im->ph, im->n_ph * sizeof(Elf64_Phdr)))
		return bail(err, ERR_PARSE, "the ELF file is cut in its program headers");
	return 0;
}

static void read_notes(const struct image *im, const Elf64_Phdr *p, struct elf *e)
{
	size_t n = (size_t)MIN(p->p_filesz, (uint64_t)MAX_NOTES), at = 0;
	AUTO_FREE unsigned char *b = xmalloc(n ? n : 1);

	if (!get(im, p->p_offset, b, n))
		return;
	while (n - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc;
		struct str hex CLEANUP(str_release) = { 0 };

		memcpy(&note, b + at, sizeof(note));
		at += sizeof(note);
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > n - at || desc > n - at - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(b + at, "GNU", 4) == 0 && note.n_descsz <= 64 && !e->build_id) {
			for (size_t i = 0; i < note.n_descsz; i++)
				str_addf(&hex, "%02x", b[at + name + i]);
			e->build_id = str_steal(&hex);
		}
		at += name + desc;
	}
}

static int read_dynamic(const struct image *im, const Elf64_Phdr *p, struct elf *e, struct err *err)
{
	size_t n = (size_t)MIN(p->p_filesz / sizeof(Elf64_Dyn), (uint64_t)MAX_DYNAMIC);
	AUTO_FREE Elf64_Dyn *d = xmalloc((n ? n : 1) * sizeof(*d));
	uint64_t strings = 0, strings_size = 0;
	bool ok = false;

	if (!get(im, p->p_offset, d, n * sizeof(*d)))
		return bail(err, ERR_PARSE, "the ELF file is cut in its dynamic section");
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_STRTAB)
			ok = offset_of(im, d[i].d_un.d_ptr, &strings);
		else if (d[i].d_tag == DT_STRSZ)
			strings_size = d[i].d_un.d_val;
	}
	if (!ok || strings_size > MAX_STRINGS)
		return bail(err, ERR_PARSE, "the ELF file has no readable string table");
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		AUTO_FREE char *s = NULL;

		if (d[i].d_tag == DT_RPATH || d[i].d_tag == DT_RUNPATH)
			e->runpath = true;
		if (d[i].d_tag != DT_NEEDED && d[i].d_tag != DT_SONAME)
			continue;
		if (d[i].d_un.d_val < strings_size)
			s = string_at(im, strings + d[i].d_un.d_val);
		if (!s)
			return bail(err, ERR_PARSE, "the ELF file is cut in its strings");
		if (d[i].d_tag == DT_NEEDED)
			strs_add(&e->needed, s);
		else if (!e->soname)
			e->soname = STEAL(s);
	}
	return 0;
}

int elf_read(const struct elf_bytes *from, struct elf *ret, struct err *err)
{
	struct elf e CLEANUP(elf_release) = { 0 };
	struct image im = { .from = from };

	TRY(read_headers(&im, err));
	for (size_t i = 0; i < im.n_ph; i++) {
		if (im.ph[i].p_type == PT_NOTE)
			read_notes(&im, &im.ph[i], &e);
		else if (im.ph[i].p_type == PT_INTERP && !e.interp)
			e.interp = string_at(&im, im.ph[i].p_offset);
		else if (im.ph[i].p_type == PT_DYNAMIC)
			TRY(read_dynamic(&im, &im.ph[i], &e, err));
	}
	*ret = e;
	e = (struct elf){ 0 };
	return 0;
}

void elf_release(struct elf *e)
{
	free(e->soname);
	free(e->build_id);
	free(e->interp);
	strs_release(&e->needed);
	*e = (struct elf){ 0 };
}

static bool memory_at(void *arg, uint64_t offset, void *buf, size_t n)
{
	memcpy(buf, (const char *)arg + offset, n);
	return true;
}

int elf_read_bytes(struct sv bytes, struct elf *ret, struct err *err)
{
	const struct elf_bytes from = { memory_at, (void *)(uintptr_t)bytes.p, bytes.n };

	return elf_read(&from, ret, err);
}
