//go:build judge

package lorenz

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

// pythonDecoder decodes blocks with the decoder of python/, which was written from
// docs/LORENZ.md without looking at this package. It needs python3-numpy of Debian.
type pythonDecoder struct {
	jobs  bytes.Buffer
	names []string
	want  []string // SHA-256, or "damaged"
}

// add queues a block that this package decodes to raw, or rejects if ok is false.
func (p *pythonDecoder) add(t *testing.T, name string, params Params, enc, raw []byte, ok bool) {
	v, err := params.Uint32s()
	require.NoError(t, err)
	require.NoError(t, json.NewEncoder(&p.jobs).Encode(map[string]any{"params": v, "block": enc}))
	want := "damaged"
	if ok {
		sum := sha256.Sum256(raw)
		want = hex.EncodeToString(sum[:])
	}
	p.names, p.want = append(p.names, name), append(p.want, want)
}

// encode adds a block as encoded by the encoder, alternating between the levels.
func (p *pythonDecoder) encode(t *testing.T, params Params, raw []byte) {
	level := Level(len(p.names) % 3)
	e, err := NewEncoder(params, level)
	require.NoError(t, err)
	enc, err := e.Encode(nil, raw)
	require.NoError(t, err)
	p.add(t, fmt.Sprintf("%v, level %d, mode %d", params, level, enc[0]), params, enc, raw, true)
}

func (p *pythonDecoder) run(t *testing.T) {
	cmd := exec.Command("/usr/bin/python3", "../testdata/judge/lorenz_judge.py")
	cmd.Stdin = &p.jobs
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(p.want))
	for i, line := range lines {
		if !strings.HasPrefix(line, p.want[i]) {
			t.Errorf("%s: expected %s, found %s", p.names[i], p.want[i], line)
		}
	}
	t.Logf("%d blocks", len(lines))
}

// TestJudgePythonFaults checks blocks that are too long to be stored. TestJudgePythonUnit has the stored ones.
func TestJudgePythonFaults(t *testing.T) {
	var p pythonDecoder
	contextFaults(func(name string, dims []int, enc []byte, ok bool) {
		if len(enc) > 1<<16 && !ok {
			p.add(t, name, Params{Type: Int32, Dims: dims}, enc, nil, false)
		}
	})
	p.run(t)
}

