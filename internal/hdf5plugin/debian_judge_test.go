//go:build judge && linux && (amd64 || arm64)

package hdf5plugin

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// h5py asks HDF5, with the same plugins (filters/all/testdata/judge_hdf5.py).
type h5py struct {
	t   *testing.T
	in  *json.Encoder
	out *bufio.Reader
}

func startH5py(t *testing.T, plugins string) *h5py {
	cmd := exec.Command("/usr/bin/python3", "../../filters/all/testdata/judge_hdf5.py")
	cmd.Env = append(os.Environ(), "HDF5_PLUGIN_PATH="+plugins)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &h5py{t, json.NewEncoder(in), bufio.NewReader(out)}
}

type h5pyAnswer struct {
	Error, Raw, Stored string
	Mask               uint32
	Params             [][]uint32
}

func (j *h5py) ask(question map[string]any) h5pyAnswer {
	j.t.Helper()
	require.NoError(j.t, j.in.Encode(question))
	line, err := j.out.ReadBytes('\n')
	require.NoError(j.t, err)
	var a h5pyAnswer
	require.NoError(j.t, json.Unmarshal(line, &a))
	require.Empty(j.t, a.Error)
	return a
}

// debianPlugins are those of hdf5-filter-plugin, -blosc-serial and -zfp-serial, and of
// bitshuffle.
var debianPlugins = DefaultFolders()[1]

func openDebian(t *testing.T) (*Set, map[uint32]Pair) {
	s, err := Open(&Options{Folders: []string{debianPlugins}, Host: hostPath(t), Processes: 1})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	pairs := map[uint32]Pair{}
	for _, p := range s.Pairs() {
		pairs[p.ID] = p
	}
	return s, pairs
}

// floats returns n numbers, little-endian, that compressors shorten.
func floats(n int) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(math.Sin(float64(i)/500))*float32(i%7)))
	}
	return b
}

// TestJudgeDebianPlugins checks Debian's plugins: HDF5 reads what they encode here, and
// they decode what HDF5 writes with them.
func TestJudgeDebianPlugins(t *testing.T) {
	s, pairs := openDebian(t)
	t.Run("L4", func(t *testing.T) {
		for id, name := range map[uint32]string{
			307: "HDF5 bzip2 filter; see http://www.hdfgroup.org/services/contributions.html", 32001: "blosc",
			32004: "HDF5 lz4 filter; see http://www.hdfgroup.org/services/contributions.html", 32013: "H5Z-ZFP-1.1.0 (ZFP-1.0.0)",
		} {
			f := pairs[id].Filter
			require.NotNil(t, f, id)
			require.Equal(t, name, f.Name)
			require.True(t, f.Encodes && f.Decodes)
			require.Equal(t, id == 32001 || id == 32013, f.SetLocal, name)
		}
	})
	t.Run("L5", func(t *testing.T) {
		for _, l := range s.Libraries() {
			if filepath.Base(l.Path) == "libblosc_filter.so" {
				require.Equal(t, "no H5PLget_plugin_type", l.Ignored)
				return
			}
		}
		t.Fatal("libblosc_filter.so is missing")
	})
	j := startH5py(t, debianPlugins)
	double := func(v float64) (uint32, uint32) { b := math.Float64bits(v); return uint32(b), uint32(b >> 32) }
	rateLo, rateHi := double(9.5)
	accLo, accHi := double(1e-3)
	for _, c := range []struct {
		id    uint32
		given []uint32
		lossy bool
	}{
		{307, []uint32{9}, false}, {307, []uint32{1}, false},
		{32001, []uint32{0, 0, 0, 0, 5, 1, 1}, false}, {32001, []uint32{0, 0, 0, 0, 9, 2, 0}, false},
		{32004, nil, false}, {32004, []uint32{1000}, false},
		{32008, []uint32{0}, false}, {32008, []uint32{0, 2}, false}, {32000, nil, false},
		{32013, []uint32{zfpReversible}, false}, {32013, []uint32{zfpRate, 0, rateLo, rateHi}, true}, {32013, []uint32{zfpPrecision, 0, 12}, true},
		{32013, []uint32{zfpAccuracy, 0, accLo, accHi}, true}, {32013, []uint32{zfpExpert, 0, 1, 700, 20, 0xfffffff0}, true},
	} {
		name := fmt.Sprintf("L8 %d %v", c.id, c.given)
		t.Run(name, func(t *testing.T) {
			m := s.Method(pairs[c.id])
			for _, n := range []int{64, 5000, 65536} {
				src := floats(n)
				block := filters.Block{Len: len(src), Kind: filters.Float, Size: 4, LittleEndian: true, Shape: []int{n}}
				params, err := m.Complete(c.given, block)
				require.NoError(t, err)
				a := j.ask(map[string]any{"op": "write", "chain": []any{[]any{c.id, append([]uint32{}, c.given...), 1}}, "raw": hex.EncodeToString(src), "dtype": "<f4"})
				require.Equal(t, append([]uint32{}, a.Params[0]...), append([]uint32{}, params...))
				if a.Mask != 0 { // the filter did not shorten the block
					_, err := m.New().Encode(nil, src, params, block)
					require.ErrorContains(t, err, "returned 0")
					continue
				}
				theirs, err := hex.DecodeString(a.Stored)
				require.NoError(t, err)
				raw, err := m.New().Decode(nil, theirs, params, len(src))
				require.NoError(t, err)
				require.Equal(t, a.Raw, hex.EncodeToString(raw))

				ours, err := m.New().Encode(nil, src, params, block)
				if c.lossy {
					require.ErrorContains(t, err, "does not restore the block exactly")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, a.Stored, hex.EncodeToString(ours))
				require.Equal(t, hex.EncodeToString(src), j.ask(map[string]any{
					"op": "read", "chain": []any{[]any{c.id, append([]uint32{}, c.given...), 1}}, "mask": 0, "n": len(src), "stored": hex.EncodeToString(ours), "dtype": "<f4",
				}).Raw)
			}
		})
	}
}

