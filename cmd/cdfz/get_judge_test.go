//go:build judge

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// getJudge compares what get wrote with netCDF-C, numpy and Python's csv and json.
const getJudge = `
import csv, json, subprocess, sys
import netCDF4, numpy as np

def index(text):
    return eval("np.s_[" + text + "]") if text else np.s_[...]

def same(a, b, what):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape, (what, a.shape, b.shape)
    assert a.dtype.newbyteorder("=") == b.dtype.newbyteorder("="), (what, a.dtype, b.dtype)
    # Bit by bit: NaN is equal to itself.
    assert a.astype(a.dtype.newbyteorder("=")).tobytes() == b.astype(b.dtype.newbyteorder("=")).tobytes(), what

def cell(text, dtype):
    if dtype.kind == "S":
        return np.array(text.encode("latin-1"), dtype)[()]
    return dtype.type(text)

def strings(a, along):
    # As get has them: along the last dimension, without NULs at the end.
    if not along:
        return a
    n = a.shape[-1]
    flat = np.ascontiguousarray(a).reshape(-1, n) if a.size else np.zeros((int(np.prod(a.shape[:-1])), n), "S1")
    out = np.empty(a.shape[:-1], object)
    for i, at in enumerate(np.ndindex(*a.shape[:-1])):
        out[at] = flat[i].tobytes().rstrip(b"\0")
    return out

def valid(b):
    try:
        b.rstrip(b"\0").decode()
        return True
    except UnicodeDecodeError:
        return False

counts = {}
for line in open(sys.argv[1]):
    c = json.loads(line)
    what = (c["file"], c["picks"], c["format"])
    src = netCDF4.Dataset(c["file"])
    src.set_auto_mask(False); src.set_auto_scale(False); src.set_auto_chartostring(False); src.set_always_mask(False)
    if hasattr(src, "set_auto_maskandscale"): src.set_auto_maskandscale(False)
    wants = []
    for name, sel in c["picks"]:
        var = src.variables[name]
        whole = np.asarray(var[...])
        want = whole[index(sel)]
        # netCDF4's own slices, where it has those of numpy.
        if sel and np.asarray(want).size:
            same(np.asarray(var[index(sel)]).reshape(np.shape(want)), np.asarray(want), what)
        wants.append((name, sel, var, np.asarray(want)))
    name, sel, var, want = wants[0]
    if c["unpack"]:
        scale, offset = getattr(var, "scale_factor", None), getattr(var, "add_offset", None)
        missing = [x for n in ("_FillValue", "missing_value") if hasattr(var, n) for x in np.atleast_1d(getattr(var, n))]
        if scale is not None or offset is not None or missing:
            stored = want
            want = stored.astype("f8") * (1 if scale is None else scale) + (0 if offset is None else offset)
            for m in missing:
                want[stored == m] = np.nan
    fmt = c["format"]
    if fmt in ("npy", "native"):
        got = np.load(c["out"])
        assert got.dtype.byteorder in ("|", ">" if fmt == "npy" else "="), (what, got.dtype)
        same(got, want, what)
    elif fmt == "raw":
        same(np.fromfile(c["out"], want.dtype.newbyteorder(">")).reshape(want.shape), want, what)
    elif fmt == "nc":
        got = netCDF4.Dataset(c["out"])
        got.set_auto_maskandscale(False); got.set_auto_chartostring(False)
        assert got.data_model == src.data_model, what
        for name, sel, var, want in wants:
            out = got.variables[name]
            same(out[...] if want.size else np.zeros(out.shape, out.dtype), want, what)
            assert out.ncattrs() == var.ncattrs() and all(np.array_equal(out.getncattr(a), var.getncattr(a), equal_nan=False) or np.asarray(out.getncattr(a)).tobytes() == np.asarray(var.getncattr(a)).tobytes() for a in var.ncattrs()), what
            which = index(sel) if isinstance(index(sel), tuple) else (index(sel),)
            full = list(which)
            if Ellipsis in [x for x in full if x is Ellipsis]:
                k = [i for i, x in enumerate(full) if x is Ellipsis][0]
                full[k:k+1] = [slice(None)] * (var.ndim - len(full) + 1)
            full += [slice(None)] * (var.ndim - len(full))
            kept = [(d, s) for d, s in zip(var.dimensions, full) if isinstance(s, slice)]
            assert out.dimensions == tuple(d for d, _ in kept), what
            for d, s in kept:
                assert got.dimensions[d].isunlimited() == src.dimensions[d].isunlimited(), what
                if d in src.variables and src.variables[d].dimensions == (d,) and d not in [n for n, _ in c["picks"]]:
                    same(got.variables[d][...], np.asarray(src.variables[d][...])[s], what + (d,))
        assert got.ncattrs() == src.ncattrs(), what
        r = subprocess.run(["ncdump", c["out"]], capture_output=True)
        if b"is an invalid type id" in r.stderr:  # CDF-5's types in CDF-1 and CDF-2: ncdump refuses the source too
            assert subprocess.run(["ncdump", c["file"]], capture_output=True).returncode != 0, what
        else:
            assert r.returncode == 0 and (b" " + name.encode()) in r.stdout, (what, r.stderr)
    elif fmt == "json":
        doc = json.load(open(c["out"], encoding="utf-8"))
        for v, (name, sel, var, want) in zip(doc["vars"], wants):
            assert v["name"] == name and v["shape"] == list(want.shape), what
            if var.dtype.kind == "S":
                along = len(v["dims"]) > 0 and v["dims"][-1] == var.dimensions[-1] and c["last"]
                flat = strings(want, along)
                expect = np.vectorize(lambda b: b.rstrip(b"\0").decode("latin-1") if not valid(b) else b.rstrip(b"\0").decode(), otypes=[object])(flat).tolist() if flat.size else flat.tolist()
                assert v["data"] == expect, (what, v["data"], expect)
            else:
                flat = np.array(v["data"], dtype=object)
                numbers = np.array([np.nan if x is None else x for x in flat.reshape(-1)], dtype=object)
                finite = np.where(np.isfinite(want), want, np.nan) if want.dtype.kind == "f" else want
                numbers = numbers.astype(want.dtype) if numbers.size else np.zeros(0, want.dtype)
                numbers = numbers.reshape(want.shape)
                assert np.array_equal(numbers, finite, equal_nan=want.dtype.kind == "f"), what
        assert len(doc["vars"]) == len(wants), what
    elif fmt == "csv":
        rows = list(csv.reader(open(c["out"], encoding="latin-1", newline="")))
        full = [np.arange(n) for n in var.shape]
        which = index(sel) if isinstance(index(sel), tuple) else (index(sel),)
        full_sel = list(which)
        k = [i for i, x in enumerate(full_sel) if x is Ellipsis]
        if k:
            full_sel[k[0]:k[0]+1] = [slice(None)] * (var.ndim - len(full_sel) + 1)
        full_sel += [slice(None)] * (var.ndim - len(full_sel))
        kept = [(d, full[i][s]) for i, (d, s) in enumerate(zip(var.dimensions, full_sel)) if isinstance(s, slice)]
        values = want
        if var.dtype.kind == "S" and c["last"]:
            values = strings(want, True)
            kept = kept[:-1]
        coords = []
        for d, at in kept:
            if d == name:
                continue
            if d in src.variables and src.variables[d].dimensions == (d,):
                coords.append((d, np.asarray(src.variables[d][...])[at]))
            else:
                coords.append((d, at))
        assert rows[0] == [d for d, _ in coords] + [name], (what, rows[0])
        rows = rows[1:]
        assert len(rows) == values.size, (what, len(rows), values.size)
        for row, at in zip(rows, np.ndindex(*[len(x) for _, x in kept])):
            j = 0
            for (d, _), i in zip(kept, at):
                if d == name:
                    continue
                x = coords[j][1]
                got = cell(row[j], x.dtype)
                assert got == x[i] or got != got and x[i] != x[i], (what, row, at)
                j += 1
            x = values[at]
            if var.dtype.kind == "S":
                x = x.rstrip(b"\0")
                assert row[j].encode("latin-1") == x, (what, row, x)
            else:
                got = cell(row[j], want.dtype)
                assert got == x or got != got and x != x, (what, row, x)
    src.close()
    counts[fmt] = counts.get(fmt, 0) + 1
print(json.dumps(counts))
`

