package dap

import (
	"bufio"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"

	"github.com/cdfz-format/cdfz/internal/latin"
)

// Form is the page about a data set for people, which other servers call its data request
// form. It is HTML without scripts.
type Form struct {
	// URL is the address of the data set without a suffix, relative to that of the page. The
	// page links to the services with their suffixes, and sends its fields to .html.
	URL string
	// Expression is the constraint expression that the page shows: the part of a URL after
	// the question mark, still escaped.
	Expression string
	// Links are further links, as pairs of address and text.
	Links [][2]string
}

// The names of the fields of the form, and the services that it may ask for.
const (
	fieldExpression = "expression"
	fieldService    = "service"
)

// FormTarget returns the suffix and the constraint expression that a sent form asks for. ok
// is false if the query does not come from a form.
func FormTarget(query string) (suffix, expression string, ok bool) {
	q, err := url.ParseQuery(query)
	suffix = "." + q.Get(fieldService)
	return suffix, url.PathEscape(q.Get(fieldExpression)), err == nil && q.Has(fieldExpression) && (suffix == ".ascii" || suffix == ".dods")
}

// Form writes the page about the data set. An expression that is not empty and malformed is
// an error, before anything is written.
func (d *Dataset) Form(w io.Writer, f *Form) error {
	request, err := d.Parse(f.Expression)
	if err != nil && f.Expression != "" {
		return err
	}
	text, _ := url.PathUnescape(f.Expression) // Parse did the same
	at := html.EscapeString(f.URL)
	b := bufio.NewWriter(w)
	title := html.EscapeString(d.name)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>%s: OPeNDAP</title>
<style>body{font-family:sans-serif;margin:1em;max-width:70em}table{border-collapse:collapse}th,td{padding:.2em .6em;text-align:left}pre{overflow:auto}input{width:100%%}</style></head>
<body><h1>%s</h1>
<p>This is a data set of OPeNDAP. Programs open it at the address of this page without <code>.html</code>.</p>
<ul>
`, title, title)
	for _, l := range append([][2]string{
		{f.URL + ".dds", "Structure (DDS)"}, {f.URL + ".das", "Attributes (DAS)"}, {f.URL + ".ascii", "All values as text"}, {f.URL + ".dods", "All values, binary"},
	}, f.Links...) {
		fmt.Fprintf(b, "<li><a href=\"%s\">%s</a></li>\n", html.EscapeString(l[0]), html.EscapeString(l[1]))
	}
	fmt.Fprintf(b, `</ul>
<h2>A part of the data</h2>
<form action="%s.html"><p><label for="e">Constraint expression, such as <code>name[first:step:last]</code> for each dimension. Commas separate variables.</label>
<input id="e" name="%s" value="%s"></p>
<p><button name="%s" value="ascii">As text</button> <button name="%[4]s" value="dods">Binary</button></p></form>
<h2>Variables</h2>
<table><thead><tr><th scope="col">Type</th><th scope="col">Expression for all values</th><th scope="col">Answers</th></tr></thead>
<tbody>
`, at, fieldExpression, html.EscapeString(text), fieldService)
	for i := range d.vars {
		v := &d.vars[i]
		if v.why != "" {
			fmt.Fprintf(b, "<tr><td>%s</td><th scope=\"row\">%s</th><td>cannot be sent: %s</td></tr>\n", typeNames[v.v.Type], v.name, html.EscapeString(v.why))
			continue
		}
		all := v.projection()
		ask := url.PathEscape(all)
		fmt.Fprintf(b, "<tr><td>%s</td><th scope=\"row\"><a href=\"%s.html?%s\">%s</a></th><td><a href=\"%[2]s.ascii?%[3]s\">text</a> <a href=\"%[2]s.dods?%[3]s\">binary</a></td></tr>\n",
			typeNames[v.v.Type], at, ask, all)
	}
	b.WriteString("</tbody></table>\n<h2>Structure</h2>\n<pre tabindex=\"0\">")
	var why *Error // why not everything can be sent at once
	if errors.As(err, &why) {
		b.WriteString(html.EscapeString(why.Message))
	} else if err := request.DDS(escaper{b}); err != nil {
		return err
	}
	b.WriteString("</pre>\n<h2>Attributes</h2>\n<pre tabindex=\"0\">")
	if err := d.das(escaper{b}, false, quoteText); err != nil {
		return err
	}
	b.WriteString("</pre>\n</body></html>\n")
	return b.Flush()
}

// projection returns the projection of all values of a variable, with its subscripts.
func (v *variable) projection() string {
	var b strings.Builder
	b.WriteString(v.name)
	if v.empty() == 0 {
		for _, n := range v.shape {
			fmt.Fprintf(&b, "[0:1:%d]", n-1)
		}
	}
	return b.String()
}

// quoteText is quote for people, in UTF-8.
func quoteText(s string) string { return quote(latin.Text(s)) }

// escaper writes text as HTML.
type escaper struct{ w *bufio.Writer }

// Write implements io.Writer.
func (e escaper) Write(p []byte) (int, error) {
	_, err := e.w.WriteString(html.EscapeString(string(p)))
	return len(p), err
}
