package spec

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

var codecTexts = map[string]string{
	`{"id":"zlib","level":6}`:                                                        "1,6",
	`[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]`:                     "2,4|32015,3",
	`{"filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"bz2"}}`:       "2,4|307,1",
	`{"compressor":{"id":"bz2","level":9},"filters":[{"id":"shuffle"}],"order":"C"}`: "2,4|307,9",
	`{"filters":null,"compressor":null}`:                                             "",
	`{"filters":[{"id":"fletcher32"}],"compressor":null}`:                            "3",
	`{"compressor":{"id":"zlib"}}`:                                                   "1,1",
	`[]`:                                                                             "", `null`: "", " [ {\"id\" : \"zlib\"} ] ": "1,1",
}

func TestParseCodecs(t *testing.T) {
	for text, want := range codecTexts {
		c, err := ParseCodecs([]byte(text))
		if err != nil || c.String() != want {
			t.Errorf("%s: expected %s, found %s, %v", text, want, c, err)
		}
	}
	for _, c := range []struct {
		text string
		col  int
		kind error
	}{
		{``, 1, ErrSpec}, {`[`, 1, ErrSpec}, {`[{]`, 3, ErrSpec}, {`3`, 1, ErrSpec}, {`"zlib"`, 1, ErrSpec},
		{`{}`, 1, filters.ErrNoCodecID}, {`[{"id":"zlib"},{"level":3}]`, 16, filters.ErrNoCodecID},
		{`[{"id":"zlib"}, {"id":"pcodec"}]`, 17, filters.ErrNoCodec}, {`{"id":"zlib","level":"6"}`, 1, filters.ErrCodec},
		{`{"id":"zlib","level":10}`, 1, filters.ErrParam}, {`{"filters":3,"compressor":null}`, 12, ErrSpec},
		{`{"compressor":{"id":"x"},"filters":[{"id":"shuffle"}]}`, 15, filters.ErrNoCodec},
		{"[" + strings.Repeat(`{"id":"zlib"},`, 32) + `{"id":"zlib"}]`, 1, ErrSpec},
	} {
		_, err := ParseCodecs([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, c.kind) || !errors.Is(err, ErrSpec) || e.Col != c.col {
			t.Errorf("%s: expected %v in column %d, found %v", c.text, c.kind, c.col, err)
		}
	}
}

// TestP15_ZarrSplit checks that Zarr's split into filters and compressor can be undone.
func TestP15_ZarrSplit(t *testing.T) {
	for n := range 4 {
		codecs := []json.RawMessage{json.RawMessage(`{"id":"shuffle"}`), json.RawMessage(`{"id":"zlib"}`), json.RawMessage(`{"id":"bz2"}`)}[:n]
		z := filters.SplitCodecs(codecs)
		if len(z.Filters) != max(n-1, 0) || (z.Compressor == nil) != (n == 0) {
			t.Errorf("%d codecs: %+v", n, z)
		}
		if got := z.Join(); len(got)+n > 0 && !reflect.DeepEqual(got, codecs) {
			t.Errorf("%s: found %s", codecs, got)
		}
		text, err := json.Marshal(z)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := ParseCodecs(text); err != nil || len(c) != n {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

func FuzzParseCodecs(f *testing.F) {
	s := seeds.Of(f)
	s.Add("split", []byte(`{"filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"bz2"}}`))
	s.Add("list", []byte(`[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]`))
	s.Add("one", []byte(`{"id":"zlib","level":6}`))
	s.Add("null", []byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCodecs(text)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || e.Col < 1 || e.Col > len(text)+1 {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := ParseChain(c.String(), &Options{Compat: true})
		if err != nil || again.String() != c.String() {
			t.Fatalf("%s: %s, %v", c, again, err)
		}
	})
}
