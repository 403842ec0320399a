package pack

import (
	"context"
	"errors"
	"io/fs"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// openEarlier opens the volumes that are in the folder of the volumes. There are none for other targets.
func (v *packer) openEarlier(ctx context.Context) (*fileio.Volumes, error) {
	if !v.run.Dest.IsDir() {
		return &fileio.Volumes{}, nil
	}
	return v.run.In.OpenVolumes(ctx, v.run.Dest.Name)
}

// has reports whether the last earlier volume that has a member has it as it is now.
func (v *packer) has(ctx context.Context, e *volume.Entry) (bool, error) {
	if v.all {
		return false, nil
	}
	old, err := v.earlier.Lookup(ctx, e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return old.Kind == e.Kind && old.Mode == e.Mode && old.UID == e.UID && old.GID == e.GID && old.Size == e.Size && old.Target == e.Target && old.Modified.Equal(e.Modified), nil
}
