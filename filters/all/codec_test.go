package all

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func TestCodecs(t *testing.T) {
	for _, c := range []struct {
		spec, want string // empty: no codec
	}{
		{"1,5", `[{"id":"zlib","level":5}]`},
		{"4,4,8", `[{"id":"szip","mask":4,"pixels-per-block":8}]`},
		{"2,4|32015,3", `[{"id":"shuffle","elementsize":4},{"id":"zstd","level":3}]`},
		{"32015,-5", `[{"id":"zstd","level":-5}]`},
		{"307,9", `[{"id":"bz2","level":9}]`},
		{"307|32015", `[{"id":"bz2","level":9},{"id":"zstd","level":3}]`},
		{"2,8|3", `[{"id":"shuffle","elementsize":8},{"id":"fletcher32"}]`},
		{"3|2,4", `[{"id":"fletcher32"},{"id":"shuffle","elementsize":4}]`},
		{"1,1|2,1", `[{"id":"zlib","level":1},{"id":"shuffle","elementsize":1}]`},
		{"3|3|2,8", `[{"id":"fletcher32"},{"id":"fletcher32"},{"id":"shuffle","elementsize":8}]`},
		{"3|2,8", ""},   // incomplete elements of four bytes
		{"1,1|2,2", ""}, // possibly incomplete elements
		{"32004,0", ""}, {"2,4|32004", ""}, {"300,1", ""},
	} {
		chain := filtertest.Chain(t, c.spec)
		got, err := chain.Codecs(filters.Block{Len: 4096})
		if c.want == "" {
			if !errors.Is(err, filters.ErrNoCodec) {
				t.Errorf("%s: %v, found %s, %v", c.spec, filters.ErrNoCodec, got, err)
			}
			continue
		}
		text, _ := json.Marshal(got)
		if err != nil || string(text) != c.want {
			t.Errorf("%s: %s, found %s, %v", c.spec, c.want, text, err)
			continue
		}
		var back filters.Chain
		for _, g := range got {
			f, err := filters.ToFilter(g)
			if err != nil {
				t.Fatalf("%s: %v", g, err)
			}
			back = append(back, f)
		}
		if back.String() != chain.String() && c.spec != "307|32015" {
			t.Errorf("%s: back as %s", c.spec, back)
		}
	}
	_, err := filtertest.Chain(t, "2,4|32004,0").Codecs(filters.Block{})
	if err == nil || !strings.Contains(err.Error(), "32004,0 (lz4)") {
		t.Errorf("the error names the filter: %v", err)
	}
	if _, err := filtertest.Optional(filtertest.Chain(t, "2,4|1,5"), 1).Codecs(filters.Block{}); !errors.Is(err, filters.ErrNoCodec) {
		t.Errorf("optional filter: %v", err)
	}
	if _, err := (filters.Chain{{ID: filters.Shuffle}}).Codecs(filters.Block{}); !errors.Is(err, filters.ErrParam) {
		t.Errorf("shuffle without size: %v", err)
	}
	if _, err := filtertest.Chain(t, "2,4").Codecs(filters.Block{Len: 4095}); !errors.Is(err, filters.ErrNoCodec) {
		t.Errorf("incomplete element: %v", err)
	}
	if got, err := filters.Chain(nil).Codecs(filters.Block{}); err != nil || len(got) != 0 {
		t.Errorf("empty chain: %v, %v", got, err)
	}
}

