package zarrview

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// TestLatin checks attributes that are not UTF-8 in stores that take them as Latin-1. Names stay different.
func TestLatin(t *testing.T) {
	attr := func(name, text string) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(text)), Values: []byte(text)}
	}
	long := strings.Repeat("\xe9", maxAttrJSON/6+1) // six characters each in JSON
	list := []cdf3.Attr{
		attr("units", "\xb0C\x00"), attr("caf\xe9", "1"), attr("café", "2"), attr("utf8", "m²"), attr(fillAttr, "\xe9"), attr("long", long[1:]), attr("longer", long),
		attr("far", strings.Repeat("\xe9", maxAttrJSON+1)), {Name: "n\xb0", Type: cdf3.Int, Len: 1, Values: []byte{0, 0, 0, 7}},
	}
	room := maxAttrsJSON
	var omitted []string
	kept, err := zarrAttrs(t.Context(), 0, list, cdf3.Char, latin.Text, &room, func(o Omitted) { omitted = append(omitted, o.Attr+": "+o.Why) })
	require.NoError(t, err)
	found := map[string]string{}
	for _, a := range kept {
		found[a.name] = string(a.value)
	}
	require.Len(t, found["long"], len(`\u00e9`)*(len(long)-1)+2)
	delete(found, "long")
	require.Equal(t, map[string]string{"units": `"\u00b0C"`, "café": `"1"`, "utf8": `"m\u00b2"`, "n°": "7"}, found)
	require.Equal(t, []string{"café: an earlier attribute has the same name", "longer: " + tooLong, "far: " + tooLong}, omitted)
	require.Equal(t, "\xb0C\x00", string(list[0].Values)) // those of the header
	require.Equal(t, "caf\xe9", list[1].Name)
}