// judgeCase is an output and what was asked for.
type judgeCase struct {
	File   string      `json:"file"`
	Picks  [][2]string `json:"picks"` // name and selection
	Format string      `json:"format"`
	Unpack bool        `json:"unpack"`
	Last   bool        `json:"last"` // the last dimension is kept
	Out    string      `json:"out"`
}

// randomSub is a subscript in Python's syntax.
func randomSub(rng *rand.Rand, n int64) string {
	if n > 0 && rng.Intn(3) == 0 {
		return fmt.Sprint(rng.Int63n(2*n) - n)
	}
	bound := func() string {
		if rng.Intn(3) == 0 {
			return ""
		}
		return fmt.Sprint(rng.Int63n(3*n+4) - n - n/2 - 2)
	}
	if rng.Intn(4) == 0 {
		return ":"
	}
	s := bound() + ":" + bound()
	if rng.Intn(2) == 0 {
		s += fmt.Sprint(":", []int{1, 2, 3, 7, -1, -2, -5}[rng.Intn(7)])
	}
	return s
}

// randomPick is a selection of a variable.
func randomPick(rng *rand.Rand, v *cdf3.Var) string {
	var subs []string
	n := len(v.Shape)
	if n == 0 || rng.Intn(10) == 0 {
		return ""
	}
	given := 1 + rng.Intn(n)
	if rng.Intn(3) > 0 {
		given = n
	}
	wide := -1
	if given < n && rng.Intn(2) == 0 || rng.Intn(10) == 0 {
		wide = rng.Intn(given + 1)
	}
	for i := range given {
		if i == wide {
			subs = append(subs, "...")
		}
		at := i
		if wide >= 0 && i >= wide {
			at = n - given + i
		}
		subs = append(subs, randomSub(rng, v.Shape[at]))
	}
	if wide == given {
		subs = append(subs, "...")
	}
	return strings.Join(subs, ",")
}

