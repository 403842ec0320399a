package page

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBundle(t *testing.T) {
	modules := map[string]string{
		"a/main.js":  "import * as b from \"./b.js\";\nimport { x, y as z } from \"../c/c.js\";\nimport d from \"./d.js\";\nb.f(x, z, d, import.meta.url);\n",
		"a/b.js":     "import { x } from \"../c/c.js\";\nexport async function f() { return x; }\n",
		"c/c.js":     "export const x = 1;\nexport let y = 2;\n",
		"a/d.js":     "export default \"text\";\n",
		"a/loop.js":  "import * as loop from \"./loop.js\";\n",
		"a/odd.js":   "export * from \"./b.js\";\n",
		"a/short.js": "var t=1,u=2;export{t as x,u as default,u};\n//# sourceMappingURL=short.js.map\n",
		"a/list.js":  "const v = 1, w = 2;\nexport { v, w };\n",
	}
	read := func(name string) (string, error) {
		text, ok := modules[name]
		if !ok {
			return "", fs.ErrNotExist
		}
		return text, nil
	}
	script, err := bundle("a/main.js", nil, read)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(script, "const x = 1;"), "each module once")
	require.Contains(t, script, "const { x, y: z } = $m0;")
	require.Contains(t, script, "return { get x() { return x; }, get y() { return y; } };")
	require.Contains(t, script, "const d = $m2.default;")
	require.NotContains(t, script, "import")
	for name, want := range map[string]string{"a/short.js": "var t=1,u=2;", "a/list.js": "const v = 1, w = 2;"} {
		script, err := bundle(name, nil, read)
		require.NoError(t, err)
		require.Contains(t, script, want)
		require.Contains(t, script, map[string]string{"a/short.js": "return { x: t, default: u, u: u };", "a/list.js": "return { v: v, w: w };"}[name])
		require.NotContains(t, script, "export")
	}
	for name, want := range map[string]string{"a/loop.js": "imports itself", "a/odd.js": "not understood: export *", "a/none.js": "not exist"} {
		_, err := bundle(name, nil, read)
		require.ErrorContains(t, err, want)
	}
}

func TestViewer(t *testing.T) {
	files, err := Viewer()
	require.NoError(t, err)
	index := string(files["index.html"])
	require.Contains(t, index, "script-src 'self' 'wasm-unsafe-eval';")
	for _, gone := range []string{"module", "../", "THREDDS", "unsafe-inline"} {
		require.NotContains(t, index, gone)
	}
	for _, name := range []string{"viewer.js", "worker.js", "style.css", "uplot.js", "uplot.css", "uplot-license.txt", "gifenc-license.txt"} {
		require.Contains(t, files, name)
	}
}
