package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// sample returns a file of testdata/classic and an archive of it.
func sample(t *testing.T, name string) (image, stored []byte) {
	t.Helper()
	image, err := os.ReadFile("../../testdata/classic/" + name)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	return image, b.Bytes()
}

// writeTree writes files of testdata/classic in nested folders below data/, with names that URLs would
// escape.
func writeTree(t *testing.T, images map[string][]byte) {
	for name, b := range images {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join("data", name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("data", name), b, 0o644))
	}
}

// sameTree checks that two folders have the same files.
func sameTree(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, sums(t, want, ""), sums(t, got, ""))
}

// TestPrefix archives a tree to a store, and uses the prefix there as a folder with every verb that takes
// folders.
func TestPrefix(t *testing.T) {
	climate, stored := sample(t, "cdf2_climate.nc")
	bits, _ := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	images := map[string][]byte{"x.nc": climate, "1990/x.nc": bits, "1990/a b?c#%2F&é\\.nc": bits, "1991/deep/er/y.nc": climate, "1991/z.nc": bits}
	writeTree(t, images)
	s.done("archive", "-o", "s3://bucket/run7/", "data")
	s.put("run7/notes.txt", []byte("not an archive"))
	s.put("run7/1992/", nil)
	s.put("run7x/other.nc.cdfz", stored)

	code, out, msg := s.run("verify", "--stats", "--log", "v.jsonl", "s3://bucket/run7/")
	require.Zero(t, code, msg)
	require.Contains(t, out, "s3://bucket/run7/1990/a b?c#%2F&é\\.nc.cdfz: ok\n")
	require.Contains(t, out, "5 files: 5 ok, 0 damaged; 1 skipped\n")
	require.Equal(t, "requests: 1 LIST, 7 GET, 0 HEAD, 0 PUT\n", msg)
	log, err := os.ReadFile("v.jsonl")
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(log), `"source":"s3://bucket/run7/`))
	require.Contains(t, s.done("verify", "--against", "data", "s3://bucket/run7/"), "s3://bucket/run7/1991/deep/er/y.nc.cdfz: ok, same as data/1991/deep/er/y.nc\n")
	require.Contains(t, s.done("verify", "s3://bucket/"), "6 files: 6 ok")

	require.Contains(t, s.done("restore", "-o", "back/", "s3://bucket/run7/"), "5 files: ")
	sameTree(t, "data", "back")
	require.Contains(t, s.done("restore", "-o", "back/", "s3://bucket/run7/"), "0 files; 5 restored before")
	require.NoError(t, os.WriteFile("back/x.nc", []byte("other"), 0o644))
	code, _, msg = s.run("restore", "-o", "back/", "s3://bucket/run7/")
	require.Equal(t, 4, code)
	require.Contains(t, msg, "back/x.nc: target exists")
	s.done("restore", "-f", "-o", "back/", "s3://bucket/run7/")
	sameTree(t, "data", "back")
	s.done("restore", "-o", "s3://bucket/back/", "s3://bucket/run7/")
	o, err := s.back.HeadObject("bucket", "back/1991/deep/er/y.nc")
	require.NoError(t, err)
	require.EqualValues(t, len(climate), o.Size)

	// What is done in a store is passed over, and what is there and differs is found before the work.
	require.NoError(t, os.Mkdir("tmp", 0o755))
	t.Setenv("TMPDIR", "tmp/none") // nothing is restored to a temporary file
	require.Contains(t, s.done("restore", "-o", "s3://bucket/back/", "s3://bucket/run7/"), "0 files; 5 restored before")
	s.put("back/x.nc", bits)
	s.put("back/1991/z.nc", []byte("other"))
	for _, more := range [][]string{nil, {"--dry-run"}} {
		code, out, msg = s.run(append([]string{"restore", "-o", "s3://bucket/back/", "s3://bucket/run7/"}, more...)...)
		require.Equal(t, 4, code, msg)
		require.Contains(t, out, "; 3 restored before")
		require.Contains(t, msg, "s3://bucket/back/x.nc: target exists")
		require.Contains(t, msg, "s3://bucket/back/1991/z.nc: target exists")
		require.Contains(t, msg, "hint: -f overwrites it")
	}
	code, _, msg = s.run("restore", "-o", "s3://bucket/back/x.nc", "s3://bucket/run7/x.nc.cdfz")
	require.Equal(t, 4, code, msg)
	require.Contains(t, msg, "s3://bucket/back/x.nc: target exists")
	require.NoError(t, os.Unsetenv("TMPDIR"))
	require.NoError(t, os.Remove("tmp"))
	// Keys that do not allow to look may write.
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		unseen := strings.Contains(r.URL.Path, "/unseen/") && (r.Method == http.MethodHead || r.Method == http.MethodGet)
		if unseen {
			w.WriteHeader(http.StatusForbidden)
		}
		return unseen
	})
	s.done("restore", "-o", "s3://bucket/unseen/", "s3://bucket/run7/1991/")
	s.set(nil)

	// The sums are those of the restored tree.
	for line := range strings.Lines(s.done("info", "--sha256", "s3://bucket/run7/1991/")) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		require.Equal(t, sums(t, "data/1991", "")[name], sum, line)
	}
	require.Contains(t, s.done("info", "s3://bucket/run7/"), "5 archives: ")
	s.done("catalogue", "-o", "cat.parquet", "s3://bucket/run7/")
	require.Contains(t, s.done("find", "--catalogue", "cat.parquet", "tas"), "s3://bucket/run7/1991/deep/er/y.nc.cdfz")

	// Patterns and several FILEs, in a store and in a folder.
	s.done("archive", "-o", "archives/", "data/1991")
	out = s.done("verify", "--exclude", "/1991/", "-v", "s3://bucket/run7/", "archives")
	require.Contains(t, out, "s3://bucket/run7/1991/z.nc.cdfz: skipped: excluded by /1991/")
	require.Contains(t, out, "5 files: 5 ok, 0 damaged; 3 skipped")
	s.done("restore", "--include", "*/", "--include", "x.nc.cdfz", "--exclude", "*", "-o", "some/", "s3://bucket/run7/")
	require.Equal(t, map[string]string{"x.nc": sums(t, "data", "")["x.nc"], "1990/x.nc": sums(t, "data", "")["1990/x.nc"]}, sums(t, "some", ""))

	// Classic files in a store.
	for name, b := range images {
		s.put("classic/"+name, b)
	}
	s.put("classic/empty.nc", nil)
	s.put("classic/x.nc.cdfz", stored)
	require.Contains(t, s.done("archive", "--dry-run", "-o", "from/", "s3://bucket/classic/"), "dry run: 5 files")
	out = s.done("archive", "-v", "-o", "from/", "s3://bucket/classic/")
	require.Contains(t, out, "s3://bucket/classic/empty.nc: skipped: empty")
	require.Contains(t, out, "s3://bucket/classic/x.nc.cdfz: skipped: already an archive")
	require.Contains(t, s.done("archive", "-o", "from/", "s3://bucket/classic/"), "0 files; 5 archived before; 2 skipped")
	require.Contains(t, s.done("verify", "--against", "s3://bucket/classic/", "from"), "5 files: 5 ok")
	s.done("restore", "-o", "again/", "from")
	sameTree(t, "data", "again")

	// Names of a list, relative to a prefix.
	require.NoError(t, os.WriteFile("list", []byte("1990/x.nc.cdfz\ns3://bucket/run7/1991/z.nc.cdfz\n"), 0o644))
	require.Contains(t, s.done("verify", "--files-from", "list", "s3://bucket/run7/"), "2 files: 2 ok")
	require.Contains(t, s.done("catalogue", "--files-from", "list", "-o", "list.parquet", "s3://bucket/run7/"), "2 files")
	s.done("restore", "--files-from", "list", "-o", "listed/", "s3://bucket/run7/")
	require.Equal(t, map[string]string{"1990/x.nc": sums(t, "data", "")["1990/x.nc"], "1991/z.nc": sums(t, "data", "")["1991/z.nc"]}, sums(t, "listed", ""))
	s.done("copy", "--files-from", "list", "s3://bucket/run7/", "s3://bucket/copied/")
	require.NoError(t, os.WriteFile("list", []byte("1990/x.nc.cdfz\n1991/z.nc.cdfz\n"), 0o644))
	require.Contains(t, s.done("verify", "--state", "listed.state", "--files-from", "list", "s3://bucket/copied/", "--exclude", "/1990/"), "1 file: 1 ok")
	require.NoError(t, os.WriteFile("list", []byte("x.nc\n1990/x.nc\nempty.nc\n"), 0o644))
	code, out, msg = s.run("archive", "--files-from", "list", "-o", "s3://bucket/again/", "s3://bucket/classic/")
	require.Equal(t, 1, code)
	require.Contains(t, out, "2 files: ")
	require.Contains(t, msg, "s3://bucket/classic/empty.nc: ")
	require.NoError(t, os.WriteFile("list", []byte("x.nc\nhttp://elsewhere/y.nc\n../up.nc\n/x.nc\nnone.nc.cdfz\n"), 0o644))
	code, _, msg = s.run("restore", "--files-from", "list", "-o", "none/", "s3://bucket/run7/")
	require.Equal(t, 1, code)
	for _, text := range []string{
		"s3://bucket/run7/x.nc: ", "http://elsewhere/y.nc: expected a name below s3://bucket/run7/",
		"s3://bucket/run7/../up.nc: the key is not the path of a file", "s3://bucket/run7//x.nc: the key is not the path of a file",
		"s3://bucket/run7/none.nc.cdfz: ",
	} {
		require.Contains(t, msg, text)
	}
	require.NoDirExists(t, "none")

	code, _, msg = s.run("verify", "--json", "--stats", "s3://bucket/run7/1990/")
	require.Zero(t, code)
	var rep struct{ Requests struct{ List, Get int } }
	require.NoError(t, json.Unmarshal([]byte(msg), &rep))
	require.Equal(t, 1, rep.Requests.List)

	// A scrub passes over objects that were proved and have the same size and time.
	scrub := []string{"verify", "--state", "state", "--older-than", "1d", "s3://bucket/run7/1991/"}
	require.Contains(t, s.done(scrub...), "2 files: 2 ok, 0 damaged\n")
	require.Contains(t, s.done(scrub...), "0 files: 0 ok, 0 damaged; 2 proved before")
	again, err := s.back.GetObject("bucket", "run7/1991/z.nc.cdfz", nil)
	require.NoError(t, err)
	b, err := io.ReadAll(again.Contents)
	require.NoError(t, err)
	s.clock.Advance(time.Second)
	s.put("run7/1991/z.nc.cdfz", b)
	require.Contains(t, s.done(scrub...), "1 file: 1 ok, 0 damaged; 1 proved before")
	// Named itself, an object is known by what the store tells when it is opened.
	one := slices.Concat(scrub[:len(scrub)-1], []string{"s3://bucket/run7/1991/z.nc.cdfz"})
	s.done(one...) // this store may tell a time of its own then, so that the object is read again
	require.Contains(t, s.done(one...), "0 files: 0 ok, 0 damaged; 1 proved before")
	s.clock.Advance(time.Second)
	s.put("run7/1991/z.nc.cdfz", stored)
	code, _, msg = s.run(one...)
	require.Equal(t, 1, code)
	require.Contains(t, msg, "s3://bucket/run7/1991/z.nc.cdfz: holds another netCDF file than before")
	_, err = s.back.DeleteObject("bucket", "run7/1991/z.nc.cdfz")
	require.NoError(t, err)
	code, _, msg = s.run(scrub...)
	require.Equal(t, 1, code)
	require.Contains(t, msg, "s3://bucket/run7/1991/z.nc.cdfz: the archive is gone")
	require.Contains(t, s.done(append(one, "--accept-changes")...), "1 gone")
	require.Contains(t, s.done(scrub...), "1 proved before")

	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"verify", "s3://bucket/none/"}, 1, "s3://bucket/none/: there are no objects below this prefix"},
		{[]string{"restore", "-o", "n/", "s3://bucket/none/"}, 1, "there are no objects below this prefix"},
		{[]string{"info", "s3://bucket/none/"}, 1, "there are no objects below this prefix"},
		{[]string{"catalogue", "-o", "n.parquet", "s3://bucket/none/"}, 1, "there are no objects below this prefix"},
		{[]string{"verify", "--shard", "1/2", "s3://bucket/none/"}, 1, "there are no objects below this prefix"},
		{[]string{"verify", "--state", "st", "s3://bucket/none/"}, 1, "there are no objects below this prefix"},
		{[]string{"verify", "s3://bucket/run7/1992/"}, 1, "no archives below this folder"},
		{[]string{"info", "s3://bucket/run7/1992/"}, 1, "no archives below this folder"},
		{[]string{"catalogue", "-o", "n.parquet", "s3://bucket/run7/1992/"}, 1, "no archives below this folder"},
		{[]string{"verify", "s3://nobody/x/"}, 1, "no such bucket"},
		{[]string{"verify", "s3:///"}, 1, "expected s3://BUCKET/KEY"},
		{[]string{"verify", "s3://bucket"}, 1, "hint: s3://bucket/ is the folder of all objects below it"},
		{[]string{"restore", "-o", "n/", "s3://bucket/run7"}, 1, "hint: s3://bucket/run7/ is the folder of all objects below it"},
		{[]string{"restore", "s3://bucket/run7/"}, 2, "s3://bucket/run7/: the targets of its objects have no place"},
		{[]string{"restore", "-o", "one.nc", "s3://bucket/run7/"}, 2, "one target for the folder s3://bucket/run7/"},
		{[]string{"restore", "-o", "-", "s3://bucket/run7/"}, 2, "one target for the folder s3://bucket/run7/"},
		{[]string{"archive", "-o", "a.cdfz", "s3://bucket/classic/"}, 2, "one target for the folder s3://bucket/classic/"},
		{[]string{"archive", "--receipts", "r", "--delete-source", "-o", "from/", "s3://bucket/classic/"}, 2, "s3://bucket/classic/ is not a local file"},
		{[]string{"verify", "--against", "data/x.nc", "s3://bucket/run7/"}, 2, "expected a folder for the folder s3://bucket/run7/"},
		{[]string{"verify", "--files-from", "list", "s3://bucket/run7"}, 2, "expected a folder or a prefix for the names, found s3://bucket/run7"},
	} {
		code, _, msg := s.run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, msg)
		require.Contains(t, msg, c.text, "%v", c.args)
	}
	require.NoFileExists(t, "n.parquet")
}

