package volume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

var packed = time.Unix(1_750_000_000, 0)

// member is a member with its contents.
type member struct {
	Entry
	data []byte
}

// write returns a volume.
func write(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, packed)
	defer w.Abort()
	for i := range members {
		m := &members[i]
		bound := w.Size(&m.Entry)
		require.NoError(t, w.Add(&m.Entry, bytes.NewReader(m.data)))
		require.LessOrEqual(t, w.Size(nil), bound)
	}
	bound := w.Size(nil)
	n, err := w.Finish()
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	require.LessOrEqual(t, n, bound)
	return b.Bytes()
}

func file1(path string, n int) member {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*7 + len(path))
	}
	return member{Entry{Path: path, Kind: File, Mode: 0o640, UID: 7, GID: 8, Modified: time.Unix(1_700_000_000+int64(n), 123), Size: int64(n), HasSum: n%2 == 0}, data}
}

func folder1(path string) member {
	return member{Entry: Entry{Path: path, Kind: Folder, Mode: 0o2750, Modified: time.Unix(-5, 0)}}
}

// sample has members of all kinds.
func sample() []member {
	return []member{
		folder1("a"), file1("a/b", 0), file1("a/c.nc.cdfz", 511), {Entry: Entry{Path: "a/d", Kind: HardLink, Target: "a/b", Modified: time.Unix(1_700_000_000, 123)}},
		file1("a.x", 512), folder1("b"), folder1("b/é"), file1("b/é/new\nline", 513), file1("b/\xff\xfe", 1024),
		folder1(strings.Repeat("d", 255)), file1(strings.Repeat("d", 255)+"/"+strings.Repeat("e", 255), 1),
		{Entry: Entry{Path: "link", Kind: Symlink, Mode: 0o777, Target: "a/c.nc.cdfz", Modified: time.Unix(1, 0)}},
		{Entry: Entry{Path: "links", Kind: Symlink, Mode: 0o777, Target: "b/é", Modified: time.Unix(1, 0)}},
		{Entry: Entry{Path: "out", Kind: Symlink, Mode: 0o777, Target: "../../etc/passwd"}},
		{Entry: Entry{Path: "root", Kind: Symlink, Mode: 0o777, Target: "/etc/passwd"}},
		{Entry: Entry{Path: "self", Kind: Symlink, Mode: 0o777, Target: "self"}},
		file1("z", 100_000),
	}
}

// check compares a volume with what it was made from.
func check(t *testing.T, v *Volume, members []member) {
	t.Helper()
	i := 0
	for e, err := range v.Members(t.Context(), "") {
		require.NoError(t, err)
		m := &members[i]
		require.Equal(t, m.Path, e.Path)
		require.Equal(t, m.Kind, e.Kind)
		require.Equal(t, m.Mode, e.Mode)
		require.Equal(t, m.Target, e.Target)
		require.Equal(t, m.UID, e.UID)
		require.True(t, m.Modified.Equal(e.Modified) || m.Modified.IsZero(), "%s: %s, %s", e.Path, m.Modified, e.Modified)
		if e.Kind == File {
			r, size, err := v.Contents(t.Context(), e)
			require.NoError(t, err)
			require.NoError(t, iotest.TestReader(io.NewSectionReader(r, 0, size), m.data))
		}
		found, err := v.Lookup(t.Context(), m.Path)
		require.NoError(t, err)
		require.Equal(t, e, found)
		i++
	}
	require.Equal(t, len(members), i)
	require.EqualValues(t, i, v.Len())
	for _, no := range []string{"", "0", "a/", "a/bb", "a\x00", "b/é/", "zz", strings.Repeat("d", 254), indexName} {
		_, err := v.Lookup(t.Context(), no)
		require.ErrorIs(t, err, fs.ErrNotExist, "%q", no)
	}
}

