package dap

import (
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestForm checks that every link of the page is a request, that text of the file is no HTML,
// and what is written about variables that cannot be sent.
func TestForm(t *testing.T) {
	long := strings.Repeat("<script>alert(1)</script>&\"'", 1000)
	m := header(t, []cdf3.Dim{{Name: "time"}, {Name: "x,<b>", Len: 5}}, 4,
		cdf3.Var{Name: "<i>,[0]&a=b", Type: cdf3.Short, DimIDs: []int{0, 1}, Attrs: []cdf3.Attr{{Name: "long", Type: cdf3.Char, Len: int64(len(long)), Values: []byte(long)}}},
		cdf3.Var{Name: "a%20b+c", Type: cdf3.Float, DimIDs: []int{1}},
		cdf3.Var{Name: "text", Type: cdf3.Char, DimIDs: []int{0, 1}},
		cdf3.Var{Name: "s", Type: cdf3.Byte},
	)
	d := New(m, "<x>.nc")
	page := text(t, func(w io.Writer) error {
		return d.Form(w, &Form{URL: "./x.nc", Links: [][2]string{{"/?a&b", "<here>"}}})
	})
	require.False(t, strings.Contains(page, "<script"))
	require.False(t, strings.Contains(page, "<i>"))
	require.False(t, strings.Contains(page, "<x>"))
	require.True(t, strings.Contains(page, `<a href="/?a&amp;b">&lt;here&gt;</a>`))
	require.True(t, strings.Contains(html.UnescapeString(page), strings.ReplaceAll(long, `"`, `\"`)))
	require.True(t, strings.Contains(page, ">text[0:1:3]<"))
	links := regexp.MustCompile(`href="\./x\.nc\.(ascii|dods|html)\?([^"]*)"`).FindAllStringSubmatch(page, -1)
	require.Len(t, links, 3*4)
	for i, l := range links {
		r, err := d.Parse(html.UnescapeString(l[2]))
		require.NoError(t, err, l[0])
		require.Len(t, r.arrays, 1)
		require.Equal(t, i/3, r.arrays[0].v, l[0])
		require.Equal(t, d.vars[i/3].shape, r.arrays[0].sel.Count)
		if l[1] == "html" { // shows the same request, which a browser then sends back
			page := text(t, func(w io.Writer) error { return d.Form(w, &Form{URL: "./x.nc", Expression: html.UnescapeString(l[2])}) })
			value := html.UnescapeString(regexp.MustCompile(` value="([^"]*)"`).FindStringSubmatch(page)[1])
			suffix, expression, ok := FormTarget(url.Values{"expression": {value}, "service": {"dods"}}.Encode())
			require.True(t, ok)
			require.Equal(t, ".dods", suffix)
			again, err := d.Parse(expression)
			require.NoError(t, err)
			require.Equal(t, r, again)
		}
	}

	d = New(header(t, []cdf3.Dim{{Name: "x", Len: 2}}, 0, cdf3.Var{Name: "l", Type: cdf3.Int64, DimIDs: []int{0}}, cdf3.Var{Name: "f", Type: cdf3.Float, DimIDs: []int{0}}), "x")
	page = text(t, func(w io.Writer) error { return d.Form(w, &Form{URL: "./x"}) })
	require.True(t, strings.Contains(page, "cannot be sent: it has type int64"))
	require.True(t, strings.Contains(page, "<pre tabindex=\"0\">variable l cannot be sent"))
	require.True(t, strings.Contains(page, "f[0:1:1]"))
	empty := New(header(t, []cdf3.Dim{{Name: "none"}}, 0, cdf3.Var{Name: "e", Type: cdf3.Float, DimIDs: []int{0}}), "x")
	page = text(t, func(w io.Writer) error { return empty.Form(w, &Form{URL: "./x"}) })
	require.True(t, strings.Contains(page, `<a href="./x.html?e">e</a>`))
	for _, e := range []string{"l", "none", "f[2]", "<b>"} {
		var b strings.Builder
		require.Error(t, d.Form(&b, &Form{URL: "./x", Expression: e}))
		require.Empty(t, b.String())
	}
	for _, q := range []string{"", "f", "expression=f", "expression=f&service=das", "service=ascii", "expression=%zz&service=ascii"} {
		_, _, ok := FormTarget(q)
		require.False(t, ok, q)
	}
	_, expression, ok := FormTarget("expression=f%5B0%3A1%5D&service=ascii")
	require.True(t, ok)
	require.Equal(t, "f%5B0:1%5D", expression)
}

// TestFormLatin checks that the pages for people are in UTF-8, and that clients get the bytes of the file.
func TestFormLatin(t *testing.T) {
	attr := func(name, text string) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(text)), Values: []byte(text)}
	}
	h := header(t, []cdf3.Dim{{Name: "x", Len: 2}}, 0, cdf3.Var{Name: "t", Type: cdf3.Float, DimIDs: []int{0}, Attrs: []cdf3.Attr{attr("units", "\xb0C"), attr("utf8", "m²")}})
	d := New(h, "x.nc")
	page := text(t, func(w io.Writer) error { return d.Form(w, &Form{URL: "./x.nc"}) })
	require.True(t, utf8.ValidString(page))
	require.Contains(t, page, "String units &#34;°C&#34;;")
	require.Contains(t, page, "String utf8 &#34;m²&#34;;")
	require.Contains(t, text(t, func(w io.Writer) error { return d.DAS(w, false) }), "String units \"\xb0C\";")
}
