//go:build linux && !386 && !arm

package fusefs

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ahead"
)

// fixture is a file system without a kernel: tests send its requests themselves.
type fixture struct {
	fuse.RawFileSystem
	t    *testing.T
	dir  string
	tree *tree
	warn []string
}

// newFixture serves a folder, or an archive in it. Tests put files into the folder.
func newFixture(t *testing.T, only string, o Options) *fixture {
	f := &fixture{t: t, dir: t.TempDir()}
	if only != "" {
		f.pack(only, climate(t))
	}
	o.Warn = func(name string, err error) { f.warn = append(f.warn, name+": "+err.Error()) }
	if o.Cache == 0 {
		o.Cache = 1 << 20
	}
	tree, err := newTree(filepath.Join(f.dir, only), &o)
	require.NoError(t, err)
	t.Cleanup(func() { tree.source.root.Close() })
	f.tree = tree
	f.RawFileSystem = fs.NewNodeFS(tree.top(), tree.options(f.dir, &o, true))
	return f
}

func climate(t *testing.T) []byte {
	b, err := os.ReadFile("../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	return b
}

func (f *fixture) put(name string, b []byte) {
	f.t.Helper()
	name = filepath.Join(f.dir, name)
	require.NoError(f.t, os.MkdirAll(filepath.Dir(name), 0o777))
	require.NoError(f.t, os.WriteFile(name+".new", b, 0o644))
	require.NoError(f.t, os.Rename(name+".new", name))
}

// pack archives an image in blocks of 4 KiB.
func (f *fixture) pack(name string, image []byte) []byte {
	f.t.Helper()
	var b bytes.Buffer
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: 4 << 10})
	require.NoError(f.t, err)
	f.put(name, b.Bytes())
	return b.Bytes()
}

// list returns the names in a folder.
func (f *fixture) list(dir uint64) []string {
	f.t.Helper()
	var opened fuse.OpenOut
	require.Equal(f.t, fuse.OK, f.OpenDir(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: dir}}, &opened))
	list, err := f.tree.source.list(f.tree.source.top())
	require.NoError(f.t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

func (f *fixture) lookup(dir uint64, name string) (fuse.EntryOut, fuse.Status) {
	var out fuse.EntryOut
	status := f.Lookup(nil, &fuse.InHeader{NodeId: dir}, name, &out)
	return out, status
}

// open opens a file of the root folder.
func (f *fixture) open(name string) (in fuse.ReadIn, flags uint32, status fuse.Status) {
	e, status := f.lookup(1, name)
	if status != fuse.OK {
		return in, 0, status
	}
	return f.openNode(e.NodeId)
}

func (f *fixture) openNode(node uint64) (in fuse.ReadIn, flags uint32, status fuse.Status) {
	var out fuse.OpenOut
	status = f.Open(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: node}}, &out)
	in.NodeId, in.Fh = node, out.Fh
	return in, out.OpenFlags, status
}

// read reads from an open file.
func (f *fixture) read(in fuse.ReadIn, off int64, n int) ([]byte, fuse.Status) {
	in.Offset, in.Size = uint64(off), uint32(n)
	buf := make([]byte, n)
	r, status := f.Read(nil, &in, buf)
	if status != fuse.OK {
		return nil, status
	}
	return r.Bytes(buf)
}

func (f *fixture) close(in fuse.ReadIn) {
	f.Release(nil, &fuse.ReleaseIn{InHeader: in.InHeader, Fh: in.Fh})
}

// users returns the number of archives in use.
func (f *fixture) users() int {
	_, used := f.tree.source.Len()
	return used
}

// all reads a file of the root folder.
func (f *fixture) all(name string, size int) []byte {
	f.t.Helper()
	in, _, status := f.open(name)
	require.Equal(f.t, fuse.OK, status, name)
	defer f.close(in)
	var all []byte
	for {
		b, status := f.read(in, int64(len(all)), 100_000)
		require.Equal(f.t, fuse.OK, status, name)
		if len(b) == 0 {
			require.Len(f.t, all, size, name)
			return all
		}
		all = append(all, b...)
	}
}

