//go:build judge

package hdf5

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// h5py runs a program of Debian's Python with h5py and returns what it prints.
func h5py(t *testing.T, program string, args ...string) string {
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", "import sys, json, h5py, numpy\n" + program}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	return string(out)
}

// write writes a file in which chunk c of dataset d is data(d, c).
func write(t *testing.T, f *File, data func(d *Dataset, c int64) ([]byte, uint32)) string {
	name := filepath.Join(t.TempDir(), "x.h5")
	dst, err := os.Create(name)
	require.NoError(t, err)
	defer dst.Close()
	w, err := NewWriter(dst, f)
	require.NoError(t, err)
	for _, d := range f.Datasets {
		n := d.Chunks()
		if d.Chunk == nil && !d.Empty && d.bytes() > 0 {
			b, _ := data(d, 0)
			require.NoError(t, w.Data(b))
		}
		for c := range n {
			b, mask := data(d, c)
			require.NoError(t, w.Chunk(b, mask))
		}
	}
	_, err = w.Close()
	require.NoError(t, err)
	return name
}

// TestJudgeTrees writes datasets with up to three levels of B-tree nodes.
func TestJudgeTrees(t *testing.T) {
	f := &File{}
	for _, shape := range [][]int64{{0}, {1}, {64}, {65}, {64 * 64}, {64*64 + 1}, {3, 70, 31}, {7, 0, 3}} {
		d := &Dataset{Name: strings.Trim(strings.ReplaceAll(string(must(json.Marshal(shape))), ",", "x"), "[]"), Type: Type{Unsigned, 2, true}, Shape: shape}
		d.Chunk = make([]int64, len(shape))
		d.MaxShape = make([]uint64, len(shape))
		for i := range shape {
			d.Chunk[i], d.MaxShape[i] = 1, uint64(shape[i])
		}
		d.Chunk[0], d.MaxShape[0] = 2, Unlimited
		f.Datasets = append(f.Datasets, d)
	}
	name := write(t, f, func(d *Dataset, c int64) ([]byte, uint32) {
		return le.AppendUint16(le.AppendUint16(nil, uint16(c>>8|c<<8)), uint16(c>>8|c<<8)), 0
	})
	require.Equal(t, "ok\n", h5py(t, `
f = h5py.File(sys.argv[1])
for d in f.values():
    a, n = d[...], 0
    grid = [-(-s // c) for s, c in zip(d.shape, d.chunks)]
    for i in numpy.ndindex(*grid):
        at = tuple(k * c for k, c in zip(i, d.chunks))
        info = d.id.get_chunk_info_by_coord(at)
        assert info.size == 4 and info.filter_mask == 0, info
        want = n % 65536
        part = a[tuple(slice(o, o + c) for o, c in zip(at, d.chunks))]
        assert (part == want).all(), (d, at, part, want)
        n += 1
    assert d.id.get_num_chunks() == n
print("ok")`, name))
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// TestJudgeAttributes writes attributes of all types and lengths, in headers and, if one
// is long, in a heap.
func TestJudgeAttributes(t *testing.T) {
	be := func(c Class, size int) Type { return Type{c, size, true} }
	attrs := []Attr{
		{"text", Type{Class: Text, Size: 4}, Single, []byte("caf\xe9")},
		{"int8", be(Signed, 1), 3, []byte{1, 0xFF, 0x80}},
		{"uint8", be(Unsigned, 1), Single, []byte{200}},
		{"int16", be(Signed, 2), 2, []byte{0xFF, 0xFE, 1, 0}},
		{"int64", be(Signed, 8), 1, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}},
		{"uint64", be(Unsigned, 8), 1, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}},
		{"float", be(Float, 4), 1, []byte{0x3F, 0xC0, 0, 0}},
		{"double", be(Float, 8), 1, []byte{0xBF, 0xF8, 0, 0, 0, 0, 0, 0}},
		{"little", Type{Float, 8, false}, 1, []byte{0, 0, 0, 0, 0, 0, 0xF8, 0x3F}},
		{"näme", be(Signed, 4), Null, nil},
		{"none", be(Signed, 4), 0, nil},
	}
	long := append([]Attr{{"long", be(Signed, 1), 70000, make([]byte, 70000)}}, attrs...)
	var many []Attr
	for i := range 1000 {
		many = append(many, Attr{strings.Repeat("n", i%7) + string(rune('a'+i%26)) + strings.Repeat("0", i/26), be(Signed, 2), Single, []byte{byte(i >> 8), byte(i)}})
	}
	f := &File{Attrs: long}
	for i, list := range [][]Attr{attrs, long, many, append(many, long...)} {
		f.Datasets = append(f.Datasets, &Dataset{Name: "d" + string(rune('0'+i)), Type: be(Float, 4), Attrs: list, Fill: make([]byte, 4)})
	}
	name := write(t, f, func(*Dataset, int64) ([]byte, uint32) { return []byte{0x3F, 0xC0, 0, 0}, 0 })
	require.Equal(t, "ok\n", h5py(t, `
f = h5py.File(sys.argv[1], track_order=True)
names = lambda d: [h5py.h5a.open(d.id, index=i, index_type=h5py.h5.INDEX_CRT_ORDER).name.decode() for i in range(len(d.attrs))]
few = ["text", "int8", "uint8", "int16", "int64", "uint64", "float", "double", "little", "näme", "none"]
def check(d):
    a = d.attrs
    assert a["text"] == b"caf\xe9" and a["int8"].tolist() == [1, -1, -128] and a["uint8"] == 200, dict(a)
    assert a["int16"].tolist() == [-2, 256] and a["int64"][0] == -2**63 and a["uint64"][0] == 2**63
    assert a["float"][0] == 1.5 and a["double"][0] == -1.5 and a["little"][0] == 1.5
    assert isinstance(a["näme"], h5py.Empty) and a["none"].shape == (0,)
check(f)
for k, n in enumerate([11, 12, 1000, 1012]):
    d = f["d%d" % k]
    assert len(d.attrs) == n and d[()] == 1.5
    if k != 2: check(d)
    if k % 2: assert d.attrs["long"].shape == (70000,)
    if k < 2: assert names(d) == ["long"][:k] + few, names(d)
    else: assert [d.attrs[m] for m in names(d)[:1000]] == list(range(1000))
assert list(f) == ["d0", "d1", "d2", "d3"]
f.close()
# The structures are sound enough to be changed.
f = h5py.File(sys.argv[1], "a")
for d in f.values():
    d.attrs["new"] = numpy.arange(100000)
    del d.attrs["new"]
    d.attrs["new"] = 5
f["d1"].attrs.__delitem__("long")
f.create_dataset("another", data=[1])
f.close()
f = h5py.File(sys.argv[1])
check(f["d1"])
print("ok")`, name))
}

