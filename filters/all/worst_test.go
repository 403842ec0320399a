package all

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/lorenz"
)

// worstSpecs are filters with parameters for blocks of n bytes, above all those at bounds. Every
// filter of the program has at least one.
func worstSpecs(n int) []string {
	specs := []string{
		"2,1", "2,4", "2,1000", "3", "1,9", "52731,9", "307,1", "307,9", "32000",
		"32004,0", "32004,1", "32004,2000000000", "32015,22",
		"52732", "52732,1,10,65536,4,1,256", "52732,2,0,0", "52732,3,0,0,2", "52732,1,0,4294967295", "52732,2,0,4294967295",
		"52732,1,4294967295,10", "52734", "52734,4294967295", "52734,100000",
		"52724,1,1,0", "52724,2,8,1", "52725,3,8,1,2,1,0,0,1072693248,0,0", "52725,1,1,0,1,1,0,0,1072693248,0,0",
		"52726,1,3,4,1", "52727,10,3,8,1", "52728", "52729", "52729,1", "52730", "52730,1",
		"4,169,2,1,1", "4,177,32,8,4096", "4,177,32,16,4096", "4,177,2,32,1", "4,177,32,64,4096",
		fmt.Sprintf("5,5,1,%d,4,1", n),
	}
	for _, compression := range []int{0, 2, 3} {
		for _, size := range []int{1, 8, 1000} {
			for _, block := range []int{0, 8, 1 << 31 / 8 / size / 8 * 8} {
				specs = append(specs, fmt.Sprintf("32008,0,3,%d,%d,%d,3", size, block, compression))
			}
		}
	}
	for compressor := range 6 {
		for shuffle := range 3 {
			for _, size := range []int{1, 16, 255} {
				specs = append(specs, fmt.Sprintf("32001,2,2,%d,%d,9,%d,%d", size, n, shuffle, compressor))
				specs = append(specs, fmt.Sprintf("32001,2,2,%d,%d,9,%d,%d,1", size, n, shuffle, compressor))
			}
		}
	}
	for _, size := range []int{1, 2, 4, 8} {
		count := n / size
		for _, bits := range []int{1, 8 * size} {
			specs = append(specs, fmt.Sprintf("5,8,0,%d,1,%d,1,%d,0", count, size, bits),
				fmt.Sprintf("6,2,%d,%d,0,%d,0,1", bits, count, size)+zeros(13))
		}
		specs = append(specs, fmt.Sprintf("6,2,0,%d,0,%d,1,0,1", count, size)+zeros(12))
		if size >= 4 {
			specs = append(specs, fmt.Sprintf("6,0,2,%d,1,%d,0,0", count, size)+zeros(13))
		}
	}
	for ty, size := range []int{1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8} {
		if size > 0 {
			specs = append(specs, fmt.Sprintf("52723,1,%d,0,1,%d", ty, n/size), fmt.Sprintf("52723,1,%d,1,3,2,2,%d", ty, n/size/4))
		}
	}
	return specs
}

// worst is a block that takes or claims much, with a right checksum if the filter has one.
type worst struct {
	filter filters.Filter
	n      int // decoded bytes
	stored []byte
}

func (w worst) String() string {
	return fmt.Sprintf("%s: %d bytes from %d: %.60x", filters.Chain{w.filter}, w.n, len(w.stored), w.stored)
}

// worstSources are n bytes that compress well, or not at all.
func worstSources(n int) [][]byte {
	return [][]byte{make([]byte, n), bytes.Repeat([]byte{0, 1}, n/2), filtertest.Field(n), filtertest.Noise(n)}
}

