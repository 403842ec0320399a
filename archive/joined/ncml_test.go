package joined

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func readText(s string) (*Description, error) {
	return ReadNcML(context.Background(), strings.NewReader(s), int64(len(s)))
}

func ncmlText(t testing.TB, desc *Description) string {
	var b bytes.Buffer
	require.NoError(t, desc.WriteNcML(&b))
	return b.String()
}

// TestNcML writes descriptions and reads them.
func TestNcML(t *testing.T) {
	sum := strings.Repeat("0f", 32)
	for _, desc := range []*Description{
		{Dim: "time", Members: []Member{{Location: "a.nc", Len: 3, Size: 100, SHA256: sum, Sample: "8:" + sum[:32]}, {Location: "../b & \"c\" <d>.nc", Len: 0, Size: 0}}},
		{Dim: "é", First: true, Members: []Member{{Location: "https://example.org/a.nc?x=1&y=2", Len: -1, Size: -1}}},
		{Dim: "run", New: true, Vars: []string{"tas", "pr"}, Members: []Member{{Location: "a.nc", Len: -1, Size: 5}, {Location: "b.nc", Len: -1, Size: -1}}},
	} {
		got, err := readText(ncmlText(t, desc))
		require.NoError(t, err)
		require.Equal(t, desc, got)
	}
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" xmlns:cdfz="https://github.com/cdfz-format/cdfz/joined-1">
  <aggregation dimName="time" type="joinExisting">
    <netcdf location="a.nc" ncoords="3" cdfz:size="100" cdfz:sha256="`+sum+`" cdfz:sample="8:`+sum[:32]+`"/>
  </aggregation>
</netcdf>
`, ncmlText(t, &Description{Dim: "time", Members: []Member{{Location: "a.nc", Len: 3, Size: 100, SHA256: sum, Sample: "8:" + sum[:32]}}}))
	for _, location := range []string{"a\nb.nc", "\xff.nc", "\x01"} {
		err := (&Description{Dim: "t", Members: []Member{{Location: location}}}).WriteNcML(&bytes.Buffer{})
		require.ErrorIs(t, err, archive.ErrOptions)
	}
	// As the documentation of THREDDS writes it.
	got, err := readText(`<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2 ncml.xsd"><!-- months -->
  <aggregation dimName="time" type="joinExisting">
    <netcdf location="file:jan.nc" ncoords=" 31 "></netcdf>
    <netcdf location="feb.nc"/>
  </aggregation></netcdf>`)
	require.NoError(t, err)
	require.Equal(t, []Member{{Location: "jan.nc", Len: 31, Size: -1}, {Location: "feb.nc", Len: -1, Size: -1}}, got.Members)
}

// TestNcMLErrors checks the class of each error.
func TestNcMLErrors(t *testing.T) {
	const open = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" xmlns:cdfz="https://github.com/cdfz-format/cdfz/joined-1">`
	const agg = open + `<aggregation dimName="t" type="joinExisting">`
	const end = `</aggregation></netcdf>`
	const member = `<netcdf location="a.nc" ncoords="1"/>`
	for text, class := range map[string]error{
		"": ErrNotNcML, "CDF\x01": ErrNotNcML, "hello": ErrNotNcML, "<html/>": ErrNotNcML, open + "</netcdf>": ErrNotNcML,
		`<!DOCTYPE x [<!ENTITY a SYSTEM "/etc/passwd">]>` + agg + member + end:                ErrNotNcML,
		`<?xml version="1.0" encoding="ISO-8859-1"?>` + agg + member + end:                    ErrNotNcML,
		open + `<variable name="x"/></netcdf>`:                                                ErrNotNcML,
		open + `<aggregation dimName="t" type="union">` + member + end:                        ErrNotNcML,
		agg + `<scan location="d"/>` + end:                                                    ErrNotNcML,
		agg + `<netcdf location="a.nc" coordValue="3"/>` + end:                                ErrNotNcML,
		agg + `<netcdf location="a.nc" cdfz:later="3"/>` + end:                                ErrNotNcML,
		agg + `<netcdf location="a.nc"><remove/></netcdf>` + end:                              ErrNotNcML,
		agg + member + `</aggregation><aggregation/></netcdf>`:                                ErrNotNcML,
		agg + member + `text` + end:                                                           ErrNotNcML,
		agg + member:                                                                          archive.ErrCorrupt,
		agg + member + `</aggregation>`:                                                       archive.ErrCorrupt,
		agg + end:                                                                             archive.ErrCorrupt,
		agg + `<netcdf ncoords="1"/>` + end:                                                   archive.ErrCorrupt,
		agg + `<netcdf location="a" ncoords="-1"/>` + end:                                     archive.ErrCorrupt,
		agg + `<netcdf location="a" ncoords="1" ncoords="2"/>` + end:                          archive.ErrCorrupt,
		agg + `<netcdf location="a" cdfz:sha256="12"/>` + end:                                 archive.ErrCorrupt,
		agg + `<netcdf location="a" cdfz:sample="99:` + strings.Repeat("0", 32) + `"/>` + end: archive.ErrCorrupt,
		agg + `<netcdf location="a" cdfz:sample="` + strings.Repeat("0", 32) + `"/>` + end:    archive.ErrCorrupt,
		agg + `<netcdf location="a" cdfz:sample="+1:` + strings.Repeat("0", 32) + `"/>` + end: archive.ErrCorrupt,
		agg + `<netcdf location="&other;"/>` + end:                                            archive.ErrCorrupt,
		agg + strings.Repeat(`<netcdf location="a" ncoords="9223372036854775807"/>`, 2) + end: archive.ErrCorrupt,
		open + `<aggregation type="joinExisting">` + member + end:                             archive.ErrCorrupt,
		agg + member + end + open + `</netcdf>`:                                               archive.ErrCorrupt,
	} {
		_, err := readText(text)
		require.ErrorIs(t, err, class, text)
	}
	text := agg + member + end
	_, err := ReadNcML(context.Background(), strings.NewReader(text), maxNcML+1)
	require.ErrorIs(t, err, ErrNotNcML)
	own := errors.New("disk")
	_, err = ReadNcML(context.Background(), errorAt{own}, 100)
	require.ErrorIs(t, err, own)
	require.NotErrorIs(t, err, archive.ErrCorrupt)
	desc, err := readText(text)
	require.NoError(t, err)
	require.Equal(t, own, desc.WriteNcML(failing{own}))
}