// TestRound checks that a volume has what was added, by its index and by its headers alone.
func TestRound(t *testing.T) {
	for _, members := range [][]member{nil, {file1("one", 3)}, sample()} {
		b := write(t, members...)
		require.Zero(t, len(b)%unit)
		require.Equal(t, b, write(t, members...))
		v, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.NoError(t, v.Rebuilt())
		require.True(t, packed.Equal(v.Packed()))
		check(t, v, members)

		cut := b[:bytes.LastIndex(b, []byte(indexName))]
		_, err = Open(t.Context(), bytes.NewReader(cut), int64(len(cut)))
		require.ErrorIs(t, err, fault.ErrCorrupt)
		again, err := Rebuild(t.Context(), bytes.NewReader(cut), int64(len(cut)), err)
		require.NoError(t, err)
		require.ErrorIs(t, again.Rebuilt(), fault.ErrCorrupt)
		require.True(t, again.Packed().IsZero())
		check(t, again, members)
		require.NoError(t, again.Close())

		// As from a tape.
		b = append(b, make([]byte, 62<<10)...)
		_, err = Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
	}
}

// TestCompare checks the order of paths against a sort of paths whose slashes are zero bytes.
func TestCompare(t *testing.T) {
	paths := []string{"", "a", "a/", "a/b", "a\x01", "a b", "a-b", "a.b", "aa", "b", "b/\xff", "b/a/c", "\xff", "\x01"}
	key := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	for _, p := range paths {
		for _, q := range paths {
			require.Equal(t, strings.Compare(key(p), key(q)), max(-1, min(1, Compare(p, q))), "%q %q", p, q)
		}
	}
}

// TestRefused checks that what no volume can have does not end it.
func TestRefused(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, packed)
	defer w.Abort()
	first := file1("m", 1)
	require.NoError(t, w.Add(&first.Entry, bytes.NewReader(first.data)))
	for _, e := range []Entry{
		{Path: "", Kind: File}, {Path: "/x", Kind: File}, {Path: "x/", Kind: Folder}, {Path: "x//y", Kind: File}, {Path: "x/../y", Kind: File}, {Path: "..", Kind: Folder},
		{Path: "n/.", Kind: Folder}, {Path: "n\x00", Kind: File}, {Path: indexName, Kind: File}, {Path: strings.Repeat("n/", maxPath/2) + "n", Kind: File},
		{Path: "m", Kind: File}, {Path: "a", Kind: File}, {Path: "n", Kind: '3'}, {Path: "n", Kind: Symlink}, {Path: "n", Kind: Symlink, Target: "a\x00"},
		{Path: "n", Kind: HardLink, Target: "../m"}, {Path: "n", Kind: HardLink},
	} {
		require.ErrorIs(t, w.Add(&e, strings.NewReader("")), ErrPath, "%+v", e)
	}
	long := member{Entry: Entry{Path: "n" + strings.Repeat("/n", maxPath/2-1) + "n", Kind: File}}
	require.NoError(t, w.Add(&long.Entry, nil))
	_, err := w.Finish()
	require.NoError(t, err)
	v, err := Open(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	long.Modified = time.Time{}
	check(t, v, []member{first, long})

	w = NewWriter(io.Discard, packed)
	defer w.Abort()
	require.ErrorIs(t, w.Add(&Entry{Path: "short", Kind: File, Size: 3}, strings.NewReader("ab")), io.ErrUnexpectedEOF)
	_, err = w.Finish()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	failed := errors.New("failed")
	w = NewWriter(&failing{2000, failed}, packed)
	defer w.Abort()
	require.ErrorIs(t, w.Add(&Entry{Path: "a", Kind: File, Size: 10_000}, bytes.NewReader(make([]byte, 10_000))), failed)
}

type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return 0, f.err
	}
	f.left -= len(p)
	return len(p), nil
}

// counting counts reads.
type counting struct {
	io.ReaderAt
	n     int
	bytes int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n++
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, off)
}

