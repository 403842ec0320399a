package fileio

import (
	"context"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
)

// DatasetSuffix is the ending of the names of NcML files that describe joined files.
const DatasetSuffix = ".ncml"

// IsDataset reports whether a FILE argument names joined files. They are chosen by name, since no
// netCDF file and no archive is named so.
func IsDataset(name string) bool { return strings.HasSuffix(name, DatasetSuffix) }

// StripDatasetSuffix returns the name of the netCDF file that joined files would be.
func StripDatasetSuffix(name string) (string, error) {
	return strings.TrimSuffix(name, DatasetSuffix) + ".nc", nil
}

// OpenDataset opens joined files. The caller must close the input, which stays that of the NcML file:
// it tells whether that changed.
func (n *Inputs) OpenDataset(ctx context.Context, j File, o *archive.OpenOptions) (*Input, *joined.Dataset, *archive.File, error) {
	in, err := n.OpenFile(ctx, j)
	if err != nil {
		return nil, nil, nil, err
	}
	d, f, err := n.dataset(ctx, j.Name, in, o)
	if err != nil {
		in.Close()
		return nil, nil, nil, err
	}
	return in, d, f, nil
}

func (n *Inputs) dataset(ctx context.Context, name string, in *Input, o *archive.OpenOptions) (*joined.Dataset, *archive.File, error) {
	desc, err := joined.ReadNcML(ctx, in.R, in.Size)
	if err != nil {
		return nil, nil, err
	}
	d, err := joined.Open(ctx, desc, joined.Folder(name), &joined.Options{Open: *o})
	if err != nil {
		return nil, nil, err
	}
	n.noteParts(in, desc.Files(name))
	in.Replace(in.R, in.Size, d.Close)
	return d, d.File(), nil
}

// NetCDF controls OpenNetCDF. It is for files other than the NcML file of joined files.
type NetCDF struct {
	Opened  func(*Input)              // is called with the file before it is read; may change R
	Explain func(*Input, error) error // changes the error of a file that cannot be read
}

// OpenNetCDF opens a FILE argument that is an archive, a classic file, or the NcML file of joined files.
// The caller must close the input.
func (n *Inputs) OpenNetCDF(ctx context.Context, name string, open *archive.OpenOptions, o NetCDF) (*Input, *archive.File, error) {
	if IsDataset(name) {
		in, _, f, err := n.OpenDataset(ctx, File{Name: name}, open)
		return in, f, err
	}
	in, err := n.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if o.Opened != nil {
		o.Opened(in)
	}
	f, err := archive.New(ctx, in.R, in.Size, open)
	if err != nil {
		if lost := emptyArchive(in); lost != nil {
			err = lost
		} else if o.Explain != nil {
			err = o.Explain(in, err)
		}
		in.Close()
		return nil, nil, err
	}
	return in, f, nil
}