// TestPrefixOnce counts the requests for objects of up to 8 MiB, which verbs that read all bytes of them read once.
func TestPrefixOnce(t *testing.T) {
	s := newBucket(t)
	r := rand.New(rand.NewPCG(1, 1))
	require.NoError(t, os.MkdirAll("data", 0o755))
	total := 0
	for i, n := range []int{100, 60 << 10, 900 << 10, 1100 << 10, 3 << 20, 8<<20 - 64<<10} {
		image := byteImage(r, n)
		require.NoError(t, os.WriteFile(fmt.Sprintf("data/%d.nc", i), image, 0o644))
		total += len(image)
	}
	s.done("archive", "-F", "none", "-o", "s3://bucket/run/", "data")
	s.done("archive", "-F", "none", "-o", "archives/", "data")
	s.done("archive", "-F", "none", "--parity", "5%", "-o", "s3://bucket/parity/", "data/4.nc")
	var sent atomic.Int64
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		s.next.ServeHTTP(&countingWriter{w, &sent}, r)
		return true
	})
	for args, requests := range map[string]string{
		"verify s3://bucket/run/":                     "1 LIST, 8 GET, 0 HEAD, 0 PUT",
		"verify --sha256 s3://bucket/run/":            "1 LIST, 8 GET, 0 HEAD, 0 PUT",
		"verify --against data s3://bucket/run/":      "1 LIST, 8 GET, 0 HEAD, 0 PUT",
		"restore -o back/ s3://bucket/run/":           "1 LIST, 8 GET, 0 HEAD, 0 PUT",
		"verify s3://bucket/parity/":                  "1 LIST, 3 GET, 0 HEAD, 0 PUT",
		"verify --state state.jsonl s3://bucket/run/": "1 LIST, 8 GET, 0 HEAD, 0 PUT",
	} {
		sent.Store(0)
		code, _, msg := s.run(append(strings.Fields(args), "--stats")...)
		require.Zero(t, code, msg)
		require.Equal(t, "requests: "+requests+"\n", msg, args)
		require.Less(t, sent.Load(), int64(total+64<<10), args)
	}

	// A named one, at a server that sends all of a file which is shorter than the end that is asked for. The store of
	// this test does not.
	var requests atomic.Int64
	files := http.FileServer(http.Dir("archives"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		files.ServeHTTP(w, r)
	}))
	defer srv.Close()
	s.done("verify", srv.URL+"/5.nc.cdfz")
	require.EqualValues(t, 1, requests.Load())
}

