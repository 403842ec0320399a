package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/discovery"
	"github.com/cdfz-format/cdfz/internal/hdf5plugin"
)

// PluginFolders returns the folders in which the user wants plugins to be searched.
func (r *Run) PluginFolders() []string { return hdf5plugin.SearchPath(r.PluginPath, os.Getenv) }

// PluginsOnDemand loads plugins when an unknown filter is needed, if the user has named folders.
func (r *Run) PluginsOnDemand() {
	folders := r.PluginFolders()
	r.Term.Advise(func(err error) string {
		switch {
		case !errors.Is(err, filters.ErrUnknownFilter):
			return ""
		case len(folders) == 0:
			return "--plugin-path FOLDERS names folders with HDF5 plugins; --plugin-path default takes those of HDF5"
		}
		return "no library in " + strings.Join(folders, ", ") + " provides it: cdfz plugins lists them"
	})
	if len(folders) == 0 {
		discovery.Set(nil)
		return
	}
	discovery.Set(func() {
		if _, err := r.openPlugins(); err != nil {
			r.Term.Message("warning: %s", terminal.PlainText(err, ""))
		}
	})
}

// LoadPlugins loads plugins at once.
func (r *Run) LoadPlugins() (*hdf5plugin.Set, error) {
	discovery.Set(nil)
	return r.openPlugins()
}

// openPlugins registers the filters of the plugins. Folders that cannot be read cause warnings.
// The end of the program closes the set.
func (r *Run) openPlugins() (*hdf5plugin.Set, error) {
	set, err := hdf5plugin.Open(&hdf5plugin.Options{Folders: r.PluginFolders(), Processes: r.Limits.Workers})
	if err != nil {
		return nil, err
	}
	for _, s := range set.Skipped() {
		r.Term.Message("warning: plugins: %s: %s", s.Folder, terminal.PlainText(s.Err, s.Folder))
	}
	return set, set.Register()
}