func TestToFilter(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"zlib"}`:    "1,1",
		`{"id":"bz2"}`:     "307,1",
		`{"id":"zstd"}`:    "32015,0",
		`{"id":"shuffle"}`: "2,4",
		`{"level":7,"id":"zstd","checksum":false}`: "32015,7",
		`{"id":"shuffle","elementsize":8}`:         "2,8",
		` {"id": "fletcher32"} `:                   "3",
	} {
		f, err := filters.ToFilter(json.RawMessage(text))
		if err != nil || f.String() != want {
			t.Errorf("%s: %s, found %s, %v", text, want, f, err)
		}
	}
	for text, want := range map[string]error{
		`{}`:                                 filters.ErrNoCodecID,
		`{"level":1}`:                        filters.ErrNoCodecID,
		`null`:                               filters.ErrNoCodecID,
		``:                                   filters.ErrCodec,
		`[]`:                                 filters.ErrCodec,
		`{"id":5}`:                           filters.ErrCodec,
		`{"id":"lz4","block":1}`:             filters.ErrCodec,
		`{"id":"szip","mask":4}`:             filters.ErrCodec,
		`{"id":"pcodec"}`:                    filters.ErrNoCodec,
		`{"id":"zlib","level":"5"}`:          filters.ErrCodec,
		`{"id":"zlib","level":5.5}`:          filters.ErrCodec,
		`{"id":"zlib","level":null}`:         filters.ErrCodec,
		`{"id":"zlib","level":99999999999}`:  filters.ErrCodec,
		`{"id":"zlib","level":10}`:           filters.ErrParam,
		`{"id":"zlib","level":-1}`:           filters.ErrParam,
		`{"id":"zlib","levl":5}`:             filters.ErrCodec,
		`{"id":"zstd","checksum":true}`:      filters.ErrNoCodec,
		`{"id":"zlib","checksum":false}`:     filters.ErrCodec,
		`{"id":"shuffle","elementsize":0}`:   filters.ErrParam,
		`{"id":"shuffle","elementsize":"4"}`: filters.ErrCodec, // netcdf-c#3200
		`{"id":"shuffle","elementsize":-4}`:  filters.ErrParam,
		`{"id":"fletcher32","x":1}`:          filters.ErrCodec,
	} {
		if f, err := filters.ToFilter(json.RawMessage(text)); !errors.Is(err, want) {
			t.Errorf("%s: %v, found %s, %v", text, want, f, err)
		}
	}
	for _, text := range []string{`{"id":"zlib","level":"5"}`, `{"id":"zlib","level":null}`, `{"id":"zstd","level":1.5}`, `{"id":"zlib","Level":5}`} {
		if _, err := filters.ToFilter(json.RawMessage(text)); !errors.Is(err, filters.ErrCodec) || !strings.Contains(strings.ToLower(err.Error()), `"level"`) {
			t.Errorf("%s: an error that names the key, found %v", text, err)
		}
	}
	if filters.CodecID(filters.Zstd) != "zstd" || filters.CodecID(filters.LZ4) != "" {
		t.Errorf("codec ids: %q, %q", filters.CodecID(filters.Zstd), filters.CodecID(filters.LZ4))
	}
}

// TestCodecsKept checks that codecs do not change on their way through parameters, before and
// after these are completed.
func TestCodecsKept(t *testing.T) {
	block := filters.Block{Len: 32000, Kind: filters.Int, Size: 4, Shape: []int{80, 100}}
	for text, want := range map[string]string{
		`{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}`:                                             "32001,0,0,0,0,5,1,1",
		`{"id":"blosc","cname":"zstd","clevel":3,"shuffle":2,"blocksize":1024}`:                                         "32001,0,0,0,1024,3,2,5",
		`{"id":"szip","mask":4,"pixels-per-block":8}`:                                                                   "4,4,8",
		`{"id":"lz4","acceleration":1}`:                                                                                 "52734,1",
		`{"id":"lz4","acceleration":-7}`:                                                                                "52734,4294967289",
		`{"id":"lzma","format":1,"check":-1,"preset":null,"filters":null}`:                                              "52732,1,4294967295,0",
		`{"id":"lzma","format":1,"check":10,"preset":0,"filters":null}`:                                                 "52732,1,10,1",
		`{"id":"lzma","format":1,"check":4,"preset":6,"filters":null}`:                                                  "52732,1,4,7",
		`{"id":"lzma","format":2,"check":-1,"preset":2147483657,"filters":null}`:                                        "52732,2,4294967295,2147483658",
		`{"id":"lzma","format":2,"check":0,"preset":null,"filters":null}`:                                               "52732,2,0,0",
		`{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":33}]}`:                                       "52732,3,4294967295,0",
		`{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"preset":9}]}`:          "52732,3,4294967295,10,4",
		`{"id":"lzma","format":3,"check":-1,"preset":null,"filters":[{"id":3,"dist":4},{"id":33,"dict_size":8388608}]}`: "52732,3,4294967295,8388608,4",
	} {
		f, err := filters.ToFilter(json.RawMessage(text))
		require.NoError(t, err, text)
		require.Equal(t, want, f.String())
		back, err := filters.FromFilter(f)
		require.NoError(t, err, text)
		require.JSONEq(t, text, string(back))
		full, err := filters.Chain{f}.Complete(block)
		require.NoError(t, err, text)
		codecs, err := full.Codecs(block)
		require.NoError(t, err, text)
		require.JSONEq(t, text, string(codecs[0]))
		again, err := full.Complete(block)
		require.NoError(t, err)
		require.Equal(t, full, again, text)
		if f.ID != filters.LZMA {
			require.Equal(t, want, full.Given().String())
		}
	}
	// netCDF-4 files have the completed parameters of HDF5. The fourth is the length of a block.
	text, err := filters.FromFilter(filters.Filter{ID: filters.Blosc, Params: []uint32{2, 2, 4, 32000, 5, 1, 1}})
	require.NoError(t, err)
	require.Contains(t, string(text), `"blocksize":0`)
}