// countingWriter counts the bytes of bodies.
type countingWriter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.sent.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

// TestPrefixKeys restores from a store with keys that are no paths below a folder. They are refused by name, and
// nothing is written outside of the target. Verify reads them.
func TestPrefixKeys(t *testing.T) {
	image, stored := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	require.NoError(t, os.Mkdir("in", 0o755))
	t.Chdir("in")
	bad := []string{"../out.nc.cdfz", "/root.nc.cdfz", "a//b.nc.cdfz", "a/../../out.nc.cdfz", "a/./b.nc.cdfz", "./b.nc.cdfz", "zero\x00.nc.cdfz", "a/..\\../../../c.nc.cdfz"}
	good := []string{"a/b.nc.cdfz", "..nc.cdfz", "a/...nc.cdfz", "back\\slash.nc.cdfz", "..\\x.nc.cdfz", "a\nb.nc.cdfz", "C:x.nc.cdfz"}
	// The store sends keys with escapes, as others than gofakes3 do.
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if isTree(w, r) {
			return true
		}
		if !isListing(r) {
			_, _ = w.Write(stored)
			return true
		}
		fmt.Fprint(w, "<ListBucketResult><EncodingType>url</EncodingType>")
		for _, key := range slices.Concat(bad, good) {
			fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", url.QueryEscape("p/"+key), len(stored))
		}
		fmt.Fprint(w, "</ListBucketResult>")
		return true
	})
	code, out, msg := s.run("restore", "--json", "--log", "../log", "-o", "back/", "s3://bucket/p/")
	require.Equal(t, 4, code)
	for _, key := range bad {
		require.Contains(t, out, fmt.Sprintf(`{"file":%s,"error":"the key is not the path of a file`, quoted(t, "s3://bucket/p/"+key)))
	}
	require.Equal(t, len(bad), strings.Count(msg, "the key is not the path of a file"), msg)
	require.Equal(t, []string{"in", "log"}, names(t, ".."))
	require.Equal(t, []string{"back"}, names(t, "."))
	got := sums(t, "back", "")
	require.Len(t, got, len(good))
	for _, key := range good {
		require.Contains(t, got, strings.TrimSuffix(key, ".cdfz"))
		b, err := os.ReadFile(filepath.Join("back", strings.TrimSuffix(key, ".cdfz")))
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, b))
	}
	require.Contains(t, s.done("verify", "s3://bucket/p/"), fmt.Sprintf("%d files: %d ok", len(bad)+len(good), len(bad)+len(good)))
	// Originals are not looked for outside of their folder.
	require.NoError(t, os.WriteFile("../out.nc", image, 0o644))
	code, _, msg = s.run("verify", "--against", "back", "s3://bucket/p/")
	require.Equal(t, 4, code)
	require.Equal(t, len(bad), strings.Count(msg, "the key is not the path of a file"))
}