// many makes a volume of n empty files in folders of 1000.
func many(t testing.TB, n int) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, packed)
	defer w.Abort()
	for i := range n {
		if i%1000 == 0 {
			require.NoError(t, w.Add(&Entry{Path: fmt.Sprintf("%05d", i/1000), Kind: Folder}, nil))
		}
		require.NoError(t, w.Add(&Entry{Path: fmt.Sprintf("%05d/station%06d.nc.cdfz", i/1000, i), Kind: File, Modified: time.Unix(int64(i), 0)}, nil))
	}
	_, err := w.Finish()
	require.NoError(t, err)
	return b.Bytes()
}

// TestReads checks what opening a volume and finding a member cost, and that folders are listed without what lies below.
func TestReads(t *testing.T) {
	b := many(t, 20_000)
	c := &counting{ReaderAt: bytes.NewReader(b)}
	v, err := Open(t.Context(), c, int64(len(b)))
	require.NoError(t, err)
	require.Equal(t, 1, c.n)
	require.Greater(t, len(v.blocks), 4)
	for _, i := range rand.Perm(20_000)[:200] {
		before := c.n
		name := fmt.Sprintf("%05d/station%06d.nc.cdfz", i/1000, i)
		e, err := v.Lookup(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, name, e.Path)
		require.LessOrEqual(t, c.n-before, 1)
	}
	n := 0
	for e, err := range v.Children(t.Context(), "") {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%05d", n), e.Path)
		n++
	}
	require.Equal(t, 20, n)
	n = 0
	for e, err := range v.Children(t.Context(), "00007") {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("00007/station%06d.nc.cdfz", 7000+n), e.Path)
		n++
	}
	require.Equal(t, 1000, n)
}

// TestFS checks the file system of a volume, and where links lead.
func TestFS(t *testing.T) {
	b := write(t, sample()...)
	v, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	fsys := v.FS(context.Background())
	data, err := fs.ReadFile(fsys, "a/d")
	require.NoError(t, err)
	require.Empty(t, data)
	data, err = fs.ReadFile(fsys, "link")
	require.NoError(t, err)
	require.Len(t, data, 511)
	data, err = fs.ReadFile(fsys, "links/new\nline")
	require.NoError(t, err)
	require.Len(t, data, 513)
	st, err := fs.Lstat(fsys, "links/new\nline")
	require.NoError(t, err)
	require.EqualValues(t, 513, st.Size())
	for _, no := range []string{"out", "root", "self", "link/x", "nothing"} {
		_, err := fs.Stat(fsys, no)
		require.ErrorIs(t, err, fs.ErrNotExist, no)
	}
	st, err = fs.Lstat(fsys, "self")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink|0o777, st.Mode())
	st, err = fs.Stat(fsys, "a")
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|fs.ModeSetgid|0o750, st.Mode())

	var plain []member // fstest follows links
	for _, m := range sample() {
		if m.Kind != Symlink && m.Path != "b/\xff\xfe" {
			plain = append(plain, m)
		}
	}
	b = write(t, plain...)
	v, err = Open(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(v.FS(context.Background()), "a/b", "a/d", "b/é/new\nline", "z"))
}

// TestDamage flips each byte of a small volume, and cuts it at each unit: nothing panics, and no wrong member is
// found.
func TestDamage(t *testing.T) {
	members := sample()[:7]
	whole := write(t, members...)
	want := map[string]member{}
	for _, m := range members {
		want[m.Path] = m
	}
	use := func(b []byte) {
		v, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.True(t, errors.Is(err, ErrNotVolume) || errors.Is(err, fault.ErrCorrupt) || errors.Is(err, fault.ErrVersion), err)
			return
		}
		for e, err := range v.Members(t.Context(), "") {
			if err != nil {
				require.ErrorIs(t, err, fault.ErrCorrupt)
				break
			}
			require.Equal(t, want[e.Path].Size, e.Size)
			require.Equal(t, want[e.Path].Kind, e.Kind)
		}
	}
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 0x15
		use(b)
	}
	for n := 0; n < len(whole); n += 256 {
		use(whole[:n])
	}
}

