//go:build judge

package all

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/lz4"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
)

// These tests compare the filters with the programs they must agree with. A missing
// judge is a failure. Packages of Debian: python3-h5py, python3-numcodecs,
// hdf5-filter-plugin, libnetcdf19, zstd.

// judge is a Python program that answers one line of JSON with another.
type judge struct {
	t   testing.TB
	in  *json.Encoder
	out *bufio.Reader
	err *bytes.Buffer
}

func startJudge(t testing.TB, script string) *judge {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "testdata/"+script)
	cmd.Env = append(os.Environ(), "HDF5_PLUGIN_PATH=/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{t: t, in: json.NewEncoder(in), out: bufio.NewReader(out), err: new(bytes.Buffer)}
	cmd.Stderr = j.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return j
}

func (j *judge) ask(question, answer any) {
	j.t.Helper()
	if err := j.in.Encode(question); err != nil {
		j.t.Fatalf("judge: %v\n%s", err, j.err)
	}
	line, err := j.out.ReadBytes('\n')
	if err != nil {
		j.t.Fatalf("judge: %v\n%s", err, j.err)
	}
	if err := json.Unmarshal(line, answer); err != nil {
		j.t.Fatalf("judge: %v in %s", err, line)
	}
}

type answer struct {
	Error, Raw, Stored string
	Mask               uint32
	Missing            []uint32
}

func (j *judge) must(question any) answer {
	j.t.Helper()
	var a answer
	j.ask(question, &a)
	if a.Error != "" {
		j.t.Fatalf("judge: %s", a.Error)
	}
	return a
}

// hdf5Chain returns a chain in the form of judge_hdf5.py.
func hdf5Chain(c filters.Chain) []any {
	out := make([]any, len(c))
	for i, f := range c {
		flags := 0
		if f.Optional {
			flags = 1
		}
		out[i] = []any{f.ID, append([]uint32{}, f.Params...), flags}
	}
	return out
}

// judgeBlocks returns blocks for chains with these specifications. Those longer than the
// blocks and windows of the codecs are expensive: one chain of each codec gets them, and
// with CDFZ_SOAK=1 every one.
func judgeBlocks(spec string) [][]byte {
	var out [][]byte
	for _, n := range []int{8, 40, 64, 800, 4096, 40000} {
		out = append(out, filtertest.Field(n), filtertest.Noise(n), make([]byte, n), append(filtertest.Field(n/2), make([]byte, n/2)...))
	}
	for seed := range uint64(4) {
		out = append(out, filtertest.Mixed(8000, seed))
	}
	long := []string{"1,6", "2,4", "3", "307,9", "32004,0", "32015,3"}
	if os.Getenv("CDFZ_SOAK") == "" && !slices.Contains(long, spec) {
		return out
	}
	return append(out, filtertest.Mixed(600000, 5), filtertest.Mixed(262144, 6), filtertest.Field(400000), filtertest.Noise(262144))
}