// quoted returns a text as JSON.
func quoted(t *testing.T, s string) string {
	b, err := json.Marshal(s)
	require.NoError(t, err)
	return string(b)
}

// TestPrefixPages lists a prefix in two pages and restores it with errors, slow answers and dropped
// connections, at every third request for a listing or one of 100 objects. Shards are disjoint and complete.
func TestPrefixPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const files = 1100
	image, stored := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	want := map[string]string{}
	writeTree(t, map[string][]byte{"x.nc": image})
	sum := sums(t, "data", "")["x.nc"]
	for i := range files {
		rel := fmt.Sprintf("%d/%04d.nc", i%7, i)
		want[rel] = sum
		s.put("p/"+rel+".cdfz", stored)
	}
	var n, lists, failed atomic.Int64
	var mu sync.Mutex
	fails := map[string]int{}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if isListing(r) {
			lists.Add(1)
		} else if !strings.Contains(r.URL.Path, "/00") {
			return false
		}
		k := n.Add(1)
		key := r.URL.String() + r.Header.Get("Range")
		mu.Lock()
		defer mu.Unlock()
		// A request fails at most three times, fewer than it is sent.
		if k%3 != 0 || fails[key] == 3 {
			return false
		}
		fails[key]++
		failed.Add(1)
		switch k % 4 {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			time.Sleep(20 * time.Millisecond)
			return false
		}
		return true
	})
	code, out, msg := s.run("restore", "-q", "--stats", "-o", "back/", "s3://bucket/p/")
	require.Zero(t, code, out+msg)
	require.Equal(t, want, sums(t, "back", ""))
	require.GreaterOrEqual(t, lists.Load(), int64(2))
	require.Greater(t, failed.Load(), int64(20))
	s.set(nil)
	for _, balance := range []bool{false, true} {
		count, sets := map[string]int{}, map[string]bool{}
		for i := 1; i <= 3; i++ {
			args := []string{"verify", "--json", "--shard", fmt.Sprintf("%d/3", i), "s3://bucket/p/"}
			if balance {
				args = append(args, "--balance")
			}
			for line := range strings.Lines(s.done(args...)) {
				var rep struct {
					File, Set string
					OK        bool
				}
				require.NoError(t, json.Unmarshal([]byte(line), &rep))
				if rep.Set != "" {
					sets[rep.Set] = true
				} else {
					require.True(t, rep.OK)
					count[rep.File]++
				}
			}
		}
		require.Len(t, count, files)
		for name, k := range count {
			require.Equal(t, 1, k, name)
		}
		require.LessOrEqual(t, len(sets), 1)
	}
	// The shard of an object is that of a file of the same path.
	require.NoError(t, os.RemoveAll("data"))
	require.NoError(t, os.Mkdir("local", 0o755))
	for rel := range want {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join("local", rel)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("local", rel+".cdfz"), stored, 0o644))
	}
	inStore := s.done("verify", "--shard", "2/9", "s3://bucket/p/")
	require.Equal(t, strings.ReplaceAll(inStore, "s3://bucket/p/", "local/"), s.done("verify", "--shard", "2/9", "local"))
}