// worstBlocks returns blocks of all filters for sources of n bytes, each also changed rounds times:
// above all, numbers at the start claim much. Then follow blocks that no encoder writes.
func worstBlocks(t *testing.T, sources [][]byte, rounds int) iter.Seq[worst] {
	return func(yield func(worst) bool) {
		n := len(sources[0])
		rng := rand.New(rand.NewPCG(24, uint64(n)))
		claims := []uint64{0, 1, uint64(n) - 1, uint64(n), uint64(n) + 1, 1<<31 - 1, 1<<32 - 1, 1 << 62}
		for _, spec := range worstSpecs(n) {
			c := filtertest.Chain(t, spec)
			filtertest.Coder(t, c)
			m, _ := filters.Lookup(c[0].ID)
			for _, src := range sources {
				stored, err := worstEncoded(m, c[0].Params, src)
				if err != nil {
					continue
				}
				if !yield(worst{c[0], n, stored}) {
					return
				}
				for range rounds {
					bad := bytes.Clone(stored)
					for range 1 + rng.IntN(3) {
						var claim [8]byte
						v := claims[rng.IntN(len(claims))]
						switch rng.IntN(4) {
						case 0:
							bad[rng.IntN(min(len(bad), 64))] = byte(rng.Uint32())
							continue
						case 1:
							bad[rng.IntN(len(bad))] = byte(rng.Uint32())
							continue
						case 2:
							binary.LittleEndian.PutUint64(claim[:], v)
						case 3:
							binary.BigEndian.PutUint64(claim[:], v<<(32*rng.IntN(2)))
						}
						copy(bad[rng.IntN(min(len(bad), 24)):], claim[:4+4*rng.IntN(2)])
					}
					if !yield(worst{c[0], n, bad}) {
						return
					}
				}
			}
		}
		for _, w := range worstByHand(n) {
			if !yield(w) {
				return
			}
		}
	}
}

// worstEncoded is a block of the filter's encoder, or of another one.
func worstEncoded(m filters.Method, params []uint32, src []byte) ([]byte, error) {
	if m.ID != filters.Gzip {
		return m.New().Encode(nil, src, params, filters.Block{Len: len(src)})
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Extra, w.Name = make([]byte, 1<<16-1), strings.Repeat("n", 500)
	_, err := w.Write(src)
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// worstByHand returns blocks that encoders do not write.
func worstByHand(n int) (list []worst) {
	// Signatures of bzip2: each may be the end of the stream before.
	list = append(list, worst{filters.Filter{ID: filters.Bzip2}, n, bytes.Repeat([]byte("BZh91AY&SY\x00\x00\x00\x00"), 9)})
	// Streams of lorenz of one symbol, which take no bytes: masks of runs of one element, and
	// repeats.
	for ty, size := range []int{1: 1, 3: 2, 4: 4, 6: 8} {
		if size == 0 {
			continue
		}
		count := n / size
		flags := byte(0)
		if size == 8 {
			flags = 1 << 7
		}
		uv := func(v int) []byte { return binary.AppendUvarint(nil, uint64(v)) }
		f := filters.Filter{ID: filters.Lorenz, Params: []uint32{1, uint32(ty), 0, 1, uint32(count)}}
		groups := []byte{0, 0, 0, 0, 0}
		mask := bytes.Join([][]byte{{2, 2 | flags, 0, 0}, make([]byte, 2*size), uv(1), uv(count), {0, 2}, groups}, nil)
		repeats := bytes.Join([][]byte{{2, 1<<4 | flags, 0, 0}, uv(count / 2), {0, 1, 0, 0, 0, 0}, groups}, nil)
		list = append(list, worst{f, n, mask}, worst{f, n, repeats})
	}
	return list
}

// worstVectors returns the test vectors of lorenz.
func worstVectors(t *testing.T) (list []worst) {
	for _, folder := range []string{"blocks", "vectors"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "lorenz", "testdata", folder, "*"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no blocks of lorenz: %v", err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			head, stored, _ := bytes.Cut(b, []byte("\n\n"))
			_, line, _ := strings.Cut(string(head), "parameters: ")
			line, _, _ = strings.Cut(line, "\n")
			f := filters.Filter{ID: filters.Lorenz}
			for _, word := range strings.Fields(line) {
				v, err := strconv.ParseUint(word, 10, 32)
				if err != nil {
					t.Fatal(err)
				}
				f.Params = append(f.Params, uint32(v))
			}
			p, err := lorenz.ParseParams(f.Params)
			if err != nil {
				continue // a vector of wrong parameters
			}
			size := p.Type.Size()
			for _, d := range p.Dims {
				size *= d
			}
			list = append(list, worst{f, size, stored})
		}
	}
	return list
}
