package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
)

// parts returns the entries of an archive with their stored bytes, up to the manifest.
func parts(ar []byte) (out []czip.MetaEntry) {
	for _, e := range archivetest.Entries(ar) {
		if e.Name != czip.IndexName {
			out = append(out, czip.MetaEntry{ZipEntry: e, Payload: bytes.Clone(ar[e.End()-e.Stored : e.End()])})
		}
	}
	return out
}

// joined makes an archive of entries, with a matching manifest, index and directory.
func joined(t *testing.T, l *plan.Resolved, list []czip.MetaEntry, storedManifest bool) []byte {
	var ar []byte
	var man plan.Manifest
	table, err := blockidx.NewTable(l.Blocks)
	require.NoError(t, err)
	tw := plan.TailWriter{L: l, Table: table}
	numbers := map[string]int64{}
	for n := range l.Blocks {
		v, b := l.Locate(n)
		numbers[string(l.AppendName(nil, v, b))] = n
	}
	man.Blocks, man.Entries, man.Size = l.Blocks, int64(len(list))+1, l.Image.Size
	for _, e := range list {
		e.Off = int64(len(ar))
		n, isBlock := numbers[e.Name]
		switch {
		case e.Name == czip.RestPrefix+"0":
			man.Front = plan.Front{Len: e.Off, CRC32: plan.Hex32(czip.CRC(ar))}
		case e.Name == czip.ManifestName:
			data, err := czip.InflateTo(context.Background(), czip.ManifestName, e.Payload, 1<<16)
			require.NoError(t, err)
			var old plan.Manifest
			require.NoError(t, json.Unmarshal(data, &old))
			man.Name, man.SHA256 = old.Name, old.SHA256
			m := czip.NewMeta(czip.ManifestName, plan.EncodeJSON(man))
			if storedManifest {
				m = czip.NewStoredMeta(czip.ManifestName, plan.EncodeJSON(man))
			}
			m.Off = e.Off
			e = m
			tw.Man, tw.ManCRC = e.ZipEntry, czip.CRC(e.Payload)
		}
		ar = append(e.AppendLocal(ar), e.Payload...)
		row := blockidx.Row{Off: e.End() - e.Stored, Len: e.Stored, Mask: e.Mask, CRC: czip.CRC(e.Payload)}
		switch {
		case e.Name == czip.PlanName:
			man.Plan = plan.PlaceOf(row)
		case isBlock && man.Front.Len > 0:
			require.NoError(t, table.Set(n, row))
			if man.Stored += row.Len; e.Name == czip.RestPrefix+"0" {
				man.Header = plan.PlaceOf(row)
			}
		case man.Front.Len == 0:
		}
		if man.Front.Len == 0 {
			tw.Front = append(tw.Front, e.ZipEntry)
		}
	}
	b := bytes.NewBuffer(ar)
	_, err = tw.WriteTo(b)
	require.NoError(t, err)
	return b.Bytes()
}