// TestTreeNames checks under which names files appear.
func TestTreeNames(t *testing.T) {
	for _, with := range []bool{false, true} {
		f := newFixture(t, "", Options{WithArchives: with})
		image := climate(t)
		ar := f.pack("a.nc.cdfz", image)
		f.put("both.nc", []byte("original"))
		f.put("both.nc.cdfz", ar)
		f.put("no.nc.cdfz", []byte("not an archive"))
		f.put("broken.nc.cdfz", ar[:len(ar)-1])
		f.put(".cdfz", ar)
		f.put("..cdfz", ar)
		f.put("...cdfz", ar)
		f.put("folder.cdfz/x", nil)
		f.put("twice.nc.cdfz", ar)
		f.put("twice.nc.cdfz.cdfz", ar)
		links := map[string]string{"latest.nc.cdfz": "a.nc.cdfz", "away.nc.cdfz": "/etc/passwd", "lost.nc.cdfz": "nowhere.cdfz", "plain": "a.nc.cdfz",
			"up.nc.cdfz": "../" + filepath.Base(f.dir) + "/a.nc.cdfz"}
		for name, to := range links {
			require.NoError(t, os.Symlink(to, filepath.Join(f.dir, name)))
		}
		want := []string{"a.nc", "both.nc", "both.nc.cdfz", "no.nc.cdfz", "broken.nc", ".cdfz", "..cdfz", "...cdfz", "folder.cdfz", "twice.nc",
			"twice.nc.cdfz.cdfz", "latest.nc", "away.nc.cdfz", "lost.nc.cdfz", "plain", "up.nc.cdfz"}
		hidden := []string{"a.nc.cdfz", "broken.nc.cdfz", "twice.nc.cdfz", "latest.nc.cdfz"}
		if with {
			want = append(want, hidden...)
		}
		slices.Sort(want)
		require.Equal(t, want, f.list(1))
		for _, name := range want {
			e, status := f.lookup(1, name)
			if name == "broken.nc" {
				require.Equal(t, fuse.EIO, status)
				continue
			}
			require.Equal(t, fuse.OK, status, name)
			if name == "a.nc" || name == "latest.nc" || name == "twice.nc" {
				require.Equal(t, uint64(len(image)), e.Size, name)
				require.Equal(t, uint32(syscall.S_IFREG|0o644), e.Mode, name)
				require.True(t, bytes.Equal(image, f.all(name, len(image))), name)
			}
			if to, ok := links[name]; ok && e.Mode&syscall.S_IFMT == syscall.S_IFLNK {
				got, status := f.Readlink(nil, &fuse.InHeader{NodeId: e.NodeId})
				require.Equal(t, fuse.OK, status)
				require.Equal(t, to, string(got))
			}
		}
		require.Equal(t, "original", string(f.all("both.nc", 8)))
		require.True(t, bytes.Equal(ar, f.all("both.nc.cdfz", len(ar))))
		for _, name := range hidden {
			_, status := f.lookup(1, name)
			require.Equal(t, with, status == fuse.OK, name)
		}
		long := string(bytes.Repeat([]byte{'x'}, 253))
		for _, name := range []string{"none.nc", "folder", "a", "no.nc", "lost.nc", "away.nc", "up.nc", "", long} {
			if name != "" {
				_, status := f.lookup(1, name)
				require.Equal(t, fuse.ENOENT, status, name)
			}
		}
		require.Len(t, f.warn, 1)
		require.Contains(t, f.warn[0], "broken.nc.cdfz: ")
		require.Zero(t, f.users())
	}
}

// TestTreeOne checks a mount of a single archive.
func TestTreeOne(t *testing.T) {
	f := newFixture(t, "a.nc.cdfz", Options{})
	f.put("a.nc", []byte("beside it"))
	f.put("b", nil)
	require.Equal(t, []string{"a.nc"}, f.list(1))
	require.True(t, bytes.Equal(climate(t), f.all("a.nc", len(climate(t)))))
	for _, name := range []string{"b", "a.nc.cdfz"} {
		_, status := f.lookup(1, name)
		require.Equal(t, fuse.ENOENT, status)
	}
	_, err := newTree(filepath.Join(f.dir, "a.nc"), &Options{Cache: 1})
	require.ErrorIs(t, err, ErrSource)
	f.put("no.nc.cdfz", []byte("no"))
	_, err = newTree(filepath.Join(f.dir, "no.nc.cdfz"), &Options{Cache: 1})
	require.ErrorIs(t, err, archive.ErrNotArchive)
}

