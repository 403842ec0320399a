package archivefs_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
)

const climate = "../../testdata/classic/cdf2_climate.nc"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Use a folder of archives as a file system of classic files. List them and read one.
func Example() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	original, err := os.ReadFile(climate)
	check(err)
	_, err = archive.WriteFile(context.Background(), filepath.Join(dir, "climate.nc.cdfz"), bytes.NewReader(original), int64(len(original)), nil, nil)
	check(err)

	fsys := archivefs.New(os.DirFS(dir), nil)
	list, err := fs.ReadDir(fsys, ".")
	check(err)
	for _, e := range list {
		st, err := e.Info()
		check(err)
		fmt.Println(e.Name(), st.Size())
	}
	image, err := fs.ReadFile(fsys, "climate.nc")
	check(err)
	fmt.Println(bytes.Equal(image, original))
	// Output:
	// climate.nc 305104
	// true
}
