// Volumes compares cdfz archive and cdfz pack with other ways to make few files of many: processor time, bytes and
// files, for writing, listing, one file out, one value, checking and restoring all.
//
//	go run ./bench/volumes -files 100000
//	go run ./bench/volumes -zstash PROGRAM FOLDER
//	go run ./bench/volumes -files 2000 -kills 5
//	go run ./bench/volumes -members 10000,100000,1000000
//
// The first measures each step. The second kills the command that writes, and reports what is left and what a second run makes
// of it. The third packs so many tiny archives, and has no peers.
//
// Without FOLDER it makes a tree of small files, as bench/trees does. With one, that has to have a classic netCDF
// file whose path ends in .nc; the first is the one that is taken out.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

var (
	files   = run.Count("files", 10000, "number of files to make")
	gb      = run.Count("gb", 1, "GB that a volume has at most")
	rounds  = run.Rounds(1)
	only    = run.Only("ways")
	members = flag.String("members", "", "only measure how volumes of so many tiny archives grow, such as 10000,100000,1000000")
	each    = flag.Int("mb", 0, "make files of so many MB instead of small ones")
	kills   = flag.Int("kills", 0, "only kill each way so many times in the middle of writing, and report what is left")
	ratar   = flag.String("ratarmount", "", "the folder that has the module ratarmountcore, which is not in Debian (default: left out)")
	python  = run.Python()
	zstash  = flag.String("zstash", "", "the program of E3SM's zstash, which is not in Debian (default: left out)")
)

// ratarScript is what RATAR runs.
//
//go:embed ratar.py
var ratarScript []byte

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("[FOLDER]", 0, 1, compare)
}

// way is a way to keep a folder. Its steps are commands of sh, which run in an empty folder of their own, with these
// variables: DATA is the folder, OUT one for the result, URL the same over HTTP, NAME a file in DATA, VAR a variable of it, GB the
// size of volumes, CDFZ, ZSTASH and RATAR programs.
type way struct {
	name, write, list, file, value, check, restore string

	remote string // one value over HTTP
	needs  func() bool
}

var ways = []way{
	{
		"cdfz archive, pack", `$CDFZ archive -q -o archives/ "$DATA" && $CDFZ pack -q --size ${GB}G -o "$OUT/" archives && rm -r archives`,
		`$CDFZ info --json "$OUT"`,
		`$CDFZ restore -q -o one.nc "$OUT/0001.tar/$NAME.cdfz"`,
		`$CDFZ get -q "$OUT/0001.tar/$NAME.cdfz" "$VAR" >value`,
		`$CDFZ verify -q "$OUT"`, `$CDFZ restore -q -o back/ "$OUT"`,
		`$CDFZ get -q "$URL/0001.tar/$NAME.cdfz" "$VAR" >value`, nil,
	},
	{
		"zstash", `$ZSTASH create --hpss=none --cache "$OUT" --maxsize $GB "$DATA"`, `$ZSTASH ls --hpss=none --cache "$OUT"`,
		`$ZSTASH extract --hpss=none --cache "$OUT" "$NAME"`, `$ZSTASH extract --hpss=none --cache "$OUT" "$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`$ZSTASH check --hpss=none --cache "$OUT"`, `mkdir back && cd back && $ZSTASH extract --hpss=none --cache "$OUT"`,
		`mkdir c && curl -sf -o c/index.db "$URL/index.db" && curl -sf -o c/000000.tar "$URL/000000.tar" &&
			$ZSTASH extract --hpss=none --cache "$PWD/c" "$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`, func() bool { return *zstash != "" },
	},
	{
		"tar, zstd -3 -T2", `tar -C "$DATA" -cf - . | zstd -q -f -3 -T2 -o "$OUT/all.tar.zst"`, `tar -tvf "$OUT/all.tar.zst"`,
		`tar -xf "$OUT/all.tar.zst" "./$NAME"`, `tar -xf "$OUT/all.tar.zst" "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`zstd -q -t "$OUT/all.tar.zst"`, `mkdir back && tar -xf "$OUT/all.tar.zst" -C back`,
		`curl -sf "$URL/all.tar.zst" | tar --zstd -xf - "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`, nil,
	},
	{
		"tar with a list", `tar -C "$DATA" -cvvf "$OUT/all.tar" . >"$OUT/all.list"`, `cat "$OUT/all.list"`,
		`tar -xf "$OUT/all.tar" "./$NAME"`, `tar -xf "$OUT/all.tar" "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`tar -df "$OUT/all.tar" -C "$DATA"`, `mkdir back && tar -xf "$OUT/all.tar" -C back`,
		`curl -sf "$URL/all.tar" | tar -xf - "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`, nil,
	},
	{
		"tar, ratarmountcore", `tar -C "$DATA" -cf "$OUT/all.tar" . && $RATAR index "$OUT/all.tar"`, `$RATAR list "$OUT/all.tar"`,
		`$RATAR get "$OUT/all.tar" "$NAME" one.nc`, `$RATAR get "$OUT/all.tar" "$NAME" one.nc && $CDFZ get -q one.nc "$VAR" >value`,
		`tar -df "$OUT/all.tar" -C "$DATA"`, `$RATAR all "$OUT/all.tar" back`,
		`curl -sf -O "$URL/all.tar.index.sqlite" && curl -sf -O "$URL/all.tar" && $RATAR get all.tar "$NAME" one.nc && $CDFZ get -q one.nc "$VAR" >value`,
		func() bool { return *ratar != "" },
	},
}

// steps runs the steps of a way.
type steps struct {
	way
	out, work string
	env       []string
}

// start makes a command of a step.
func (s *steps) start(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.work, s.env
	return cmd
}

