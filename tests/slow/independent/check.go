// SPDX-License-Identifier: Apache-2.0

// Reads what `twice export` and `twice witness` wrote with the packages of the Go checksum database
// and of torchwood: check TILES LOG_VKEY PROOF COSIGNED WITNESS_KEY_FILE
package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Println("wrong:", err)
		os.Exit(1)
	}
	return v
}

func wrong(format string, args ...any) {
	fmt.Printf("wrong: "+format+"\n", args...)
	os.Exit(1)
}

// A folder in place of a web server.
type folder string

func (f folder) ReadTiles(_ context.Context, tiles []tlog.Tile) (data [][]byte, err error) {
	for _, t := range tiles {
		b, err := f.ReadEndpoint(nil, torchwood.TilePath(t))
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	return data, nil
}

func (f folder) SaveTiles([]tlog.Tile, [][]byte) {}

func (f folder) ReadEndpoint(_ context.Context, path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), filepath.FromSlash(path)))
}

func head(text []byte, v ...note.Verifier) torchwood.Checkpoint {
	n := must(note.Open(text, note.VerifierList(v...)))
	if len(n.Sigs) != len(v) {
		wrong("%d of %d signatures", len(n.Sigs), len(v))
	}
	return must(torchwood.ParseCheckpoint(n.Text))
}

func checkTiles(dir string, log note.Verifier) {
	c := head(must(folder(dir).ReadEndpoint(nil, "checkpoint")), log)
	client := must(torchwood.NewClient(folder(dir)))
	seen := int64(0)
	for seen < c.N { // it stops before a partial bundle, to be asked again
		before := seen
		for i, entry := range client.Entries(context.Background(), c.Tree, seen) {
			if want := fmt.Sprintf(`,"seq":%d,"v":1}`, i); !bytes.HasSuffix(entry, []byte(want)) {
				wrong("entry %d is another", i)
			}
			seen = i + 1
		}
		must(0, client.Err())
		if seen == before {
			wrong("%d of %d entries", seen, c.N)
		}
	}
	fmt.Println("tiles", c.N)
}

func checkProof(file string, log note.Verifier) {
	text := must(os.ReadFile(file))
	top, checkpoint, found := bytes.Cut(text, []byte("\n\n"))
	if !found {
		wrong("no blank line in the proof")
	}
	c := head(checkpoint, log)
	lines := strings.Split(string(top), "\n")
	entry := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra ")))
	index := must(strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64))
	var proof tlog.RecordProof
	for _, line := range lines[3:] {
		proof = append(proof, must(tlog.ParseHash(line)))
	}
	must(0, tlog.CheckRecord(proof, c.N, c.Hash, index, tlog.RecordHash(entry)))
	fmt.Println("proof", index, c.N)
}

// Its verifier comes from the key itself: this version of the package makes none of a public key.
func checkCosigned(file, key string, log note.Verifier) {
	parts := strings.SplitN(strings.TrimSpace(string(must(os.ReadFile(key)))), "+", 5)
	seed := must(base64.StdEncoding.DecodeString(parts[4]))[1:]
	witness := must(torchwood.NewCosignatureSigner(parts[2], ed25519.NewKeyFromSeed(seed)))
	c := head(must(os.ReadFile(file)), log, witness.Verifier())
	fmt.Println("cosigned", c.N)
}

func main() {
	log := must(note.NewVerifier(os.Args[2]))
	checkTiles(os.Args[1], log)
	checkProof(os.Args[3], log)
	checkCosigned(os.Args[4], os.Args[5], log)
}
