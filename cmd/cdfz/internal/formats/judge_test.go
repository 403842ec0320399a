//go:build judge

package formats_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// exportJudge compares exported files with netCDF-C, numpy and Python's csv and json.
const exportJudge = `
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
    # As they are written: along the last dimension, without NULs at the end.
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
    missing = [x for n in ("_FillValue", "missing_value") if hasattr(var, n) for x in np.atleast_1d(getattr(var, n)) if not isinstance(x, str)]
    mask = np.zeros(want.shape, bool)
    if var.dtype.kind != "S":
        for m in missing:
            mask |= want == m
    if c["unpack"]:
        scale, offset = getattr(var, "scale_factor", None), getattr(var, "add_offset", None)
        if scale is not None or offset is not None or missing:
            t = np.dtype(c["type"])
            want = want.astype(t)
            if scale is not None or offset is not None:
                want = np.array(want * t.type(1 if scale is None else scale) + t.type(0 if offset is None else offset)) # of a scalar, too
            want[mask] = np.nan
    fmt = c["format"]
    if fmt == "npy":
        got = np.load(c["out"])
        assert got.dtype.byteorder in ("|", ">"), (what, got.dtype)
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
        assert [n for n in got.ncattrs() if n != "history"] == [n for n in src.ncattrs() if n != "history"], what
        assert got.history.endswith("a new line"), what
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
                bare = np.array([x is None for x in flat.reshape(-1)], bool).reshape(want.shape)
                gone = mask if not c["keep"] else np.zeros(want.shape, bool)
                if want.dtype.kind == "f":
                    gone = gone | ~np.isfinite(want)
                assert np.array_equal(bare, gone), what
                numbers = np.array([np.nan if x is None else x for x in flat.reshape(-1)], dtype=object)
                finite = np.where(gone, np.nan, want) if want.dtype.kind == "f" else want
                if want.dtype.kind != "f":
                    numbers[gone.reshape(-1)] = want[gone].reshape(-1) if gone.any() else 0
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
                if row[j] == "":
                    assert not c["keep"], (what, row)
                    j += 1
                    continue
                got = cell(row[j], x.dtype)
                assert got == x[i] or got != got and x[i] != x[i], (what, row, at)
                j += 1
            x = values[at]
            if var.dtype.kind == "S":
                x = x.rstrip(b"\0")
                assert row[j].encode("latin-1") == x, (what, row, x)
            elif mask[at] and not c["keep"]:
                assert row[j] == "", (what, row)
            else:
                got = cell(row[j], want.dtype)
                assert got == x or got != got and x != x, (what, row, x)
    src.close()
    counts[fmt] = counts.get(fmt, 0) + 1
print(json.dumps(counts))
`

// judgeCase is an output and the request for it.
type judgeCase struct {
	File   string      `json:"file"`
	Picks  [][2]string `json:"picks"` // name and selection
	Format string      `json:"format"`
	Unpack bool        `json:"unpack"`
	Keep   bool        `json:"keep"`
	Type   string      `json:"type"` // of the values written
	Last   bool        `json:"last"` // the last dimension is kept
	Out    string      `json:"out"`
}

// randomSub returns a subscript in Python's syntax.
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

// randomPick returns a random selection of a variable.
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

// TestJudgeExport checks random selections in all formats, from classic files and
// archives.
func TestJudgeExport(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewSource(5))
	defer formats.SetPieces(0, 0, 0)()
	var cases bytes.Buffer
	total := 0
	for _, trait := range []string{"climate", "climate_small", "all_types", "scalars", "rank", "single_rec_short", "single_rec_byte", "two_rec_small",
		"fill_holes", "bits", "many_vars", "repeated_dims", "one_record", "zero_records", "constant"} {
		for _, version := range []string{"cdf1", "cdf2", "cdf5"} {
			src, err := filepath.Abs(filepath.Join("../../../../testdata/classic", version+"_"+trait+".nc"))
			require.NoError(t, err)
			b, err := os.ReadFile(src)
			if err != nil {
				continue
			}
			var packed bytes.Buffer
			_, err = archive.Write(t.Context(), &packed, bytes.NewReader(b), int64(len(b)), &archive.WriteOptions{Block: 4096})
			require.NoError(t, err)
			classic, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
			require.NoError(t, err)
			archived, err := archive.New(t.Context(), bytes.NewReader(packed.Bytes()), int64(packed.Len()), nil)
			require.NoError(t, err)
			h := classic.Header()
			for i := range h.Vars {
				v := &h.Vars[i]
				if len(h.Vars) > 40 && rng.Intn(len(h.Vars)) > 20 {
					continue
				}
				for k := range 6 {
					sel := randomPick(rng, v)
					p, err := formats.ParseSelection(v.Name + brackets(sel))
					require.NoError(t, err)
					format := []string{"npy", "raw", "nc", "json", "csv"}[(k+i)%5]
					c := judgeCase{File: src, Picks: [][2]string{{v.Name, sel}}, Format: format, Out: filepath.Join(dir, fmt.Sprint(total)), Keep: rng.Intn(2) == 0}
					f := classic
					if rng.Intn(2) == 0 {
						f = archived
					}
					c.Unpack = format == "npy" && rng.Intn(3) == 0
					o := &formats.Options{KeepFill: c.Keep, Unpack: c.Unpack, History: "a new line"}
					x, err := p.Apply(t.Context(), f, o)
					require.NoError(t, err)
					if x.Len() > 20000 {
						continue
					}
					c.Type, c.Last = numpyType[x.Type()], x.KeepsLast()
					w, err := formats.NewWriter(formats.Format(format), []*formats.Values{x})
					if err != nil && format == "nc" && (errors.Is(err, formats.ErrCombine) || strings.Contains(err.Error(), "no fixed dimension of length 0")) {
						continue
					}
					require.NoError(t, err)
					// Half of them are written in small pieces.
					undo := func() {}
					if rng.Intn(2) == 0 {
						undo = formats.SetPieces(1+rng.Int63n(200), 1+rng.Int63n(5000), 1+rng.Int63n(50))
					}
					var out bytes.Buffer
					require.NoError(t, w.Write(t.Context(), &out))
					undo()
					require.NoError(t, os.WriteFile(c.Out, out.Bytes(), 0o600))
					require.NoError(t, json.NewEncoder(&cases).Encode(c))
					total++
				}
			}
		}
	}
	require.Greater(t, total, 1000)
	list := filepath.Join(dir, "cases")
	require.NoError(t, os.WriteFile(list, cases.Bytes(), 0o600))
	script := filepath.Join(dir, "judge.py")
	require.NoError(t, os.WriteFile(script, []byte(exportJudge), 0o600))
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-W", "ignore", script, list)
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

// numpyType maps the types of unpacked values to numpy's names.
var numpyType = map[cdf3.Type]string{cdf3.Float: "f4", cdf3.Double: "f8"}

func brackets(sel string) string {
	if sel == "" {
		return ""
	}
	return "[" + sel + "]"
}