// TestDamagedHeader checks that headers after a damaged one are found.
func TestDamagedHeader(t *testing.T) {
	members := []member{file1("a", 600), file1("b", 700), file1("c", 800), file1("d", 900)}
	for i := range members {
		members[i].Modified = time.Unix(5, 0)
	}
	const header = frontLen + unit + 2*unit // of b
	for _, damage := range []func(b []byte){
		func(b []byte) { copy(b[100:], "garbage!") },
		func(b []byte) { clear(b[:2*unit]) }, // is the end of a tar file
		func(b []byte) { clear(b[:3*unit]) }, // with all of its contents
	} {
		b := write(t, members...)
		damage(b[header:])
		v, err := Rebuild(t.Context(), bytes.NewReader(b), int64(len(b)), errors.New("why"))
		require.NoError(t, err)
		defer v.Close()
		var found []string
		for e, err := range v.Members(t.Context(), "") {
			require.NoError(t, err)
			found = append(found, e.Path)
		}
		require.Equal(t, []string{"a", "c", "d"}, found)

		// The index leads to all, and one of them has no header.
		v, err = Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		var bad []string
		for e, err := range v.Verify(t.Context()) {
			if err != nil {
				bad = append(bad, e.Path)
			}
		}
		require.Equal(t, []string{"b"}, bad)
	}
}

