package export

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/page"
)

// writeViewer writes the page that shows archives without a server to a folder that is new or empty. It replaces
// nothing.
func (v *exporter) writeViewer(dir string) error {
	files, err := page.Viewer()
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return terminal.Hinted(errors.New("the folder is not empty"), "name a new folder: nothing is replaced")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		_, err = f.Write(files[name])
		if err = cmp.Or(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	v.run.Term.Report("%s: open index.html in a browser, or put the folder on any web server", terminal.ShowName(dir))
	return nil
}