// FuzzToFilter checks that a codec is refused, or converts to a valid filter and back
// to a codec of the same meaning.
func FuzzToFilter(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{
		"shuffle": `{"id":"shuffle","elementsize":4}`, "zlib": `{"id":"zlib","level":6}`, "zstd": `{"id":"zstd","level":-5}`, "default": `{"id":"bz2"}`,
		"no-id": `{"level":1}`, "id-number": `{"id":7}`, "upper-case": `{"id":"zlib","Level":1}`, "unknown-key": `{"id":"zlib","x":1}`, "unknown-id": `{"id":"pcodec"}`,
		"null": `{"id":"zlib","level":null}`, "fraction": `{"id":"zlib","level":1.5}`, "overflow": `{"id":"lz4","acceleration":99999999999}`, "twice": `{"id":"zlib","level":1,"level":99}`,
		"list": `[]`, "cut": `{"id":"zlib"`, "empty": ``,
	} {
		s.Add(name, []byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		filter, err := filters.ToFilter(text)
		if err != nil {
			if !errors.Is(err, filters.ErrCodec) && !errors.Is(err, filters.ErrNoCodec) && !errors.Is(err, filters.ErrNoCodecID) && !errors.Is(err, filters.ErrParam) {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if _, err := filters.NewCoder(filters.Chain{filter}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		codec, err := filters.FromFilter(filter)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := filters.ToFilter(codec); err != nil || !reflect.DeepEqual(again, filter) {
			t.Errorf("%s: %+v, then %s: %+v, %v", text, filter, codec, again, err)
		}
	})
}

// TestCodecErrors checks that errors name the keys of the JSON, and its types.
func TestCodecErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":"zlib","level":"x"}`:                                       `filters: codec: key "level": expected an integer of 32 bits, found string`,
		`{"id":"zlib","level":1.5}`:                                       `filters: codec: key "level": expected an integer of 32 bits, found number 1.5`,
		`{"id":"zlib","level":null}`:                                      `filters: codec: key "level": expected an integer of 32 bits, found null`,
		`{"id":"shuffle","elementsize":[4]}`:                              `filters: codec: key "elementsize": expected an integer of 32 bits, found array`,
		`{"id":"blosc","cname":5}`:                                        `filters: codec: key "cname": expected text, found number`,
		`{"id":"delta","dtype":false}`:                                    `filters: codec: key "dtype": expected text, found bool`,
		`{"id":"fixedscaleoffset","scale":"1"}`:                           `filters: codec: key "scale": expected a number, found string`,
		`{"id":"zstd","checksum":1}`:                                      `filters: codec: key "checksum": expected true or false, found number`,
		`{"id":"lzma","format":3,"filters":[{"id":33,"x":1}]}`:            `filters: codec: json: unknown field "x"`,
		`{"id":"lzma","format":3,"filters":[{"id":4611686018427387905}]}`: `filters: codec lzma: key "filters": raw LZMA1 is not supported`,
		`{"id":"lzma","filters":[{"id":4},{"id":33}]}`:                    `filters: codec lzma: key "filters": BCJ filter 4 is not supported`,
	} {
		if _, err := filters.ToFilter(json.RawMessage(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, expected %s", text, err, want)
		}
	}
}