// TestOther checks files that are no volumes.
func TestOther(t *testing.T) {
	for _, b := range [][]byte{nil, {0}, make([]byte, 1024), make([]byte, 200_000), []byte("CDF\x01"), bytes.Repeat([]byte("x"), 100_000)} {
		_, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.ErrorIs(t, err, ErrNotVolume)
		_, err = Rebuild(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		require.ErrorIs(t, err, ErrNotVolume)
	}
	b := bytes.Replace(write(t), []byte("cdfz volume 1 index"), []byte("cdfz volume 2 index"), 1)
	at := bytes.Index(b, []byte("cdfz volume 2 index"))
	line := b[at : bytes.IndexByte(b[at:], '\n')+at]
	copy(line[len(line)-8:], fmt.Sprintf("%08x", crcOf(line[:len(line)-8])))
	_, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
	require.ErrorIs(t, err, fault.ErrVersion)
	_, err = Open(t.Context(), iotestErr{}, 5000)
	require.ErrorIs(t, err, errRead)
}

var errRead = errors.New("the disk is gone")

type iotestErr struct{}

func (iotestErr) ReadAt([]byte, int64) (int, error) { return 0, errRead }

// TestVerify checks that damage of headers and of files with sums is found, and only there.
func TestVerify(t *testing.T) {
	members := []member{folder1("a"), file1("a/b", 600), file1("a/c", 700), file1("d", 0), {Entry: Entry{Path: "l", Kind: Symlink, Target: "d", Mode: 0o777}}}
	whole := write(t, members...)
	verify := func(b []byte) (bad []string) {
		v, err := Open(t.Context(), bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		n := 0
		for e, err := range v.Verify(t.Context()) {
			require.NotNil(t, e, err)
			if err != nil {
				require.ErrorIs(t, err, ErrCorrupt)
				bad = append(bad, e.Path)
				continue
			}
			n++
		}
		return bad
	}
	require.Empty(t, verify(whole))
	c := slices.Clone(whole)
	c[bytes.Index(c, members[1].data)+99]++
	require.Equal(t, []string{"a/b"}, verify(c))
	c = slices.Clone(whole)
	at := bytes.Index(c, members[2].data) - unit // its header
	copy(c[at+100:], "0000777")
	require.Equal(t, []string{"a/c"}, verify(c))
	c = slices.Clone(whole)
	copy(c[at:], "a/x")
	for i := range 8 {
		c[at+148+i] = ' '
	}
	sum := 0
	for _, x := range c[at : at+unit] {
		sum += int(x)
	}
	copy(c[at+148:], fmt.Sprintf("%06o\x00 ", sum))
	require.NotEmpty(t, verify(c))
}

// TestSplit checks how names are divided.
func TestSplit(t *testing.T) {
	for name, want := range map[string][]string{
		"a.nc": nil, "a.tar": nil, "a.tar/": nil, "x.tar/b": {"x.tar", "b"}, "x.tar//b/c": {"x.tar", "b/c"}, "x.tar.d/b.tar/c": {"x.tar.d/b.tar", "c"},
		"x.tar/y.tar/z": {"x.tar", "y.tar/z", "x.tar/y.tar", "z"}, "s3://b/x.tar/a%20b?c": {"s3://b/x.tar", "a%20b?c"},
		"https://h/x.tar/a%20b?q=/y.tar/z": {"https://h/x.tar?q=/y.tar/z", "a b"}, "https://h/x?q=/y.tar/z": nil,
	} {
		var got []string
		for v, m := range Split(name) {
			got = append(got, v, m)
		}
		require.Equal(t, want, got, name)
	}
}

// TestLarge checks a member of more than 8 GiB, which old headers cannot tell: only its zeros are not written.
func TestLarge(t *testing.T) {
	const size = 9<<30 + 1
	s := &sparse{}
	w := NewWriter(s, packed)
	defer w.Abort()
	large := Entry{Path: "large", Kind: File, Size: size, Modified: packed}
	require.NoError(t, w.Add(&large, io.LimitReader(zeroReader{}, size)))
	after := file1("small", 700)
	require.NoError(t, w.Add(&after.Entry, bytes.NewReader(after.data)))
	n, err := w.Finish()
	require.NoError(t, err)
	v, err := Open(t.Context(), s, n)
	require.NoError(t, err)
	again, err := Rebuild(t.Context(), s, n, nil)
	require.NoError(t, err)
	defer again.Close()
	for _, v := range []*Volume{v, again} {
		e, err := v.Lookup(t.Context(), "large")
		require.NoError(t, err)
		require.EqualValues(t, int64(size), e.Size)
		e, err = v.Lookup(t.Context(), "small")
		require.NoError(t, err)
		r, n, err := v.Contents(t.Context(), e)
		require.NoError(t, err)
		got := make([]byte, n)
		_, err = r.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, after.data, got)
	}
}

var zeroPage [32 << 10]byte // what io.Copy writes at once

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// sparse is a file in memory without long runs of zeros.
type sparse struct {
	n      int64
	pieces []piece
}

type piece struct {
	off int64
	b   []byte
}

func (s *sparse) Write(p []byte) (int, error) {
	if len(p) > len(zeroPage) || !bytes.Equal(p, zeroPage[:len(p)]) {
		s.pieces = append(s.pieces, piece{s.n, bytes.Clone(p)})
	}
	s.n += int64(len(p))
	return len(p), nil
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for _, x := range s.pieces {
		if a, b := max(off, x.off), min(off+int64(len(p)), x.off+int64(len(x.b))); a < b {
			copy(p[a-off:], x.b[a-x.off:b-x.off])
		}
	}
	if left := s.n - off; int64(len(p)) > left {
		return int(left), io.EOF
	}
	return len(p), nil
}

// TestReadBack changes bytes of a volume and finds all changes.
func TestReadBack(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, packed)
	defer w.Abort()
	for _, m := range sample() {
		m.Size = min(m.Size, 1000)
		require.NoError(t, w.Add(&m.Entry, bytes.NewReader(m.data)))
	}
	size, err := w.Finish()
	require.NoError(t, err)
	require.NoError(t, w.ReadBack(t.Context(), bytes.NewReader(b.Bytes()), size))

	for i := int64(0); i < size; i += 7 {
		bad := bytes.Clone(b.Bytes())
		bad[i]++
		require.ErrorIs(t, w.ReadBack(t.Context(), bytes.NewReader(bad), size), ErrCorrupt)
	}
	require.ErrorIs(t, w.ReadBack(t.Context(), bytes.NewReader(b.Bytes()[:size-2000]), size-2000), ErrCorrupt)
	other := write(t, file1("a", 3))
	require.ErrorIs(t, w.ReadBack(t.Context(), bytes.NewReader(other), int64(len(other))), ErrCorrupt)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.ReadBack(ctx, bytes.NewReader(b.Bytes()), size), context.Canceled)
}