// TestPrefixBroken has listings that end with an error after the first page. What was listed is
// restored, and the run fails, names the prefix and logs it. The next run completes the work.
func TestPrefixBroken(t *testing.T) {
	_, stored := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	for i := range 21 {
		s.put(fmt.Sprintf("p/%04d.nc.cdfz", i), stored)
	}
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		if !isListing(r) {
			return false
		}
		if r.URL.Query().Has("continuation-token") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
			return true
		}
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>2</NextContinuationToken>")
		for i := range 20 {
			fmt.Fprintf(w, "<Contents><Key>p/%04d.nc.cdfz</Key><Size>%d</Size></Contents>", i, len(stored))
		}
		fmt.Fprint(w, "</ListBucketResult>")
		return true
	})
	for _, args := range [][]string{{"restore", "-o", "back/"}, {"verify"}, {"verify", "--state", "st"}, {"catalogue", "-o", "c.parquet"}, {"info"}, {"archive", "--dry-run", "-o", "a/"}} {
		log := filepath.Join(t.TempDir(), "log")
		logs := args[0] == "restore" || args[0] == "verify"
		if logs {
			args = append(args, "--log", log)
		}
		code, _, msg := s.run(append(args, "-q", "s3://bucket/p/")...)
		require.Equal(t, 4, code, "%v: %s", args, msg)
		require.Contains(t, msg, "s3://bucket/p/: ", "%v", args)
		require.Contains(t, msg, "access denied (AccessDenied)", "%v", args)
		if logs {
			b, err := os.ReadFile(log)
			require.NoError(t, err)
			require.Regexp(t, `"source":"s3://bucket/p/","outcome":"failed"`, string(b))
			require.Contains(t, string(b), `"exit":4}`)
		}
	}
	require.Len(t, names(t, "back"), 20)
	s.set(nil)
	require.Contains(t, s.done("restore", "-o", "back/", "s3://bucket/p/"), "1 file: ")
	require.Len(t, names(t, "back"), 21)
}

