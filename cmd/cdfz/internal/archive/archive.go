// Package archive is the verb archive: archives of classic netCDF files.
//
//	archive.go   options
//	run.go       the work on all files
//	one.go       the work on one file
//	report.go    what is reported of each file and of all
//	targets.go   checks before anything is written
//	existing.go  archives that exist
//	others.go    other runs over the same files
//	changed.go   --replace-changed and --remove-replaced
//	copies.go    --copies and --copy-at
//	pack.go      --pack: archives go into volumes
//	whole.go     --whole: the tree, from the list to the tree file
//	whole_places.go   --whole: where each file is kept
//	whole_entries.go  --whole: what the tree file has of a file
//	whole_states.go   --whole: files that earlier runs have kept, and that are others now
//	plain.go     --whole: files that are kept as they are, and further names
//	receipts.go  --receipts and --delete-source
//	dry.go       --dry-run
//	dry_fate.go  the sources and the space of --dry-run
package archive

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
)

// archiver runs the verb archive.
type archiver struct {
	run      *cli.Run
	opts     archive.WriteOptions
	specs    chains.Specs
	existing existingMode
	noCheck  bool
	unpacks  bool // compressed files
	dry      bool // --dry-run
	changes  changes
	proof    proof
	whole    whole
	packs    packs
	others   others
	files    fileio.List
	sum      archiveSum
}