type errorAt struct{ err error }

func (e errorAt) ReadAt([]byte, int64) (int, error) { return 0, e.err }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestLimits checks what bounds the cost of a description, and the memory that it takes to refuse one.
func TestLimits(t *testing.T) {
	const open = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">`
	const agg = open + `<aggregation dimName="t" type="joinExisting">`
	const end = `</aggregation></netcdf>`
	limits := &bounds{size: 1000, members: 3, unmeasured: 1, location: 5}
	read := func(s string, limits *bounds) error {
		_, err := readNcML(context.Background(), strings.NewReader(s), int64(len(s)), limits)
		return err
	}
	members := func(n int, text string) string { return agg + strings.Repeat(text, n) + end }
	require.NoError(t, read(members(3, `<netcdf location="a.nc" ncoords="1"/>`), limits))
	require.NoError(t, read(members(1, `<netcdf location="12345"/>`), limits))
	for want, text := range map[string]string{
		"expected at most 1000 bytes, found 1":          members(3, `<netcdf location="a.nc" ncoords="1"/>`) + strings.Repeat(" ", 1000),
		"expected at most 3 members":                    members(4, `<netcdf location="a.nc" ncoords="1"/>`),
		"expected ncoords for all but 1 members":        members(2, `<netcdf location="a.nc"/>`),
		"expected a location of at most 5 bytes, found": members(1, `<netcdf location="123456"/>`),
	} {
		err := read(text, limits)
		require.ErrorIs(t, err, ErrNotNcML, want)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, read(strings.ReplaceAll(members(3, `<netcdf location="a.nc"/>`), `dimName="t" type="joinExisting">`, `dimName="t" type="joinNew"><variableAgg name="x"/>`), limits), "their lengths are known")

	// Long parts of 16 MiB, which a decoder would keep in memory.
	const long = 16 << 20
	for name, text := range map[string]string{
		"attribute":    agg + `<netcdf location="` + strings.Repeat("a", long) + `"/>` + end,
		"attributes":   agg + `<netcdf location="a" ` + strings.Repeat(`x:a="" `, long/7) + `/>` + end,
		"namespaces":   open[:len(open)-1] + strings.Repeat(` xmlns:a=""`, long/11) + `>`,
		"comment":      agg + `<!--` + strings.Repeat("a", long) + `-->` + end,
		"space":        agg + strings.Repeat(" ", long) + end,
		"text":         agg + strings.Repeat("a", long) + end,
		"name":         agg + `<` + strings.Repeat("a", long) + `/>` + end,
		"instruction":  agg + `<?a ` + strings.Repeat("a", long) + `?>` + end,
		"data":         agg + `<![CDATA[` + strings.Repeat("a", long) + `]]>` + end,
		"doctype":      `<!DOCTYPE a [` + strings.Repeat("<!ENTITY a 'a'>", long/15) + `]>` + agg + end,
		"deep":         open + strings.Repeat(`<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">`, long/70),
		"laughs":       `<!DOCTYPE netcdf [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + agg + `<netcdf location="&b;"/>` + end,
		"other memory": strings.Repeat("a", long),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read(text, &most)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrNotNcML, name)
		require.Less(t, len(err.Error()), 1000, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
	}
	// What is written can be read again.
	err := (&Description{Dim: "t", Members: slices.Repeat([]Member{{Location: strings.Repeat("a", 1<<17), Len: -1, Size: -1}}, 513)}).WriteNcML(io.Discard)
	require.ErrorIs(t, err, archive.ErrOptions)
	require.ErrorContains(t, err, "the description has more than 67108864 bytes")
}

// TestBegins tells descriptions from other files by their beginning, whatever their length.
func TestBegins(t *testing.T) {
	const open = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">`
	const agg = open + `<aggregation dimName="t" type="joinExisting">`
	const member = `<netcdf location="a.nc" ncoords="1"/>`
	many := strings.Repeat(member, 100_000)
	for text, want := range map[string]bool{
		agg + member + `</aggregation></netcdf>`:   true,
		agg + many:                                 true,
		agg + many + `<scan/>`:                     true, // ReadNcML refuses it
		agg + strings.Repeat("\n", 1<<17) + member: true,
		agg + `<netcdf location="` + many:          true,
		agg[:80]:                                   true, // damaged
		"":                                         false,
		many:                                       false,
		open + `</netcdf>`:                         false,
		open + `<variable name="x"/>` + many:       false,
		agg + `<scan location="d"/>` + many:        false,
		open + `<aggregation dimName="t" type="union">`:   false,
		"<!DOCTYPE a>" + agg + member:                     false,
		strings.Repeat(" ", 1<<17) + agg + member:         false,
		"CDF\x01" + strings.Repeat("\x00", 1000) + member: false,
	} {
		r := &longest{Reader: strings.NewReader(text)}
		got, err := Begins(context.Background(), r, int64(len(text)))
		require.NoError(t, err)
		require.Equal(t, want, got, "%.200s", text)
		require.LessOrEqual(t, r.end, int64(maxBegin))
	}
	own := errors.New("disk")
	_, err := Begins(context.Background(), errorAt{own}, 100)
	require.ErrorIs(t, err, own)
}

// longest notes the highest offset that was read.
type longest struct {
	*strings.Reader
	end int64
}

func (l *longest) ReadAt(p []byte, off int64) (int, error) {
	n, err := l.Reader.ReadAt(p, off)
	l.end = max(l.end, off+int64(n))
	return n, err
}

// FuzzReadNcML checks that descriptions neither crash nor allocate without bound, and that what was read
// is written and read again as the same.
func FuzzReadNcML(f *testing.F) {
	set := seeds.Of(f)
	set.AddDamaged("existing", []byte(ncmlText(f, &Description{Dim: "time", First: true, Members: []Member{{Location: "a&b.nc", Len: 3, Size: 100, SHA256: strings.Repeat("0f", 32)}}})))
	set.AddDamaged("sample", []byte(ncmlText(f, &Description{Dim: "time", Members: []Member{{Location: "a.nc", Len: 3, Size: 100, Sample: "1:" + strings.Repeat("0f", 16)}, {Location: "b.nc", Len: -1, Size: -1}}})))
	set.AddDamaged("new", []byte(ncmlText(f, &Description{Dim: "run", New: true, Vars: []string{"tas"}, Members: []Member{{Location: "a.nc", Len: -1, Size: -1}}})))
	set.Add("entity", []byte(`<!DOCTYPE netcdf [<!ENTITY a "b">]><netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">&a;</netcdf>`))
	set.Add("laughs", []byte(`<!DOCTYPE netcdf [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"><aggregation dimName="t" type="joinExisting"><netcdf location="&b;"/></aggregation></netcdf>`))
	set.Add("deep", []byte(strings.Repeat(`<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">`, 200)))
	set.Add("spaces", []byte(`<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2" `+strings.Repeat(`xmlns:a="b" `, 500)+`><aggregation dimName="t" type="joinNew"><variableAgg name="x"/><netcdf location="a"/>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		begins, beginErr := Begins(context.Background(), bytes.NewReader(b), int64(len(b)))
		require.NoError(t, beginErr)
		_, limited := readNcML(context.Background(), bytes.NewReader(b), int64(len(b)), &bounds{size: 1 << 10, members: 2, unmeasured: 1, location: 8})
		desc, err := ReadNcML(context.Background(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.True(t, errors.Is(err, ErrNotNcML) || errors.Is(err, archive.ErrCorrupt), "%v", err)
			require.Error(t, limited)
			return
		}
		require.True(t, begins || len(b) > maxBegin)
		var out bytes.Buffer
		if err := desc.WriteNcML(&out); err != nil {
			require.ErrorIs(t, err, archive.ErrOptions) // a tab, which XML can hold only as a reference
			return
		}
		again, err := readText(out.String())
		require.NoError(t, err)
		if desc.New { // where the length of members is always one
			for i := range desc.Members {
				desc.Members[i].Len = -1
			}
		}
		require.Equal(t, desc, again)
	})
}