// TestJudgeBlockVectors checks that testdata/blocks holds exactly the files that its program
// makes. The program needs python3-numpy of Debian.
func TestJudgeBlockVectors(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command("/usr/bin/python3", "-B", "../testdata/lorenz/blocks.py", "-d", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	made, err := os.ReadDir(dir)
	require.NoError(t, err)
	kept, err := os.ReadDir("testdata/blocks")
	require.NoError(t, err)
	require.Len(t, kept, len(made))
	for _, e := range made {
		want, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("testdata/blocks", e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s differs", e.Name())
	}
}

// TestJudgePythonBlocks checks blocks of all types as encoded by the encoder.
func TestJudgePythonBlocks(t *testing.T) {
	var p pythonDecoder
	rng := rand.New(rand.NewPCG(21, 21))
	add := func(ty Type, dims []int, raw []byte) {
		p.encode(t, Params{Type: ty, Order: Order(rng.IntN(2)), Dims: dims}, raw)
	}
	for _, ty := range types {
		size := ty.Size()
		for _, n := range []int{0, 1, 2, 7, 31, 32, 33, 64, 65, 1000, 1025} {
			add(ty, []int{n}, field(ty, []int{n}, 5, rng))
		}
		for _, dims := range [][]int{{9000}, {60, 70}, {1, 9, 30, 31}, {3, 2000}, {2000, 3}, {40, 6, 8}} {
			raw := field(ty, dims, []float64{0, 0.05, 3}[rng.IntN(3)], rng)
			add(ty, dims, raw)
			fill := appendValue(nil, ty, -99)
			for i := 0; i < len(raw); i += size * (1 + rng.IntN(90)) {
				for range rng.IntN(40) {
					if i < len(raw) {
						i += copy(raw[i:], fill)
					}
				}
			}
			add(ty, dims, raw)
		}
		random := make([]byte, 2000*size)
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		add(ty, []int{2000}, random)
		var repeats []byte
		for len(repeats) < 9000*size {
			a := rng.IntN(1900) * size
			repeats = append(repeats, random[a:a+(1+rng.IntN(60))*size]...)
		}
		add(ty, []int{9000}, repeats[:9000*size])
	}
	for _, text := range []string{"a station, a sensor; ", "x", "2020-01-01T00:00:00"} {
		var b []byte
		for i := 0; len(b) < 3000; i++ {
			b = fmt.Appendf(b, "%s%d", text, rng.IntN(1+i%50))
		}
		for _, dims := range [][]int{{3000}, {100, 30}, {1000, 3, 1}} {
			add(Char, dims, b[:3000])
			add(Uint8, dims, b[:3000])
		}
	}
	p.run(t)
}

// TestJudgePythonForced checks every predictor with every layout.
func TestJudgePythonForced(t *testing.T) {
	var p pythonDecoder
	rng := rand.New(rand.NewPCG(22, 22))
	dims := []int{6, 10, 24}
	n := 6 * 10 * 24
	layouts := []predict.Layout{predict.Whole(n), cells(n, n, 120), cells(n, n, 250), cells(n, 240, 240), cells(n, 240, 72), cells(n, 240, 100), cells(n, 480, 240), cells(n, 1, 1)}
	var preds []predict.Predictor
	for _, c := range chains(dims, n) {
		preds = append(preds, predict.Predictor{Chain: c})
	}
	for k := predict.WN; k <= predict.WW; k++ {
		preds = append(preds, predict.Predictor{Float: predict.Float{Kind: k, Row: 24, Plane: 240}}, predict.Predictor{Float: predict.Float{Kind: k, Row: 24, Plane: 480}})
	}
	for _, ty := range []Type{Float32, Float64} {
		raw := field(ty, dims, 0.1, rng)
		for i := 0; i < n; i += 1 + rng.IntN(200) {
			value := []float64{1e35, -0, 1e-310, -3e38}[rng.IntN(4)]
			for range rng.IntN(30) {
				if i < n {
					copy(raw[i*ty.Size():], appendValue(nil, ty, value))
					i++
				}
			}
		}
		params := Params{Type: ty, Dims: dims}
		for _, pred := range preds {
			for _, l := range layouts {
				if !pred.Valid(l) {
					continue
				}
				for _, repeats := range []bool{false, true} {
					if repeats && l.Cell != n {
						continue
					}
					e, err := NewEncoder(params, Default)
					require.NoError(t, err)
					var enc []byte
					if ty == Float32 {
						e.c32.u = entropy.Grow(e.c32.u, n)
						loadBits32(e.c32.u, raw, ty)
						enc = force(&e.c32, ty, dims, raw, pred, l, repeats)
					} else {
						e.c64.u = entropy.Grow(e.c64.u, n)
						loadBits64(e.c64.u, raw)
						enc = force(&e.c64, ty, dims, raw, pred, l, repeats)
					}
					p.add(t, fmt.Sprintf("%v %v %v", ty, pred, l), params, enc, raw, true)
				}
			}
		}
	}
	p.run(t)
}

// TestJudgePythonDamage checks that both decoders accept the same bytes and decode them
// to the same values.
func TestJudgePythonDamage(t *testing.T) {
	var p pythonDecoder
	rng := rand.New(rand.NewPCG(23, 23))
	accepted, rounds := 0, 8
	if os.Getenv("CDFZ_SOAK") != "" {
		rounds = 100
	}
	vectors := makeVectors(t)
	for _, name := range slices.Sorted(maps.Keys(vectors)) {
		v := vectors[name]
		if v.raw == nil {
			continue
		}
		d, err := NewDecoder(v.p)
		require.NoError(t, err)
		for range rounds {
			bad := bytes.Clone(v.enc)
			for range 1 + rng.IntN(2) {
				at := rng.IntN(len(bad))
				if rng.IntN(2) == 0 {
					at = rng.IntN(min(len(bad), 40)) // most bytes other than data are at the start
				}
				if rng.IntN(2) == 0 {
					bad[at] ^= 1 << rng.IntN(8)
				} else {
					bad[at] = byte(rng.Uint32())
				}
			}
			got := make([]byte, len(v.raw))
			err := d.Decode(got, bad)
			if err == nil {
				accepted++
			}
			p.add(t, fmt.Sprintf("%s damaged: %.40x %v", name, bad, err), v.p, bad, got, err == nil)
		}
	}
	p.run(t)
	t.Logf("%d of the damaged blocks are accepted by both", accepted)
}

// TestJudgePythonUnit runs the package's own tests, which need python3-numcodecs.
func TestJudgePythonUnit(t *testing.T) {
	cmd := exec.Command("/usr/bin/python3", "-B", "-m", "unittest", "tests/test_lorenz.py")
	cmd.Dir = "../python"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