// TestTreeReplaced checks that another archive under a name is another node, and that
// files opened earlier keep their contents.
func TestTreeReplaced(t *testing.T) {
	f := newFixture(t, "", Options{})
	image := climate(t)
	f.pack("a.nc.cdfz", image)
	node, status := f.lookup(1, "a.nc")
	require.Equal(t, fuse.OK, status)
	in, flags, status := f.openNode(node.NodeId)
	require.Equal(t, fuse.OK, status)
	require.Equal(t, uint32(fuse.FOPEN_KEEP_CACHE), flags)
	again, _ := f.lookup(1, "a.nc")
	require.Equal(t, node.NodeId, again.NodeId)

	other, err := os.ReadFile("../../../../testdata/classic/cdf1_attrs.nc")
	require.NoError(t, err)
	f.pack("a.nc.cdfz", other)
	_, _, status = f.openNode(node.NodeId)
	require.Equal(t, fuse.Status(syscall.ESTALE), status)
	after, status := f.lookup(1, "a.nc")
	require.Equal(t, fuse.OK, status)
	require.NotEqual(t, node.NodeId, after.NodeId)
	require.True(t, bytes.Equal(other, f.all("a.nc", len(other))))
	b, status := f.read(in, 0, 1<<20)
	require.Equal(t, fuse.OK, status)
	require.True(t, bytes.Equal(image, b))
	var attr fuse.AttrOut
	require.Equal(t, fuse.OK, f.GetAttr(nil, &fuse.GetAttrIn{InHeader: in.InHeader}, &attr))
	require.Equal(t, uint64(len(image)), attr.Size)
	f.close(in)

	require.NoError(t, os.Rename(filepath.Join(f.dir, "a.nc.cdfz"), filepath.Join(f.dir, "b.nc.cdfz")))
	_, status = f.lookup(1, "a.nc")
	require.Equal(t, fuse.ENOENT, status)
	require.True(t, bytes.Equal(other, f.all("b.nc", len(other))))
	require.Empty(t, f.warn)
}

// TestTreeDamage checks that a damaged block is an error for the reads that need it, and
// one warning.
func TestTreeDamage(t *testing.T) {
	f := newFixture(t, "", Options{})
	image := climate(t)
	ar := f.pack("a.nc.cdfz", image)
	a, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	var block archive.BlockInfo
	for b, err := range a.Blocks(t.Context()) {
		require.NoError(t, err)
		if b.Var >= 0 && b.Len > block.Len {
			block = b
		}
	}
	ar[block.Off] ^= 1
	f.put("a.nc.cdfz", ar)
	in, _, status := f.open("a.nc")
	require.Equal(t, fuse.OK, status)
	good, bad := 0, 0
	for range 2 {
		for off := 0; off < len(image); off += 1000 {
			n := min(1000, len(image)-off)
			b, status := f.read(in, int64(off), n)
			if status == fuse.OK {
				good++
				require.True(t, bytes.Equal(image[off:off+n], b))
				continue
			}
			bad++
			require.Equal(t, fuse.EIO, status)
		}
	}
	require.Greater(t, good, bad)
	require.Positive(t, bad)
	require.Len(t, f.warn, 1)
	require.Contains(t, f.warn[0], `a.nc.cdfz: archive: variable "`)
}

