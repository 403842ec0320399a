// Package plugins loads HDF5 plugins for the verbs, and has the verbs about them.
package plugins

import (
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/plugin"
)

// Path returns the folders in which the user wants plugins to be searched.
func Path(a *cli.App) []string { return plugin.SearchPath(a.PluginPath, os.Getenv) }

// OnDemand loads plugins when an unknown filter is needed, if the user has named folders.
func OnDemand(a *cli.App) {
	if len(Path(a)) == 0 {
		filters.Discover(nil)
		return
	}
	filters.Discover(func() {
		if _, err := open(a); err != nil {
			a.Message("warning: %s", cli.PlainText(err, ""))
		}
	})
}

// Load loads plugins at once.
func Load(a *cli.App) (*plugin.Set, error) {
	filters.Discover(nil)
	return open(a)
}

// open registers the filters of the plugins. Folders that cannot be read cause warnings.
// The end of the program closes the set.
func open(a *cli.App) (*plugin.Set, error) {
	set, err := plugin.Open(&plugin.Options{Folders: Path(a), Processes: a.Workers})
	if err != nil {
		return nil, err
	}
	for _, s := range set.Skipped() {
		a.Message("warning: plugins: %s: %s", s.Folder, cli.PlainText(s.Err, s.Folder))
	}
	return set, set.Register()
}