// TestJudgeGet: random selections in all formats, from classic files and archives.
func TestJudgeGet(t *testing.T) {
	python, err := exec.LookPath("/usr/bin/python3")
	require.NoError(t, err)
	_, err = exec.LookPath("ncdump")
	require.NoError(t, err)
	dir := t.TempDir()
	rng := rand.New(rand.NewSource(5))
	defer func(p, b, r int64) { pieceLen, batchLen, rowsAtOnce = p, b, r }(pieceLen, batchLen, rowsAtOnce)
	large := [3]int64{pieceLen, batchLen, rowsAtOnce}
	var cases bytes.Buffer
	total := 0
	for _, trait := range []string{"climate", "climate_small", "all_types", "scalars", "rank", "single_rec_short", "single_rec_byte", "two_rec_small",
		"fill_holes", "bits", "many_vars", "repeated_dims", "one_record", "zero_records", "constant"} {
		for _, version := range []string{"cdf1", "cdf2", "cdf5"} {
			src := filepath.Join("../../testdata/classic", version+"_"+trait+".nc")
			if _, err := os.Stat(src); err != nil {
				continue
			}
			src, err := filepath.Abs(src)
			require.NoError(t, err)
			packed := filepath.Join(dir, version+trait+".cdfz")
			var stderr bytes.Buffer
			require.Zero(t, run(t.Context(), []string{"archive", "-q", "--block", "4K", "-o", packed, src}, nil, &bytes.Buffer{}, &stderr), "%s", &stderr)
			f, err := archive.Open(t.Context(), src, nil)
			require.NoError(t, err)
			h := f.Header()
			for i := range h.Vars {
				v := &h.Vars[i]
				if len(h.Vars) > 40 && rng.Intn(len(h.Vars)) > 20 {
					continue
				}
				for k := range 6 {
					sel := randomPick(rng, v)
					p, err := parsePicked(v.Name + brackets(sel))
					require.NoError(t, err)
					s, err := newSelected(f, p, false)
					require.NoError(t, err)
					_, n := s.shape()
					if n > 20000 {
						continue
					}
					formats := []string{"npy", "native", "raw", "nc", "json", "csv"}
					format := formats[(k+i)%len(formats)]
					c := judgeCase{File: src, Picks: [][2]string{{v.Name, sel}}, Format: format, Out: filepath.Join(dir, fmt.Sprint(total))}
					c.Last = len(s.axes) > 0 && s.axes[len(s.axes)-1].keep
					file := src
					if rng.Intn(2) == 0 {
						file = packed
					}
					args := []string{"get", "--format", format, "-o", c.Out, file, p.arg}
					switch {
					case format == "native":
						args = append([]string{"get", "--native", "--format", "npy"}, args[3:]...)
					case format == "npy" && rng.Intn(3) == 0:
						c.Unpack = true
						args = append(args, "--unpack")
					}
					// Half of them in small pieces.
					pieceLen, batchLen, rowsAtOnce = large[0], large[1], large[2]
					if rng.Intn(2) == 0 {
						pieceLen, batchLen, rowsAtOnce = 1+rng.Int63n(200), 1+rng.Int63n(5000), 1+rng.Int63n(50)
					}
					stderr.Reset()
					code := run(t.Context(), append(args, "-q"), nil, &bytes.Buffer{}, &stderr)
					if text := stderr.String(); code == exitFailed && format == "nc" &&
						(strings.Contains(text, "has no dimension of length 0") || strings.Contains(text, "is cut in different ways")) {
						continue
					}
					require.Zero(t, code, "%q: %s", args, &stderr)
					require.NoError(t, json.NewEncoder(&cases).Encode(c))
					total++
				}
			}
			require.NoError(t, f.Close())
		}
	}
	require.Greater(t, total, 1000)
	list := filepath.Join(dir, "cases")
	require.NoError(t, os.WriteFile(list, cases.Bytes(), 0o600))
	script := filepath.Join(dir, "judge.py")
	require.NoError(t, os.WriteFile(script, []byte(getJudge), 0o600))
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "-W", "ignore", script, list)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	var counts map[string]int
	require.NoError(t, json.Unmarshal(out, &counts))
	judged := 0
	for _, n := range counts {
		require.Greater(t, n, 100)
		judged += n
	}
	require.Equal(t, total, judged)
	t.Logf("%d selections: %v", total, counts)
}

func brackets(sel string) string {
	if sel == "" {
		return ""
	}
	return "[" + sel + "]"
}
