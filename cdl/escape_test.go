package cdl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func TestName(t *testing.T) {
	for file, want := range map[string]string{
		"x.nc": "x", "/a.b/x": "x", "a/x.y.nc": "x.y", ".nc": "", "": "", "x.": "x", "a/": "", `c:\d\x.nc`: "x",
	} {
		require.Equal(t, want, Name(file), file)
	}
}

func TestAppendName(t *testing.T) {
	for name, want := range map[string]string{
		"plain_1.x@+-": "plain_1.x@+-",
		"2m":           `\2m`,
		"a b":          `a\ b`,
		"a/b":          "a/b",
		"%41":          "%41",
		"a\x01\x7f":    `a\%01\%7f`,
		"a\x00b":       "a",
		"ü\xff":        "ü\xff",
		"\"\\":         `\"\\`,
		"":             "",
	} {
		require.Equal(t, want, string(appendName(nil, name)), "%q", name)
	}
}

func TestText(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var attr, data []byte
	for _, c := range all {
		attr, data = appendAttrByte(attr, c), appendDataByte(data, c)
	}
	require.Contains(t, string(attr), `\000\001\002\003\004\005\006\007\b\t\n",`+"\n\t\t\t"+`"\v\f\r\016\017`)
	require.Contains(t, string(data), `\007\b\t\n",`+"\n    "+`"\v\f\r\016`)
	require.Contains(t, string(attr), "~\\177\x80\x81")
	require.Contains(t, string(data), `~\177\200\201`)
	require.Contains(t, string(data), ` !\"#$%&\'()`)
}

func TestDecomposed(t *testing.T) {
	for name, want := range map[string]bool{
		"le\u0301ngth": true, "l\u00e9ngth": false, "\u0301": false, "x\u0301": false, "a\u0323\u0302": true,
		"\u1100\u1161": true, "\uac00\u11a8": true, "\uac01\u11a8": false, "plain": false, "": false,
	} {
		require.Equal(t, want, decomposed(name), "%q", name)
	}
}

func TestRooted(t *testing.T) {
	h := &cdf3.Header{Dims: []cdf3.Dim{{Name: "x"}, {Name: "x"}, {Name: ""}, {Name: "\xff"}, {Name: "y\x001"}, {Name: "e\u0301"}}}
	n := newNames(h)
	for i, want := range []bool{true, false, true, true, false, true} {
		require.Equal(t, want, n.rooted(h.Dims, i), i)
	}
}

// unescape reverses appendName, appendAttrByte and appendDataByte.
func unescape(t *testing.T, s string) string {
	s = strings.ReplaceAll(s, "\\n\",\n\t\t\t\"", `\n`)
	s = strings.ReplaceAll(s, "\\n\",\n    \"", `\n`)
	var b []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		require.False(t, c < 0x20 || c == 0x7f, "control character in %q", s)
		if c != '\\' {
			b = append(b, c)
			continue
		}
		i++
		switch c := s[i]; {
		case c == '%':
			b = append(b, byte(strings.IndexByte(hexDigits, s[i+1])<<4|strings.IndexByte(hexDigits, s[i+2])))
			i += 2
		case c >= '0' && c <= '3' && i+2 < len(s) && s[i+1] >= '0' && s[i+2] >= '0' && i > 1:
			b = append(b, (c-'0')<<6|(s[i+1]-'0')<<3|(s[i+2]-'0'))
			i += 2
		case strings.IndexByte("bfnrtv", c) >= 0:
			b = append(b, "\b\f\n\r\t\v"[strings.IndexByte("bfnrtv", c)])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// FuzzEscape checks that escaped names and texts can be read back and have no control
// characters.
func FuzzEscape(f *testing.F) {
	s := seeds.Of(f)
	for name, text := range map[string]string{"empty": "", "plain": "x", "digit": "2 m", "zero": "a\x00b", "controls": "\n\"\\'\t\x7f\xff", "utf8": "é", "escape": `\n",`} {
		s.Add(name, text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := string(appendName(nil, s))
		if name != "" && name[0] == '\\' && len(name) > 1 && name[1] >= '0' && name[1] <= '9' {
			name = name[1:]
		}
		require.Equal(t, cString(s), unescape(t, name))
		attr, data := []byte(" "), []byte(" ")
		for _, c := range []byte(s) {
			attr, data = appendAttrByte(attr, c), appendDataByte(data, c)
		}
		require.Equal(t, " "+s, unescape(t, string(attr)))
		require.Equal(t, " "+s, unescape(t, string(data)))
		for _, c := range data[1:] {
			require.True(t, c < 0x7f, "%q", data)
		}
	})
}