// TestJudgeScales writes dimension scales, one with more uses than an attribute in a
// header can list.
func TestJudgeScales(t *testing.T) {
	label := "x"
	x := &Dataset{Name: "x", Type: Type{Float, 4, true}, Shape: []int64{2}, Empty: true, Scale: &label}
	f := &File{Datasets: []*Dataset{x}}
	for i := range 5000 {
		d := &Dataset{Name: "d" + string(must(json.Marshal(i))), Type: Type{Signed, 1, false}, Shape: []int64{2}, Scales: []*Dataset{x}}
		if i == 0 {
			d.Shape, d.Scales = []int64{1, 2}, []*Dataset{nil, x}
		}
		f.Datasets = append(f.Datasets, d)
	}
	name := write(t, f, func(*Dataset, int64) ([]byte, uint32) { return []byte{1, 2}, 0 })
	require.Equal(t, "ok\n", h5py(t, `
f = h5py.File(sys.argv[1])
x = f["x"]
assert h5py.h5ds.is_scale(x.id) and x.attrs["NAME"] == b"x" and len(x.attrs["REFERENCE_LIST"]) == 5000
for i in [0, 1, 7, 300, 4095, 4096, 4999]:
    d = f["d%d" % i]
    k = len(d.shape) - 1
    assert h5py.h5ds.is_attached(d.id, x.id, k) and d.dims[k][0] == x, i
    assert f[x.attrs["REFERENCE_LIST"][i][0]] == d and x.attrs["REFERENCE_LIST"][i][1] == k
f.close()
f = h5py.File(sys.argv[1], "a")
f["d7"].dims[0].detach_scale(f["x"])
f["d7"].dims[0].attach_scale(f["x"])
print("ok")`, name))
	require.Contains(t, string(must(exec.Command("h5dump", "-H", "-A", "-d", "/d0", name).CombinedOutput())), "\"/x\")")
}