// TestPrefixKill kills restores after different numbers of requests. Each name has a whole file or none,
// and the next run completes the tree.
func TestPrefixKill(t *testing.T) {
	image, stored := sample(t, "cdf2_climate.nc")
	s := newBucket(t)
	want := map[string]string{}
	writeTree(t, map[string][]byte{"x.nc": image})
	for i := range 8 {
		rel := fmt.Sprintf("%d/x.nc", i)
		want[rel] = sums(t, "data", "")["x.nc"]
		s.put("p/"+rel+".cdfz", stored)
	}
	for _, after := range []int64{1, 2, 4, 6, 9} {
		require.NoError(t, os.RemoveAll("back"))
		cmd := exec.Command(os.Args[0], "restore", "-q", "-o", "back/", "s3://bucket/p/")
		cmd.Args[0] = "cdfz"
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
		started := make(chan struct{})
		var n atomic.Int64
		s.set(func(_ http.ResponseWriter, r *http.Request) bool {
			<-started
			if n.Add(1) >= after {
				_ = cmd.Process.Kill()
				<-r.Context().Done() // it never gets an answer
				return true
			}
			return false
		})
		require.NoError(t, cmd.Start())
		close(started)
		require.Error(t, cmd.Wait())
		s.set(nil)
		if _, err := os.Stat("back"); err == nil {
			for name, sum := range sums(t, "back", ".nc") {
				require.Equal(t, want[filepath.ToSlash(name)], sum, name)
			}
		}
		s.done("restore", "-q", "-o", "back/", "s3://bucket/p/")
		require.Equal(t, want, sums(t, "back", ""))
		require.NoError(t, filepath.WalkDir("back", func(name string, d fs.DirEntry, err error) error {
			require.True(t, d.IsDir() || d.Name() == "x.nc", name)
			return err
		}))
	}
}