// TestVerifyRules checks that a verifier finds violations with valid checksums, and
// accepts all that docs/FORMAT.md allows.
func TestVerifyRules(t *testing.T) {
	image := archivetest.Cube(t, 13, 30, 20)
	viewed := packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Block: 4096, Zarr: archive.ZarrAlways})
	consolidated := packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Block: 4096, Zarr: archive.ZarrConsolidated})
	pooled := packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Block: 4096, Zarr: archive.ZarrNever})
	plain := packtest.Pack(t, image, &archive.WriteOptions{Name: "a.nc", Block: 10_000, Zarr: archive.ZarrAlways, Preset: archive.PresetFast, Filters: []archive.VarFilter{{Vars: []string{"*"}}}})
	insert := func(at int, e ...czip.MetaEntry) func([]czip.MetaEntry) []czip.MetaEntry {
		return func(list []czip.MetaEntry) []czip.MetaEntry {
			return append(append(append([]czip.MetaEntry{}, list[:at]...), e...), list[at:]...)
		}
	}
	replace := func(name string, f func(czip.MetaEntry) czip.MetaEntry) func([]czip.MetaEntry) []czip.MetaEntry {
		return func(list []czip.MetaEntry) []czip.MetaEntry {
			for i := range list {
				if list[i].Name == name {
					list[i] = f(list[i])
				}
			}
			return list
		}
	}
	inPlan := func(old, new string) func([]czip.MetaEntry) []czip.MetaEntry {
		return replace(czip.PlanName, func(e czip.MetaEntry) czip.MetaEntry {
			data, err := czip.InflateTo(context.Background(), czip.PlanName, e.Payload, 1<<20)
			require.NoError(t, err)
			require.Contains(t, string(data), old)
			return czip.NewMeta(czip.PlanName, []byte(strings.Replace(string(data), old, new, 1)))
		})
	}
	remove := func(name string) func([]czip.MetaEntry) []czip.MetaEntry {
		return func(list []czip.MetaEntry) []czip.MetaEntry {
			for i := range list {
				if list[i].Name == name {
					return append(append([]czip.MetaEntry{}, list[:i]...), list[i+1:]...)
				}
			}
			return list
		}
	}
	stored := func(e czip.MetaEntry) czip.MetaEntry {
		data, err := czip.InflateTo(context.Background(), e.Name, e.Payload, 1<<20)
		require.NoError(t, err)
		return czip.NewStoredMeta(e.Name, data)
	}
	swap := func(list []czip.MetaEntry) []czip.MetaEntry {
		list[3], list[4] = list[4], list[3]
		return list
	}
	pad := func(list []czip.MetaEntry) []czip.MetaEntry {
		l := packtest.Open(t, plain).L
		for v, g := range l.Geoms {
			for b := range g.Blocks {
				if _, n := g.At(b); n == g.BlockLen {
					continue
				}
				return replace(string(l.AppendName(nil, v, b)), func(e czip.MetaEntry) czip.MetaEntry {
					e.Payload[len(e.Payload)-1] ^= 1
					e.Crc = czip.CRC(e.Payload)
					return e
				})(list)
			}
		}
		t.Fatal("no short block")
		return nil
	}
	later := czip.NewMeta(".cdfz/later", []byte("x"))
	group := czip.NewMeta(".zgroup", []byte(`{"zarr_format":2}`))
	for _, c := range []struct {
		name string
		ar   []byte
		edit func([]czip.MetaEntry) []czip.MetaEntry
		want string // in the text of the damage; "" for no damage
	}{
		{"nothing", viewed, insert(0), ""},
		{"later entry", viewed, insert(1, later), ""},
		{"later entry at the end", pooled, insert(1, later), ""},
		{"later entry twice", viewed, insert(1, later, later), "twice or out of order"},
		{"large later entry", viewed, insert(1, czip.NewStoredMeta(".cdfz/large", make([]byte, 5<<20))), "more than the format allows"},
		{"outside", viewed, insert(1, czip.NewMeta("../../evil", nil)), "not an entry that the format allows"},
		{"outside of .cdfz", viewed, insert(1, czip.NewMeta(".cdfz/../../evil", nil)), "not an entry that the format allows"},
		{"no variable's", viewed, insert(1, czip.NewMeta("other/.zarray", nil)), "not an entry that the format allows"},
		{"name of a block", viewed, insert(1, czip.NewMeta(".cdfz/v/1/0", nil)), "not an entry that the format allows"},
		{"Zarr metadata in a pooled archive", pooled, insert(1, group), "not an entry that the format allows"},
		{"Zarr metadata twice", viewed, insert(3, group), "twice or out of order"},
		{"Zarr metadata out of order", viewed, swap, "out of order"},
		{"Zarr metadata missing", viewed, remove(".zmetadata"), `".zmetadata" is missing`},
		{"consolidated metadata missing", consolidated, remove(".zmetadata"), `".zmetadata" is missing`},
		{"other consolidated metadata", consolidated, replace(".zmetadata", func(czip.MetaEntry) czip.MetaEntry {
			return czip.NewMeta(".zmetadata", []byte(`{"metadata":{},"zarr_consolidated_format":1}`))
		}), "does not follow"},
		{"consolidated, called viewed", consolidated, inPlan(`"zarr":"consolidated"`, `"zarr":"viewed"`), ".zarray\" is missing"},
		{"viewed, called consolidated", viewed, inPlan(`"zarr":"viewed"`, `"zarr":"consolidated"`), "not an entry that the format allows"},
		{"Zarr metadata stored", viewed, replace(".zmetadata", stored), "expected method 8, found 0"},
		{"other Zarr metadata", viewed, replace(".zattrs", func(czip.MetaEntry) czip.MetaEntry { return czip.NewMeta(".zattrs", []byte(`{"a":1}`)) }), "does not follow"},
		{"plan stored", viewed, replace(czip.PlanName, stored), "expected method 8, found 0"},
		{"codec of another filter", viewed, inPlan(`"codec":{"id":"zstd"`, `"codec":{"id":"zlib"`), "codec"},
		{"unknown Zarr view", viewed, inPlan(`"zarr":"viewed"`, `"zarr":"other"`), "Zarr view"},
		{"member twice", pooled, inPlan(`"features":[]`, `"features":[],"features":[]`), "features"},
		{"null member", pooled, inPlan(`"groups":`, `"groups":null,"g":`), "plan"},
		{"member missing", pooled, inPlan(`"groups":`, `"g":`), "groups"},
		{"view of a pooled archive", pooled, inPlan(`,"segment":`, `,"view":"no-codec","segment":`), "view"},
		{"padding", plain, pad, "padding does not repeat"},
	} {
		l := packtest.Open(t, c.ar).L
		damage := verified(t, joined(t, l, c.edit(parts(c.ar)), false)).Damage
		if c.want == "" {
			require.Empty(t, damage, c.name)
			continue
		}
		var all []string
		for _, d := range damage {
			all = append(all, d.Text)
		}
		require.Contains(t, strings.Join(all, "\n"), c.want, c.name)
	}
	rep := verified(t, joined(t, packtest.Open(t, viewed).L, parts(viewed), true))
	require.NotEmpty(t, rep.Damage, "manifest stored")
	require.True(t, bytes.Equal(viewed, joined(t, packtest.Open(t, viewed).L, parts(viewed), false)))
}