func Command(run *cli.Run) *cobra.Command {
	v := &archiver{run: run, opts: archive.WriteOptions{Preset: archive.PresetDefault, Zarr: archive.ZarrAuto}, existing: existingMtime}
	cmd := &cobra.Command{
		Use:   "archive [flags] FILE…",
		Short: "Make archives: x.nc becomes x.nc.cdfz next to it",
		Long: `Makes an archive of each classic netCDF file. FILE may be a folder: files of other kinds
below it are skipped (-v lists them). It may also be an http or https URL, or - for standard input.

Each archive is read back and compared with its source before it appears. Sources
are never changed, and only deleted on request. Archives keep the permissions and the
modification time of their source, and its owner if root runs cdfz. Symbolic links are
not followed below a FILE that is a folder and below -o DIR/.

A file is skipped if its archive already exists and records the same size and the same
modification time or SHA-256. The checksums of the archive's structures, and of an archive
of up to 1 MiB all checksums, are compared, but nothing is decoded. --skip-existing=hash
always compares the SHA-256, and decodes the archive to verify it. With
--skip-existing=never, an existing archive is an error, and so is a damaged one in any case.

Nothing is archived if two files have the same target, unless they hold the same netCDF
file. Several runs may work on the same files at the same time: each passes over what
another one archives.

-f makes an existing archive of the same file again, for example with other options. An
archive of another file may be its only copy, and so may a netCDF file: -f replaces them only
with --replace-other. No option replaces or deletes an archive that a receipt vouches for, and
whose source is gone or has changed. A receipt vouches for all archives of a file, wherever they
are. The receipts are those of --receipts FILE, and of --receipts-also FILE, which is only read:
a file or a folder of them, such as those of other shards.

--receipts FILE reads each archive a second time, by its local headers and without its
index, and restores the file. Then it adds a line of JSON to FILE with names, sizes,
SHA-256 and time. The lines are a chain: each has the SHA-256 of the line before. Nothing
is added to a FILE that is empty, cut off or changed. cdfz receipts checks FILE and the
archives later.

--delete-source then deletes the source, if the second reading confirmed its SHA-256, and
the archive, its name and its receipt are on disk. A source is kept if it has changed, is a symbolic
link, or is open for writing in another program (where the system can detect this), or if
archive or receipts are on a file system that may lose what is flushed (in memory, FUSE, a
volatile overlay; --durable-mount names others). A stopped run can be repeated.

With --copies 2 --copy-at PLACE, a source is deleted only if PLACE, a folder or URL, has a copy of
its archive, too, at the same path below it, on another file system or in a store, and that restores
the source without its index. File systems count once if it is unknown whether they are independent. Other programs, such as rsync, make the copy.

With -o s3://BUCKET/KEY or -o s3://BUCKET/PREFIX/, archives become objects of a store. Each
is made and compared in a temporary file, and then uploaded.

` + cli.PrefixHelp + ` The first bytes of
each object are read, to find out whether it is a classic netCDF file.

--replace-changed archives a source again if it is newer than its archive and has other bytes. The
old archive may be the only copy of the older state, so it is kept under a name with the time of
that state, x.nc.20260102T030405Z.cdfz, before the new archive takes its name. --remove-replaced
deletes the old archive once the new one is on disk and has restored the source without its index,
unless a receipt vouches for the old one. Without any receipts, it needs --replace-other.

--whole keeps everything below the FILE, which is one folder: classic files become archives, and all
other files stay as they are, below -o DIR/. Links, empty folders, modes, times, owners, ACLs and extended attributes are kept,
too: what the file system of DIR or a store may not hold is in DIR/.cdfz-tree. cdfz restore brings the tree back.
FIFOs, sockets and devices are left out, and fail. --delete-source deletes links and folders, too.

--pack SIZE puts the archives into volumes: tar files with an index, of at most SIZE bytes each, as cdfz pack
does, without a folder of archives in between. vol/0001.tar/a/b.nc.cdfz is then the path of an archive. A file whose archive the
volumes have is passed over. Another state goes into a later volume, and -f archives all files again there. A volume appears
when it is full, or at the end, and is read back before. Then its files get their receipts and their lines in the log, and
--delete-source deletes them, also in a later run. --whole and stores work, too. --pack-parity P% writes parity of each volume
beside it before; --parity P% is that of each archive.

--dry-run writes nothing. It lists each file that would be archived with its target, and archives a
few of them in memory, for about 10 s at most, to estimate the size of all archives and the time. It
fails for targets that cannot be made and for too little space, and tells what --delete-source would
delete and keep.

` + cli.SelectHelp + `

` + cli.LogHelp + `

--decompress also archives the classic netCDF files in *.gz, *.bz2, *.xz and *.zst:
x.nc.gz becomes x.nc.cdfz, which restores x.nc.

` + chains.Help,
		Example: cli.Examples(
			"cdfz archive tas.nc                        # makes tas.nc.cdfz",
			"cdfz archive -o archives/ data/            # a tree of archives in another folder",
			"cdfz archive --receipts proof.jsonl --delete-source data/",
			"cdfz archive --whole -o archives/ data/    # everything: cdfz restore -o back/ archives/",
			"cdfz archive --pack 100G -o vol/ data/     # volumes of 100 GB instead of many archives",
			"cdfz archive --exclude /scratch/ --exclude '*.tmp.nc' -o archives/ data/",
			"cdfz archive --preset max --zarr always tas.nc",
			"cdfz archive -o s3://bucket/tas.nc.cdfz tas.nc   # credentials as for Amazon's tools",
			"cdfz archive --parity 5% tas.nc            # heals damage of 2 % of the archive",
			"cdfz archive -F 'air,2|32015,19' tas.nc    # shuffle, then zstd at level 19, for air",
			"cdfz archive -F 'u&v,307,9' -F '*,1,6' tas.nc",
			"cdfz archive --decompress -o archives/ data/   # x.nc.gz too",
			"find data/ -name '*.nc' -print0 | cdfz archive -0 --files-from - -o archives/",
			"cdfz archive --shard $SLURM_ARRAY_TASK_ID/40 -o archives/ data/",
			"cdfz archive - <tas.nc >tas.nc.cdfz"),
		Args: run.FilesOrList,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.specs.Parse(); err != nil {
				return err
			}
			run.Dest.ToObjects = true
			run.In.Whole = fileio.WholeObject
			if v.packs.on() && isVolumeName(run.Dest.Name) {
				return terminal.Hinted(fmt.Errorf("--pack: -o %s: expected a folder for the volumes", terminal.ShowName(run.Dest.Name)), "-o DIR/ names it; its volumes are 0001.tar, 0002.tar, …")
			}
			if v.whole.on || v.packs.on() {
				run.Dest.MustBeDir()
			}
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			switch {
			case v.dry && run.Dest.IsStdout():
				return errors.New("--dry-run: the archive goes to standard output")
			case v.dry && run.LogName() != "":
				return errors.New("--dry-run: writes nothing, and no --log")
			}
			if err := v.packs.check(v); err != nil {
				return err
			}
			if err := v.changes.check(v); err != nil {
				return err
			}
			if err := v.proof.check(v, args); err != nil {
				return err
			}
			if err := v.whole.check(v, args); err != nil {
				return err
			}
			return v.do(cmd.Context(), args)
		},
	}
	cli.Flags(cmd, "What to archive", func(f *pflag.FlagSet) {
		f.BoolVar(&v.whole.on, "whole", false, "keep everything below FILE, not only classic files")
		f.Var(&cli.SizeFlag{N: &v.packs.o.Size, Min: volumes.MinSize, Max: 1 << 60}, "pack", "put archives into volumes, tar files of at most `SIZE` bytes")
		f.Var(&cli.ShareFlag{S: &v.packs.o.Parity}, "pack-parity", "write parity of `P%` of each volume beside it")
		f.Var(&cli.TimeFlag{T: &v.packs.o.Time}, "pack-time", "the time of packing that volumes have (default: now)")
		f.BoolVar(&v.unpacks, "decompress", false, "archive the netCDF files in *.gz, *.bz2, *.xz and *.zst, too")
		cli.Choice(cmd, &v.existing, "skip-existing", "how to see that a file is archived", existingMtime, existingHash, existingNever)
		f.BoolVar(&v.changes.replaces, "replace-changed", false, "archive changed sources again, and keep the old archives")
		f.BoolVar(&v.changes.removes, "remove-replaced", false, "delete the old archives once the new ones are proved;\nneeds --replace-changed; they may be the only copies of the older states")
		f.BoolVar(&v.dry, "dry-run", false, "write nothing; report what would be archived;\nestimate size and time from a sample")
		cli.Rare(f, "pack-time", "pack-parity", "remove-replaced")
	})
	v.specs.AddFlags(cmd)
	chains.WriteFlags(cmd, &v.opts, "filters of all variables without -F", "size of blocks, as in 64K (default 256K, with --preset max 1M)",
		"make the archive a Zarr store, too;\nauto: if that costs little; consolidated: at less cost, for readers of consolidated metadata")
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.noCheck, "no-check", false, "do not read the archive back")
		f.Var(&cli.ShareFlag{S: &v.opts.Parity}, "parity", "add parity of `P%` of the archive, from which cdfz repair heals damage")
		f.StringVar(&v.proof.name, "receipts", "", "add a receipt for each archive to `FILE`")
		f.BoolVar(&v.proof.deletes, "delete-source", false, "delete each source after its receipt is on disk (needs --receipts)")
		f.Var(cli.CountFlag(&v.proof.copies.n, 16), "copies", "delete a source only if `N` archives of it are proved (needs --copy-at),\non different file systems or stores")
		f.StringArrayVar(&v.proof.copies.places, "copy-at", nil, "a copy of the tree of archives is in `PLACE`, a folder or URL; repeatable")
		cli.Rare(f, "no-check")
	})
	run.DurableMountFlag(cmd)
	run.SelectFlags(cmd)
	run.DestFlag(cmd, "write to `OUT`: a name, a folder, or -;\n- is standard output, which is not read back")
	run.ForceFlag(cmd)
	run.LogFlag(cmd)
	run.NoWaitFlag(cmd, cli.NoWaitText)
	run.MemoryFlag(cmd)
	run.StatsFlag(cmd)
	run.RequestsFlag(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}
