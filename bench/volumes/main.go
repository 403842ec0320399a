// Volumes compares cdfz archive and cdfz pack with other ways to make few files of many: processor time, bytes and
// files, for writing, listing, one file out, one value, checking and restoring all.
//
//	go run ./bench/volumes -files 100000
//	go run ./bench/volumes -zstash PROGRAM FOLDER
//
// Without FOLDER it makes a tree of small files, as bench/trees does. With one, that has to have a classic netCDF
// file whose path ends in .nc; the first is the one that is taken out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

var (
	files  = run.Count("files", 10000, "number of files to make")
	gb     = run.Count("gb", 1, "GB that a volume has at most")
	rounds = run.Rounds(1)
	only   = run.Only("ways")
	zstash = flag.String("zstash", "", "the program of E3SM's zstash, which is not in Debian (default: left out)")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("[FOLDER]", 0, 1, compare)
}

// way is a way to keep a folder. Its steps are commands of sh, which run in an empty folder of their own, with these
// variables: DATA is the folder, OUT one for the result, NAME a file in DATA, VAR a variable of it, GB the size of
// volumes, CDFZ and ZSTASH programs.
type way struct{ name, write, list, file, value, check, restore string }

var ways = []way{
	{
		"cdfz archive, pack", `$CDFZ archive -q -o archives/ "$DATA" && $CDFZ pack -q --size ${GB}G -o "$OUT/" archives && rm -r archives`,
		`$CDFZ info --json "$OUT"`,
		`$CDFZ restore -q -o one.nc "$OUT/0001.tar/$NAME.cdfz"`,
		`$CDFZ get -q "$OUT/0001.tar/$NAME.cdfz" "$VAR" >value`,
		`$CDFZ verify -q "$OUT"`, `$CDFZ restore -q -o back/ "$OUT"`,
	},
	{
		"zstash", `$ZSTASH create --hpss=none --cache "$OUT" --maxsize $GB "$DATA"`, `$ZSTASH ls --hpss=none --cache "$OUT"`,
		`$ZSTASH extract --hpss=none --cache "$OUT" "$NAME"`, `$ZSTASH extract --hpss=none --cache "$OUT" "$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`$ZSTASH check --hpss=none --cache "$OUT"`, `mkdir back && cd back && $ZSTASH extract --hpss=none --cache "$OUT"`,
	},
	{
		"tar, zstd -3 -T2", `tar -C "$DATA" -cf - . | zstd -q -3 -T2 -o "$OUT/all.tar.zst"`, `tar -tvf "$OUT/all.tar.zst"`,
		`tar -xf "$OUT/all.tar.zst" "./$NAME"`, `tar -xf "$OUT/all.tar.zst" "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`zstd -q -t "$OUT/all.tar.zst"`, `mkdir back && tar -xf "$OUT/all.tar.zst" -C back`,
	},
	{
		"tar with a list", `tar -C "$DATA" -cvvf "$OUT/all.tar" . >"$OUT/all.list"`, `cat "$OUT/all.list"`,
		`tar -xf "$OUT/all.tar" "./$NAME"`, `tar -xf "$OUT/all.tar" "./$NAME" && $CDFZ get -q "$NAME" "$VAR" >value`,
		`tar -df "$OUT/all.tar" -C "$DATA"`, `mkdir back && tar -xf "$OUT/all.tar" -C back`,
	},
}

func compare(ctx context.Context, args []string) error {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	data := run.Temp("data")
	if len(args) == 1 {
		if data, err = filepath.Abs(args[0]); err != nil {
			return err
		}
	} else if _, err := trees.Write(data, *files); err != nil {
		return err
	}
	name, variable, err := example(ctx, data)
	if err != nil {
		return err
	}
	number, size, err := count(data)
	if err != nil {
		return err
	}
	rep := run.NewReport()
	rep.Printf("%d files, %d bytes; medians of %d rounds, seconds of processor time and, of one file and one value, milliseconds\n", number, size, *rounds)
	t := rep.Table("%s", "files %d", "bytes %d", "write, s %.2f", "wall, s %.2f", "list, s %.2f", "a file, ms %.0f", "a value, ms %.0f", "check, s %.2f", "restore, s %.2f")
	for i, w := range ways {
		if !strings.Contains(w.name, *only) || w.name == "zstash" && *zstash == "" {
			continue
		}
		env := append(os.Environ(), "DATA="+data, "NAME="+name, "VAR="+variable, fmt.Sprint("GB=", *gb), "CDFZ="+cdfz, "ZSTASH="+*zstash)
		out, work := run.Temp(fmt.Sprint("out", i)), run.Temp(fmt.Sprint("work", i))
		step := func(command string, first bool) *run.Task {
			return &run.Task{Name: w.name, Run: func(int) (run.Cost, error) {
				err := os.RemoveAll(work)
				if first {
					err = errors.Join(err, os.RemoveAll(out), os.MkdirAll(out, 0o777))
				}
				if err = errors.Join(err, os.MkdirAll(work, 0o777)); err != nil {
					return run.Cost{}, err
				}
				cmd := exec.CommandContext(ctx, "sh", "-c", command)
				cmd.Dir, cmd.Env = work, append(env, "OUT="+out)
				return run.Cmd(cmd, nil)
			}}
		}
		write, list, file := step(w.write, true), step(w.list, false), step(w.file, false)
		value, check, restore := step(w.value, false), step(w.check, false), step(w.restore, false)
		if err := run.Turns(*rounds, false, write, list, file, value, check, restore); err != nil {
			return err
		}
		made, bytes, err := count(out)
		if err != nil {
			return err
		}
		t.Row(w.name, made, bytes, write.CPU().Seconds(), write.Wall().Seconds(), list.CPU().Seconds(), 1000*file.CPU().Seconds(), 1000*value.CPU().Seconds(),
			check.CPU().Seconds(), restore.CPU().Seconds())
		if err := errors.Join(os.RemoveAll(out), os.RemoveAll(work)); err != nil {
			return err
		}
	}
	return rep.Save()
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

// count returns how many files are below a folder, and the bytes in them.
func count(dir string) (n int, size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	size, err = run.BytesBelow(dir)
	return n, size, err
}
