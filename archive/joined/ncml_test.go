package joined

import (
	"bytes"
	"context"
	"errors"
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
		{Dim: "time", Members: []Member{{Location: "a.nc", Len: 3, Size: 100, SHA256: sum}, {Location: "../b & \"c\" <d>.nc", Len: 0, Size: 0}}},
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
    <netcdf location="a.nc" ncoords="3" cdfz:size="100" cdfz:sha256="`+sum+`"/>
  </aggregation>
</netcdf>
`, ncmlText(t, &Description{Dim: "time", Members: []Member{{Location: "a.nc", Len: 3, Size: 100, SHA256: sum}}}))
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
		agg + `<netcdf location="&other;"/>` + end:                                            archive.ErrCorrupt,
		agg + strings.Repeat(`<netcdf location="a" ncoords="9223372036854775807"/>`, 2) + end: archive.ErrCorrupt,
		open + `<aggregation type="joinExisting">` + member + end:                             archive.ErrCorrupt,
		agg + member + end + open + `</netcdf>`:                                               archive.ErrCorrupt,
	} {
		_, err := readText(text)
		require.ErrorIs(t, err, class, text)
	}
	text := agg + member + end
	_, err := ReadNcML(context.Background(), strings.NewReader(text), MaxNcML+1)
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

// FuzzReadNcML checks that descriptions neither crash nor allocate without bound, and that what was read
// is written and read again as the same.
func FuzzReadNcML(f *testing.F) {
	set := seeds.Of(f)
	set.AddDamaged("existing", []byte(ncmlText(f, &Description{Dim: "time", First: true, Members: []Member{{Location: "a&b.nc", Len: 3, Size: 100, SHA256: strings.Repeat("0f", 32)}}})))
	set.AddDamaged("new", []byte(ncmlText(f, &Description{Dim: "run", New: true, Vars: []string{"tas"}, Members: []Member{{Location: "a.nc", Len: -1, Size: -1}}})))
	set.Add("entity", []byte(`<!DOCTYPE netcdf [<!ENTITY a "b">]><netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">&a;</netcdf>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		desc, err := ReadNcML(context.Background(), bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.True(t, errors.Is(err, ErrNotNcML) || errors.Is(err, archive.ErrCorrupt), "%v", err)
			return
		}
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