// clear makes the folders of a step empty: that of its work, and that of the result.
func (s *steps) clear(result bool) error {
	err := errors.Join(os.RemoveAll(s.work), os.MkdirAll(s.work, 0o777))
	if result {
		err = errors.Join(err, os.RemoveAll(s.out), os.MkdirAll(s.out, 0o777))
	}
	return err
}

func compare(ctx context.Context, args []string) error {
	if *members != "" {
		return growth(ctx, *members)
	}
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	data := run.Temp("data")
	if len(args) == 1 {
		if data, err = filepath.Abs(args[0]); err != nil {
			return err
		}
	} else if err := makeData(data); err != nil {
		return err
	}
	name, variable, err := example(ctx, data)
	if err != nil {
		return err
	}
	number, _, size, err := count(data)
	if err != nil {
		return err
	}
	rep := run.NewReport()
	rep.Printf("%d files, %d bytes; medians of %d rounds, seconds of processor time and, of one file and one value, milliseconds\n", number, size, *rounds)
	var t *run.Table
	if *kills > 0 {
		rep.Printf("after kill -9 of the command that writes, and of all that it has started, at random moments\n")
		t = rep.Table("%s", "killed at, s %.2f", "of %.2f", "left %s", "MB %.1f", "its list %s", "its check %s", "again, s %.2f", "then %s", "restored %s")
	} else {
		t = rep.Table("%s", "files %d", "folders %d", "bytes %d", "write, s %.2f", "wall, s %.2f", "list, s %.2f", "a file, ms %.0f", "a value, ms %.0f", "check, s %.2f",
			"restore, s %.2f", "over HTTP, ms %.0f", "requests %d", "MB %.3f")
	}
	env := append(os.Environ(), "DATA="+data, "NAME="+name, "VAR="+variable, fmt.Sprint("GB=", *gb), "CDFZ="+cdfz, "ZSTASH="+*zstash)
	if *ratar != "" {
		script, err := run.Script("ratar.py", ratarScript)
		if err != nil {
			return err
		}
		env = append(env, "RATAR="+*python+" "+script, "PYTHONPATH="+*ratar)
	}
	for i, w := range ways {
		if !strings.Contains(w.name, *only) || w.needs != nil && !w.needs() {
			continue
		}
		s := &steps{w, run.Temp(fmt.Sprint("out", i)), run.Temp(fmt.Sprint("work", i)), nil}
		srv := serve(s.out)
		s.env = append(env[:len(env):len(env)], "OUT="+s.out, "URL="+srv.url())
		if *kills > 0 {
			err = s.killed(ctx, data, t)
		} else {
			err = s.measure(ctx, srv, t)
		}
		srv.close()
		if err := errors.Join(err, os.RemoveAll(s.out), os.RemoveAll(s.work)); err != nil {
			return err
		}
		run.Say("%s is done", w.name)
	}
	return rep.Save()
}

// measure measures each step.
func (s *steps) measure(ctx context.Context, srv *server, t *run.Table) error {
	step := func(command string, first bool) *run.Task {
		return &run.Task{Name: s.name, Run: func(int) (run.Cost, error) {
			if err := s.clear(first); err != nil {
				return run.Cost{}, err
			}
			srv.reset()
			return run.Cmd(s.start(ctx, command), nil)
		}}
	}
	write, list, file, value := step(s.write, true), step(s.list, false), step(s.file, false), step(s.value, false)
	check, restore, remote := step(s.check, false), step(s.restore, false), step(s.remote, false)
	if err := run.Turns(*rounds, false, write, list, file, value, check, restore, remote); err != nil {
		return err
	}
	made, folders, bytes, err := count(s.out)
	if err != nil {
		return err
	}
	t.Row(s.name, made, folders, bytes, write.CPU().Seconds(), write.Wall().Seconds(), list.CPU().Seconds(), 1000*file.CPU().Seconds(), 1000*value.CPU().Seconds(),
		check.CPU().Seconds(), restore.CPU().Seconds(), 1000*remote.CPU().Seconds(), srv.requests.Load(), float64(srv.bytes.Load())/1e6)
	return nil
}

// makeData makes the tree: small files, or synthetic ones of a size.
func makeData(dir string) error {
	if *each == 0 {
		_, err := trees.Write(dir, *files)
		return err
	}
	f, err := fields.Synthetic(int64(*each) * 1_000_000)
	if err != nil {
		return err
	}
	var image bytes.Buffer
	if _, err := f.WriteTo(&image); err != nil {
		return err
	}
	// The values of each file are others: the last mantissa bits of some, which cost about what they cost in any file.
	b := image.Bytes()
	for i := range *files {
		path := filepath.Join(dir, fmt.Sprintf("%03d/field%06d.nc", i/100, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		for k := len(b) / 2; k+4 <= len(b); k += 4096 {
			b[k|3] ^= byte(i) | 1
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// example returns the path of the first netCDF file below a folder, and a variable of it with its first element.
func example(ctx context.Context, dir string) (name, selection string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".nc" {
			name = path
			return fs.SkipAll
		}
		return err
	})
	if err != nil || name == "" {
		return "", "", errors.Join(err, fmt.Errorf("%s: expected a file with a name that ends in .nc", dir))
	}
	f, err := archive.Open(ctx, name, nil)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	for _, v := range f.Vars() {
		if n := len(v.Dims()); n > 0 {
			selection = v.Name() + "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]"
		}
	}
	name, err = filepath.Rel(dir, name)
	return name, selection, err
}

// count returns how many files and folders are below a folder, and the bytes in the files.
func count(dir string) (files, folders int, size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type().IsRegular():
			files++
		case d.IsDir() && path != dir:
			folders++
		}
		return nil
	})
	if err != nil {
		return 0, 0, 0, err
	}
	size, err = run.BytesBelow(dir)
	return files, folders, size, err
}