func TestJudgeHDF5(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	if a := j.must(map[string]any{"op": "available", "ids": []uint32{1, 2, 3, 307, 32004}}); len(a.Missing) > 0 {
		t.Fatalf("HDF5 lacks filters %v: install hdf5-filter-plugin", a.Missing)
	}
	for _, c := range []struct {
		spec  string
		equal bool // HDF5 writes the same bytes
	}{
		{"1,0", false}, {"1,1", false}, {"1,6", false}, {"1,9", false},
		{"2,2", true}, {"2,4", true}, {"2,8", true},
		{"3", true}, {"3|2,2", true}, {"3|2,4", true}, {"3|2,8", true}, {"2,4|3", true},
		{"307,1", false}, {"307,9", false},
		{"32004,0", true}, {"32004,1000", true}, {"32004,65536", true}, {"2,4|32004,0|3", true},
		{"2,4|1,5", false}, {"2,4|1,6|3", false}, {"3|2,8|1,1", false}, {"2,2|307,5", false},
	} {
		chain := filtertest.Chain(t, c.spec)
		k := filtertest.Coder(t, chain)
		for _, src := range judgeBlocks(c.spec) {
			stored, mask, err := k.Encode(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			a := j.must(map[string]any{"op": "read", "chain": hdf5Chain(chain), "mask": mask, "n": len(src), "stored": hex.EncodeToString(stored)})
			if a.Raw != hex.EncodeToString(src) {
				t.Errorf("%s, %d bytes: HDF5 reads other bytes", c.spec, len(src))
			}
			a = j.must(map[string]any{"op": "write", "chain": hdf5Chain(chain), "raw": hex.EncodeToString(src)})
			theirs := unhex(t, a.Stored)
			dst := make([]byte, len(src))
			if err := k.Decode(dst, theirs, a.Mask); err != nil || !bytes.Equal(dst, src) {
				t.Errorf("%s, %d bytes: what HDF5 wrote: %v", c.spec, len(src), err)
			}
			if c.equal && !bytes.Equal(theirs, stored) {
				t.Errorf("%s, %d bytes: HDF5 wrote %d other bytes, ours are %d", c.spec, len(src), len(theirs), len(stored))
			}
		}
	}
}

// TestJudgeMask checks that HDF5 honours our exclusion masks.
func TestJudgeMask(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	for _, spec := range []string{"1,6", "2,4|1,6", "2,4|1,6|3", "3|2,4|1,6", "307,9|1,6|3"} {
		for opt := range 8 {
			chain := filtertest.Chain(t, spec)
			for i := range chain {
				chain[i].Optional = opt>>i&1 != 0
			}
			k := filtertest.Coder(t, chain)
			for _, src := range [][]byte{filtertest.Field(4000), filtertest.Noise(4000), make([]byte, 4000)} {
				stored, mask, err := k.Encode(nil, src)
				if err != nil {
					t.Fatal(err)
				}
				a := j.must(map[string]any{"op": "read", "chain": hdf5Chain(chain), "mask": mask, "n": len(src), "stored": hex.EncodeToString(stored)})
				if a.Raw != hex.EncodeToString(src) {
					t.Errorf("%s, optional 0x%x, mask 0x%x: HDF5 reads other bytes", spec, opt, mask)
				}
				a = j.must(map[string]any{"op": "write", "chain": hdf5Chain(chain), "raw": hex.EncodeToString(src)})
				dst := make([]byte, len(src))
				if err := k.Decode(dst, unhex(t, a.Stored), a.Mask); err != nil || !bytes.Equal(dst, src) {
					t.Errorf("%s, optional 0x%x: what HDF5 wrote: %v", spec, opt, err)
				}
			}
		}
	}
	// HDF5 must find our checksums wrong when we do.
	chain := filtertest.Chain(t, "3")
	stored, _, _ := filtertest.Coder(t, chain).Encode(nil, filtertest.Field(400))
	stored[17] ^= 1
	var a answer
	j.ask(map[string]any{"op": "read", "chain": hdf5Chain(chain), "mask": 0, "n": 400, "stored": hex.EncodeToString(stored)}, &a)
	if a.Error == "" {
		t.Error("HDF5 does not see a changed byte under fletcher32")
	}
}

func TestJudgeNumcodecs(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	for _, spec := range []string{"1,0", "1,6", "307,9", "307,1", "32015,-5", "32015,3", "32015,7", "32015,19", "2,2|32015,3", "2,4|32015,1", "2,4|32015,3",
		"2,8|32015,9", "2,4|32015,7", "2,4|32015,12", "2,4|1,5", "2,8|307,9", "2,4"} {
		chain := filtertest.Chain(t, spec)
		k := filtertest.Coder(t, chain)
		codecs, err := chain.Codecs(filters.Block{Len: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range judgeBlocks(spec) {
			stored, _, err := k.Encode(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			want := hex.EncodeToString(src)
			if a := j.must(map[string]any{"op": "decode", "codecs": codecs, "n": len(src), "stored": hex.EncodeToString(stored)}); a.Raw != want {
				t.Errorf("%s, %d bytes: numcodecs decodes other bytes", spec, len(src))
			}
			if chain[len(chain)-1].ID == filters.Zstd {
				var inner []byte = src
				if len(chain) > 1 {
					inner, _, _ = filtertest.Coder(t, chain[:1]).Encode(nil, src)
				}
				if a := j.must(map[string]any{"op": "zstd", "stored": hex.EncodeToString(stored)}); a.Raw != hex.EncodeToString(inner) {
					t.Errorf("%s, %d bytes: zstd decodes other bytes", spec, len(src))
				}
			}
			a := j.must(map[string]any{"op": "encode", "codecs": codecs, "raw": want})
			dst := make([]byte, len(src))
			if err := k.Decode(dst, unhex(t, a.Stored), 0); err != nil || !bytes.Equal(dst, src) {
				t.Errorf("%s, %d bytes: what numcodecs encoded: %v", spec, len(src), err)
			}
		}
	}
}

// TestJudgeLZ4 checks that our LZ4 blocks equal those of the reference.
func TestJudgeLZ4(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	var table lz4.Table
	blocks := judgeBlocks("32004,0")
	for n := range 80 {
		blocks = append(blocks, make([]byte, n+1), bytes.Repeat([]byte("abc"), n+1), filtertest.Field(n+1))
	}
	for _, n := range []int{65535, 65536, 65546, 65547, 65548, 70000} {
		blocks = append(blocks, filtertest.Field(n), make([]byte, n), bytes.Repeat([]byte("abcdefg"), n))
	}
	for _, src := range blocks {
		a := j.must(map[string]any{"op": "lz4", "raw": hex.EncodeToString(src)})
		if got := lz4.Compress(nil, src, &table); hex.EncodeToString(got) != a.Stored {
			t.Errorf("%d bytes: %d bytes, found %d others", len(src), len(a.Stored)/2, len(got))
		}
	}
}