// TestHeld checks that an open image needs its archive only while it is read, and that an archive which was
// replaced after it had to be closed is an error.
func TestHeld(t *testing.T) {
	f := newFixture(t, "", Options{})
	image := climate(t)
	f.pack("a.nc.cdfz", image)
	a, _, _ := f.open("a.nc")
	require.Zero(t, f.users())
	require.Zero(t, f.tree.active.idle())
	for range 2 {
		b, status := f.read(a, 100, 100)
		require.Equal(t, fuse.OK, status)
		require.Equal(t, image[100:200], b)
		f.tree.source.Close() // as if many others were read
	}
	require.NoError(t, os.Remove(filepath.Join(f.dir, "a.nc.cdfz")))
	_, status := f.read(a, 100, 100)
	require.Equal(t, fuse.Status(syscall.ESTALE), status)
	require.Len(t, f.warn, 1)
	require.Contains(t, f.warn[0], "a.nc.cdfz: was replaced by another file meanwhile")
	f.close(a)
	require.Positive(t, f.tree.active.idle())
}

// counting returns a file of 40 MiB.
func counting(t *testing.T) []byte {
	h := &cdf3.Header{Version: cdf3.Offset64}
	h.Dims = []cdf3.Dim{{Name: "x", Len: 10 << 20}}
	h.Vars = []cdf3.Var{{Name: "v", DimIDs: []int{0}, Type: cdf3.Int}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range uint32(10 << 20) {
		image = binary.BigEndian.AppendUint32(image, i)
	}
	return image
}

// TestStreams checks that sequential reads, and no others, use a stream, and that streams
// take their memory from the cache.
func TestStreams(t *testing.T) {
	f := newFixture(t, "", Options{Cache: 64 << 20})
	f.pack("a.nc.cdfz", counting(t))
	in, _, status := f.open("a.nc")
	require.Equal(t, fuse.OK, status)
	defer f.close(in)
	from, err := f.tree.source.Acquire("a.nc.cdfz")
	require.NoError(t, err)
	defer f.tree.source.Release(from)
	im := from.NetCDF.Image()
	const step = 1 << 20
	all := f.tree.streams
	open := func() *stream { return all.open(f.tree.source, from) }
	need := ahead.Memory(im)

	r := &reading{t: f.tree, size: im.Size()}
	for i := range int64(30) { // apart, and back and forth
		require.Nil(t, r.advance(from, i%2*20*step+i/2*step, step))
	}
	for i := range int64(13) { // only a third of the bytes
		require.Nil(t, r.advance(from, 3*i*step, step))
	}
	require.Zero(t, all.used)

	var held []*stream
	for s := open(); s != nil; s = open() {
		held = append(held, s)
		require.LessOrEqual(t, all.used, int64(32<<20))
	}
	require.Len(t, held, int(32<<20/need))
	held[0].done()
	require.Nil(t, open(), "a stream that was used just now was closed")
	held[0].last = held[0].last.Add(-streamRest)
	s := open()
	require.NotNil(t, s)
	require.False(t, held[0].use())
	s.done()
	all.close(s)
	for _, s := range held[1:] {
		all.close(s)
		s.done()
	}
	require.Zero(t, all.used)
	require.Empty(t, all.all)
}

// TestSequence reads a file in order, and elsewhere between.
func TestSequence(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	f := newFixture(t, "", Options{Cache: 64 << 20})
	image := counting(t)
	f.pack("a.nc.cdfz", image)
	in, _, status := f.open("a.nc")
	require.Equal(t, fuse.OK, status)
	used := int64(0)
	check := func(off int) {
		b, status := f.read(in, int64(off), 1<<17)
		require.Equal(t, fuse.OK, status)
		require.True(t, bytes.Equal(image[off:min(off+1<<17, len(image))], b))
		used = max(used, f.tree.streams.used)
	}
	for _, elsewhere := range []bool{false, true} {
		for off := 0; off < len(image); off += 1 << 17 {
			check(off)
			if elsewhere && off%(10<<20) == 0 {
				check((off + len(image)/2) % len(image))
			}
		}
		require.Positive(t, used)
		used = 0
	}
	f.close(in)
	require.Zero(t, f.tree.streams.used)
}

// TestExplain checks the reason for a system without FUSE.
func TestExplain(t *testing.T) {
	there := t.TempDir()
	require.Equal(t, syscall.ENOENT, explain(syscall.ENOENT, there))
	require.Equal(t, ErrNoFUSE, explain(syscall.ENOENT, filepath.Join(there, "none")))
}
