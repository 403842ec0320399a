package lorenz

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
)

var update = flag.Bool("update", false, "write the test vectors")

// vector is an encoded block with the decoded bytes, nil if it is corrupt.
type vector struct {
	p   Params
	raw []byte
	enc []byte

	encode func(raw []byte) []byte
}

// makeVectors returns the test vectors by name.
func makeVectors(t *testing.T) map[string]vector {
	out := map[string]vector{}
	add := func(name string, p Params, raw []byte, level Level) []byte {
		encode := func(raw []byte) []byte {
			e, err := NewEncoder(p, level)
			require.NoError(t, err)
			if strings.HasPrefix(name, "adaptive") || strings.HasPrefix(name, "waves") {
				e.choices.contexts.tried = false
			}
			enc, err := e.Encode(nil, raw)
			require.NoError(t, err)
			return enc
		}
		enc := encode(raw)
		out[name] = vector{p, raw, enc, encode}
		return enc
	}
	force := func(name string, raw []byte, dims []int, pred predict.Predictor, l predict.Layout, repeats bool) {
		encode := func(raw []byte) []byte { return forced(raw, dims, pred, l, repeats) }
		out[name] = vector{Params{Type: Float32, Dims: dims}, raw, encode(raw), encode}
	}
	rng := rand.New(rand.NewPCG(13, 13))
	add("raw", Params{Type: Int8, Dims: []int{5}}, []byte{1, 200, 3, 40, 5}, Default)
	add("empty", Params{Type: Float64, Dims: []int{0}}, nil, Default)
	add("constant", Params{Type: Int16, Order: LittleEndian, Dims: []int{3, 4}}, bytes.Repeat([]byte{1, 2}, 12), Default)
	dims := []int{4, 12, 16}
	for _, ty := range types {
		add(fmt.Sprintf("type%d", ty), Params{Type: ty, Dims: dims}, field(ty, dims, 0.7, rng), Default)
	}
	little := field(Float32, dims, 0.7, rng)
	swap(little, 4)
	add("little", Params{Type: Float32, Order: LittleEndian, Dims: dims}, little, Default)
	from := func(ty Type, f func(k float64) float64) (raw []byte) {
		x := 1e5
		for range 768 {
			x += math.Round(3000 * rng.NormFloat64())
			raw = appendValue(raw, ty, f(x))
		}
		return raw
	}
	add("fixed", Params{Type: Float32, Dims: dims}, from(Float32, func(k float64) float64 { return k / 8 }), Default)
	add("fixedwide", Params{Type: Float64, Dims: dims}, from(Float64, func(k float64) float64 { return k*1e9 + 1 }), Default)
	add("ratio", Params{Type: Float64, Dims: dims}, from(Float64, func(k float64) float64 { return k / 100 }), Default)
	patched := from(Float64, func(k float64) float64 { return float64(float32(math.Exp(k / 1e4))) })
	copy(patched[80:], []byte{0x7F, 0xF1, 2, 3})
	add("single", Params{Type: Float64, Dims: dims}, patched, Default)
	add("dictionary", Params{Type: Float32, Dims: dims}, from(Float32, func(k float64) float64 { return math.Exp(math.Mod(k, 17)) }), Default)
	masked := field(Float32, dims, 0.2, rng)
	for i := 0; i < 700; i += 41 {
		for j := range i % 30 {
			copy(masked[4*(i+j):], appendValue(nil, Float32, []float64{1e35, -999}[i%2]))
		}
	}
	add("masked", Params{Type: Float32, Dims: dims}, masked, Default)
	// Text of each kind of context.
	var prose, table, forms []byte
	letters := []byte{0}
	for range 1499 { // each letter allows for four others
		letters = append(letters, letters[len(letters)-1]*3+byte(rng.IntN(4))+'A')
	}
	add("letters", Params{Type: Char, Dims: []int{1500}}, letters, Default)
	words := strings.Fields("air sea surface temperature wind stress salt flux of the at mean station northern latitude")
	for i := range 600 {
		prose = fmt.Appendf(prose, "%s ", words[rng.IntN(len(words))])
		table = fmt.Appendf(table, "%c%02d.%d%c", "NS"[rng.IntN(2)], rng.IntN(90), rng.IntN(10), "abcdef"[i%6])
		forms = fmt.Appendf(forms, "%s %d at %x;", words[i%7], i, rng.IntN(1<<16))
	}
	add("prose", Params{Type: Char, Dims: []int{2500}}, prose[:2500], Fast)
	add("table", Params{Type: Char, Dims: []int{500, 6}}, table[:3000], Fast)
	add("forms", Params{Type: Char, Dims: []int{4000}}, forms[:4000], Fast)
	add("longtext", Params{Type: Char, Dims: []int{700, 60}}, bytes.Repeat(append(forms[:7000:7000], bytes.Repeat([]byte(" "), 1400)...), 5), Default)
	add("text", Params{Type: Char, Dims: []int{20, 24}}, bytes.Repeat([]byte("a station, a sensor a"), 23)[:480], Default)
	head, err := os.ReadFile("../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	add("header1", Params{Type: Char, Dims: []int{2500}}, head[:2500], Fast)
	add("header2", Params{Type: Char, Dims: []int{2500}}, head[:2500], Max)
	add("doubles", Params{Type: Float64, Dims: []int{200}}, bytes.Repeat(from(Float64, math.Sqrt)[:100], 16), Max)
	raw := field(Float32, dims, 0.05, rng)
	for k := predict.WN; k <= predict.WW; k++ {
		for _, cell := range []int{192, 64} {
			pred := predict.Predictor{Float: predict.Float{Kind: k, Row: 16, Plane: 192}}
			force(fmt.Sprintf("float%dcell%d", k, cell), raw, dims, pred, cells(768, 192, cell), false)
		}
	}
	force("cells", raw, dims, predict.Predictor{Chain: []int{1, 16, 192}}, cells(768, 192, 80), false)
	force("cellsmasked", masked, dims, predict.Predictor{Chain: []int{1, 192}}, cells(768, 192, 80), false)
	again := append(bytes.Clone(raw[:768]), raw[:2304]...)
	force("repeats", again, dims, predict.Predictor{Chain: []int{1}}, predict.Whole(768), true)
	sparse := make([]byte, 2*4096)
	for i := 0; i < len(sparse); i += 302 {
		sparse[i] = byte(rng.IntN(30))
	}
	add("sparse", Params{Type: Int16, Dims: []int{4096}}, sparse, Default)
	add("adaptive", Params{Type: Float32, Dims: dims}, field(Float32, dims, 0.05, rng), Max)
	add("adaptivemasked", Params{Type: Float32, Dims: []int{24, 32}}, masked, Max)
	add("adaptivewide", Params{Type: Float64, Dims: []int{500}}, field(Float64, []int{500}, 0.3, rng), Max)
	// Waves in three dimensions, in lanes of both widths.
	for _, ty := range []Type{Int32, Int64} {
		var waves []byte
		for i := range 4 * 40 * 48 {
			x, y, z := float64(i%48), float64(i/48%40), float64(i/1920)
			waves = appendValue(waves, ty, 8*math.Round(4000*math.Sin(x/9)*math.Cos(y/9+z)+9*rng.NormFloat64()))
		}
		add(fmt.Sprintf("waves%d", ty), Params{Type: ty, Dims: []int{4, 40, 48}}, waves, Max)
	}
	// Text in which some bits are so certain that squash is at its limit.
	var numbers []byte
	for range 400 {
		numbers = fmt.Appendf(numbers, "%07.2f ", 100*rng.ExpFloat64())
	}
	add("numbers", Params{Type: Char, Dims: []int{400, 8}}, numbers[:3200], Default)
	// Values that come close to earlier ones or their negatives.
	for _, ty := range []Type{Int32, Float32, Float64} {
		var near []byte
		seen := []float64{1}
		for i := range 768 {
			x := seen[rng.IntN(len(seen))]
			switch {
			case i%3 == 0:
				x = math.Trunc(1e9 * rng.NormFloat64())
			case i%5 == 0 && ty.float():
				x = -x
			case i%2 == 0:
				x += 64 * float64(rng.IntN(99))
			}
			seen = append(seen, x)[max(0, len(seen)-40):]
			near = appendValue(near, ty, x)
		}
		encode := func(raw []byte) []byte { return referring(raw, ty, dims) }
		out[fmt.Sprintf("references%d", ty)] = vector{Params{Type: ty, Dims: dims}, near, encode(near), encode}
	}
	// Variables of a stack: some resemble the one before, one is a copy.
	stack := []int{7, 11, 13}
	var rows []byte
	for _, ty := range []Type{Int32, Float32} {
		rows = rows[:0]
		for i := range stack[0] {
			n := len(rows) / max(i, 1)
			if i == 4 {
				rows = append(rows, rows[n:2*n]...)
				continue
			}
			for k := range 11 * 13 {
				x := math.Round(40 * rng.NormFloat64())
				switch i % 3 {
				case 0:
					x = 1e6 + 1e3*float64(k) + x
				case 1:
					x = math.Mod(x, 3) * 1e5
				}
				rows = appendValue(rows, ty, x)
			}
		}
		enc := add(fmt.Sprintf("parts%d", ty), Params{Type: ty, Dims: stack, Stack: true}, bytes.Clone(rows), Max)
		require.EqualValues(t, modeParts, enc[0])
	}
	// Fields in rows of each kind: one, two and three dimensions, rows along the first dimension, masks, zeros at the end.
	for _, v := range []struct {
		name   string
		ty     Type
		dims   []int
		masked bool
		step   float64
		pred   predict.Predictor
		cells  []int // plane and cell
	}{
		{name: "line", ty: Int16, dims: []int{1000}, step: 1},
		{name: "plane", ty: Float32, dims: []int{17, 70}, step: 1},
		{name: "planes", ty: Int32, dims: []int{4, 9, 65}, step: 1},
		{name: "turned", ty: Int8, dims: []int{45, 5, 7}, step: 1},
		{name: "wide", ty: Float64, dims: []int{30, 40}, step: 1},
		{name: "zeros", ty: Int64, dims: []int{12, 80}, step: 1 << 20},
		{name: "masked", ty: Int32, dims: []int{3, 12, 37}, masked: true, step: 1},
		{name: "maskedturned", ty: Float64, dims: []int{99, 8}, masked: true, step: 1},
		{name: "maskedzeros", ty: Int32, dims: []int{900}, masked: true, step: 16},
		{name: "linecells", ty: Int16, dims: []int{1000}, step: 1, cells: []int{1000, 120}},
		{name: "planecells", ty: Float32, dims: []int{17, 70}, step: 1, pred: chain(1, 70), cells: []int{1190, 350}},
		{name: "planescells", ty: Int32, dims: []int{4, 13, 65}, step: 1, pred: chain(1, 845), cells: []int{845, 195}},
		{name: "fourcells", ty: Int32, dims: []int{3, 4, 5, 64}, step: 1, pred: chain(1280), cells: []int{1280, 448}},
		{name: "narrowcells", ty: Int32, dims: []int{5, 9, 33}, step: 1, pred: chain(297), cells: []int{297, 33}},
		{name: "widecells", ty: Float64, dims: []int{30, 40}, step: 1, cells: []int{1200, 480}},
		{name: "zeroscells", ty: Int64, dims: []int{12, 80}, step: 1 << 20, cells: []int{960, 240}},
		{name: "maskedcells", ty: Int32, dims: []int{3, 12, 37}, masked: true, step: 1, pred: chain(1, 444), cells: []int{444, 148}},
		{name: "maskedzeroscells", ty: Int32, dims: []int{900}, masked: true, step: 16, cells: []int{900, 300}},
		{name: "floatcells", ty: Float32, dims: []int{4, 12, 40}, step: 0.3, cells: []int{480, 160},
			pred: predict.Predictor{Float: predict.Float{Kind: 4, Row: 40, Plane: 480}}},
		{name: "bandcells", ty: Float32, dims: []int{4, 12, 40}, step: 1, pred: chain(480), cells: []int{480, 480}},
	} {
		n := 1
		for _, d := range v.dims {
			n *= d
		}
		var raw []byte
		for i := range n {
			size := math.Exp(2 * math.Sin(float64(i)/99))
			x := v.step * math.Round(90*math.Sin(float64(i%v.dims[len(v.dims)-1])/9)+size*rng.NormFloat64())
			if v.masked && i/21%4 == 0 {
				x = map[Type]float64{Int32: -1 << 31, Float64: 1e35}[v.ty] // such as files use for missing data
			}
			raw = appendValue(raw, v.ty, x)
		}
		l := predict.Whole(n)
		if v.cells != nil {
			l = cells(n, v.cells[0], v.cells[1])
		}
		if v.pred.Chain == nil && !v.pred.IsFloat() {
			v.pred = chain(1)
		}
		encode := func(raw []byte) []byte { return contextual(raw, v.ty, v.dims, v.pred, l) }
		enc := encode(raw)
		require.Equal(t, v.masked, enc[1]&3 > 0, v.name)
		out["contexts"+v.name] = vector{Params{Type: v.ty, Dims: v.dims}, raw, enc, encode}
	}
	contextFaults(func(name string, dims []int, enc []byte, ok bool) {
		var raw []byte
		n := 1
		for _, d := range dims {
			n *= d
		}
		if n > 1<<16 && ok || len(enc) > 1<<16 {
			return // only in the tests of this package
		}
		if ok {
			raw = make([]byte, 4*n)
		}
		name = "contextsfault" + strings.NewReplacer("!", "", " ", "", "[", "", "]", "").Replace(fmt.Sprint(name, dims))
		out[name] = vector{Params{Type: Int32, Dims: dims}, raw, enc, func([]byte) []byte { return enc }}
	})
	enc := out["cells"].enc
	for name, f := range map[string]func(b []byte) []byte{
		"badmode":   func(b []byte) []byte { b[0] = 9; return b },
		"badkind":   func(b []byte) []byte { b[2] = 4; return b },
		"badcells":  func(b []byte) []byte { b[0] = modeAdaptive; return b },
		"badstride": func(b []byte) []byte { b[8] = 0; return b },
		"short":     func(b []byte) []byte { return b[:len(b)-1] },
		"long":      func(b []byte) []byte { return append(b, 0) },
	} {
		out[name] = vector{Params{Type: Float32, Dims: dims}, nil, f(bytes.Clone(enc)), nil}
	}
	// A reader that takes all other modes for text would decode this one.
	text := out["text"]
	out["badmodetext"] = vector{text.p, nil, append([]byte{9}, text.enc[1:]...), nil}
	return out
}

func forced(raw []byte, dims []int, pred predict.Predictor, l predict.Layout, repeats bool) []byte {
	var c coder[uint32]
	c.u = make([]uint32, l.N)
	loadBits32(c.u, raw, Float32)
	return force(&c, Float32, dims, raw, pred, l, repeats)
}

// referring encodes a block in modeReferences, which the encoder does not try in small blocks.
func referring(raw []byte, ty Type, dims []int) []byte {
	s := shape{typ: ty, size: ty.Size(), dims: dims, n: len(raw) / ty.Size(), choices: choicesFor(Default, ty, len(raw))}
	s.price = prices[Max]
	if s.size == 8 {
		c := coder[uint64]{u: make([]uint64, s.n)}
		loadBits64(c.u, raw)
		return writeReferences(&s, &c, raw)
	}
	c := coder[uint32]{u: make([]uint32, s.n)}
	loadBits32(c.u, raw, ty)
	return writeReferences(&s, &c, raw)
}

func writeReferences[T lane](s *shape, c *coder[T], raw []byte) []byte {
	x := candidate[T]{mode: modeReferences, kind: mapOrder, y: lanesOf(nil, c.u, s), most: len(raw)}
	return c.write(s, nil, raw, &x, predict.Whole(s.n), false)
}

// contextual encodes a block in modeContexts, which the encoder does not try in small blocks.
func contextual(raw []byte, ty Type, dims []int, pred predict.Predictor, l predict.Layout) []byte {
	s := shape{typ: ty, size: ty.Size(), dims: dims, n: len(raw) / ty.Size(), choices: choicesFor(Max, ty, 1<<20)}
	if s.size == 8 {
		c := coder[uint64]{u: make([]uint64, s.n)}
		loadBits64(c.u, raw)
		return writeContexts(&s, &c, raw, pred, l)
	}
	c := coder[uint32]{u: make([]uint32, s.n)}
	loadBits32(c.u, raw, ty)
	return writeContexts(&s, &c, raw, pred, l)
}

func writeContexts[T lane](s *shape, c *coder[T], raw []byte, pred predict.Predictor, l predict.Layout) []byte {
	findSpecials(s, c)
	x := candidate[T]{mode: modeContexts, kind: mapOrder, y: lanesOf(nil, c.u, s), u: c.u, pred: pred}
	c.loadContexts(s, &x, l, contexts.ShapeOf(s.dims).Cut(l.Plane, l.Cell))
	c.ctx.Estimate()
	return c.write(s, nil, raw, &x, l, false)
}

func chain(strides ...int) predict.Predictor { return predict.Predictor{Chain: strides} }

// TestVectors checks that the vectors on disk decode as expected, and that the encoder
// still writes the same bytes.
func TestVectors(t *testing.T) {
	made := makeVectors(t)
	if *update {
		require.NoError(t, os.RemoveAll("testdata/vectors"))
		require.NoError(t, os.MkdirAll("testdata/vectors", 0o755))
		for name, v := range made {
			params, err := v.p.Uint32s()
			require.NoError(t, err)
			text := strings.Trim(fmt.Sprint(params), "[]")
			head := fmt.Sprintf("parameters: %s\n", text)
			if v.raw == nil && len(v.enc) > 1 {
				head += "expect: corrupt\n\n"
			} else {
				head += fmt.Sprintf("sha256: %x\n\n", sha256.Sum256(v.raw))
			}
			require.NoError(t, os.WriteFile(filepath.Join("testdata/vectors", name), append([]byte(head), v.enc...), 0o644))
		}
	}
	files := storedVectors(t, "vectors")
	require.Len(t, files, len(made))
	for _, v := range files {
		t.Run(v.name, func(t *testing.T) {
			if raw := v.decode(t); raw != nil {
				// The block on disk: sines may differ in the last bit on another CPU.
				require.True(t, bytes.Equal(v.enc, made[v.name].encode(raw)), "the encoder makes other bytes now")
			}
		})
	}
}

// TestBlockVectors decodes blocks that the encoder does not write, which
// testdata/lorenz/blocks.py makes.
func TestBlockVectors(t *testing.T) {
	for _, v := range storedVectors(t, "blocks") {
		t.Run(v.name, func(t *testing.T) { v.decode(t) })
	}
}

// storedVector is a file with an encoded block.
type storedVector struct {
	name string
	p    Params
	sum  string // SHA-256 of the decoded block, "" if it is corrupt
	enc  []byte
}

// storedVectors returns the files of a folder of testdata.
func storedVectors(t testing.TB, folder string) (list []storedVector) {
	names, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		head, enc, ok := bytes.Cut(b, []byte("\n\n"))
		require.True(t, ok, name)
		v := storedVector{name: filepath.Base(name), enc: enc}
		var params []uint32
		for line := range strings.Lines(string(head)) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "parameters: "):
				for _, x := range strings.Fields(line)[1:] {
					k, err := strconv.ParseUint(x, 10, 32)
					require.NoError(t, err, name)
					params = append(params, uint32(k))
				}
			case strings.HasPrefix(line, "sha256: "):
				v.sum = strings.Fields(line)[1]
			case strings.HasPrefix(line, "comment: "):
			default:
				require.Equal(t, "expect: corrupt", line, name)
			}
		}
		v.p, err = ParseParams(params)
		require.NoError(t, err, name)
		list = append(list, v)
	}
	return list
}

// decode decodes a block as a whole and in ranges and checks the sum. It returns nil for a
// corrupt block, which must be rejected.
func (v *storedVector) decode(t *testing.T) []byte {
	t.Helper()
	d, err := NewDecoder(v.p)
	require.NoError(t, err, v.name)
	raw := make([]byte, d.n*d.size)
	err = d.Decode(raw, v.enc)
	if v.sum == "" {
		require.ErrorIs(t, err, ErrCorrupt, v.name)
		return nil
	}
	require.NoError(t, err, v.name)
	require.Equal(t, v.sum, fmt.Sprintf("%x", sha256.Sum256(raw)), v.name)
	decodeAll(t, v.p, v.enc, raw)
	return raw
}
