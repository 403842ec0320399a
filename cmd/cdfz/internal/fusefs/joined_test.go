//go:build linux && !386 && !arm

package fusefs

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cdf3"
)

// times is a file with these values.
func times(t *testing.T, values ...float64) []byte {
	b := cdf3.NewBuilder(cdf3.Classic)
	b.Var("time", cdf3.Double, b.Dim("time", cdf3.Unlimited)).Values(values).Attr("units", "days since 2001-01-01")
	var out bytes.Buffer
	require.NoError(t, b.WriteFile(context.Background(), &out))
	return out.Bytes()
}

// TestTreeJoined checks that joined files appear as one, from members above and below, until these change.
func TestTreeJoined(t *testing.T) {
	f := newFixture(t, "", Options{})
	f.pack("a.nc.cdfz", times(t, 1, 2))
	f.pack("more/b.nc.cdfz", times(t, 3))
	for target, members := range map[string][]string{"all.ncml": {"a.nc", "more/b.nc"}, "more/all.ncml": {"../a.nc", "b.nc"}} {
		target = filepath.Join(f.dir, target)
		desc, _, err := joined.Build(context.Background(), members, joined.Folder(target), nil)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, desc.WriteNcML(&b))
		require.NoError(t, os.WriteFile(target, b.Bytes(), 0o644))
	}
	want := times(t, 1, 2, 3)
	require.Equal(t, []string{"a.nc", "all.nc", "more"}, f.list(1))
	require.True(t, bytes.Equal(want, f.all("all.nc", len(want))))
	_, status := f.lookup(1, "all.ncml")
	require.Equal(t, fuse.ENOENT, status)

	more, status := f.lookup(1, "more")
	require.Equal(t, fuse.OK, status)
	below, status := f.lookup(more.NodeId, "all.nc")
	require.Equal(t, fuse.OK, status)
	require.EqualValues(t, len(want), below.Size)
	in, flags, status := f.openNode(below.NodeId)
	require.Equal(t, fuse.OK, status)
	require.Zero(t, flags, "the kernel must not keep pages")
	f.close(in)
	require.Empty(t, f.warn)

	// A member with other values is an error, and never mixed with others.
	f.tree.source.Close()
	f.pack("more/b.nc.cdfz", times(t, 4))
	in, _, status = f.openNode(below.NodeId)
	require.Equal(t, fuse.OK, status)
	_, status = f.read(in, 0, len(want))
	require.Equal(t, fuse.EIO, status)
	f.close(in)
	require.Len(t, f.warn, 1)
	require.Contains(t, f.warn[0], "b.nc")
	require.Zero(t, f.users())

	// The server could show others what they may not read.
	others, err := newTree(f.dir, &Options{Cache: 1, AllowOther: true})
	require.NoError(t, err)
	_, err = others.source.find(others.source.top(), "all.ncml")
	require.NoError(t, err)
	_, err = others.source.find(others.source.top(), "all.nc")
	require.ErrorIs(t, err, os.ErrNotExist)

	one, err := newTree(filepath.Join(f.dir, "all.ncml"), &Options{Cache: 1})
	require.NoError(t, err)
	list, err := one.source.list(one.source.top())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "all.nc", list[0].Name())
}

// TestTreeJoinedReads counts how often descriptions are read: never for a list, also if the kernel asks for
// attributes with it, and once for a lookup, also if they are refused.
func TestTreeJoinedReads(t *testing.T) {
	f := newFixture(t, "", Options{})
	f.pack("a.nc.cdfz", times(t, 1, 2))
	const head = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"><aggregation dimName="time" type="joinExisting"><netcdf location="a.nc" ncoords="2"/>`
	f.put("good.ncml", []byte(head+"</aggregation></netcdf>"))
	f.put("bad.ncml", []byte(head+`<scan/></aggregation></netcdf>`))
	reads := 0
	read := f.tree.source.Joined.Read
	f.tree.source.Joined.Read = func(r io.ReaderAt, size int64) (archivefs.JoinedFiles, error) {
		reads++
		return read(r, size)
	}
	list := func(plus bool) {
		var opened fuse.OpenOut
		require.Equal(t, fuse.OK, f.OpenDir(nil, &fuse.OpenIn{InHeader: fuse.InHeader{NodeId: 1}}, &opened))
		for range 2 { // from the beginning again
			buf := make([]byte, 4096)
			out, in := fuse.NewDirEntryList(buf, 0), &fuse.ReadIn{InHeader: fuse.InHeader{NodeId: 1}, Fh: opened.Fh}
			if plus {
				require.Equal(t, fuse.OK, f.ReadDirPlus(nil, in, out))
			} else {
				require.Equal(t, fuse.OK, f.ReadDir(nil, in, out))
			}
			for _, name := range []string{"a.nc", "bad.nc", "good.nc"} {
				require.Contains(t, string(buf), name)
			}
			require.NotContains(t, string(buf), ".ncml")
		}
	}
	list(false)
	list(true)
	require.Zero(t, reads)
	for range 5 {
		e, status := f.lookup(1, "good.nc")
		require.Equal(t, fuse.OK, status)
		require.EqualValues(t, len(times(t, 1, 2)), e.Size)
	}
	require.Equal(t, 1, reads)
	for range 5 {
		_, status := f.lookup(1, "bad.nc")
		require.Equal(t, fuse.EIO, status)
	}
	require.Equal(t, 2, reads)
	require.Len(t, f.warn, 1)
	require.Contains(t, f.warn[0], "scan")
	list(true)
	require.Equal(t, 2, reads)
}