// TestJudgeZFPParameters compares the parameters with those of the plugin's own set_local, which
// the host calls with the libhdf5 of the plugin.
func TestJudgeZFPParameters(t *testing.T) {
	s, pairs := openDebian(t)
	m := s.Method(pairs[zfpID])
	theirs := func(given []uint32, b filters.Block) ([]uint32, error) {
		known := locals[zfpID]
		delete(locals, zfpID)
		defer func() { locals[zfpID] = known }()
		return s.Method(pairs[zfpID]).Complete(given, b)
	}
	double := func(mode uint32, v float64) []uint32 {
		b := math.Float64bits(v)
		return []uint32{mode, 0, uint32(b), uint32(b >> 32)}
	}
	for _, given := range [][]uint32{
		{zfpReversible}, double(zfpRate, 8), double(zfpRate, 0.5), double(zfpRate, 63.7), double(zfpRate, 16), {zfpPrecision, 0, 0}, {zfpPrecision, 0, 1},
		{zfpPrecision, 0, 64}, {zfpPrecision, 0, 99}, double(zfpAccuracy, 0), double(zfpAccuracy, 1), double(zfpAccuracy, 3e-5), double(zfpAccuracy, 1e300),
		{zfpExpert, 0, 1, 16658, 64, uint32(0xfffffbce)}, {zfpExpert, 0, 7, 4000, 30, 5}, {zfpExpert, 0, 0, 40000, 64, uint32(0xffffff00)}, {zfpExpert, 0, 5, 5, 64, uint32(0xfffffbce)},
	} {
		for _, shape := range [][]int{{7}, {70000}, {4, 4}, {1, 9, 1, 300}, {3, 4, 5}, {2, 3, 4, 5}, {1, 2, 1, 3, 1, 4, 5}} {
			for _, kind := range []filters.Kind{filters.Float, filters.Int} {
				for _, size := range []int{4, 8} {
					b := filters.Block{Kind: kind, Size: size, LittleEndian: true, Shape: shape}
					ours, err := m.Complete(given, b)
					require.NoError(t, err)
					want, err := theirs(given, b)
					require.NoError(t, err)
					require.Equal(t, want, ours, "%d %v %v %d", given, shape, kind, size)
					// The user's form of the parameters means the same.
					again, err := m.Complete(m.Given(ours), b)
					require.NoError(t, err)
					require.Equal(t, ours, again, "%d %v", given, m.Given(ours))
				}
			}
		}
	}
	for _, b := range []filters.Block{
		{Kind: filters.Float, Size: 4, LittleEndian: true, Shape: []int{1, 1}}, {Kind: filters.Int, Size: 2, LittleEndian: true, Shape: []int{9}},
		{Kind: filters.Int, Size: 4, LittleEndian: true, Shape: []int{2, 2, 2, 2, 2}},
	} {
		_, err := m.Complete([]uint32{zfpReversible}, b)
		require.ErrorIs(t, err, filters.ErrParam)
		_, err = theirs([]uint32{zfpReversible}, b)
		require.ErrorIs(t, err, filters.ErrParam)
	}
}

// TestJudgeZFPBigEndian checks that the plugin decodes to the big-endian numbers of netCDF.
func TestJudgeZFPBigEndian(t *testing.T) {
	s, pairs := openDebian(t)
	m := s.Method(pairs[zfpID])
	for _, kind := range []filters.Kind{filters.Float, filters.Int} {
		for _, size := range []int{4, 8} {
			src := floats(4000)
			for i := 0; i < len(src); i += size {
				if size == 4 {
					binary.BigEndian.PutUint32(src[i:], binary.LittleEndian.Uint32(src[i:]))
				} else {
					binary.BigEndian.PutUint64(src[i:], math.Float64bits(math.Cos(float64(i))))
				}
			}
			b := filters.Block{Len: len(src), Kind: kind, Size: size, Shape: []int{20, len(src) / size / 20}}
			params, err := m.Complete([]uint32{zfpReversible}, b)
			require.NoError(t, err)
			require.Equal(t, []uint32{zfpReversible}, m.Given(params))
			out, err := m.New().Encode(nil, src, params, b)
			require.NoError(t, err)
			back, err := m.New().Decode(nil, out, params, len(src))
			require.NoError(t, err)
			require.Equal(t, src, back)
		}
	}
}
